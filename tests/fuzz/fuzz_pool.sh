#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz_pool.sh - a pool on simulated memory against any sequence of calls: the stored corpus always, and new inputs
# for MAM_FUZZ_SECONDS (default 6) where clang has libFuzzer.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

corpus=$MAM_SRCDIR/tests/fuzz/corpus/pool
seconds=${MAM_FUZZ_SECONDS:-6}
flags="-std=gnu11 -g -O1 -D_GNU_SOURCE= -DMAM_DEBUG=1 -I$MAM_SRCDIR/include -I$MAM_SRCDIR/src"

# All of the library, in the order of its layers.
sources=$MAM_SRCDIR/tests/fuzz/fuzz_pool.c
for layer in $(sed -n 's,^include src/\([a-z]*\)/Makefile.inc,\1,p' "$MAM_SRCDIR/Makefile.am"); do
	[ "$layer" = interpose ] || sources="$sources $MAM_SRCDIR/src/$layer/*.c"
done

build() # OUT FLAG... - with the compiler $compiler
{
	out=$1
	shift
	# shellcheck disable=SC2086
	$compiler $flags "$@" $sources -lpthread -ldl -o "$out"
}

compiler=$CC
if build "$scratch/replay" -DFUZZ_REPLAY -fsanitize=address,undefined \
	-fno-sanitize-recover=all > "$scratch/log" 2>&1 ||
	build "$scratch/replay" -DFUZZ_REPLAY > "$scratch/log" 2>&1; then
	played=$("$scratch/replay" "$corpus"/* 2> "$scratch/log")
	same "the corpus, input by input" "$(find "$corpus" -type f | wc -l)" \
		"${played:-$(grep -m 1 -e fuzz_pool: -e ERROR "$scratch/log")}"
else
	not_ok "the corpus, input by input" "the harness does not compile: $(tail -n 1 "$scratch/log")"
fi

compiler=clang
if ! command -v clang > /dev/null; then
	skip "new inputs for $seconds seconds" "there is no clang"
elif ! build "$scratch/fuzz" -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all > "$scratch/log" 2>&1; then
	skip "new inputs for $seconds seconds" "this clang has no libFuzzer"
else
	mkdir "$scratch/new" "$scratch/found"
	if "$scratch/fuzz" -max_total_time="$seconds" -max_len=600 -timeout=20 \
		-artifact_prefix="$scratch/found/" "$scratch/new" "$corpus" > "$scratch/log" 2>&1; then
		ok "new inputs for $seconds seconds"
	else
		for input in "$scratch"/found/*; do
			[ -e "$input" ] && od -v -t u1 "$input" | head -n 40
		done
		grep -e fuzz_pool: -e ERROR "$scratch/log"
		not_ok "new inputs for $seconds seconds" "$(grep -m 1 -e fuzz_pool: -e ERROR "$scratch/log")"
	fi
fi
finish
