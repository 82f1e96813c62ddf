#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# host_waits.sh - no allocation waits for a kernel that waits for the host, and none waits for
# another device: under mam run with each free policy, and in the library. The programs build
# everywhere with the CUDA toolkit, and run where there is a GPU, or two.
# shellcheck disable=SC2154 # set by device.sh
. "${MAM_SRCDIR:-.}/tests/lib.sh"
device_test=host_waits
. "$MAM_SRCDIR/tests/clients/device.sh"

try 'the program builds' silent "$NVCC" -arch="$architecture" -Xcompiler -Wall,-Wextra -o "$scratch/host_waits" \
	"$MAM_SRCDIR/tests/clients/kernels/host_waits.cu"
try 'the program with the library builds' build host_waits_library host_waits.cu -DHOST_WAITS_LIBRARY
try 'the program for two devices builds' silent "$NVCC" -arch="$architecture" -Xcompiler -Wall,-Wextra \
	-o "$scratch/two_devices" "$MAM_SRCDIR/tests/clients/kernels/two_devices.cu"
try 'the program for two devices with the library builds' build two_devices_library two_devices.cu -DTWO_DEVICES_LIBRARY

if [ "$has_gpu" != yes ]; then
	skip host_waits 'there is no GPU'
	finish
fi

LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

well() # NAME COMMAND...
{
	well_name=$1
	shift
	"$@" > "$scratch/out" 2>&1
	well_status=$?
	if [ $well_status -eq 77 ]; then
		skip "$well_name" "$(tail -n 1 "$scratch/out")"
		return
	fi
	same "$well_name" "0 all is well" "$well_status $(tail -n 1 "$scratch/out")"
	sed "s/^/# $well_name: /" "$scratch/out"
}

well 'plain' "$scratch/host_waits"
if [ -f "$libraries/libmam-preload.so" ]; then
	for source in cudamalloc vmm; do
		for policy in strict deferred stream; do
			well "mam run --source=$source --free=$policy" \
				"$MAM" run --source=$source --free=$policy -- "$scratch/host_waits"
			well "two devices, mam run --source=$source --free=$policy" \
				"$MAM" run --source=$source --free=$policy -- "$scratch/two_devices"
		done
	done
fi
well 'two devices, plain' "$scratch/two_devices"
for source in cudamalloc vmm; do
	well "two devices, library, $source" "$scratch/two_devices_library" $source
	for policy in strict stream async; do
		well "library, $source, $policy" "$scratch/host_waits_library" $source $policy
	done
done
finish
