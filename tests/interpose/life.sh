#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# life.sh - calls at any time in a process's life behave with mam as without it. The scenes are
# described in probe_life.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_life
for policy in strict deferred stream; do
	run="--free $policy"
	set=PROBE_EARLY=1 same_run "$policy: before-main" "$probe" before-main
	same "$policy: before-main: no call bypasses the pool" 0 "$(stat_of forwarded)"
	for scene in signals vforks closes ends ends-in-thread; do
		same_run "$policy: $scene" "$probe" $scene
		same "$policy: $scene: no call bypasses the pool" 0 "$(stat_of forwarded)"
	done
done

# Ways to exit that run no destructor: the statistics are written, with two blocks of which one is
# freed.
run=
counted() # NAME FREES
{
	same "$1: calls are counted" "2 $2" "$(stat_of allocs) $(stat_of frees)"
}
for scene in leaves leaves-by-c leaves-in-handler leaves-shared; do
	same_run "$scene" "$probe" $scene
	counted "$scene" 1
done
same "leaves-shared: no note remains" "" "$(notes_left_by "$probe" leaves-shared)"
same_run "leaves-quickly" "$probe" leaves-quickly
counted "leaves-quickly" 2
same_run "vfork-leaves" "$probe" vfork-leaves
counted "vfork-leaves" 2
same "vfork-leaves: the child writes nothing" "" "$(ls "$scratch"/stats.* 2> /dev/null)"
same_run "fork-leaves" "$probe" fork-leaves
counted "fork-leaves" 1
same "fork-leaves: only the child that used CUDA itself writes statistics" "allocs	2" \
	"$(cat "$scratch"/stats.* | grep allocs)"
rm -f "$scratch"/stats.*
same "a table is printed" 1 "$("$MAM" run --stats -- "$probe" leaves 2>&1 | grep -c '^mam: .*process')"

# A fork while another thread begins to use mam.
same_run "forks-meanwhile" "$probe" forks-meanwhile
same "forks-early: every child can use mam" "400 of 400 children ended" \
	"$(timeout 300 "$MAM" run -- "$probe" forks-early 2> "$scratch/err")"

# A destroyed context leaves nothing at the addresses that its memory had, and no thread uses it.
for policy in strict deferred; do
	run="--free $policy --source cudamalloc"
	same_run "contexts-beside, $policy" "$probe" contexts-beside
done
run=

# mam calls the _exit of the object that is preloaded after it.
cat > "$scratch/next.c" << 'END'
#include <sys/syscall.h>
#include <unistd.h>
void _exit(int status)
{
	if (write(1, "next\n", 5) != 5)
		status = 99;
	for (;;)
		syscall(SYS_exit_group, status + 1);
}
END
if $CC -shared -fPIC -o "$scratch/next.so" "$scratch/next.c" 2> "$scratch/err"; then
	LD_PRELOAD=$scratch/next.so "$MAM" run -- "$probe" leaves > "$scratch/out" 2>&1
	same "mam calls an _exit defined by a later object" "4 next" "$? $(tail -n 1 "$scratch/out")"
else
	not_ok "mam calls an _exit defined by a later object" "$(lib_tail "$scratch/err")"
fi

# Where it would be unsafe to write anything, the process ends at once. It always keeps its exit
# status.
caught=none
set=FAKE_CUDA_LAG_US=3000000 same_run "leaves-inside" "$probe" leaves-inside
same "leaves-inside: a thread that may hold a lock writes nothing" "" "$(ls "$scratch/stats" 2> /dev/null)"
set=
same_run "leaves-on-other-stack" "$probe" leaves-on-other-stack
same "leaves-on-other-stack: nothing is written on a stack of unknown size" "" "$(ls "$scratch/stats" 2> /dev/null)"
unset caught
mkfifo "$scratch/pipe"
MAM_STATS=1 MAM_STATS_FILE=$scratch/pipe LD_PRELOAD=$MAM_BUILDDIR/.libs/libmam-preload.so \
	timeout 20 "$probe" leaves > /dev/null 2>&1
same "a pipe without a reader does not block the exit" 3 $?
finish
