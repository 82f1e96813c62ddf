#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# mutate.sh - tests the tests of device code: makes one change at a time to it, and prints which
# test detects the change.
#
# Usage: tests/heap/mutate.sh [-1l] [-s SET] [NAME]...
#   NAME    a mutant, or a pattern with *; default: all mutants
#   -1      run only the first round
#   -l      only list the mutants, and check that the table still applies
#   -s SET  pages (default): mutants.tab; objects, large, growth: mutants-SET.tab; coalesce, kma: the
#           table of tests/SET, whose headers are in src/SET
#
# 1. mutate.awk names the mutants of the headers that the `header` lines of the table list.
# 2. Each mutant is a copy of one header in a folder of its own, before src/ in the include path.
#    The programs of the table that include it are compiled with it and run, those with access
#    hooks first if an order or a scope is weaker: all mutants with MUTATE_SEEDS seeds, then the
#    survivors with the number of seeds that the tests themselves specify. The first failure ends a
#    program (mutate_must.c).
# 3. A mutant is killed by the first test that fails, or by a program that ends by a signal or does
#    not end. A survivor must be explained in the table; an explanation must explain a survivor.
#
# The exit status is 1 if a survivor is not explained, an explanation or an edit of the table does
# not apply any more, a mutant does not compile, or a program fails without a change.
#
#   MUTATE_SEEDS  number of seeds in the first round (default 30)
#   MUTATE_JOBS   number of parallel jobs (default 1)
#   MUTATE_CFLAGS optimization flags (default -O1; -O0 compiles faster)
#   MUTATE_KEEP   a folder for the output; results in it are reused. Default: a new folder, removed
#                 at the end

: "${MAM_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${MAM_BUILDDIR:=$(pwd)}"
: "${CC:=cc}"
here=$MAM_SRCDIR/tests/heap
set=pages
tests=tests/heap

stop() # WHY
{
	echo "mutate.sh: $1" >&2
	exit 2
}

variable() # NAME - as the build has it
{
	sed -n "s/^$1 = //p" "$MAM_BUILDDIR/Makefile" | head -n 1
}

only_list=no
rounds="1 2"
while getopts 1lhs: option; do
	case $option in
	1) rounds=1 ;;
	l) only_list=yes ;;
	s) set=$OPTARG ;;
	h) sed -n '4,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
case $set in
pages) table=${MUTATE_TABLE:-$here/mutants.tab} ;;
coalesce | kma)
	tests=tests/$set
	table=${MUTATE_TABLE:-$MAM_SRCDIR/tests/$set/mutants.tab}
	;;
*) table=${MUTATE_TABLE:-$here/mutants-$set.tab} ;;
esac
[ -f "$table" ] || stop "error: unknown set '$set': expected pages, objects, large, growth, coalesce or kma"

[ -f "$MAM_BUILDDIR/Makefile" ] || stop "error: $MAM_BUILDDIR is not a build folder; run it in one after 'make check TESTS='"
if [ -n "${MUTATE_KEEP:-}" ]; then
	work=$MUTATE_KEEP
	mkdir -p "$work" || exit 2
else
	work=$(mktemp -d "${TMPDIR:-/tmp}/mam-mutate.XXXXXX") || exit 2
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM
fi
seeds=${MUTATE_SEEDS:-30}
base_flags="-std=gnu11 -w ${MUTATE_CFLAGS:--O1} -D_GNU_SOURCE= -DMAM_SIMT=1"
# The flags of tests/heap/Makefile.inc.
hook_flags="-fsanitize=thread -DSIMT_HOOKS=1 -Dmemcpy=__tsan_memcpy -Dmemmove=__tsan_memmove -Dmemset=__tsan_memset"
late_flags="-I$MAM_SRCDIR/include -I$MAM_SRCDIR/src -I$MAM_SRCDIR/tests -I$MAM_SRCDIR/tools $(variable CHECK_CFLAGS)"
libraries="$MAM_BUILDDIR/tests/simt/.libs/libsimt.a $(variable CHECK_LIBS) -lpthread -ldl"

# The headers of the table and their mutants.
headers=$(sed -n 's/^header //p' "$table")
for header in $headers; do
	awk -f "$here/mutate.awk" "$table" "$MAM_SRCDIR/$header" || echo "$header" >> "$work/stale"
done > "$work/all"
if [ -s "$work/stale" ]; then
	rm -f "$work/stale"
	exit 1
