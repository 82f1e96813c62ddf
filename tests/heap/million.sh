#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# million.sh - a long search: runs the programs of tests/heap that contain device code with seeds
# that no other run uses, until MILLION_TOTAL interleavings (default 1,000,000) have been tried.
#
# Usage: tests/heap/million.sh [-s SET] [PROGRAM]...     in a build folder, after make check TESTS=
#
# 1. The programs are the pairs NAME and NAME_race in tests/heap. Arguments select some of them;
#    -s selects those of mutants-SET.tab (`pages`: of mutants.tab).
# 2. The programs take turns. In a turn each case gets MILLION_SEEDS seeds (default 100) under each
#    policy. The first turn starts at seed MILLION_FIRST (default 1,000,001), each other turn where
#    the previous one ended.
# 3. Each turn prints a line; the totals follow. A failure ends the run, is printed, and makes the
#    exit status 1.
#
# MILLION_JOBS sets the number of parallel jobs (default 1); seconds are summed over all programs.

: "${MAM_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${MAM_BUILDDIR:=$(pwd)}"
total=${MILLION_TOTAL:-1000000}
seeds=${MILLION_SEEDS:-100}
first=${MILLION_FIRST:-1000001}
work=$(mktemp -d "${TMPDIR:-/tmp}/mam-million.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

if [ "${1:-}" = -s ]; then
	table=$MAM_SRCDIR/tests/heap/mutants.tab
	[ "$2" = pages ] || table=$MAM_SRCDIR/tests/heap/mutants-$2.tab
	[ -f "$table" ] || { echo "million.sh: error: cannot find $table" >&2 && exit 2; }
	shift 2
	# shellcheck disable=SC2046 # names are words
	set -- "$@" $(sed -n 's/^program \([^ ]*\) .*/\1/p' "$table")
fi

cd "$MAM_BUILDDIR" || exit 2
for race in $(find tests/heap -name '*_race' | sort); do
	[ -x "$race" ] && [ -x "${race%_race}" ] || continue
	name=${race##*/}
	name=${name%_race}
	[ $# -eq 0 ] || case " $* " in
	*" $name "*) ;;
	*) continue ;;
	esac
	echo "${race%_race}"
	echo "$race"
done > "$work/programs"
if [ ! -s "$work/programs" ]; then
	echo "million.sh: error: no programs in $MAM_BUILDDIR/tests/heap; run 'make check TESTS='" >&2
	exit 2
fi

# Runs one turn of one program.
turn() # PROGRAM FIRST FOLDER
{
	SIMT_FIRST=$2 SIMT_SEEDS=$seeds CK_TIMEOUT_MULTIPLIER=1000 \
		nice -n 19 "$1" > "$3/output" 2>&1 < /dev/null
	status=$?
	# shellcheck disable=SC2046 # three numbers
	set -- "$1" "$2" "$3" $(sed -n 's/^simt: \([0-9]*\) schedules, \([0-9]*\) steps, \([0-9.]*\) s.*/\1 \2 \3/p' "$3/output")
	echo "$1 ${4:-0} ${5:-0} ${6:-0}" >> "$work/turns"
	printf '%-36s %10d %12d %14d %8.1f\n' "${1#tests/heap/}" "$2" "${4:-0}" "${5:-0}" "${6:-0}"
	if [ "$status" -ne 0 ] || [ "${4:-0}" -eq 0 ]; then
		{
			echo "$1, seeds from $2, status $status:"
			grep -E -A 12 ':[FE]:' "$3/output" | sed 's/^/    /'
		} >> "$work/found"
	fi
}

worker() # NUMBER
{
	mkdir -p "$work/$1"
	at=$first
	while :; do
		while read -r program <&3; do
			mkdir "$work/taken/$at.${program##*/}" 2> /dev/null || continue
			[ "$(awk '{ n += $2 } END { print n + 0 }' "$work/turns")" -lt "$total" ] || return 0
			[ ! -s "$work/found" ] || return 0
			turn "$program" "$at" "$work/$1"
		done 3< "$work/programs"
		at=$((at + seeds))
	done
}

: > "$work/turns"
: > "$work/found"
mkdir "$work/taken"
printf "SPDX-License-Identifier: Apache-2.0\n\n"
${CC:-cc} --version 2> /dev/null | head -n 1
sed -n 's/^model name[^:]*: /on /p' /proc/cpuinfo 2> /dev/null | head -n 1
printf '%-36s %10s %12s %14s %8s\n' program "first seed" schedules steps seconds
number=1
while [ "$number" -le "${MILLION_JOBS:-1}" ]; do
	worker "$number" &
	number=$((number + 1))
done
wait
cat "$work/found"
found=$(grep -c '^tests' "$work/found")
turns=$(wc -l < "$work/turns")
awk -v turns="$turns" -v found="$found" '
	!($1 in n) { order[++names] = $1 }
	{ n[$1] += $2; steps[$1] += $3; s[$1] += $4 }
	END {
		print ""
		for (i = 1; i <= names; i++) {
			name = order[i]
			sum += n[name]
			sum_steps += steps[name]
			seconds += s[name]
			shown = name
			sub(/.*\//, "", shown)
			printf "%-36s %10s %12d %14.0f %8.1f %8.0f schedules/s\n", shown, "", n[name],
				steps[name], s[name], (s[name] > 0 ? n[name] / s[name] : 0)
		}
		printf "\n%d schedules, %.0f steps, %.0f s, %d turns; found: %s\n", sum, sum_steps, seconds,
			turns, found ? found " times, see above" : "nothing"
	}' "$work/turns"
[ "$found" -eq 0 ]
