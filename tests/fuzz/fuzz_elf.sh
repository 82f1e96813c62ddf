#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz_elf.sh - the readers of ELF files against any bytes: programs and libraries that are cut and changed always, and
# new inputs for MAM_FUZZ_SECONDS (default 6) where clang has libFuzzer.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

sources="$MAM_SRCDIR/tests/fuzz/fuzz_elf.c $MAM_SRCDIR/tools/elf_read.c $MAM_SRCDIR/tools/elf_mentions.c"
flags="-std=gnu11 -g -O1 -I$MAM_SRCDIR/tools"
seconds=${MAM_FUZZ_SECONDS:-6}

build() # OUT FLAG... - with the compiler $compiler
{
	out=$1
	shift
	# shellcheck disable=SC2086
	$compiler $flags "$@" $sources -o "$out"
}

# Seeds: small files of each kind.
mkdir "$scratch/seeds"
cat > "$scratch/seed.c" << 'EOF'
#include <dlfcn.h>
#ifndef ROOM
#define ROOM 0
#endif
const char *const library = "libcuda.so.1";
const char constants[ROOM + 1] = { 1 };
int main(void)
{
	return dlsym(dlopen(library, RTLD_NOW), "cuInit") == 0;
}
EOF
for kind in "program" "large -DROOM=200000" "library -shared -fPIC -Wl,-soname,libseed.so.1 -Wl,-rpath,/opt/lib" \
	"oldpath -Wl,--disable-new-dtags,-rpath,/opt/lib -Wl,--hash-style=sysv" "static -static"; do
	# shellcheck disable=SC2086
	set -- $kind
	seed=$1
	shift
	$CC -Os -s "$@" "$scratch/seed.c" -o "$scratch/seeds/$seed" -ldl 2> /dev/null
done
printf 'no ELF file' > "$scratch/seeds/text"

compiler=$CC
if build "$scratch/replay" -DFUZZ_REPLAY -fsanitize=address,undefined \
	-fno-sanitize-recover=all > "$scratch/log" 2>&1 ||
	build "$scratch/replay" -DFUZZ_REPLAY > "$scratch/log" 2>&1; then
	played=$("$scratch/replay" "$scratch/seeds"/* 2> "$scratch/log")
	same "files cut short and changed" "$(find "$scratch/seeds" -type f -size +0 | wc -l)" "$played"
else
	not_ok "files cut short and changed" "the harness does not compile: $(tail -n 1 "$scratch/log")"
fi

compiler=clang
rm -f "$scratch/seeds/static" "$scratch/seeds/large"
if ! command -v clang > /dev/null; then
	skip "new inputs for $seconds seconds" "there is no clang"
elif ! build "$scratch/fuzz" -fsanitize=fuzzer,address,undefined > "$scratch/log" 2>&1; then
	skip "new inputs for $seconds seconds" "this clang has no libFuzzer"
else
	mkdir "$scratch/new" "$scratch/found"
	if "$scratch/fuzz" -max_total_time="$seconds" -max_len=20000 -timeout=10 \
		-artifact_prefix="$scratch/found/" "$scratch/new" "$scratch/seeds" > "$scratch/log" 2>&1; then
		ok "new inputs for $seconds seconds"
	else
		not_ok "new inputs for $seconds seconds" "$(grep -m 1 -e fuzz_elf: -e ERROR "$scratch/log")"
	fi
fi
finish
