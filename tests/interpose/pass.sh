#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pass.sh - memory that the driver still allocates: every function is intercepted through each
# interface, counted, and returns what it returns without mam. Pools free their unused memory when
# the device is full. The scenes are described in probe_pass.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_pass

same_run "every function through each interface" "$probe" interfaces
for row in cuMemAllocManaged:1 cuMemHostAlloc:1 cuMemAllocHost_v2:1 cuArrayCreate_v2:1 cuArray3DCreate_v2:1 \
	cuArrayDestroy:2 cuMipmappedArrayCreate:1 cuMipmappedArrayDestroy:1 cuMemCreate:1 cuMemFreeHost:2 cuMemRelease:1; do
	name=${row%:*}
	times=${row#*:}
	same "$name: $times by symbol, $times by lookup, all forwarded" "$times $times" \
		"$(stat_of "call.$name.driver.forwarded") $(stat_of "call.$name.lookup.forwarded")"
done
for name in cuMemAllocAsync cuMemAllocFromPoolAsync; do
	same "$name: by symbol, and per thread by lookup" "1 1" \
		"$(stat_of "call.$name.driver.forwarded") $(stat_of "call.${name}_ptsz.lookup.forwarded")"
done
same "invalid frees count as failed calls" "1 1" \
	"$(stat_of call.cuMemFreeHost.driver.failed) $(stat_of call.cuMemRelease.driver.failed)"
same "the first allocation of a pitch is forwarded, later ones are served" "1 1 1" "$(stat_of \
	call.cuMemAllocPitch_v2.driver.forwarded) $(stat_of call.cuMemAllocPitch_v2.driver.served) $(stat_of \
	call.cuMemAllocPitch_v2.lookup.served)"
same "bytes of a kind are the requested bytes" "2097152 1048576 1048576 160000 262144" "$(for name in cuMemAllocManaged \
	cuMemAllocAsync cuMemAllocAsync_ptsz cuArrayCreate_v2 cuArray3DCreate_v2; do stat_of "bytes.$name"; done |
	tr '\n' ' ' | sed 's/ $//')"
same "the peak of each kind is one block" "1048576 1048576 2097152 1048576 174760" "$(for kind in async \
	managed physical host arrays; do stat_of "peak_${kind}_bytes"; done | tr '\n' ' ' | sed 's/ $//')"

same_run "calls by lookup, each followed by one by symbol" "$probe" pointers
for name in cuMemAlloc_v2 cuMemFree_v2 cuMemGetInfo_v2 cuMemAllocAsync cuMemAllocFromPoolAsync cuMemFreeAsync \
	cuPointerGetAttribute cuPointerGetAttributes cuPointerSetAttribute cuMemGetAddressRange_v2 \
	cuMemGetHandleForAddressRange cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle; do
	same "$name: one call by lookup and one by symbol" "1 1" "$(stat_of "call.$name.driver") $(stat_of "call.$name.lookup")"
done

for policy in strict deferred; do
	run="--free $policy" same_run "$policy: free by another function, double free, foreign pointers" "$probe" wrong-ends
done

# A device of 64 MiB. The pool's 40 MiB are in the way, and 0.1 s of work still uses them.
for policy in strict deferred stream; do
	run="--free $policy" set='FAKE_CUDA_MEMORY=64M FAKE_CUDA_LAG_US=100000' \
		same_run "$policy: full device: pools release memory" "$probe" scarce
	run="--free $policy --limit 64M --pass-above 50M" set='FAKE_CUDA_MEMORY=64M FAKE_CUDA_LAG_US=100000' \
		set_mam='FAKE_CUDA_MEMORY=1G FAKE_CUDA_LAG_US=100000' \
		same_run "$policy: limit reached: pools release memory" "$probe" scarce
done

# Memory that the driver reports as used and that mam does not know, when a pool grows and when the
# program queries it.
same_run "memory outside the account" "$probe" beside
same "other memory is detected when a pool grows" 4194304 "$(stat_of other_bytes)"
set=PROBE_ASKS=1 same_run "memory outside the account, queried" "$probe" beside
same "other memory is updated when the program queries it" 0 "$(stat_of other_bytes)"
same "the printed table has a line for other memory" 1 "$("$MAM" run --stats -- "$probe" beside 2>&1 | grep -c 'other memory in use on the devices .*4.00 MiB')"
finish