fi
while IFS='	' read -r name rest; do
	[ $# -gt 0 ] || echo "$name	$rest"
	for wanted in "$@"; do
		# shellcheck disable=SC2254 # it may be a pattern
		case $name in
		$wanted) echo "$name	$rest" && break ;;
		esac
	done
done < "$work/all" > "$work/list"
[ -s "$work/list" ] || stop "error: no such mutant"
if [ $only_list = yes ]; then
	cat "$work/list"
	exit 0
fi

sources_of() # PROGRAM
{
	sed -n -e "s/^program $1 //p" -e "s/^plain $1 //p" "$table"
}

# Builds PROGRAM, the name of a row, with _race for the build with access hooks, as OUT; headers in
# FOLDER/first take precedence.
compile() # PROGRAM OUT FOLDER
{
	hooks=
	[ "${1%_race}" = "$1" ] || hooks=$hook_flags
	objects=
	for source in $(sources_of "${1%_race}"); do
		object=$3/$(basename "$source" .c).o
		# shellcheck disable=SC2086 # flags are words
		$CC $base_flags $hooks -I"$3/first" $late_flags -c -o "$object" "$MAM_SRCDIR/$source" \
			2> "$3/errors" || return 1
		objects="$objects $object"
	done
	# shellcheck disable=SC2086
	$CC -o "$2" $objects "$work/must.o" $libraries 2> "$3/errors"
}

# Parses a program's output: prints TEST, the failure, and the number of interleavings until then.
verdict() # STATUS < OUTPUT
{
	awk -v status="$1" '
		BEGIN { split("lane warp pct", policy, " ") }
		!test && match($0, /:[FE]:[^:]*:[^:]*:[0-9]+: /) {
			split(substr($0, RSTART + 1, RLENGTH), part, ":")
			test = part[3]
			why = substr($0, RSTART + RLENGTH)
			if (match(why, /: [a-z ]+ after [0-9]+ steps with seed [0-9]+, policy [a-z]+/)) {
				word = substr(why, RSTART + 2, RLENGTH - 2)
				name = word
				sub(/ after .*/, "", name)
				sub(/.*seed /, "", word)
				seed = word + 0
				for (i = 1; i <= 3; i++)
					if (word ~ policy[i] "$")
						runs = (seed - 1) * 3 + i
				why = name
			} else if (why ~ /Received signal|signal/)
				why = "signal"
			else if (why ~ /[Tt]imeout/)
				why = "no end"
			else
				why = "assertion"
		}
		# The message of the simulator for a lane that crashes.
		!test && match($0, /: [a-z]+ after [0-9]+ steps with seed [0-9]+, policy [a-z]+/) {
			test = substr($0, 1, RSTART - 1)
			word = substr($0, RSTART, RLENGTH)
			sub(/.*seed /, "", word)
			seed = word + 0
			for (i = 1; i <= 3; i++)
				if (word ~ policy[i] "$")
					runs = (seed - 1) * 3 + i
			why = "crash"
		}
		END {
			if (!test)
				print "-", (status == 124 || status == 137 ? "no end" : \
					(status > 128 ? "signal" : "status " status)), "-"
			else
				print test, why, runs ? runs : "-"
		}' OFS='\t'
}

run() # PROGRAM SECONDS OUTPUT [SEEDS]
{
	if [ -n "${4:-}" ]; then
		SIMT_SEEDS=$4
		export SIMT_SEEDS
	else
		unset SIMT_SEEDS
	fi
	CK_FORK=no timeout -k 2 "$2" "$1" > "$3" 2>&1 < /dev/null
}

# Determines which programs there are, how long each takes without a change, and which headers each
# includes.
prepare()
{
	# shellcheck disable=SC2086 # flags are words
	$CC $base_flags $late_flags -c -o "$work/must.o" "$here/mutate_must.c" || stop "error: mutate_must.c does not compile"
	[ ! -s "$work/programs" ] || return 0
	mkdir -p "$work/plain"
	cut -d : -f 1 "$work/list" | sort -u > "$work/headers"
	for header in $headers; do
		echo "$MAM_SRCDIR/$header"
	done > "$work/paths"
	for program in $(sed -n -e 's/^program \([^ ]*\) .*/\1/p' -e 's/^plain \([^ ]*\) .*/\1/p' "$table"); do
		sources=$(sources_of "$program")
		for source in $sources; do
			# shellcheck disable=SC2086
			$CC -MM $base_flags $late_flags "$MAM_SRCDIR/$source" ||
				stop "error: $source does not compile"
		done | tr ' ' '\n' | grep -xFf "$work/paths" | sed 's|.*/||' | sort -u > "$work/$program.headers"
		grep -qxf "$work/headers" "$work/$program.headers" || continue
		for each in "$program" $(sed -n "s/^program \($program\) .*/\1_race/p" "$table"); do
			compile "$each" "$work/$each" "$work/plain" ||
				stop "error: $each does not compile: $(head -n 1 "$work/plain/errors")"
			before=$(date +%s)
			run "$work/$each" 600 "$work/plain/output" "$seeds" ||
				stop "error: $each fails without a change: $(grep ':[FE]:' "$work/plain/output" | head -n 1)"
			after=$(date +%s)
			echo "$((after - before)) $each" >> "$work/programs.new"
		done
	done
	[ -s "$work/programs.new" ] || stop "error: $table has no programs"
	sort -n "$work/programs.new" > "$work/programs"
}

