#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh - runs each fuzz target on its stored corpus, and then on new inputs for FUZZ_SECONDS
# (default 2). Without clang's libFuzzer the new inputs are those of the corpus, truncated or with
# changed bytes. MAM_FUZZ_TARGETS limits the run to the named targets.

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/fuzz/lib.sh"

seconds=${FUZZ_SECONDS:-2}

# The first line that describes the error.
wrong() # FILE
{
	grep -m 1 -e '^[a-z_]*\.[ch]:[0-9]*: ' -e ERROR: -e 'runtime error:' "$1" || tail -n 1 "$1"
}

# So that a finding can be reproduced from the log alone.
show() # FOLDER
{
	for input in "$1"/*; do
		[ ! -e "$input" ] || od -A d -t x1z "$input" | head -n 40
	done
}

play_corpus() # NAME
{
	set -- "$1" "$scratch/corpus/$1" "$(fuzz_min_inputs "$1")"
	try "$1: the archive can be unpacked" fuzz_unpack "$1" "$2"
	want=$(fuzz_list "$1" | wc -l)
	try "$1: the archive has $want inputs, at least $3" [ "$want" -ge "$3" ]
	if [ "$fuzz_kind" = fuzzer ]; then
		"$work/$1" -timeout=20 "$2"/* > "$scratch/log" 2>&1
		got=$(grep -c '^Executed ' "$scratch/log")
	else
		mkdir "$scratch/last"
		got=$(MAM_FUZZ_LAST=$scratch/last/input "$work/$1" "$2"/* 2> "$scratch/log")
	fi
	if [ "$want" -gt 0 ] && [ "${got:-0}" -eq "$want" ]; then
		ok "$1: corpus, $want inputs"
	else
		show "$scratch/last"
		not_ok "$1: corpus" "played ${got:-0} of $want: $(wrong "$scratch/log")"
	fi
	rm -rf "$scratch/last"
}

play_new() # NAME
{
	mkdir "$scratch/new" "$scratch/found"
	# shellcheck disable=SC2046 # words
	if "$work/$1" $(fuzz_words "$1") "-max_total_time=$seconds" "-artifact_prefix=$scratch/found/" \
		"$scratch/new" "$scratch/corpus/$1" > "$scratch/log" 2>&1; then
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
		not_ok "$name" "does not compile: $(grep -m 1 -e error: -e 'undefined reference' "$work/log")"
		continue
	fi
	play_corpus "$name"
	[ "$fuzz_kind" != fuzzer ] || play_new "$name"
done
[ "$fuzz_kind" = fuzzer ] || skip "new inputs" "there is no clang with libFuzzer"
finish
