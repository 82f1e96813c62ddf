#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh - each fuzz target plays its stored corpus, and then new inputs for MAM_FUZZ_SECONDS
# (default 2); where no clang with libFuzzer is, each input of the corpus cut short and changed here
# and there. MAM_FUZZ_TARGETS: only these.

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/fuzz/lib.sh"

seconds=${MAM_FUZZ_SECONDS:-2}

# The first line that says what is wrong.
wrong() # FILE
{
	grep -m 1 -e '^[a-z_]*\.[ch]:[0-9]*: ' -e ERROR: -e 'runtime error:' "$1" || tail -n 1 "$1"
}

# So that a finding can be made again from the log alone.
show() # FOLDER
{
	for input in "$1"/*; do
		[ ! -e "$input" ] || od -A d -t x1z "$input" | head -n 40
	done
}

play_corpus() # NAME
{
	set -- "$1" "$fuzz_here/corpus/$1"
	want=$(find "$2" -type f | wc -l)
	if [ "$fuzz_kind" = fuzzer ]; then
		"$work/$1" -timeout=20 "$2"/* > "$scratch/log" 2>&1
		got=$(grep -c '^Executed ' "$scratch/log")
	else
		mkdir "$scratch/last"
		got=$(MAM_FUZZ_LAST=$scratch/last/input "$work/$1" "$2"/* 2> "$scratch/log")
	fi
	if [ "$want" -gt 0 ] && [ "${got:-0}" -eq "$want" ]; then
		ok "$1: the corpus, $want inputs"
	else
		show "$scratch/last"
		not_ok "$1: the corpus" "played ${got:-0} of $want: $(wrong "$scratch/log")"
	fi
	rm -rf "$scratch/last"
}

play_new() # NAME
{
	mkdir "$scratch/new" "$scratch/found"
	# shellcheck disable=SC2046 # words
	if "$work/$1" $(fuzz_words "$1") "-max_total_time=$seconds" "-artifact_prefix=$scratch/found/" \
		"$scratch/new" "$fuzz_here/corpus/$1" > "$scratch/log" 2>&1; then
		ok "$1: new inputs for $seconds seconds"
	else
		show "$scratch/found"
		not_ok "$1: new inputs for $seconds seconds" "$(wrong "$scratch/log")"
	fi
	rm -rf "$scratch/new" "$scratch/found"
}

work=$scratch/work
mkdir "$work"
fuzz_build "$work"
for name in ${MAM_FUZZ_TARGETS:-$(fuzz_names)}; do
	if [ ! -x "$work/$name" ]; then
		not_ok "$name" "it does not compile: $(grep -m 1 -e error: -e 'undefined reference' "$work/log")"
		continue
	fi
	play_corpus "$name"
	[ "$fuzz_kind" != fuzzer ] || play_new "$name"
done
[ "$fuzz_kind" = fuzzer ] || skip "new inputs" "there is no clang with libFuzzer"
finish
