# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# lib.sh - functions for shell tests. A test starts with
#
#	#!/bin/sh
#	# SPDX-License-Identifier: Apache-2.0
#	. "${MAM_SRCDIR:-.}/tests/lib.sh"
#
# then calls ok, not_ok, skip or one of the shorthands below for each single test, and ends with
# finish. Each call prints one line, and tools/check counts those lines. A script that stops before
# finish fails, whatever it printed.
#
# Variable:  scratch  an empty folder for this run, removed at its end

: "${MAM_SRCDIR:=$(pwd)}"
: "${MAM_BUILDDIR:=$(pwd)}"
: "${MAM:=$MAM_BUILDDIR/mam}"
: "${CC:=cc}"
: "${HAVE_CUDA:=no}"
: "${HAVE_BENCH_KERNELS:=no}"
: "${NVCC:=}"
export MAM_SRCDIR MAM_BUILDDIR MAM CC HAVE_CUDA HAVE_BENCH_KERNELS NVCC

lib_passed=0
lib_failed=0
lib_skipped=0
lib_finished=no
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mam-test.XXXXXX") || exit 99

lib_exit()
{
	lib_status=$?
	rm -rf "$scratch"
	[ "$lib_finished" = yes ] && exit "$lib_status"
	echo "not ok - $0: stopped before its end (status $lib_status)"
	exit 1
}
trap lib_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

ok() # NAME
{
	lib_passed=$((lib_passed + 1))
	echo "ok - $1"
}

not_ok() # NAME WHY
{
	lib_failed=$((lib_failed + 1))
	echo "not ok - $1: $2"
}

skip() # NAME WHY
{
	lib_skipped=$((lib_skipped + 1))
	echo "skip - $1: $2"
}

explained_in() # PAGE - the manual page explains each option of the --help output in $scratch/out
{
	for explained_option in $(sed -n 's/^ *\(-., *\)\{0,1\}--\([a-z]*\).*/\2/p' "$scratch/out"); do
		[ "$explained_option" = help ] || try "manual page explains --$explained_option" \
			grep -qE "^\.(B|BI|BR).*\\\\-\\\\-$explained_option( |\"|\$)" "$1"
	done
}

# COMMAND NAME STATUS TEXT ARGUMENT... - COMMAND must exit with STATUS and write one line, which
# contains TEXT, to $scratch/err
refused_by()
{
	refused_command=$1
	refused_name=$2
	refused_status=$3
	refused_text=$4
	shift 4
	"$refused_command" "$@"
	same "$refused_name: exit status" "$refused_status" $?
	if [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q -e "$refused_text" "$scratch/err"; then
		ok "$refused_name: one line on stderr"
	else
		not_ok "$refused_name: one line on stderr" "$(lib_tail "$scratch/err")"
	fi
}

finish() # the last call of a test
{
	lib_finished=yes
	[ "$lib_failed" -gt 0 ] && exit 1
	[ "$lib_passed" -gt 0 ] && exit 0
	[ "$lib_skipped" -gt 0 ] && exit 77
	echo "not ok - $0: asserted nothing"
	exit 1
}

# The same line in every test, so that tools/check prints it once.
no_opencl()
{
	skip "OpenCL" "mam was built without OpenCL (packages opencl-headers, ocl-icd-opencl-dev)"
}

no_opencl_device()
{
	skip "OpenCL" "no driver has a device here (package pocl-opencl-icd)"
}

# Whether mam bench plot can draw. Sets plot_python to the interpreter that it would use.
can_plot()
{
	for plot_python in ${PYTHON:-python3 /usr/bin/python3}; do
		plot_python=$(command -v "$plot_python") && "$plot_python" -c 'import matplotlib' > /dev/null 2>&1 && return
	done
	return 1
}

no_matplotlib()
{
	skip "figures" "Python has no matplotlib (package python3-matplotlib)"
}

skip_all() # NAME WHY - no test of this script can run
{
	skip "$1" "$2"
	finish
}

# The last lines of the command's output, joined and truncated for the failure's line.
lib_tail() # FILE
{
	tail -n 3 "$1" | tr '\n' ' ' | cut -c 1-300
}

until_true() # COMMAND... - waits until it succeeds, for a minute at most
{
	until_tries=0
	while ! "$@" > /dev/null 2>&1; do
		until_tries=$((until_tries + 1))
		[ "$until_tries" -lt 3000 ] || return 1
		sleep 0.02
	done
}

try() # NAME COMMAND... - ok when the command succeeds
{
	lib_name=$1
	shift
	if "$@" > "$scratch/lib.out" 2>&1; then
		ok "$lib_name"
	else
		not_ok "$lib_name" "status $?: $(lib_tail "$scratch/lib.out")"
	fi
}

same() # NAME WANTED GOT - ok when two texts are equal
{
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "wanted '$2', got '$3'"
	fi
}
