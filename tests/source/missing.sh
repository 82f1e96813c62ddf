#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# missing.sh - a CUDA driver that is not there, is no library, or lacks a function: NO_DEVICE each
# time, with one line that says which of these it is. A driver that is there is found.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

program=$MAM_BUILDDIR/tests/source/try_cudamalloc
unset MAM_LOG MAM_LOG_FILE

# Looks for the driver in the folder first. glibc does not search on after a file that is no library.
with_driver_in() # FOLDER
{
	LD_LIBRARY_PATH=$1 "$program" > "$scratch/out" 2> "$scratch/err"
}

refuses() # NAME WORDS
{
	same "$1: the answer" MAM_ERROR_NO_DEVICE "$(cat "$scratch/out")"
	same "$1: one line" 1 "$(wc -l < "$scratch/err" | tr -d ' ')"
	if grep -q "^mam: no CUDA device can be used: .*$2" "$scratch/err"; then
		ok "$1: the reason"
	else
		not_ok "$1: the reason" "$(lib_tail "$scratch/err")"
	fi
}

mkdir "$scratch/text" "$scratch/empty" "$scratch/old"

echo "no library" > "$scratch/text/libcuda.so.1"
with_driver_in "$scratch/text"
refuses "a file that is no library" "the CUDA driver was not found (.*libcuda.so.1"

echo "int unrelated; int unrelated;" | "$CC" -shared -fPIC -Wl,-soname,libcuda.so.1 -x c - \
	-o "$scratch/old/libcuda.so.1"
with_driver_in "$scratch/old"
refuses "a library without the functions" "libcuda.so.1 has no cuInit"

if with_driver_in "$scratch/empty"; [ "$(cat "$scratch/out")" = MAM_OK ]; then
	skip "no driver at all" "this machine has one"
else
	refuses "no driver at all" ""
fi

if [ -e "$MAM_BUILDDIR/tests/fake/lib/libcuda.so.1" ]; then
	with_driver_in "$MAM_BUILDDIR/tests/fake/lib"
	same "a driver that is there: the answer" MAM_OK "$(cat "$scratch/out")"
	same "a driver that is there: nothing is said" "" "$(cat "$scratch/err")"
else
	skip "a driver that is there" "the fake driver was not built"
fi

finish
