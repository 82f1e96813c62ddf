#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# window.sh - a program under mam run starts and stops profiles of itself (mam/profile.h).
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_window
PROBE_FILE=$scratch/profile
export PROBE_FILE

play() # SCENE [OPTION...]
{
	play_scene=$1
	shift
	rm -f "$scratch"/profile.*
	"$MAM" run "$@" -- "$probe" "$play_scene" 2> "$scratch/err" | tr '\n' ',' > "$scratch/out"
}

# The sizes of a file's blocks that have a stack, and its frees.
events() # FILE
{
	gzip -dcf < "$1" | sed -n 's/^a [0-9]* \([0-9]*\) .* stack=[1-9].*/\1/p; s/^f .*/f/p' | tr '\n' ' ' | sed 's/ $//'
}

play windows
same "two windows: the results" "start 0,start again 13,stop 0,stop again 1,start 0,stop 0," "$(cat "$scratch/out")"
same "each has what was allocated in it, with stacks" "2000|4000 f" "$(events "$PROBE_FILE.1")|$(events "$PROBE_FILE.2")"
same "each has its frames" "1 1" "$(for file in 1 2; do
	gzip -dcf < "$PROBE_FILE.$file" | grep -c '^#frame .* native ' | sed 's/^[1-9][0-9]*/1/'
done | tr '\n' ' ' | sed 's/ $//')"
same "a complete file has no ring" "" "$(find "$scratch" -name 'profile.*.ring')"
play windows --trace "$scratch/profile.trace"
same "with --trace: refused" "start 13,start again 13,stop 1,stop again 1,start 13,stop 1," "$(cat "$scratch/out")"

# Blocks of libmam's pools. Without mam run, libmam.so loads the recorder.
begins_alone()
{
	rm -f "$scratch"/profile.*
	LD_LIBRARY_PATH=$MAM_BUILDDIR/tests/fake/lib "$probe" "$1" 2> "$scratch/err" | tr '\n' ',' > "$scratch/out"
}

check_pools() # HOW
{
	same "$1: blocks of pools: the results" "start 0,stop 0,start 0," "$(cat "$scratch/out")"
	same "$1: no messages" "" "$(cat "$scratch/err")"
	same "$1: what was allocated and freed" "2000 f 2500 f|4000 f 5000" "$(events "$PROBE_FILE.1")|$(events "$PROBE_FILE.2")"
	same "$1: tags, devices and streams" "tag=weights|device=0|stream=2" "$(gzip -dcf < "$PROBE_FILE.1" |
		sed -n 's/^a .* 2000 .*\(tag=[^ ]*\).*/\1/p; s/^a .* 2500 .*\(device=[^ ]*\).*/\1/p
			s/^f .*\(stream=[^ ]*\).*/\1/p' | tr '\n' '|' | sed 's/|$//')"
	try "$1: the inner frame is the program's" grep -q take_from "$scratch/tree"
	same "$1: a block of an abandoned pool" 1 "$(gzip -dcf < "$PROBE_FILE.2" | grep -c '^f .* implied=yes')"
	same "$1: a complete file has no ring" "" "$(find "$scratch" -name 'profile.*.ring')"
}

play pools
"$MAM" profile --plain "$PROBE_FILE.2" > "$scratch/tree"
check_pools "mam run"
begins_alone pools
"$MAM" profile --plain "$PROBE_FILE.2" > "$scratch/tree"
check_pools "without mam run"
play pools --trace "$scratch/profile.trace"
same "with --trace: also blocks before it" "1000 2000 2500 3000 4000 5000" "$(gzip -dcf < "$scratch/profile.trace" |
	sed -n 's/^a [0-9]* \([0-9]*\) .*/\1/p' | tr '\n' ' ' | sed 's/ $//')"
play left --leaks="$scratch/leaks"
same "--leaks has blocks of pools, and no chunks" "cuMemAlloc_v2 4000 mam_malloc 3000 mam_malloc 1000" \
	"$(sed -n 's/^.*(\([0-9]*\) bytes), by \([a-zA-Z_0-9]*\),.*/\2 \1/p' "$scratch/leaks" | tr '\n' ' ' | sed 's/ $//')"
