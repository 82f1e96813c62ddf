#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# use.sh - the smallest program with mam.cl, by one -I and by the built-in text; and mam.cl itself: one
# file that contains each header once, and that clang compiles as OpenCL C 1.2 and 3.0 without a
# warning.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

bundle() # FILE
{
	sh "$MAM_SRCDIR/build-aux/mam-bundle" "$MAM_SRCDIR/src" "$1"
}

bundle "$MAM_SRCDIR/src/opencl/mam.cl" > "$scratch/mam.cl"
same "mam.cl includes nothing" "" "$(grep '^ *#include' "$scratch/mam.cl" | head -n 1)"
same "mam.cl contains each header once" "" "$(grep '^#ifndef MAM_.*_H$' "$scratch/mam.cl" | LC_ALL=C sort | uniq -d)"
same "mam.cl contains no CUDA, simulator or host code" "" \
	"$(grep -E 'MAM_HEAP_PORT_(CUDA|SIMT|HOST|BUILTIN)_H$|stdint' "$scratch/mam.cl" | grep -v '#if' | head -n 1)"
printf '#include "kma/nothing.h"\n' > "$scratch/missing.cl"
if bundle "$scratch/missing.cl" > "$scratch/out" 2> "$scratch/err"; then
	not_ok "a missing header is reported" "it was ignored"
else
	same "a missing header is reported" "mam-bundle: $MAM_SRCDIR/src/kma/nothing.h cannot be read" \
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
		try "clang compiles mam.cl as $standard" as_opencl "$standard" "$scratch/mam.cl"
		try "clang compiles it with the published names as $standard" as_opencl "$standard" "$scratch/mam.cl" -DMAM_CL_PUBLISHED_NAMES
	done
	echo 'void use(__global void *heap) { (void)free(heap, malloc(heap, 1)); }' > "$scratch/names.cl"
	cat "$scratch/mam.cl" "$scratch/names.cl" > "$scratch/both.cl"
	if as_opencl CL1.2 "$scratch/both.cl" > /dev/null 2>&1; then
		not_ok "mam.cl does not define malloc by default" "it compiled"
	else
		ok "mam.cl does not define malloc by default"
	fi
	cat "$scratch/mam.cl" "$scratch/both.cl" > "$scratch/twice.cl"
	try "mam.cl may be included twice" as_opencl CL1.2 "$scratch/twice.cl" -DMAM_CL_PUBLISHED_NAMES
else
	skip "clang compiles mam.cl" "no clang with OpenCL C 3.0"
fi

if [ "${HAVE_OPENCL:-no}" != yes ]; then
	no_opencl
	finish
fi
# shellcheck disable=SC2086 # CFLAGS are words
try "the program builds" $CC ${CFLAGS:-} -I "$MAM_SRCDIR/include" -o "$scratch/use" "$MAM_SRCDIR/tests/opencl/use.c" \
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