# Prints the programs that can detect a change of HEADER: its own test first, and those with hooks
# first if KIND concerns orders.
programs_of() # HEADER KIND
{
	while read -r took program; do
		grep -qx "$1" "$work/${program%_race}.headers" || continue
		case $2$program in
		order*_race | scope*_race) rank=0 ;;
		*_race) rank=4 ;;
		*) rank=2 ;;
		esac
		own=$(basename "$1" .h)
		[ "${program%_race}" = "test_${own%_warp}" ] || rank=$((rank + 1))
		echo "$rank $took $program"
	done < "$work/programs" | sort -s -n -k 1,1
}

try() # NAME FOLDER ROUND - prints NAME, status, program, test, failure, interleavings
{
	header=${1%%:*}
	kind=${1#*:*:}
	kind=${kind%%:*}
	path=$(printf '%s\n' "$headers" | grep "/$header\$")
	rm -rf "$2/first"
	mkdir -p "$(dirname "$2/first/${path#*/}")"
	awk -v want="$1" -f "$here/mutate.awk" "$table" "$MAM_SRCDIR/$path" > "$2/first/${path#*/}" ||
		{ printf '%s\tbroken\t-\t-\tit does not exist\t-\n' "$1" && return; }
	programs_of "$header" "$kind" > "$2/programs"
	while read -r _ took program <&3; do
		compile "$program" "$2/$program" "$2" ||
			{ printf '%s\tbroken\t%s\t-\tit does not compile\t-\n' "$1" "$program" && return; }
		if [ "$3" = 1 ]; then
			run "$2/$program" $((took * 5 + 10)) "$2/output" "$seeds" && continue
		else
			run "$2/$program" 600 "$2/output" && continue
		fi
		status=$?
		printf '%s\tkilled\t%s\t%s\n' "$1" "$program" "$(verdict $status < "$2/output")"
		return
	done 3< "$2/programs"
	printf '%s\tsurvived\t-\t-\t-\t%s\n' "$1" "$3"
}

# One of several workers: each takes mutants that no other worker has taken.
share() # NUMBER ROUND
{
	set -C
	taken=0
	while IFS= read -r name; do
		taken=$((taken + 1))
		{ command : > "$work/taken/$taken"; } 2> /dev/null || continue
		set +C
		try "$name" "$work/share$1" "$2" >> "$work/share$1/results"
		set -C
	done < "$work/names"
	set +C
}

prepare
touch "$work/results"
for round in $rounds; do
	# Mutants without a result, and survivors of the previous round.
	awk -F '\t' -v round="$round" '
		FILENAME == ARGV[1] { state[$1] = $2 == "survived" ? $2 $6 : $2; next }
		!($1 in state) || (round == 2 && state[$1] == "survived1") { print $1 }' \
		"$work/results" "$work/list" > "$work/names"
	rm -rf "$work/taken"
	mkdir "$work/taken"
	worker=1
	while [ "$worker" -le "${MUTATE_JOBS:-1}" ]; do
		mkdir -p "$work/share$worker"
		: > "$work/share$worker/results"
		share "$worker" "$round" &
		worker=$((worker + 1))
	done
	wait
	cat "$work"/share*/results >> "$work/results"
done
part=
[ $# -eq 0 ] || part=yes
if [ -z "$part" ]; then
	echo "SPDX-License-Identifier: Apache-2.0"
	echo
	echo "Single changes of device code, and the tests that detect them. Written by make mutants."
	$CC --version | head -n 1
	git -C "$MAM_SRCDIR" log -1 --format='commit %h' -- $headers "$tests" tests/simt 2> "$work/errors"
	echo
fi
awk -v part="$part" -v rounds="$rounds" -v seeds="$seeds" -f "$here/mutants.awk" "$table" "$work/list" "$work/results"
