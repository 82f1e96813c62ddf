#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# port_opencl.sh - the pages as OpenCL C: clang takes them without a word, and where there is an
# OpenCL device (PoCL is one) they are run on it.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

kernels=$MAM_SRCDIR/tests/heap/opencl_pages.cl

as_opencl() # FLAGS...
{
	clang -x cl -cl-std=CL3.0 -Xclang -finclude-default-header -Wall -Wextra -Werror \
		-fsyntax-only -I "$MAM_SRCDIR/src" "$@" "$kernels"
}

echo 'kernel void probe(volatile global atomic_uint *at)
	{ atomic_store_explicit(at, 1, memory_order_relaxed, memory_scope_device); }' \
	> "$scratch/probe.cl"
if clang -x cl -cl-std=CL3.0 -Xclang -finclude-default-header -fsyntax-only "$scratch/probe.cl" \
	> /dev/null 2>&1; then
	try "clang takes the pages as OpenCL C" as_opencl
	if as_opencl -U__OPENCL_C_VERSION__ -D__OPENCL_C_VERSION__=120 > "$scratch/said" 2>&1; then
		not_ok "older OpenCL C is refused" "it was taken"
	else
		try "older OpenCL C is refused" grep -q 'needs OpenCL C 3.0' "$scratch/said"
	fi
else
	skip "clang takes the pages as OpenCL C" "there is no clang that knows OpenCL C 3.0"
fi

# The program itself; compiled by the compiler alone, since a sanitizer does not know what OpenCL's
# libraries do.
if ! $CC -std=gnu11 -O1 -Wall -Wextra -I "$MAM_SRCDIR/src" -o "$scratch/opencl_pages" \
	"$MAM_SRCDIR/tests/heap/opencl_pages.c" -lOpenCL > "$scratch/said" 2>&1; then
	skip "pages on an OpenCL device" "OpenCL's headers or library are not here"
	finish
fi
POCL_CACHE_DIR=$scratch/cache "$scratch/opencl_pages" "$MAM_SRCDIR/src" "$kernels" \
	> "$scratch/said" 2>&1
case $? in
0) ok "pages on an OpenCL device" ;;
77) skip "pages on an OpenCL device" "$(head -n 1 "$scratch/said")" ;;
*) not_ok "pages on an OpenCL device" "$(lib_tail "$scratch/said")" ;;
esac
finish
