#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# soak.sh [--hours N | --seconds N | --lives N] [--seed N] [--jobs N] [--gpu] - runs random programs on the library and
# under mam run (soak.h), one after the other, until the time is over. The test suite runs it for 60 seconds, or a share.
#
#   --seed N   of the first life, a process with random settings; the next one has N+1. Default: 1, or from the clock for
#              a run of hours
#   --lives N  this many instead of a time. A failure prints the options that play its life again
#   --jobs N   lives at the same time, which share limits; default 2, with --gpu 1
#   --gpu      the machine's driver instead of the stand-in; then nothing fails on purpose
#
# Environment: SOAK_PROGRAMS (folder of soak_library and soak_program; default: of the build), TEST_SHARE.
# Some lives under mam run are killed. A life that takes an hour hangs, and is ended with SIGABRT.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

refuse() # SENTENCE
{
	echo "soak.sh: error: $1" >&2
	lib_finished=yes
	exit 2
}

seconds=$((60 / ${TEST_SHARE:-1}))
lives=0
gpu=no
jobs=
seed=
first=1
while [ $# -gt 0 ]; do
	option=$1
	case $option in
	--gpu) gpu=yes ;;
	--hours | --seconds | --lives | --seed | --jobs)
		case ${2:-} in
		'' | *[!0-9]*) refuse "$option needs a number, not '${2:-}'" ;;
		esac
		case $option in
		--hours) seconds=$(($2 * 3600)) first=$(date +%s) ;;
		--seconds) seconds=$2 ;;
		--lives) lives=$2 ;;
		--seed) seed=$2 ;;
		--jobs) jobs=$2 ;;
		esac
		shift
		;;
	*) refuse "unexpected argument '$option'" ;;
	esac
	shift
done
seed=${seed:-$first}
programs=${SOAK_PROGRAMS:-$MAM_BUILDDIR/tests/stress}
if [ $gpu = yes ]; then
	: "${jobs:=1}"
else
	: "${jobs:=2}"
	LD_LIBRARY_PATH=$MAM_BUILDDIR/tests/fake/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
fi
[ "$jobs" -gt 0 ] || refuse "--jobs is at least 1"
[ "$jobs" -gt 1 ] || export SOAK_ALONE=1

pick() # N WORD... - one of the words, by a part of the life's seed. Sets picked
{
	pick_at=$(($1 % ($# - 1)))
	shift $((pick_at + 1))
	picked=$1
}

settings() # sets the environment and the arguments of one life from its seed, in a subshell
{
	draw=$(((life * 1103515245 + 12345) & 0x7fffffff))
	pick $((draw / 8)) 64M 128M 256M 1G
	export FAKE_CUDA_MEMORY="$picked"
	pick $((draw / 32)) 0 50 200 1000
	export FAKE_CUDA_LAG_US="$picked" FAKE_CUDA_LAG_RANDOM=$((life % 1000000000))
	pick $((draw / 128)) 1000 1000 1000 ''
	[ -z "$picked" ] || export FAKE_CUDA_CLOCK_NS="$picked"
	pick $((draw / 512)) 8 16 16 32 64
	rounds=$picked
	export MAM_LOG_FILE=/dev/null
}

play() # a life; the exit status is 0 if it is as it should be
{
	settings
	set -- "$life" "$rounds" 300
	if [ $((life % 2)) -eq 0 ] || [ $preload = no ]; then
		timeout -s ABRT 3600 "$programs/soak_library" "$@"
		return
	fi
	killed=no
	set -- "$programs/soak_program" "$@"
	pick $((draw / 4096)) strict strict deferred deferred stream
	[ "$picked" != stream ] || export SOAK_ORDERED=1
	set -- "--free=$picked" -- "$@"
	pick $((draw / 32768)) cudamalloc vmm
	set -- "--source=$picked" "$@"
	pick $((draw / 65536)) '' --limit=48M --limit=100M
	[ -z "$picked" ] || set -- "$picked" "--limit-shared=$scratch/limit" "$@"
	pick $((draw / 262144)) --leaks="$scratch/leaks.$life" --trace="$scratch/trace.$life" --stats="$scratch/stats.$life" \
		--profile="$scratch/profile.$life" --oom-report="$scratch/oom" ''
	[ -z "$picked" ] || set -- "$picked" "$@"
	if [ $((life % 16)) -eq 5 ]; then
		killed=yes
		set -- timeout -s KILL "0.$((draw % 9 + 1))" "$MAM" run "$@"
	else
		set -- timeout -s ABRT 3600 "$MAM" run "$@"
	fi
	"$@"
	status=$?
	rm -rf "$scratch/leaks.$life"* "$scratch/trace.$life"* "$scratch/stats.$life"* "$scratch/profile.$life"* "$scratch/oom"
	[ $killed-$status = yes-137 ] || return $status
}

preload=yes
case ${CFLAGS:-} in
*-fsanitize=*)
	preload=no
	skip "lives under mam run" "a sanitizer in the preload object needs one in the program"
	;;
esac
begun=$(date +%s)
life=$seed
echo "# soak: the first seed is $seed"
while
	if [ "$lives" -gt 0 ]; then
		[ $((life - seed)) -lt "$lives" ]
	else
		[ $(($(date +%s) - begun)) -lt "$seconds" ]
	fi
do
	started=
	for job in $(seq "$jobs"); do
		[ "$lives" -gt 0 ] && [ $((life - seed)) -ge "$lives" ] && break
		(play) > "$scratch/out.$life" 2>&1 &
		started="$started $!:$life"
		life=$((life + 1))
	done
	for job in $started; do
		wait "${job%:*}"
		status=$?
		[ $status -eq 0 ] ||
			not_ok "life ${job#*:}" "status $status: $(lib_tail "$scratch/out.${job#*:}"); again: --seed ${job#*:} --lives 1"
		rm -f "$scratch/out.${job#*:}"
	done
	[ "$lib_failed" -lt 10 ] || break
done
[ "$lib_failed" -gt 0 ] || ok "$((life - seed)) lives from seed $seed on"
finish
