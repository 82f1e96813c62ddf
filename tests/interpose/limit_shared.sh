#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# limit_shared.sh - with --limit-shared, --limit applies to the sum of all processes of a job, per
# physical device, whichever of them end or stop, and the file of the counters does not remain. The
# processes and the steps are those of probe_limit.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_limit
FAKE_CUDA_DEVICES=2
export FAKE_CUDA_DEVICES

# Runs the steps in one job, each with the result after "=", and compares.
job() # NAME STEP[=RESULT]...
{
	job_name=$1
	shift
	job_steps=
	for job_step; do
		case $job_step in
		[A-Z]:*=*)
			printf '%s %s\n' "${job_step%%=*}" "${job_step#*=}"
			job_steps="$job_steps ${job_step%%=*}" ;;
		[A-Z]:*)
			printf '%s\n' "$job_step"
			job_steps="$job_steps $job_step" ;;
		*)
			job_steps="$job_steps $job_step" ;;
		esac
	done > "$scratch/wanted"
	# shellcheck disable=SC2086 # steps are words
	"$MAM" run ${options---limit 64M --limit-shared} --growth 2M -- "$probe" $job_steps \
		> "$scratch/got" 2> "$scratch/err"
	if cmp -s "$scratch/wanted" "$scratch/got"; then
		ok "$job_name"
	else
		not_ok "$job_name" "$(diff "$scratch/wanted" "$scratch/got" | tr '\n' ' ' | cut -c 1-300)"
	fi
}

job "pools of two processes share the limit" \
	A:alloc:0:40=0 B:alloc:0:40=2 B:alloc:0:20=0 B:room=4 A:room=4 B:alloc:0:6=2 A:alloc:0:4=0 B:alloc:0:2=2
try "the message names the others' memory" \
	grep -Eq '^mam: warning: out of memory: .*; other processes use 40 MiB of the limit of 64 MiB: raise --limit or free memory$' \
	"$scratch/err"
options="--limit 64M --limit-shared --oom-report $scratch/reports" \
	job "the error is the same with a report" A:alloc:0:40=0 B:alloc:0:40=2
