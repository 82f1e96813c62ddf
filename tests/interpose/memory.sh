#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# memory.sh - what a pointer is, here and in another process, and contexts that share or break, with mam as without:
# probe_memory.c says what each scene does.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_memory

for policy in strict deferred; do
	run="--free $policy"
	for scene in ranges attributes buffer-ids synchronous green resets aligned; do
		same_run "$policy: $scene" "$probe" $scene
	done
done
run=
# One thread sets a block of a chunk while another unsets its neighbour: the chunk, which is all that the driver knows, is
# set in the end.
rm -f "$scratch/log"
FAKE_CUDA_LOG=$scratch/log "$MAM" run -- "$probe" toggles > "$scratch/out" 2>&1
same "the last flag of a chunk is that of the block that has it" "the first 1, the second 0 4000 of 4000" \
	"$(tail -n 1 "$scratch/out") $(awk '
	/^cuPointerSetAttribute .*value=/ { on = $0 ~ /value=1/ }
	/^cuMemsetD8 / { rounds++; right += on }
	END { print right " of " rounds }' "$scratch/log")"
# A broken context says so at every call; a free that does not wait does not ask it.
set=FAKE_CUDA_STICKY_AFTER=cuMemsetD8:1 same_run "a context that broke" "$probe" broken
sed 's/^cuMemFree_v2(b): 700/cuMemFree_v2(b): 0/' "$scratch/plain" > "$scratch/wanted"
FAKE_CUDA_STICKY_AFTER=cuMemsetD8:1 "$MAM" run --free deferred -- "$probe" broken > "$scratch/caught" 2>&1
try "deferred: a context that broke" cmp "$scratch/wanted" "$scratch/caught"

# A block's handle works in a peer under mam, and in none without.
same_run "processes" "$probe" processes
same "and every call on it was caught" "" "$(grep 'failed' "$scratch/caught.err")"
same "no note is left behind" "" "$(notes_left_by "$probe" processes)"
set=FAKE_CUDA_FAIL_AT=cuIpcCloseMemHandle:2 same_run "processes, and a block that is not closed" "$probe" processes
for call in 1 2 3; do
	set=FAKE_CUDA_FAIL_AT=cuPointerSetAttribute:$call same_run "copies' order, call $call refused" "$probe" synchronous
done
same_run "hostile handles" "$probe" hostile
run='--ipc dedicated' same_run "--ipc=dedicated: processes" "$probe" processes
rm -f "$scratch/log"
FAKE_CUDA_LOG=$scratch/log "$MAM" run --ipc dedicated:3M -- "$probe" processes > /dev/null 2>&1
same "--ipc=dedicated:3M: such blocks are the driver's own" 4 "$(grep -c '^cuMemAlloc .*bytes=3145728' "$scratch/log")"
"$MAM" run --ipc some true 2> "$scratch/err"
same "a bad --ipc" 2 $?

# What is larger than --pass-above is the driver's.
rm -f "$scratch/log"
FAKE_CUDA_LOG=$scratch/log "$MAM" run --pass-above 4M --stats="$scratch/stats" -- "$probe" ranges > /dev/null 2>&1
same "--pass-above: the larger block is the driver's" 1 "$(grep -c '^cuMemAlloc .*bytes=5242881' "$scratch/log")"
same "--pass-above: the statistics say why" 1 "$(stat_of why.large)"
finish
