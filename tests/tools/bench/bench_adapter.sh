#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_adapter.sh - the example adapter for `mam bench device` becomes a module with the command
# given in its file, without any message of nvcc. `--adapter` accepts the module and rejects other
# files.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

example=$MAM_SRCDIR/tools/bench/device/device_example

refused() # NAME TEXT FILE - one line with TEXT in it
{
	"$MAM" bench device --adapter "$3" >"$scratch/out" 2>"$scratch/err"
	same "$1: exit status" 2 $?
	if [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q -e "$2" "$scratch/err"; then
		ok "$1: one line"
	else
		not_ok "$1: one line" "$(lib_tail "$scratch/err")"
	fi
}

printf 'no module' >"$scratch/short.fatbin"
head -c 4096 /dev/zero >"$scratch/zeros.fatbin"
refused "file does not exist" "nowhere.fatbin: No such file" "$scratch/nowhere.fatbin"
refused "short file" "short.fatbin is not a fat binary" "$scratch/short.fatbin"
refused "file of zeros" "zeros.fatbin is not a complete fat binary" "$scratch/zeros.fatbin:1G"

if [ "$HAVE_CUDA" != yes ] || [ -z "$NVCC" ]; then
	skip "the example compiles to a module" "mam was built without the CUDA toolkit"
	finish
	exit
fi
architecture=$("$NVCC" --list-gpu-code | sed -n 's/^sm_\([0-9]*\)$/\1/p' | awk '$1 >= 70' | sort -n | head -n 1)
if "$NVCC" -std=c++17 -arch="sm_$architecture" -Xcompiler -Wall,-Wextra -I "$MAM_SRCDIR/src" -I "$MAM_SRCDIR/tools" \
	-fatbin -o "$scratch/example.fatbin" "$example.cu" >"$scratch/said" 2>&1 && [ ! -s "$scratch/said" ]; then
	ok "the example compiles to a module"
else
	not_ok "the example compiles to a module" "$(lib_tail "$scratch/said")"
fi
"$MAM" bench device --adapter "$scratch/example.fatbin:64M" --list >"$scratch/out" 2>"$scratch/err"
same "the module is accepted: exit status" 0 $?
try "the module is accepted: named after the file" grep -q "^allocator	example$" "$scratch/out"
dd if="$scratch/example.fatbin" of="$scratch/half.fatbin" bs=64 count=8 2>"$scratch/said"
refused "truncated module" "half.fatbin is not a complete fat binary" "$scratch/half.fatbin"
finish
