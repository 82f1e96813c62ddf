#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# use.sh - the smallest program with mam.cl, by one -I and by the text that is built in; and mam.cl itself:
# one file, which clang takes as OpenCL C 1.2 and 3.0 without a word, and which is in order where its
# parts are.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

bundle() # FILE
{
	sh "$MAM_SRCDIR/build-aux/mam-bundle" "$MAM_SRCDIR/src" "$1"
}

bundle "$MAM_SRCDIR/src/opencl/mam.cl" > "$scratch/mam.cl"
same "mam.cl includes nothing" "" "$(grep '^ *#include' "$scratch/mam.cl" | head -n 1)"
same "each header is in it once" "" "$(grep '^#ifndef MAM_.*_H$' "$scratch/mam.cl" | LC_ALL=C sort | uniq -d)"
same "nothing of CUDA's, the simulator's or the host's is in it" "" \
	"$(grep -E 'MAM_HEAP_PORT_(CUDA|SIMT|HOST|BUILTIN)_H$|stdint' "$scratch/mam.cl" | grep -v '#if' | head -n 1)"
printf '#include "kma/nothing.h"\n' > "$scratch/hole.cl"
if bundle "$scratch/hole.cl" > "$scratch/out" 2> "$scratch/err"; then
	not_ok "a header that is missing is said" "it was passed over"
else
	same "a header that is missing is said" "mam-bundle: $MAM_SRCDIR/src/kma/nothing.h cannot be read" \
		"$(cat "$scratch/err")"
fi

as_opencl() # STANDARD FILE FLAGS...
{
	standard=$1
	file=$2
	shift 2
	clang -x cl "-cl-std=$standard" -Xclang -finclude-default-header -Wall -Wextra -Werror -fsyntax-only "$@" "$file"
}
echo 'kernel void probe(volatile global atomic_uint *at)
	{ atomic_store_explicit(at, 1, memory_order_relaxed, memory_scope_device); }' > "$scratch/probe.cl"
if as_opencl CL3.0 "$scratch/probe.cl" > /dev/null 2>&1; then
	for standard in CL1.2 CL3.0; do
		try "clang takes mam.cl as $standard" as_opencl "$standard" "$scratch/mam.cl"
		try "and with the published names" as_opencl "$standard" "$scratch/mam.cl" -DMAM_CL_PUBLISHED_NAMES
	done
	echo 'void use(__global void *heap) { (void)free(heap, malloc(heap, 1)); }' > "$scratch/names.cl"
	cat "$scratch/mam.cl" "$scratch/names.cl" > "$scratch/both.cl"
	if as_opencl CL1.2 "$scratch/both.cl" > /dev/null 2>&1; then
		not_ok "without being asked mam.cl names nothing malloc" "it was taken"
	else
		ok "without being asked mam.cl names nothing malloc"
	fi
	cat "$scratch/mam.cl" "$scratch/both.cl" > "$scratch/twice.cl"
	try "mam.cl may come twice" as_opencl CL1.2 "$scratch/twice.cl" -DMAM_CL_PUBLISHED_NAMES
else
	skip "clang takes mam.cl" "there is no clang that knows OpenCL C 3.0"
fi

if [ "${HAVE_OPENCL:-no}" != yes ]; then
	no_opencl
	finish
fi
# shellcheck disable=SC2086 # CFLAGS are words
try "the program is built" $CC ${CFLAGS:-} -I "$MAM_SRCDIR/include" -o "$scratch/use" "$MAM_SRCDIR/tests/opencl/use.c" \
	-L "$MAM_BUILDDIR/.libs" -lmam-opencl -lOpenCL -lpthread
POCL_CACHE_DIR=$scratch/cache
LD_LIBRARY_PATH=$MAM_BUILDDIR/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export POCL_CACHE_DIR LD_LIBRARY_PATH
mkdir "$scratch/mam"
mv "$scratch/mam.cl" "$scratch/mam"
for how in "include $scratch" text; do
	# shellcheck disable=SC2086 # words
	"$scratch/use" $how > "$scratch/said" 2>&1
	case $? in
	0) ok "kernels with mam.cl run: ${how%% *}" ;;
	77) no_opencl_device ;;
	*) not_ok "kernels with mam.cl run: ${how%% *}" "$(lib_tail "$scratch/said")" ;;
	esac
done
finish