same "their stacks begin in the program" "" "$(grep '#0' "$scratch/leaks" | grep -v probe_window)"
play small_stack --trace "$scratch/profile.trace"
same "a thread with the smallest stack opens the trace" "create 0,|1000" "$(cat "$scratch/out")|$(gzip -dcf < "$scratch/profile.trace" |
	sed -n 's/^a [0-9]* \([0-9]*\) .*/\1/p')"
begins_alone windows
same "without mam run, CUDA's own blocks are not recorded" "start 0,start again 13,stop 0,stop again 1,start 0,stop 0,|" \
	"$(cat "$scratch/out")|$(events "$PROBE_FILE.1")"

# Dumped events are in the file, and the others in its ring, with the number of each event.
for scene in dumped dumped_killed; do
	for how in play begins_alone; do
		$how $scene 2> "$scratch/shell"
		same "$how $scene: the results" "dump 1,start 0,dump 0,dump again 0," "$(cat "$scratch/out")"
		same "$how $scene: the file alone" "2000|tag=weights" "$(events "$PROBE_FILE.1")|$(
			gzip -dcf < "$PROBE_FILE.1" | sed -n 's/^a .* \(tag=[^ ]*\).*/\1/p')"
		same "$how $scene: with its ring" "allocs 2" "$("$MAM" replay --plain -r 1 "$PROBE_FILE.1" | sed -n 's/^allocs	/allocs /p')"
	done
done
"$MAM" profile "$PROBE_FILE.1.ring" > "$scratch/out" 2> "$scratch/err"
same "a ring alone is refused" "2 mam profile: error: '$PROBE_FILE.1.ring' has only the last events of a trace; read the file of that name without '.ring'" \
	"$? $(cat "$scratch/err")"
begins_alone dump_full
same "a dump that cannot be written" "start 0,dump 14,dump again 14,|1" "$(cat "$scratch/out")|$(grep -c "ends early: .*too large" "$scratch/err")"
begins_alone pool_forks
same "without mam run, fork: the results" "start 0,child stop 1,child start 0,child stop 0,stop 0," "$(cat "$scratch/out")"
same "without mam run, fork: each has its own" "3000|2000" "$(events "$PROBE_FILE.1")|$(events "$PROBE_FILE.2")"
begins_alone pool_threads
same "without mam run, 20 windows with a dump while four threads allocate" "60 of 60," "$(cat "$scratch/out")"
try "the last one has the block of its thread" [ "$(events "$PROBE_FILE.1" | tr ' ' '\n' | grep -c 7000)" = 1 ]
FAKE_CUDA_FAIL_AT=cuInit:1+ begins_alone no_pool
same "without mam run, an allocation without a pool" "start 0,refused 1,refused 1,stop 0," "$(cat "$scratch/out")"

play mistakes
same "mistakes" "NULL 1,empty 1,no folder 14,stop 1,start 0," "$(cat "$scratch/out")"
try "a file that cannot be written is explained" grep -q "cannot write profile '/none/of/these': No such file" "$scratch/err"
same "the end of the process ends a profile" 1000 "$(events "$PROBE_FILE.1")"

play forked
same "fork: the results" "start 0,child stop 1,child start 0,child stop 0,stop 0," "$(cat "$scratch/out")"
same "fork: each has its own" "3000|2000" "$(events "$PROBE_FILE.1")|$(events "$PROBE_FILE.2")"

play threads
same "20 windows while four threads allocate" "40 of 40," "$(cat "$scratch/out")"
try "the last one has the block of its thread" [ "$(events "$PROBE_FILE.1" | tr ' ' '\n' | grep -c 7000)" = 1 ]
try "and can be replayed" "$MAM" replay --plain -r 1 "$PROBE_FILE.1"

XDG_RUNTIME_DIR=$scratch/run
export MAM XDG_RUNTIME_DIR
mkdir -m 700 "$XDG_RUNTIME_DIR"
play replaced
same "mam ctl ends the profile, and its own trace goes on" "start 0,ctl 0,ctl 0,stop 1,ctl 0," "$(cat "$scratch/out")"
same "that trace has the block" 1 "$(gzip -dcf < "$PROBE_FILE.2" | grep -c '^a [0-9]* 2000 ')"
finish
