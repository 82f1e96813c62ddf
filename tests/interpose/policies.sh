#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# policies.sh - when freed memory is reused under --free=strict, deferred and stream, and what
# captures allow. The scenes are described in probe_policy.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_policy

# Captures: the results are the driver's, under any policy.
for scene in captures captures-of-others captures-end; do
	same_run "strict: $scene" "$probe" $scene
	run='--free deferred' same_run "deferred: $scene" "$probe" $scene
	run='--free stream' same_run "stream: $scene" "$probe" $scene
done
for policy in strict deferred stream; do
	run="--free $policy" set=FAKE_CUDA_MEMORY=64M same_run "$policy: a free in a capture on a full device" \
		"$probe" captures-full
done
"$MAM" run --capture allow -- "$probe" captures > "$scratch/out" 2>&1
same "--capture=allow: every allocation and free inside a capture is served" "27 0" \
	"$(grep -c -E '^cuMem(Alloc|Free)_v2.*: 0' "$scratch/out") $(grep -c -E ': 90[01]' "$scratch/out")"

log=$scratch/log
FAKE_CUDA_LOG=$log "$MAM" run -- "$probe" after-captures > /dev/null 2>&1
calls=$(grep -c '^cuMemAlloc ' "$log")
same "the pool serves again when all captures have ended" 1 "$([ "$calls" -ge 1 ] && [ "$calls" -le 12 ] && echo 1)"
rm -f "$log"

lag() # POLICY SCENE - with 0.3 s of work in flight
{
	FAKE_CUDA_LAG_US=300000 "$MAM" run --free "$1" -- "$probe" "$2" > "$scratch/out" 2>&1
	grep -E 'waited|same block|: [1-9]' "$scratch/out" | tr '\n' ';'
}
same "strict: the free waits, and the block is reused" \
	"the free waited: 1;cuMemFree_v2(a): 1;the allocation waited: 0;it got the same block: 1;" "$(lag strict in-flight)"
same "deferred: no call waits, and the block is not reused" \
	"the free waited: 0;cuMemFree_v2(a): 1;the allocation waited: 0;it got the same block: 0;" "$(lag deferred in-flight)"
same "stream: no call waits, and the block is reused" \
	"the free waited: 0;cuMemFree_v2(a): 1;the allocation waited: 0;it got the same block: 1;" "$(lag stream in-flight)"
for policy in strict deferred; do
	same "$policy: a stream-ordered free does not wait, and the block is not reused" \
		"the two waited: 0;it got the same block: 0;" "$(lag $policy in-flight-async)"
done
same "stream: a stream-ordered free does not wait, and the block is reused" \
	"the two waited: 0;it got the same block: 1;" "$(lag stream in-flight-async)"
for policy in strict deferred stream; do
	for scene in strict strict-mapped; do
		run="--free $policy" set='FAKE_CUDA_LAG_US=1000000 FAKE_CUDA_CLOCK_NS=10' \
			same_run "$policy: a strict free of libmam.so in the program waits: $scene" "$probes/probe_library" $scene
	done
done
FAKE_CUDA_MEMORY=256M
MAM_STATS_FILE=$scratch/stats
MAM_STATS=1
export FAKE_CUDA_MEMORY MAM_STATS_FILE MAM_STATS
same "deferred, full: the allocation waits" "the allocation waited: 1;" "$(lag deferred in-flight-full)"
same "deferred, full: the block is reused without a driver call" 0 "$(stat_of driver_shrinks)"
unset FAKE_CUDA_MEMORY MAM_STATS_FILE MAM_STATS

# A device of 1 GiB: 1,000 blocks of 200 MiB one after another.
for policy in strict deferred stream; do
	run="--free $policy" same_run "$policy: idle" "$probe" idle
	same "$policy: idle: the memory of one block suffices" 1 \
		"$([ "$(stat_of peak_reserved_bytes)" -le $((210 * 1048576)) ] && echo 1)"
	run="--free $policy" same_run "$policy: idle, 60 MiB" "$probe" idle-small
	same "$policy: idle, 60 MiB: the first 64 MiB suffice" "0 1" \
		"$(stat_of driver_shrinks) $([ "$(stat_of peak_reserved_bytes)" -le $((64 * 1048576)) ] && echo 1)"
done

for policy in strict deferred stream; do
	run="--free $policy" same_run "$policy: stream-ordered frees" "$probe" async
	run="--free $policy" set=FAKE_CUDA_LAG_US=300000 same_run "$policy: stream-ordered frees of busy blocks" "$probe" async
done
finish