cat "$scratch"/reports/*.txt > "$scratch/report"
try "the report names the others' memory" grep -qx '  other processes          40.0 MiB of the limit' "$scratch/report"
try "its advice includes it" \
	grep -qx '  - the limit is too low: would fit with --limit=80M: needs 80.0 MiB, and --limit is 64.0 MiB' "$scratch/report"
job "all kinds count; freed memory serves another process" \
	A:managed:0:40=0 B:alloc:0:30=2 B:managed:0:30=2 A:free=0 B:alloc:0:64=0 A:managed:0:1=2
job "idle memory of the own pool is released first" \
	A:alloc:0:30=0 A:alloc:0:20=0 A:free=0 B:alloc:0:10=0 A:free=0 A:managed:0:54=0 B:managed:0:1=2
job "each physical device has its own limit" \
	A:alloc:0:60=0 B:alloc:0:10=2 B:alloc:1:60=0 A:alloc:1:10=2 A:alloc:1:4=0 B:alloc:0:4=0
job "devices are the same by their UUID, not by their number" \
	A:alloc:1:60=0 FAKE_CUDA_FIRST=1 B:alloc:0:10=2 B:room:0:0=4 B:alloc:1:60=0 A:alloc:0:60=0
job "a killed process returns its memory" \
	A:alloc:0:60=0 B:alloc:0:60=2 A:kill B:alloc:0:60=0 C:alloc:0:60=2 B:kill C:alloc:0:64=0
job "so do a process that exits, and one that calls _exit" \
	A:alloc:0:60=0 B:alloc:0:4=0 A:exit=ended B:alloc:0:60=0 C:alloc:0:10=2 B:_exit=ended C:alloc:0:64=0
job "and one that executes another program" \
	A:alloc:0:60=0 B:alloc:0:60=2 A:exec=ready B:alloc:0:60=0 A:alloc:0:60=2 A:alloc:0:4=0
job "a stopped process keeps its memory, and no other waits for it" \
	A:alloc:0:30=0 B:alloc:0:10=0 A:stop B:alloc:0:30=2 B:alloc:0:20=0 C:alloc:0:4=0 A:kill C:alloc:0:30=0
options='--limit 64M' job "without --limit-shared each process has a limit of its own" \
	A:alloc:0:60=0 B:alloc:0:60=0 A:alloc:0:10=2


# A second mam run beside a process that has 60 MiB. Prints the result of its request of 60 MiB.
beside() # OPTIONS OF THE FIRST, COMMAND
{
	# shellcheck disable=SC2086 # options are words
	"$MAM" run --limit 64M $1 -- "$probe" A:alloc:0:60 "!$2 -- $probe B:alloc:0:60" 2> "$scratch/err" | sed -n 's/^B:.* //p'
}
file=$scratch/limit
same "mam run under mam run shares the limit of that one" 2 "$(beside --limit-shared "$MAM run --limit 64M --limit-shared")"
same "mam run beside it has a limit of its own" 0 \
	"$(beside --limit-shared "env -u MAM_LIMIT_FILE $MAM run --limit 64M --limit-shared")"
same "one that names the same file shares the limit" 2 \
	"$(beside "--limit-shared=$file" "env -u MAM_LIMIT_FILE $MAM run --limit 64M --limit-shared=$file")"
same "its own limit may be another one" 0 "$(beside "--limit-shared=$file" "$MAM run --limit 128M")"
same "the file is removed at the end" gone "$([ -e "$file" ] || echo gone)"
"$MAM" run --limit 64M --limit-shared="$file" -- "$probe" A:managed:0:1 A:_exit > /dev/null
same "also if the last process calls _exit" gone "$([ -e "$file" ] || echo gone)"

# The file without a name of its own: it exists while a process has memory, whatever starts and ends.
"$MAM" run --limit 64M --limit-shared -- "$probe" '!printenv MAM_LIMIT_FILE' A:managed:0:1 B:managed:0:1 A:exit \
	'!if [ -s "$MAM_LIMIT_FILE" ]; then echo present; else echo absent; fi' > "$scratch/got"
left=$(sed -n 1p "$scratch/got")
same "the file is in /dev/shm while the job runs" "/dev/shm present" "${left%/*} $(sed -n '$p' "$scratch/got")"
same "and not after it" gone "$([ -e "$left" ] || echo gone)"
"$MAM" run --limit 64M --limit-shared -- "$probe" '!printenv MAM_LIMIT_FILE' A:alloc:0:1 A:kill > "$scratch/got"
left=$(sed -n 1p "$scratch/got")
"$MAM" run --limit 64M --limit-shared -- true
same "if all processes were killed, the next mam run removes it" "/dev/shm gone" "${left%/*} $([ -e "$left" ] || echo gone)"
"$MAM" run --limit 64M --limit-shared -- "$probe" '!printenv MAM_LIMIT_FILE' A:alloc:0:1 "!$MAM run --limit 64M --limit-shared=$file -- true" \
	"!env -u MAM_LIMIT_FILE $MAM run --limit 64M --limit-shared -- true" '![ -e "$MAM_LIMIT_FILE" ] && echo present' > "$scratch/got"
same "that of a running job is not removed" present "$(sed -n '$p' "$scratch/got")"

# Statistics: A is the first and sees its own 20 MiB, B also its two blocks.
"$MAM" run --limit 64M --limit-shared --growth 2M --stats="$scratch/stats.%p" -- "$probe" A:alloc:0:20 B:alloc:0:20 B:alloc:0:20 \
	A:exit B:exit > /dev/null 2>&1
same "statistics have the peak of all processes, as each saw it" "20971520 62914560 " \
	"$(cat "$scratch"/stats.* | sed -n 's/^peak_shared_bytes	//p' | sort -n | tr '\n' ' ')"
"$MAM" run --limit 64M --limit-shared --stats -- "$probe" A:managed:0:20 A:exit > /dev/null 2> "$scratch/err"
try "so does the table" grep -q '^  peak of all processes that share the limit: 20 MiB$' "$scratch/err"
"$MAM" run --limit 64M --stats -- "$probe" A:managed:0:20 A:exit > /dev/null 2> "$scratch/err"
same "without --limit-shared there is no such line" "" "$(grep 'share the limit' "$scratch/err")"

# Invalid use.
"$MAM" run --limit-shared -- true > "$scratch/out" 2>&1
same "--limit-shared requires a limit" "2 mam run: error: --limit-shared requires --limit SIZE" "$? $(cat "$scratch/out")"
MAM_LIMIT=64M "$MAM" run --limit-shared -- true
same "MAM_LIMIT is one" 0 $?
"$MAM" run --limit 1G --limit-shared=/no/such/file -- true > "$scratch/out" 2>&1
same "a file that cannot be written is an error" \
	"2 mam run: error: --limit-shared: cannot write to '/no/such/file': No such file or directory" "$? $(cat "$scratch/out")"
echo text > "$file"
same "another program's file: a warning, and a limit of its own" "0 2" "$(options="--limit 64M --limit-shared=$file"
	# shellcheck disable=SC2086
	"$MAM" run $options -- "$probe" A:alloc:0:60 A:alloc:0:60 2> "$scratch/err" | sed 's/.* //' | paste -sd ' ')"
try "the warning" grep -q "^mam: warning: cannot share the limit in '$file': it is not a file of mam run --limit-shared; this process has the limit for itself\$" \
	"$scratch/err"
same "which is not changed" text "$(cat "$file")"
finish
