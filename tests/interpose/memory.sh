#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# memory.sh - what a pointer is, memory of every kind, processes and contexts, with mam as without: probe_memory.c says
# what each scene does.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_memory

for policy in strict deferred; do
	run="--free $policy"
	for scene in ranges attributes buffer-ids synchronous kinds pitches green; do
		same_run "$policy: $scene" "$probe" $scene
	done
done
run=
# A broken context says so at every call; a free that does not wait does not ask it.
set=FAKE_CUDA_STICKY_AFTER=cuMemsetD8:1 same_run "a context that broke" "$probe" broken
sed 's/^cuMemFree_v2(b): 700/cuMemFree_v2(b): 0/' "$scratch/plain" > "$scratch/wanted"
FAKE_CUDA_STICKY_AFTER=cuMemsetD8:1 "$MAM" run --free deferred -- "$probe" broken > "$scratch/caught" 2>&1
try "deferred: a context that broke" cmp "$scratch/wanted" "$scratch/caught"

# A block's handle works in a peer under mam, and in none without.
same_run "processes" "$probe" processes
same "and every call on it was caught" "" "$(grep 'failed' "$scratch/caught.err")"
same "no note is left behind" "" "$(find /dev/shm -maxdepth 1 -name "mam-ipc-$(id -u)-*" -newer "$scratch/plain" 2> /dev/null)"
same_run "hostile handles" "$probe" hostile
run='--ipc dedicated' same_run "--ipc=dedicated: processes" "$probe" processes
rm -f "$scratch/log"
FAKE_CUDA_LOG=$scratch/log "$MAM" run --ipc dedicated:3M -- "$probe" processes > /dev/null 2>&1
same "--ipc=dedicated:3M: such blocks are the driver's own" 4 "$(grep -c '^cuMemAlloc .*bytes=3145728' "$scratch/log")"
"$MAM" run --ipc some true 2> "$scratch/err"
same "a bad --ipc" 2 $?

# The limit is one for all kinds of memory on a device, and exact.
"$MAM" run --limit 64M --growth 2M -- "$probe" limit > "$scratch/caught" 2> "$scratch/err"
same "--limit: 60 MiB of three kinds fit, 6 more do not, 4 do; what is freed can be had again" \
	"0 0 0 0 0 0 2 2 2 2 0 0 0 0 0 0 0 0 40 1024" "$(sed 's/.*: //' "$scratch/caught" | tr '\n' ' ' | sed 's/ $//')"
try "and says what to do" grep -q 'raise --limit' "$scratch/err"
"$MAM" run --log error --limit 64M --growth 2M -- "$probe" limit 2>&1 > /dev/null | grep -v ms_per > "$scratch/err"
same "--log error says nothing" "" "$(cat "$scratch/err")"

# What is larger than --pass-above is the driver's.
rm -f "$scratch/log"
FAKE_CUDA_LOG=$scratch/log "$MAM" run --pass-above 4M --stats="$scratch/stats" -- "$probe" ranges > /dev/null 2>&1
same "--pass-above: the larger block is the driver's" 1 "$(grep -c '^cuMemAlloc .*bytes=5242881' "$scratch/log")"
same "--pass-above: the statistics say why" 1 "$(stat_of why.large)"
finish
