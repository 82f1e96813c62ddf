#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# opencl.sh - structures as OpenCL C: clang takes them without a word, and not without a base.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

as_opencl() # FLAGS... FILE
{
	clang -x cl "-cl-std=${standard:-CL3.0}" -Xclang -finclude-default-header -Wall -Wextra -Werror -fsyntax-only \
		-I "$MAM_SRCDIR/src" "$@"
}

echo 'kernel void probe(volatile global atomic_uint *at)
	{ atomic_store_explicit(at, 1, memory_order_relaxed, memory_scope_device); }' \
	> "$scratch/probe.cl"
as_opencl "$scratch/probe.cl" > /dev/null 2>&1 ||
	skip_all "structures as OpenCL C" "there is no clang that knows OpenCL C 3.0"

try "clang takes structures as OpenCL C" as_opencl "$MAM_SRCDIR/tests/ds/structures.cl"
standard=CL1.2
try "and as OpenCL C 1.2" as_opencl "$MAM_SRCDIR/tests/ds/structures.cl"
standard=
echo '#include "ds/vector.h"' > "$scratch/no_base.cl"
if as_opencl "$scratch/no_base.cl" > "$scratch/said" 2>&1; then
	not_ok "a program without a base is refused" "it was taken"
else
	try "a program without a base is refused" grep -q 'define MAM_DS_BASE' "$scratch/said"
fi
finish
