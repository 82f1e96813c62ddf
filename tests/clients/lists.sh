#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lists.cu, whose kernels allocate, builds without a warning, optimised and for debuggers. Where
# there is a GPU it also runs.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

if [ "$HAVE_CUDA" != yes ] || [ -z "$NVCC" ]; then
	skip_all lists 'mam was built without the CUDA toolkit'
fi
libraries=$MAM_BUILDDIR/.libs
[ -e "$libraries/libmam.so.0" ] || skip_all lists 'there is no shared library in this build'
case ${CFLAGS:-} in
*-fsanitize*) skip_all lists 'libmam has a sanitizer in it, and nvcc links none' ;;
esac

architecture=sm_90
nvidia-smi > /dev/null 2>&1 && architecture=native

build() # NAME FLAGS... - nothing is said
{
	name=$1
	shift
	"$NVCC" "$@" -arch="$architecture" -Xcompiler -Wall,-Wextra \
		-I "$MAM_SRCDIR/include" -I "$MAM_SRCDIR/src" -o "$scratch/$name" \
		"$MAM_SRCDIR/tests/clients/lists.cu" -L "$libraries" -lmam > "$scratch/said" 2>&1 ||
		{ cat "$scratch/said"; return 1; }
	[ ! -s "$scratch/said" ] || { cat "$scratch/said"; return 1; }
}

try 'lists builds' build lists -O2
try 'lists builds with its assertions' build debug -O2 -DMAM_KERNEL_DEBUG=1
for program in lists debug; do
	if nvidia-smi > /dev/null 2>&1; then
		LD_LIBRARY_PATH=$libraries "$scratch/$program" 100000 2 > "$scratch/out" 2>&1
		same "$program runs to its end" 'all is well' "$(tail -n 1 "$scratch/out")"
	else
		skip "$program runs to its end" 'there is no GPU'
	fi
done
finish
