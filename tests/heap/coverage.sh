#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# coverage.sh - prints which lines of device code the tests run.
#
# Usage: tests/heap/coverage.sh [-s SET] [SEEDS]     in a build folder, after make check TESTS=
#
# Compiles the programs of mutants.tab, or of mutants-SET.tab, with --coverage, and runs them with
# SEEDS seeds per case (default 30). Prints for each header of the table how many of its lines ran,
# then the lines that never ran. Lines of rare cases that only a test of their own reaches are
# acceptable; a whole function is not.

: "${MAM_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${MAM_BUILDDIR:=$(pwd)}"
: "${CC:=gcc}"
: "${GCOV:=gcov}"
table=$MAM_SRCDIR/tests/heap/mutants.tab
if [ "${1:-}" = -s ]; then
	[ "$2" = pages ] || table=$MAM_SRCDIR/tests/heap/mutants-$2.tab
	shift 2
fi
[ -f "$table" ] || { echo "coverage.sh: error: cannot find $table" >&2 && exit 2; }
work=$(mktemp -d "${TMPDIR:-/tmp}/mam-coverage.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

variable() # NAME - as the build has it
{
	sed -n "s/^$1 = //p" "$MAM_BUILDDIR/Makefile" | head -n 1
}

for program in $(sed -n -e 's/^program \([^ ]*\) .*/\1/p' -e 's/^plain \([^ ]*\) .*/\1/p' "$table"); do
	mkdir -p "$work/$program"
	cd "$work/$program" || exit 2
	objects=
	for source in $(sed -n -e "s/^program $program //p" -e "s/^plain $program //p" "$table"); do
		# shellcheck disable=SC2046 # flags are words
		$CC -std=gnu11 -w -O0 --coverage -D_GNU_SOURCE= -DMAM_SIMT=1 -I"$MAM_SRCDIR/include" \
			-I"$MAM_SRCDIR/src" -I"$MAM_SRCDIR/tests" -I"$MAM_SRCDIR/tools" $(variable CHECK_CFLAGS) -c \
			"$MAM_SRCDIR/$source" || exit 2
		objects="$objects $(basename "$source" .c).o"
	done
	# shellcheck disable=SC2046,SC2086
	$CC --coverage -o "$program" $objects "$MAM_BUILDDIR/tests/simt/.libs/libsimt.a" \
		$(variable CHECK_LIBS) -lpthread -ldl || exit 2
	# Child processes of Check would update the counts one after the other; one process is
	# faster.
	SIMT_SEEDS=${1:-30} CK_FORK=no ./"$program" > output 2>&1 ||
		echo "$program: $(grep ':[FE]:' output | head -n 1)"
	# shellcheck disable=SC2086
	$GCOV -p $objects > /dev/null 2>&1
done

# A line of a .gcov file is COUNT:LINE:TEXT, with ##### for 0 and - for a line without code; several
# .gcov files may contain the same header.
find "$work" -name '*#*.gcov' | sort > "$work/files"
if [ ! -s "$work/files" ]; then
	echo "coverage.sh: error: $GCOV wrote no files" >&2
	exit 2
fi
headers=$(sed -n 's/^header //p' "$table" | tr '\n' ' ')
xargs awk -F: -v headers="$headers" -v root="^.*$MAM_SRCDIR/" '
	FNR == 1 {
		header = FILENAME
		sub(/\.gcov$/, "", header)
		gsub(/#/, "/", header)
		sub(root, "", header)
	}
	$1 ~ /^ *-$/ { next }
	{
		at = header SUBSEP $2 + 0
		if (!(at in seen)) {
			seen[at] = 1
			lines[header]++
			text[at] = substr($0, index($0, $2) + length($2) + 1)
		}
		if ($1 !~ /[#=]/ && !(at in ran)) {
			ran[at] = 1
			run[header]++
		}
		if ($2 + 0 > last[header])
			last[header] = $2 + 0
	}
	END {
		for (header in lines) {
			if (index(" " headers, " " header " ") == 0)
				continue
			all += lines[header]
			all_run += run[header]
			printf "1 %s %d of %d lines, %.1f%%\n", header, run[header], lines[header],
				100 * run[header] / lines[header]
			for (i = 1; i <= last[header]; i++)
				if ((header, i) in seen && !((header, i) in ran))
					printf "3 %s:%05d: %s\n", header, i, text[header, i]
		}
		printf "2 together: %d of %d lines, %.1f%%; not run:\n", all_run, all, 100 * all_run / all
	}' < "$work/files" | sort -k 1,1n -k 2,2 | sed -e 's/^[123] //' -e 's/:0*\([0-9]*\): /:\1: /'
