#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# links.sh - mam info prints how devices are connected, whether they can share memory, and what NCCL
# would use, with NVML and without it.
# shellcheck disable=SC2154 # fakes
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

info() # [OPTION] - the lines about links and IPC
{
	"$MAM" info "$@" | grep -v MAM_IPC | grep -e '^link' -e 'NCCL' -e '^nccl' -e 'IPC'
}

LD_LIBRARY_PATH=$MAM_BUILDDIR/tests/fake/nvml:$LD_LIBRARY_PATH
same "one device has no links" \
	"                IPC with source cudamalloc yes, with source vmm yes" "$(info)"
same "a device that cannot map memory" \
	"                IPC with source cudamalloc yes, with source vmm no" "$(FAKE_CUDA_VMM=0 info)"

same "a device that exports no descriptors" \
	"                IPC with source cudamalloc yes, with source vmm no" "$(FAKE_CUDA_FAIL_AT=cuDeviceGetAttribute:7 info)"

FAKE_CUDA_DEVICES=4
export FAKE_CUDA_DEVICES
same "devices that are all alike: one line" \
	"link            NVLink, peer access, atomics: all pairs
                NCCL uses P2P over NVLink
multicast       yes: NCCL can use NVLS" "$(info | sed '/IPC/d')"
same "pairs that differ in their path only" \
	"link            unknown link, peer access, atomics: 0-1
link            NVLink, peer access, atomics: 0-2 0-3 1-2 1-3 2-3" \
	"$(FAKE_CUDA_FAIL_AT=cuDeviceGetPCIBusId:1 info | grep '^link')"

FAKE_CUDA_LINKS=0-1:nvlink,1-2:pcie,0-2:pcie
export FAKE_CUDA_LINKS
same "pairs that are alike share a line" \
	"link            NVLink, peer access, atomics: 0-1
                NCCL uses P2P over NVLink
link            PCIe, one switch, peer access, no atomics: 0-2 1-2
                NCCL uses P2P over PCIe, or shared memory of the host if NCCL_P2P_LEVEL excludes the path
link            PCIe, several NUMA nodes, no peer access, no atomics: 0-3 1-3 2-3
                NCCL uses shared memory of the host
multicast       no: NCCL cannot use NVLS" "$(info | sed '/IPC/d')"
same "--plain: a line per pair" \
	"device.0.ipc device.1.ipc device.2.ipc device.3.ipc link.0.1 nccl.0.1 link.0.2 nccl.0.2 link.0.3 nccl.0.3 link.1.2 nccl.1.2 link.1.3 nccl.1.3 link.2.3 nccl.2.3 multicast" \
	"$(info --plain | cut -f 1 | paste -sd ' ')"
same "--plain: values" "pcie-switch, peer access yes, atomics no|pcie-far, peer access no, atomics no" \
	"$(info --plain | sed -n 's/^link\.[02]\.[23]	//p' | sort -u | paste -sd '|' | sed 's/^\(.*\)|\(.*\)$/\2|\1/')"

for without in "LD_LIBRARY_PATH=$fakes" FAKE_NVML_FAILS=1; do
	same "without NVML (${without%%=*}): what the driver reports" \
		"link            unknown link, peer access, atomics: 0-1
                NCCL uses P2P
link            unknown link, peer access, no atomics: 0-2 1-2
                NCCL uses P2P
link            unknown link, no peer access, no atomics: 0-3 1-3 2-3
                NCCL uses shared memory of the host
multicast       no: NCCL cannot use NVLS" \
		"$(export "${without?}"; info | sed '/IPC/d')"
done

# A call fails: no access is better than a wrong promise.
same "one direction has no access" "link.0.1	nvlink, peer access no, atomics yes" \
	"$(FAKE_CUDA_FAIL_AT=cuDeviceCanAccessPeer:2 info --plain | grep '^link.0.1')"
same "atomics are unknown" "link.0.1	nvlink, peer access yes, atomics no" \
	"$(FAKE_CUDA_FAIL_AT=cuDeviceGetP2PAttribute:1 info --plain | grep '^link.0.1')"
same "the path is unknown" "link.0.1	unknown, peer access yes, atomics yes" \
	"$(FAKE_CUDA_FAIL_AT=cuDeviceGetPCIBusId:1 info --plain | grep '^link.0.1')"
finish
