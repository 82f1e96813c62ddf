#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# missing.sh - a CUDA driver that is missing, is not a library, or lacks a function: NO_DEVICE each
# time, with one line that gives the reason. An existing driver is found.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

program=$MAM_BUILDDIR/tests/source/try_cudamalloc
unset MAM_LOG MAM_LOG_FILE

# Searches the folder for the driver first. glibc stops at a file that is not a library.
with_driver_in() # FOLDER
{
	LD_LIBRARY_PATH=$1 "$program" > "$scratch/out" 2> "$scratch/err"
}

refuses() # NAME WORDS
{
	same "$1: status" MAM_ERROR_NO_DEVICE "$(cat "$scratch/out")"
	same "$1: one line on stderr" 1 "$(wc -l < "$scratch/err" | tr -d ' ')"
	if grep -q "^mam: no CUDA device can be used: .*$2" "$scratch/err"; then
		ok "$1: reason on stderr"
	else
		not_ok "$1: reason on stderr" "$(lib_tail "$scratch/err")"
	fi
}

mkdir "$scratch/text" "$scratch/empty" "$scratch/old"

echo "not a library" > "$scratch/text/libcuda.so.1"
with_driver_in "$scratch/text"
refuses "file that is not a library" "the CUDA driver was not found (.*libcuda.so.1"

echo "int unrelated; int unrelated;" | "$CC" -shared -fPIC -Wl,-soname,libcuda.so.1 -x c - \
	-o "$scratch/old/libcuda.so.1"
with_driver_in "$scratch/old"
refuses "library without the driver's functions" "libcuda.so.1 has no cuInit"

if with_driver_in "$scratch/empty"; [ "$(cat "$scratch/out")" = MAM_OK ]; then
	skip "no driver" "this machine has one"
else
	refuses "no driver" ""
fi

if [ -e "$MAM_BUILDDIR/tests/fake/lib/libcuda.so.1" ]; then
	with_driver_in "$MAM_BUILDDIR/tests/fake/lib"
	same "existing driver: status" MAM_OK "$(cat "$scratch/out")"
	same "existing driver: nothing on stderr" "" "$(cat "$scratch/err")"
else
	skip "existing driver" "the fake driver was not built"
fi

finish
