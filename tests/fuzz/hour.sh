#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# hour.sh - a long run: all fuzz targets in turn, MAM_FUZZ_TOTAL seconds in total (default 3600), on
# one core, whatever they find. Prints a table; the status is 1 if something was found.
#
#   MAM_FUZZ_KEEP     a folder for the growing corpora and for the findings; a second run
#                     continues with them. Default: a new folder
#   MAM_FUZZ_ROUNDS   how often each target has its turn (default 4)
#   MAM_FUZZ_TARGETS  only these targets

: "${MAM_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${MAM_BUILDDIR:=$(pwd)}"
: "${CC:=cc}"
. "$MAM_SRCDIR/tests/fuzz/lib.sh"

case ${1:-} in
-h | --help)
	sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
	exit 0
	;;
esac

keep=${MAM_FUZZ_KEEP:-$(mktemp -d)}
work=$keep/programs
mkdir -p "$work" || exit 2
fuzz_build "$work"
if [ "$fuzz_kind" != fuzzer ]; then
	echo "hour.sh: there is no clang with libFuzzer" >&2
	exit 77
fi
names=${MAM_FUZZ_TARGETS:-$(fuzz_names)}
# shellcheck disable=SC2086 # names are words
count=$(echo $names | wc -w)
rounds=${MAM_FUZZ_ROUNDS:-4}
slice=$((${MAM_FUZZ_TOTAL:-3600} / count / rounds))
[ "$slice" -gt 0 ] || slice=1

# One turn. A finding ends a fuzzer, which then starts again for the rest of the slice.
turn() # NAME
{
	until=$(($(date +%s) + slice))
	mkdir -p "$keep/corpus/$1" "$keep/found"
	fuzz_unpack "$1" "$keep/stored/$1"
	while left=$((until - $(date +%s))) && [ "$left" -gt 0 ]; do
		# shellcheck disable=SC2046 # words
		nice -n 19 "$work/$1" $(fuzz_words "$1") "-max_total_time=$left" \
			"-artifact_prefix=$keep/found/$1-" "$keep/corpus/$1" "$keep/stored/$1" \
			> "$keep/log" 2>&1 < /dev/null && status=0 || status=1
		awk -v name="$1" '
			/^#[0-9]+.* cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
			/^stat::number_of_executed_units:/ { runs = $2 }
			END { print name, runs + 0, cov + 0 }' "$keep/log" >> "$keep/turns"
		[ "$status" -eq 0 ] || cp "$keep/log" "$keep/found/$1.$(date +%s).log"
	done
	echo "$1 $slice" >> "$keep/slices"
}

: > "$keep/turns"
: > "$keep/slices"
round=0
while [ "$round" -lt "$rounds" ]; do
	for name in $names; do
		[ ! -x "$work/$name" ] || turn "$name"
	done
	round=$((round + 1))
done

printf '%-10s %8s %12s %9s %6s\n' target seconds runs coverage found
bad=0
for name in $names; do
	if [ ! -x "$work/$name" ]; then
		printf '%-10s does not compile\n' "$name"
		bad=1
		continue
	fi
	found=$(find "$keep/found" -type f -name "$name-*" | wc -l)
	[ "$found" -eq 0 ] || bad=1
	awk -v name="$name" -v found="$found" '
		FILENAME ~ /slices$/ && $1 == name { seconds += $2 }
		FILENAME ~ /turns$/ && $1 == name { runs += $2; if ($3 > cov) cov = $3 }
		END { printf "%-10s %8d %12d %9d %6d\n", name, seconds, runs, cov, found }' \
		"$keep/slices" "$keep/turns"
done
[ "$bad" -eq 0 ] || echo "findings: $keep/found"
exit "$bad"
