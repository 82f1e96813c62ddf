#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# opencl.sh - structures as OpenCL C: clang compiles them without warnings, and rejects a program
# without a base.

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
	skip_all "structures as OpenCL C" "no clang with OpenCL C 3.0"

try "structures compile as OpenCL C 3.0" as_opencl "$MAM_SRCDIR/tests/ds/structures.cl"
standard=CL1.2
try "structures compile as OpenCL C 1.2" as_opencl "$MAM_SRCDIR/tests/ds/structures.cl"
standard=
echo '#include "ds/vector.h"' > "$scratch/no_base.cl"
if as_opencl "$scratch/no_base.cl" > "$scratch/said" 2>&1; then
	not_ok "a program without a base is rejected" "it was accepted"
else
	try "a program without a base is rejected" grep -q 'define MAM_DS_BASE' "$scratch/said"
fi
finish
