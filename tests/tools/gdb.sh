#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gdb.sh - the commands of tools/gdb/mam.py print the numbers of a program whose blocks are known:
# on source host, from a core file, and for heaps on the fake driver.
# shellcheck disable=SC2016 # gdb expands them

. "${MAM_SRCDIR:-.}/tests/lib.sh"

unset DEBUGINFOD_URLS
program=$scratch/program
fake=$MAM_BUILDDIR/tests/fake/lib
library=$MAM_BUILDDIR/.libs

command -v gdb > /dev/null || skip_all "gdb" "gdb is not installed (package gdb)"
gdb -batch -nx -ex 'python gdb.objfiles()[0:1] and gdb.Objfile.lookup_global_symbol' > "$scratch/out" 2>&1
if grep -q . "$scratch/out"; then
	skip_all "gdb" "this gdb has no Python, or is older than version 9"
fi
case " ${CFLAGS:--g} " in
*' -g1 '*) skip_all "gdb" "CFLAGS have -g1, so libmam has no types for gdb" ;;
*' -g'*) ;;
*) skip_all "gdb" "CFLAGS have no -g, so libmam has no debug symbols" ;;
esac
[ -e "$library/libmam.so.0" ] || skip_all "gdb" "there is no shared library in this build"

# -O2, so that a variable is optimized out; libmam has the flags of the build.
# shellcheck disable=SC2086 # CFLAGS are words
if ! $CC ${CFLAGS:-} -g -O2 -I "$MAM_SRCDIR/include" "$MAM_SRCDIR/tests/tools/gdb_program.c" -o "$program" \
	"$library/libmam.so.0" > "$scratch/out" 2>&1; then
	not_ok "the program builds" "$(lib_tail "$scratch/out")"
	finish
fi

debug() # LIBRARY-FOLDER GDB-ARGUMENT... - leaves both outputs in $scratch/out
{
	debug_path=$1
	shift
	gdb -batch -nx -iex 'set auto-load off' -iex 'set width 0' -iex "set env LD_LIBRARY_PATH $debug_path" \
		-iex "set solib-search-path ${debug_path%%:*}" -ex "source $MAM_SRCDIR/tools/gdb/mam.py" "$@" \
		> "$scratch/out" 2>&1 < /dev/null
}

stopped() # GDB-ARGUMENT... - at stop_here()
{
	debug "$library" -ex 'break stop_here' -ex run "$@" "$program"
}

prints() # NAME TEXT - one space for several
{
	if tr -s ' ' < "$scratch/out" | grep -qF -e "$2"; then
		ok "$1"
	else
		not_ok "$1" "no '$2' in: $(lib_tail "$scratch/out")"
	fi
}

pool_is_right() # NAME
{
	prints "$1: limit" " limit 33554432 bytes"
	prints "$1: live" " live 2 blocks, 5120 bytes, 5000 requested"
	prints "$1: peak" " peak live 4 blocks, 10240 bytes, 10000 requested"
	prints "$1: retired" " retired 1 block, 3072 bytes"
	prints "$1: reserved" " reserved 1 chunk, 1048576 bytes, peak 1048576"
	prints "$1: calls" " calls 4 allocs, 2 frees, 0 failures"
	prints "$1: live segments" " segments 2 live, 5120 bytes"
	prints "$1: free segments" " segments 2 free, 1040384 bytes"
}

# Addresses are left out.
segments_are_right() # NAME
{
	sed -n 's/^  0x[0-9a-f]* *\([0-9]*\) *\([-0-9]*\)  \(.*\)/\1 \2 \3,/p' "$scratch/out" | tr '\n' ' ' > "$scratch/got"
	same "$1" "1024 1000 live, 2048 - free, 3072 - retired, 4096 4000 live, 1038336 - free, " \
		"$(cat "$scratch/got")"
}

stopped -ex 'mam pool first'
if grep -q 'ptrace: Operation not permitted' "$scratch/out"; then
	skip_all "gdb" "this machine does not permit ptrace"
fi
prints "mam pool: name" "'first'"
prints "mam pool: source" " source host, no device"
pool_is_right "mam pool"

stopped -ex 'mam pool'
same "mam pool without argument prints each pool that exists" "first second " \
	"$(sed -n "s/^pool 0x[0-9a-f]* '\(.*\)'\$/\1/p" "$scratch/out" | tr '\n' ' ')"
stopped -ex 'mam segments first'
segments_are_right "mam segments"
stopped -ex 'mam pool (unsigned long)first' -ex 'mam pool *second'
prints "pool by its number" "'first'"

