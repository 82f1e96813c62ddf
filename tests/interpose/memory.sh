#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# memory.sh - pointers in this process and in another one, and contexts that share memory or have
# faulted, behave with mam as without it. The scenes are described in probe_memory.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_memory

for policy in strict deferred; do
	run="--free $policy"
	for scene in ranges attributes buffer-ids green green-alone aligned; do
		same_run "$policy: $scene" "$probe" $scene
	done
done
run=

# The driver cannot set SYNC_MEMOPS on mapped memory: error 801, and a message names the option.
# Everything else is as without mam.
no_flag() # SCENE
{
	"$probe" "$1" | sed 's/^\(cuPointerSetAttribute(&on, .*\): 0$/\1: 801/; s/^after 1,/after 0,/; s/^peer: on 1/peer: on 0/' > "$scratch/wanted"
	"$MAM" run -- "$probe" "$1" > "$scratch/out" 2> "$scratch/err"
	try "$1, without SYNC_MEMOPS" cmp "$scratch/wanted" "$scratch/out"
	same "$1: one message" 1 "$(grep -c 'warning: .*SYNC_MEMOPS cannot .*; use --source=cudamalloc$' "$scratch/err")"
}
# With a driver that sets the flag on all memory, programs can set and clear it on either source.
for policy in strict deferred; do
	for scene in synchronous resets processes; do
		set=FAKE_CUDA_SYNC_MEMOPS=1 run="--free $policy" same_run "$policy: $scene, set at first" "$probe" $scene
	done
done
for call in 1 2 3; do
	set="FAKE_CUDA_SYNC_MEMOPS=1 FAKE_CUDA_FAIL_AT=cuPointerSetAttribute:$call" same_run "set at first, call $call fails" \
		"$probe" synchronous
done
if [ "$MAM_SOURCE" = vmm ]; then
	no_flag synchronous
	no_flag resets
else
	for policy in strict deferred; do
		run="--free $policy" same_run "$policy: synchronous" "$probe" synchronous
		run="--free $policy" same_run "$policy: resets" "$probe" resets
	done
	for call in 1 2 3; do
		set=FAKE_CUDA_FAIL_AT=cuPointerSetAttribute:$call same_run "SYNC_MEMOPS, call $call fails" "$probe" synchronous
	done
	# One thread sets the attribute on a block of a chunk while another unsets it on a neighbor. The
	# driver knows only the chunk, which must be set at the end.
	rm -f "$scratch/log"
	FAKE_CUDA_LOG=$scratch/log "$MAM" run -- "$probe" toggles > "$scratch/out" 2>&1
	same "a chunk's last flag is that of the block that still has it" "the first 1, the second 0 4000 of 4000" \
		"$(tail -n 1 "$scratch/out") $(awk '
		/^cuPointerSetAttribute .*value=/ { on = $0 ~ /value=1/ }
		/^cuMemsetD8 / { rounds++; right += on }
		END { print right " of " rounds }' "$scratch/log")"
fi

# A context with a sticky error returns it from every call. A free that does not wait does not see
# it.
set=FAKE_CUDA_STICKY_AFTER=cuMemsetD8:1 same_run "context with a sticky error" "$probe" broken
sed 's/^cuMemFree_v2(b): 700/cuMemFree_v2(b): 0/' "$scratch/plain" > "$scratch/wanted"
FAKE_CUDA_STICKY_AFTER=cuMemsetD8:1 "$MAM" run --free deferred -- "$probe" broken > "$scratch/caught" 2>&1
try "deferred: context with a sticky error" cmp "$scratch/wanted" "$scratch/caught"

# Under mam another process can open the handle of a block, and can do so in no other way.
if [ "$MAM_SOURCE" = vmm ]; then
	no_flag processes
else
	same_run "processes" "$probe" processes
	same "every call is intercepted" "" "$(grep 'failed' "$scratch/caught.err")"
	# The second close; of these, mam passes only the last one of a block to the driver.
	set=FAKE_CUDA_FAIL_AT=cuIpcCloseMemHandle:2 set_mam=FAKE_CUDA_FAIL_AT=cuIpcCloseMemHandle:1 same_run \
		"processes, and a block that is not closed" "$probe" processes
fi
same "no note remains" "" "$(notes_left_by "$probe" processes)"
same_run "corrupt handles" "$probe" hostile
run='--ipc dedicated' same_run "--ipc=dedicated: processes" "$probe" processes
rm -f "$scratch/log"
FAKE_CUDA_LOG=$scratch/log "$MAM" run --ipc dedicated:3M -- "$probe" processes > /dev/null 2>&1
same "--ipc=dedicated:3M: the driver allocates such blocks" 4 "$(grep -c '^cuMemAlloc .*bytes=3145728' "$scratch/log")"
"$MAM" run --ipc some true 2> "$scratch/err"
same "an invalid --ipc is rejected" 2 $?

# The driver serves blocks larger than --pass-above.
rm -f "$scratch/log"
FAKE_CUDA_LOG=$scratch/log "$MAM" run --pass-above 4M --stats="$scratch/stats" -- "$probe" ranges > /dev/null 2>&1
same "--pass-above: the driver allocates the larger block" 1 "$(grep -c '^cuMemAlloc .*bytes=5242881' "$scratch/log")"
same "--pass-above: the statistics give the reason" 1 "$(stat_of why.large)"
finish
