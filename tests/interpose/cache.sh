#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cache.sh - threads of an unmodified program cache the blocks that they free, and nothing is lost
# by that: no memory, no error, no count. The scenes are described in probe_cache.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_cache

for policy in strict stream; do
	same "$policy: a thread reuses the block that it freed last" "the newest was reused: 1" \
		"$("$MAM" run --free $policy -- "$probe" newest | tail -1)"
	same "$policy: MAM_CACHE=off is respected" "the newest was reused: 0" \
		"$(MAM_CACHE=off "$MAM" run --free $policy -- "$probe" newest | tail -1)"
done
# Blocks of a thread share a fence: 64 of them, or fewer if the pool would have to map memory.
FAKE_CUDA_LOG=$scratch/log "$MAM" run --free deferred --stats="$scratch/stats" -- "$probe" pairs > /dev/null
fences=$(grep -c '^cuCtxRecordEvent ' "$scratch/log")
same "deferred: blocks share fences" "6400 0 1" \
	"$(stat_of frees) $(stat_of live_blocks) $([ "$fences" -ge 90 ] && [ "$fences" -le 400 ] && echo 1)"
same "deferred: few blocks are in quarantine" 1 \
	"$([ "$(stat_of retired_peak_bytes)" -le $((3 * 64 * 70000)) ] && echo 1)"
rm -f "$scratch/log"

for policy in strict stream deferred; do
	run="--free $policy"
	same_run "$policy: double frees and interior pointers" "$probe" mistakes
	set=FAKE_CUDA_MEMORY=60M same_run "$policy: the memory of other threads is found" "$probe" full
	same "$policy: no request was forwarded" 0 "$(stat_of forwarded)"
	set=FAKE_CUDA_MEMORY=180M same_run "$policy: freed blocks join before a large one is placed" \
		"$probe" joined
	set=FAKE_CUDA_MEMORY=60M same_run "$policy: the memory of threads that ended is found" "$probe" ended
	same "$policy: no request was forwarded then" 0 "$(stat_of forwarded)"
	same_run "$policy: threads free blocks of each other" "$probe" counts
	same "$policy: all are counted" "$(sed -n 's/^blocks: //p' "$scratch/caught") 0 0" \
		"$(stat_of frees) $(stat_of live_blocks) $(stat_of live_bytes)"
done
finish
