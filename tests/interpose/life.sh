#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# life.sh - calls from anywhere in a process's life, with mam as without: probe_life.c says what each scene does.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_life
for policy in strict deferred stream; do
	run="--free $policy"
	set=PROBE_EARLY=1 same_run "$policy: before-main" "$probe" before-main
	same "$policy: before-main: nothing went past the pool" 0 "$(stat_of forwarded)"
	for scene in signals vforks closes ends ends-in-thread; do
		same_run "$policy: $scene" "$probe" $scene
		same "$policy: $scene: nothing went past the pool" 0 "$(stat_of forwarded)"
	done
done

# Ends that run no destructor: the statistics are there, with two blocks of which one is freed.
run=
counted() # NAME FREES
{
	same "$1: counted" "2 $2" "$(stat_of allocs) $(stat_of frees)"
}
for scene in leaves leaves-by-c leaves-in-handler leaves-shared; do
	same_run "$scene" "$probe" $scene
	counted "$scene" 1
done
same "leaves-shared: no note is left behind" "" "$(notes_left_by "$probe" leaves-shared)"
same_run "leaves-quickly" "$probe" leaves-quickly
counted "leaves-quickly" 2
same_run "vfork-leaves" "$probe" vfork-leaves
counted "vfork-leaves" 2
same "vfork-leaves: the child writes nothing" "" "$(ls "$scratch"/stats.* 2> /dev/null)"
same_run "fork-leaves" "$probe" fork-leaves
counted "fork-leaves" 1
same "fork-leaves: the child that used CUDA by itself has its own, the other one none" "allocs	2" \
	"$(cat "$scratch"/stats.* | grep allocs)"
rm -f "$scratch"/stats.*
same "a table for people" 1 "$("$MAM" run --stats -- "$probe" leaves 2>&1 | grep -c '^mam: .*process')"

# Who stands behind mam is asked to end the process.
cat > "$scratch/behind.c" << 'END'
#include <sys/syscall.h>
#include <unistd.h>
void _exit(int status)
{
	if (write(1, "behind\n", 7) != 7)
		status = 99;
	for (;;)
		syscall(SYS_exit_group, status + 1);
}
END
if $CC -shared -fPIC -o "$scratch/behind.so" "$scratch/behind.c" 2> "$scratch/err"; then
	LD_PRELOAD=$scratch/behind.so "$MAM" run -- "$probe" leaves > "$scratch/out" 2>&1
	same "an _exit of another object behind mam's is called" "4 behind" "$? $(tail -n 1 "$scratch/out")"
else
	not_ok "an _exit of another object behind mam's is called" "$(lib_tail "$scratch/err")"
fi

# Where it would not be safe the process ends at once, and with its status in any case.
caught=none
set=FAKE_CUDA_LAG_US=3000000 same_run "leaves-inside" "$probe" leaves-inside
same "leaves-inside: nothing is written by who may hold a lock" "" "$(ls "$scratch/stats" 2> /dev/null)"
set=
same_run "leaves-on-other-stack" "$probe" leaves-on-other-stack
same "leaves-on-other-stack: nor on a stack of unknown size" "" "$(ls "$scratch/stats" 2> /dev/null)"
unset caught
mkfifo "$scratch/pipe"
MAM_STATS=1 MAM_STATS_FILE=$scratch/pipe LD_PRELOAD=$MAM_BUILDDIR/.libs/libmam-preload.so \
	timeout 20 "$probe" leaves > /dev/null 2>&1
same "a pipe that nobody reads does not keep it" 3 $?
finish
