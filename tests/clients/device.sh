# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# device.sh - functions shared by the tests of programs with kernels; sourced after lib.sh, with the
# test's name in $device_test. The tests are skipped where the programs cannot be built.
# $architecture is the target: this machine's GPU, or sm_90.
# shellcheck disable=SC2034,SC2154 # shared with those

if [ "$HAVE_CUDA" != yes ] || [ -z "$NVCC" ]; then
	skip_all "$device_test" 'mam was built without the CUDA toolkit'
fi
libraries=$MAM_BUILDDIR/.libs
[ -e "$libraries/libmam.so.0" ] || skip_all "$device_test" 'there is no shared library in this build'
case ${CFLAGS:-} in
*-fsanitize*) skip_all "$device_test" 'libmam has a sanitizer in it, and nvcc links none' ;;
esac
unset MAKEFLAGS MFLAGS MAKELEVEL

architecture=sm_90
has_gpu=no
nvidia-smi > /dev/null 2>&1 && architecture=native has_gpu=yes

silent() # COMMAND... - it succeeds and prints nothing
{
	"$@" > "$scratch/said" 2>&1 || { cat "$scratch/said"; return 1; }
	[ ! -s "$scratch/said" ] || { cat "$scratch/said"; return 1; }
}

build() # PROGRAM SOURCE FLAGS... - of this folder, with the headers of the source tree
{
	program=$1
	source=$2
	shift 2
	silent "$NVCC" "$@" -arch="$architecture" -Xcompiler -Wall,-Wextra -I "$MAM_SRCDIR/include" \
		-I "$MAM_SRCDIR/src" -o "$scratch/$program" "$MAM_SRCDIR/tests/clients/kernels/$source" -L "$libraries" -lmam
}

# True where a program that takes long to compile is worth it: at full length, or on a GPU.
at_length() # NAME - of what is skipped otherwise
{
	[ "${TEST_SHARE:-1}" -gt 1 ] && [ "$has_gpu" = no ] || return 0
	skip "$1" 'without a GPU only tools/check --all compiles it'
	return 1
}

staged() # HEADER TARGET... - sets $include: where make installs mam's headers, HEADER among them
{
	header=$1
	shift
	try 'headers are installed' "${MAKE:-make}" -s -C "$MAM_BUILDDIR" DESTDIR="$scratch/stage" \
		install-pkgincludeHEADERS "$@"
	include=$(dirname "$(find "$scratch/stage" -name mam -type d)")
	[ -e "$include/mam/$header" ] || { not_ok "$header is installed" "not in $include"; finish; }
}

compile() # OBJECT SOURCE FLAGS... - with the installed headers
{
	object=$1
	source=$2
	shift 2
	silent "$NVCC" -arch="$architecture" -Xcompiler -Wall,-Wextra -I "$include" "$@" -c -o "$scratch/$object" \
		"$source"
}

link() # PROGRAM FLAG OBJECTS...
{
	program=$1
	flag=$2
	shift 2
	(cd "$scratch" && silent "$NVCC" "$flag" -arch="$architecture" -o "$program" "$@" -L "$libraries" -lmam)
}

runs() # PROGRAM ARGUMENTS... - to its end, where there is a GPU
{
	program=$1
	shift
	if [ "$has_gpu" = yes ]; then
		LD_LIBRARY_PATH=$libraries "$scratch/$program" "$@" > "$scratch/out" 2>&1
		same "$program runs to its end" 'all is well' "$(tail -n 1 "$scratch/out")"
	else
		skip "$program runs to its end" 'there is no GPU'
	fi
}
