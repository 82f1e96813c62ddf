#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# million.sh - a long search: the programs of tests/heap that run device code, with seeds that no other run
# has, until MILLION_TOTAL interleavings (default 1,000,000) were tried.
#
# Usage: tests/heap/million.sh [PROGRAM]...     in a build folder, after make check TESTS=
#
# 1. The programs are the pairs NAME and NAME_race in tests/heap; arguments choose some.
# 2. They take turns. In a turn each case gets MILLION_SEEDS seeds (default 200) under each policy, the turn's own:
#    the first turn begins at MILLION_FIRST (default 1,000,001), each turn where the last one ended.
# 3. Each turn is a line, then the sums. A program that finds something prints it and does not stop the
#    others; the status is 1 then.

: "${MAM_BUILDDIR:=$(pwd)}"
total=${MILLION_TOTAL:-1000000}
seeds=${MILLION_SEEDS:-200}
first=${MILLION_FIRST:-1000001}
work=$(mktemp -d "${TMPDIR:-/tmp}/mam-million.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

cd "$MAM_BUILDDIR" || exit 2
for race in tests/heap/*_race; do
	[ -x "$race" ] && [ -x "${race%_race}" ] || continue
	name=${race#tests/heap/}
	name=${name%_race}
	[ $# -eq 0 ] || case " $* " in
	*" $name "*) ;;
	*) continue ;;
	esac
	echo "${race%_race}"
	echo "$race"
done > "$work/programs"
if [ ! -s "$work/programs" ]; then
	echo "million.sh: no programs in $MAM_BUILDDIR/tests/heap: make check TESTS= makes them" >&2
	exit 2
fi

found=0
done_=0
turn=0
: > "$work/turns"
printf '%-36s %10s %12s %14s %8s\n' program "first seed" schedules steps seconds
while [ "$done_" -lt "$total" ]; do
	turn=$((turn + 1))
	before=$done_
	while read -r program <&3; do
		[ "$done_" -lt "$total" ] || break
		SIMT_FIRST=$first SIMT_SEEDS=$seeds CK_TIMEOUT_MULTIPLIER=1000 \
			nice -n 19 "$program" > "$work/output" 2>&1 < /dev/null
		status=$?
		counts=$(sed -n 's/^simt: \([0-9]*\) schedules, \([0-9]*\) steps, \([0-9.]*\) s.*/\1 \2 \3/p' "$work/output")
		# shellcheck disable=SC2086 # three numbers
		set -- ${counts:-0 0 0}
		done_=$((done_ + $1))
		echo "$program $*" >> "$work/turns"
		printf '%-36s %10d %12d %14d %8.1f\n' "${program#tests/heap/}" "$first" "$@"
		if [ "$status" -ne 0 ]; then
			found=$((found + 1))
			grep -E -A 12 ':[FE]:' "$work/output" | sed 's/^/    /'
		fi
	done 3< "$work/programs"
	if [ "$done_" -eq "$before" ]; then
		echo "million.sh: no program tried an interleaving" >&2
		exit 2
	fi
	first=$((first + seeds))
done
awk -v turns="$turn" -v found="$found" '
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
				steps[name], s[name], s[name] > 0 ? n[name] / s[name] : 0
		}
		printf "\n%d schedules, %.0f steps, %.0f s, %d turns; found: %s\n", sum, sum_steps, seconds,
			turns, found ? found " times, see above" : "nothing"
	}' "$work/turns"
[ "$found" -eq 0 ]
