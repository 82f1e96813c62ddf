#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pass.sh - memory that stays the driver's: every function is caught by each road, counted, and answers as without mam;
# and pools do without what they can when the device is full. probe_pass.c says what each scene does.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_pass

same_run "every function by each road" "$probe" roads
for row in cuMemAllocManaged:1 cuMemHostAlloc:1 cuMemAllocHost_v2:1 cuArrayCreate_v2:1 cuArray3DCreate_v2:1 \
	cuArrayDestroy:2 cuMipmappedArrayCreate:1 cuMipmappedArrayDestroy:1 cuMemCreate:1 cuMemFreeHost:2 cuMemRelease:1; do
	name=${row%:*}
	times=${row#*:}
	same "$name: $times by symbol, $times by lookup, all the driver's" "$times $times" \
		"$(stat_of "call.$name.driver.forwarded") $(stat_of "call.$name.lookup.forwarded")"
done
for name in cuMemAllocAsync cuMemAllocFromPoolAsync; do
	same "$name: by symbol, and per thread by lookup" "1 1" \
		"$(stat_of "call.$name.driver.forwarded") $(stat_of "call.${name}_ptsz.lookup.forwarded")"
done
same "wrong frees are failed calls" "1 1" \
	"$(stat_of call.cuMemFreeHost.driver.failed) $(stat_of call.cuMemRelease.driver.failed)"
same "the first of a pitch is the driver's, those after it are not" "1 1 1" "$(stat_of \
	call.cuMemAllocPitch_v2.driver.forwarded) $(stat_of call.cuMemAllocPitch_v2.driver.served) $(stat_of \
	call.cuMemAllocPitch_v2.lookup.served)"
same "bytes of a kind are what was asked for" "2097152 1048576 1048576 160000 262144" "$(for name in cuMemAllocManaged \
	cuMemAllocAsync cuMemAllocAsync_ptsz cuArrayCreate_v2 cuArray3DCreate_v2; do stat_of "bytes.$name"; done |
	tr '\n' ' ' | sed 's/ $//')"
same "peaks are of one block of each kind at a time" "1048576 1048576 2097152 1048576 174760" "$(for kind in async \
	managed physical host arrays; do stat_of "peak_${kind}_bytes"; done | tr '\n' ' ' | sed 's/ $//')"

same_run "calls by lookup, each followed by one by symbol" "$probe" pointers
for name in cuMemAlloc_v2 cuMemFree_v2 cuMemGetInfo_v2 cuMemAllocAsync cuMemAllocFromPoolAsync cuMemFreeAsync \
	cuPointerGetAttribute cuPointerGetAttributes cuPointerSetAttribute cuMemGetAddressRange_v2 \
	cuMemGetHandleForAddressRange cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle; do
	same "$name: one call by each" "1 1" "$(stat_of "call.$name.driver") $(stat_of "call.$name.lookup")"
done

for policy in strict deferred; do
	run="--free $policy" same_run "$policy: freed by another call, twice, and what is nobody's" "$probe" wrong-ends
done

# A device of 64 MiB. The pool's 40 are in the way, and still in use by 0.1 s of work.
for policy in strict deferred stream; do
	run="--free $policy" set='FAKE_CUDA_MEMORY=64M FAKE_CUDA_LAG_US=100000' \
		same_run "$policy: a full device: pools do without" "$probe" scarce
	run="--free $policy --limit 64M --pass-above 50M" set='FAKE_CUDA_MEMORY=64M FAKE_CUDA_LAG_US=100000' \
		set_mam='FAKE_CUDA_MEMORY=1G FAKE_CUDA_LAG_US=100000' \
		same_run "$policy: a reached limit: pools do without" "$probe" scarce
done

# What the driver says is taken and mam knows nothing of, when a pool grew, and when the program asked.
same_run "memory beside the account" "$probe" beside
same "it is seen as a pool grows" 4194304 "$(stat_of other_bytes)"
set=PROBE_ASKS=1 same_run "memory beside the account, and asked" "$probe" beside
same "and as the program asks" 0 "$(stat_of other_bytes)"
same "the table for people has a line for it" 1 "$("$MAM" run --stats -- "$probe" beside 2>&1 | grep -c 'other memory in use on the devices .*4.00 MiB')"
finish
