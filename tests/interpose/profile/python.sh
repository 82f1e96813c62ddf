#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# python.sh - the Python frames that a profile shows are those that Python reports, in each version
# of Python 3.9 and later that is installed.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

here=$MAM_SRCDIR/tests/interpose/profile
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

$CC -std=gnu11 -O1 -shared -fPIC -pthread -I"$MAM_SRCDIR/src" -o "$scratch/calls.so" "$here/python_calls.c" \
	"$MAM_SRCDIR/src/interpose/profile/python.c" "$MAM_SRCDIR/src/interpose/profile/python_find.c" \
	"$MAM_SRCDIR/src/interpose/profile/python_intern.c" "$MAM_SRCDIR/src/interpose/profile/python_layout.c" \
	"$MAM_SRCDIR/src/interpose/profile/python_line.c" "$MAM_SRCDIR/src/interpose/process/stack.c" "$MAM_SRCDIR/src/interpose/process/objects.c" \
	> "$scratch/out" 2>&1 || skip_all "Python frames" "$CC cannot build a shared library: $(lib_tail "$scratch/out")"

# Prints "VERSION INTERPRETER" for each installation.
installed()
{
	for installed_name in ${PYTHON:-python3} /usr/bin/python3 python3.9 python3.10 python3.11 python3.12 \
		python3.13 python3.14 python3.15; do
		"$installed_name" -c 'if True:
			import ctypes, platform, sys
			if sys.version_info >= (3, 9) and platform.python_implementation() == "CPython":
				print(platform.python_version(), sys.executable)' 2> /dev/null
	done | sort -u -k 1,1
}

# Runs the program and reports each of its lines as a test.
frames_in() # VERSION INTERPRETER ARGUMENT...
{
	frames_version=$1
	shift
	"$1" "$here/python_frames.py" "$scratch/calls.so" ${2+"$2"} > "$scratch/lines" 2> "$scratch/err"
	frames_status=$?
	while IFS= read -r frames_line; do
		case $frames_line in
		"ok - "*) ok "Python $frames_version: ${frames_line#ok - }" ;;
		"not ok - "*) not_ok "Python $frames_version: ${2-}" "${frames_line#not ok - }" ;;
		esac
	done < "$scratch/lines"
	[ $frames_status -eq 0 ] || not_ok "Python $frames_version: exit status ${2-}" "$frames_status: $(lib_tail "$scratch/err")"
}

installed > "$scratch/installed"
[ -s "$scratch/installed" ] || skip_all "Python frames" "no CPython of version 3.9 or later has ctypes"
while read -r version interpreter; do
	frames_in "$version" "$interpreter"
	frames_in "$version" "$interpreter" daemons
done < "$scratch/installed"
finish
