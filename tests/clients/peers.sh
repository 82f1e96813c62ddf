#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# peers.sh - pools of two devices on mapped memory copy between each other, and kernels of each
# device access the other's blocks: peer_pools.cu, and PyTorch with mam as its allocator. With one
# GPU the first runs only its first part, and the second is skipped.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
# shellcheck disable=SC2034 # device.sh reads it
device_test=peers
. "$MAM_SRCDIR/tests/clients/device.sh"

try 'peer_pools builds' build peer_pools peer_pools.cu -O2
runs peer_pools
[ "$has_gpu" = yes ] && cat "$scratch/out"

if [ "$has_gpu" = yes ]; then
	MAM_SOURCE=vmm python3 "$MAM_SRCDIR/tests/clients/peer_torch.py" "$libraries/libmam.so.0" > "$scratch/out" 2>&1
	status=$?
	if [ "$status" = 77 ]; then
		skip 'PyTorch, two devices' 'there is no PyTorch, or one GPU'
	else
		same 'PyTorch, two devices' '0, all is well' "$status, $(tail -n 1 "$scratch/out")"
	fi
else
	skip 'PyTorch, two devices' 'there is no GPU'
fi
finish