stopped -ex 'mam pool ended' -ex 'mam pool 0' -ex 'mam pool 77' -ex 'mam pool nothing' -ex 'mam segments' \
	-ex 'mam heap first' -ex up -ex 'print argc' -ex 'mam pool argc'
prints "destroyed pool" "mam: error: the pool of 'ended' (0x"
prints "NULL" "mam: error: '0' is NULL, the default pool"
prints "not a pool" "mam: error: '77' (0x4d) is not a pool"
prints "unknown name" "mam: error: cannot evaluate 'nothing': No symbol"
prints "missing argument" "mam segments: error: missing POOL"
prints "not a heap" "mam: error: 'first' (0x"
if grep -q '^\$1 = <optimized out>' "$scratch/out"; then
	prints "variable that is optimized out" "mam: error: 'argc' is optimized out in this frame"
else
	skip "variable that is optimized out" "the compiler keeps it"
fi
debug "$library" -ex 'mam pool' "$program"
prints "before the program runs" "mam: error: no program is running"
debug "$library" -ex starti -ex 'mam pool' "$(command -v sh)"
prints "program without libmam" "mam: error: no libmam was found"
debug "$library" -ex 'help mam'
prints "the help names each command" "mam segments POOL"
same "the help fits on a page of 50 lines" yes "$([ "$(wc -l < "$scratch/out")" -le 50 ] && echo yes)"

# A sanitizer keeps its program's memory out of core files.
case ${CFLAGS:-} in
*-fsanitize*) ;;
*) stopped -ex "generate-core-file $scratch/core" ;;
esac
if [ -s "$scratch/core" ]; then
	debug "$library" -ex 'mam pool first' -ex 'mam segments first' "$program" "$scratch/core"
	pool_is_right "core file"
	segments_are_right "core file: segments"
else
	skip "core file" "gdb writes none here, or the program has a sanitizer in it"
fi

# The same library without debug symbols.
mkdir "$scratch/stripped"
if command -v strip > /dev/null && strip -o "$scratch/stripped/libmam.so.0" "$library/libmam.so.0"; then
	debug "$scratch/stripped" -ex 'break stop_here' -ex run -ex 'mam pool first' "$program"
	prints "no debug symbols: the library" "stripped/libmam.so.0' lacks debug symbols: mam_slots, struct mam_slot"
	prints "no debug symbols: advice" "mam: note: build mam with -g in CFLAGS"
else
	skip "no debug symbols" "strip is not installed"
fi

if [ ! -e "$fake/libcuda.so.1" ]; then
	skip "heaps" "the fake driver was not built (make check builds it)"
	finish
fi
# Device memory that gdb can read and write.
FAKE_CUDA_MEMORY=256M
FAKE_CUDA_HOST_ACCESS=1
export FAKE_CUDA_MEMORY FAKE_CUDA_HOST_ACCESS
heaps() # GDB-ARGUMENT...
{
	debug "$library:$fake" -ex 'break stop_here' -ex 'run heap' "$@" "$program"
}

heaps -ex 'mam heap pages'
prints "heap of pages: pool" "'heaps'"
prints "heap of pages: kind" " kind pages"
prints "heap of pages: pages" " pages 256 of 4096 bytes"
prints "heap of pages: all are free" " taken 0, free 256"
prints "heap of pages: errors" " errors none"
prints "heap of pages: growth" " growth off"
heaps -ex 'mam heap objects'
prints "heap of objects: kind" " kind objects"
prints "heap of objects: units" " units 1024 of 1024 bytes"
prints "heap of objects: all are free" " taken 0, free 1024"
# Like kernels: allocate page 3, and count two double frees.
heaps -ex 'set $head = (char *)pages->space + (256 << 12)' \
	-ex 'set $pages = (struct mam_pages *)($head + sizeof(struct mam_kheap))' \
	-ex 'set *(unsigned long *)($pages + 1) = 8' -ex 'set $pages->tally[4] = 2' -ex 'mam heap pages'
prints "allocated page" " taken 1, free 255"
prints "double free" " errors twice 2"
heaps -ex 'mam heap growing'
prints "heap that grows" " large 0 objects, 0 bytes"
unreadable=' taken unknown: gdb cannot read the device memory at 0x'
heaps -ex 'set pages->space = (unsigned char *)4096' -ex 'mam heap pages'
prints "device memory that gdb cannot read" "$unreadable"
heaps -ex 'set *(unsigned char **)(pages->space + (256 << 12)) = 0' -ex 'mam heap pages'
prints "device memory that gdb reads as zeros" "$unreadable"
heaps -ex 'set *(unsigned char **)(pages->space + (256 << 12)) = (unsigned char *)1' -ex 'mam heap pages'
prints "overwritten header" " metadata overwritten: the head at 0x"
finish
