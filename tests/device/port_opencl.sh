#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# port_opencl.sh - the pages as OpenCL C 3.0, 1.2 and NVIDIA's: clang compiles them without
# warnings. If there is an OpenCL device (PoCL is one), they also run on it, as 3.0 and as 1.2.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

kernels=$MAM_SRCDIR/tests/device/opencl_pages.cl

as_opencl() # STANDARD FLAGS...
{
	standard=$1
	shift
	clang -x cl "-cl-std=$standard" -Xclang -finclude-default-header -Wall -Wextra -Werror \
		-fsyntax-only -I "$MAM_SRCDIR/src" "$@" "$kernels"
}

echo 'kernel void probe(volatile global atomic_uint *at)
	{ atomic_store_explicit(at, 1, memory_order_relaxed, memory_scope_device); }' \
	> "$scratch/probe.cl"
if clang -x cl -cl-std=CL3.0 -Xclang -finclude-default-header -fsyntax-only "$scratch/probe.cl" \
	> /dev/null 2>&1; then
	try "the pages compile as OpenCL C 3.0" as_opencl CL3.0
	try "the pages compile as OpenCL C 1.2" as_opencl CL1.2
	try "the pages compile with atomic reads" as_opencl CL1.2 -DMAM_CL_ATOMIC_READS
	if as_opencl CL1.1 > "$scratch/said" 2>&1; then
		not_ok "older OpenCL C is rejected" "it was accepted"
	else
		try "older OpenCL C is rejected" grep -q 'needs OpenCL C 1.2' "$scratch/said"
	fi
	if as_opencl CL1.2 -Ucl_khr_int64_base_atomics > "$scratch/said" 2>&1; then
		not_ok "a device without 64-bit atomics is rejected" "it was accepted"
	else
		try "a device without 64-bit atomics is rejected" grep -q 'needs 64-bit atomics' "$scratch/said"
	fi
	# OpenCL C 3.0 does not guarantee the orders.
	{
		echo '#undef __opencl_c_atomic_order_acq_rel'
		cat "$kernels"
		printf '#if !defined(MAM_DEVICE_PORT_OPENCL_12_H)\n#error "it is not"\n#endif\n'
	} > "$scratch/unordered.cl"
	kernels=$scratch/unordered.cl
	try "OpenCL C 3.0 without the orders uses the 1.2 port" as_opencl CL3.0
	kernels=$MAM_SRCDIR/tests/device/opencl_pages.cl
	# NVIDIA's compiler is clang, too, and is identified by __NV_CL_C_VERSION. Its output has orders
	# and scopes.
	if clang -target nvptx64-nvidia-cuda -march=sm_70 -nogpulib -Xclang -target-feature -Xclang +ptx63 \
		-x cl -cl-std=CL1.2 -Xclang -finclude-default-header -S -o "$scratch/probe.ptx" \
		-Dcl_khr_int64_base_atomics -Dcl_khr_int64_extended_atomics -D__NV_CL_C_VERSION=120 \
		-Dasm=__asm__ -Wall -Wextra -Wvariadic-macros -Werror -Wno-ignored-pragmas -Wno-unknown-pragmas -O2 \
		-I "$MAM_SRCDIR/src" "$kernels" > "$scratch/said" 2>&1; then
		try "NVIDIA atomics are PTX with an order and a scope" \
			grep -q 'atom.or.acquire.gpu.b64' "$scratch/probe.ptx"
		same "NVIDIA atomics without an order do not occur" "" "$(grep -E '(atom|red)\.(global\.)?(or|and|add|cas|exch)\.(global\.)?b' "$scratch/probe.ptx" |
			head -n 1)"
	else
		not_ok "NVIDIA atomics are PTX with an order and a scope" "$(lib_tail "$scratch/said")"
	fi
else
	skip "the pages compile as OpenCL C 3.0" "no clang with OpenCL C 3.0"
fi

# The program itself; compiled without sanitizers, since they do not understand OpenCL's libraries.
if ! $CC -std=gnu11 -O1 -Wall -Wextra -I "$MAM_SRCDIR/src" -o "$scratch/opencl_pages" \
	"$MAM_SRCDIR/tests/device/opencl_pages.c" -lOpenCL > "$scratch/said" 2>&1; then
	no_opencl
	finish
fi
for standard in CL3.0 CL1.2; do
	POCL_CACHE_DIR=$scratch/cache "$scratch/opencl_pages" "$MAM_SRCDIR/src" "$kernels" "$standard" \
		> "$scratch/said" 2>&1
	case $? in
	0) ok "pages on an OpenCL device as $standard" ;;
	77) no_opencl_device ;;
	*) not_ok "pages on an OpenCL device as $standard" "$(lib_tail "$scratch/said")" ;;
	esac
done
finish
