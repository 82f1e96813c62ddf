#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kept.sh - memory that the driver keeps cached. When a device is full, the driver's pools of that
# device are trimmed, and those of other devices are not. Memory of graphs counts under --limit, and
# is trimmed when the limit is reached. The scenes are in probe_kept.c. Without mam the fake driver
# trims nothing.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_kept
log=$scratch/log

# Result codes of a scene's calls in their order, without those of its setup.
codes() # VARIABLES OPTIONS SCENE
{
	rm -f "$log" "$scratch/stats"
	# shellcheck disable=SC2086 # variables and options are words
	env FAKE_CUDA_LOG="$log" $1 "$MAM" run --stats="$scratch/stats" --log error $2 -- "$probe" "$3" \
		> "$scratch/out" 2> "$scratch/err"
	codes_status=$?
	grep -E '^(cuMemAlloc_v2|cuMemCreate|cuGraphAdd|add_|cuMemAllocAsync\(&[ab], [2340]+ |cuGraphLaunch|free)' \
		"$scratch/out" | sed 's/.*: //; s/^free //; s/ MiB$//' | grep -v '^$' | paste -s -d ' '
	[ $codes_status -eq 0 ] || echo "status $codes_status"
}
calls() # NAME
{
	grep -c "^$1 " "$log"
}

full=FAKE_CUDA_MEMORY=64M
for policy in strict deferred stream; do
	same "$policy: each kind of memory can use what the driver's pool cached" "0 0 0 0 0 0 0 2" \
		"$(codes $full "--free $policy --growth 2M" pools)"
done
try "the pool is trimmed" test "$(calls cuMemPoolTrimTo)" -ge 3
same "graph memory is not trimmed when there is no graph" 0 "$(calls cuDeviceGraphMemTrim)"
"$MAM" run --log error -- "$probe" trim > "$scratch/out" 2>&1
same "a request larger than the device trims the pool too" "40 0" "$(sed -n 's/^kept \([0-9]*\) MiB$/\1/p' "$scratch/out" | paste -s -d ' ')"
same "the current pool is trimmed too" "0 0" "$(codes $full "" current-pool)"
for call in cuMemPoolTrimTo:1+ cuDeviceGetDefaultMemPool:1+; do
	codes "$full FAKE_CUDA_FAIL_AT=$call:999" "--growth 2M" pools > "$scratch/codes"
	same "$call fails: out of memory, as without mam" "$(env $full FAKE_CUDA_FAIL_AT="$call:999" "$probe" pools |
		grep -cE '^cuMem(Alloc_v2|Create).*: 2$')" "$(grep -cE '^cuMem(Alloc_v2|Create).*: 2$' "$scratch/out")"
done
codes "$full FAKE_CUDA_DEVICES=2" "" other-device > /dev/null
pool=$(sed -n 's/^cuMemAllocAsync.*//; s/^cuMemPoolSetAttribute pool=\([^ ]*\) .*/\1/p' "$log")
same "the pool of another device is not trimmed" 0 "$(grep -c "^cuMemPoolTrimTo pool=$pool " "$log")"
try "the pool of the requested device is trimmed" test "$(calls cuMemPoolTrimTo)" -ge 1

# 70 MiB through five functions exceed the limit. 40 MiB fit, until a graph holds them. The driver
# rejects a NULL.
limit='--limit 64M --growth 2M'
same "graph memory counts under --limit" "0 2 2 2 2 2 2 1 1 0 0 0 0 24 0 0 0 32" "$(codes "" "$limit" graphs)"
same "the driver gets no node above the limit" 1 "$(grep -c '^cuGraphAddMemAllocNode bytes=.*result=0' "$log")"
same "nodes are counted" "1 2 1 1" "$(stat_of call.cuGraphAddMemAllocNode.lookup.failed) $(stat_of \
	call.cuGraphAddMemAllocNode.driver.failed) $(stat_of call.cuGraphAddMemAllocNode.driver.forwarded) $(stat_of \
	call.cuGraphAddNode_v2.lookup.failed)"
same "peak of graph memory is reported" 41943040 "$(stat_of peak_graphs_bytes)"
same "graph memory that cannot be trimmed stays in the account" "0 2 2 2 2 2 2 1 1 0 0 0 0 24 0 2 2 24" \
	"$(codes FAKE_CUDA_FAIL_AT=cuDeviceGraphMemTrim:1+:999 "$limit" graphs)"
same "graph memory is unknown where the driver does not report it" "0 2 2 2 2 2 2 1 1 0 0 0 0 64 0 0 0 32" \
	"$(codes FAKE_CUDA_FAIL_AT=cuDeviceGetGraphMemAttribute:1+:999 "$limit" graphs)"
codes "" "$limit" captured > /dev/null
same "captured nodes: above the limit fails, the driver judges others" "2 2 801 0 0" \
	"$(sed -n 's/^cuMemAlloc.*: //p; s/^cuStreamEnd.*: //p' "$scratch/out" | paste -s -d ' ')"
try "captured nodes: graph memory is queried from then on" \
	test "$(calls cuDeviceGetGraphMemAttribute)" -ge 1
same "captured nodes: the reasons are counted" "2 1" "$(stat_of why.limit) $(stat_of why.capture)"
set=FAKE_CUDA_MEMORY=1G same_run "graphs without a limit" "$probe" graphs
same "graph memory is not queried while there are no nodes" 0 "$(codes "" "$limit" pools > /dev/null; calls cuDeviceGetGraphMemAttribute)"
finish
