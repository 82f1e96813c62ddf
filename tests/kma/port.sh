#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# port.sh - the heap of superblocks is valid OpenCL C and CUDA: clang and nvcc compile it without a warning,
# and each header is self-contained.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

headers="actives classes fresh kma layout queue superblock report"
kernels=$MAM_SRCDIR/tests/kma/port.cl

as_opencl() # FILE FLAGS...
{
	file=$1
	shift
	clang -x cl "-cl-std=${standard:-CL3.0}" -Xclang -finclude-default-header -Wall -Wextra -Werror \
		-fsyntax-only -I "$MAM_SRCDIR/src" "$@" "$file" > "$scratch/said" 2>&1
}

one() # HEADER - a file that includes it alone
{
	printf '#include "kma/%s.h"\n' "$1" > "$scratch/$1.cl"
	echo "$scratch/$1.cl"
}

echo 'kernel void probe(volatile global atomic_uint *at)
	{ atomic_store_explicit(at, 1, memory_order_relaxed, memory_scope_device); }' \
	> "$scratch/probe.cl"
if as_opencl "$scratch/probe.cl"; then
	if as_opencl "$kernels"; then
		ok "clang compiles the kernels as OpenCL C"
	else
		not_ok "clang compiles the kernels as OpenCL C" "$(lib_tail "$scratch/said")"
	fi
	standard=CL1.2
	try "clang compiles the kernels as OpenCL C 1.2" as_opencl "$kernels"
	standard=
	for header in $headers; do
		as_opencl "$(one "$header")" || not_ok "$header.h is self-contained OpenCL C" "$(lib_tail "$scratch/said")"
	done
	sed 's/mam_atomic_add32(&counts/mam_atomic_add32(counts, \&counts/' "$kernels" > "$scratch/wrong.cl"
	try "clang rejects invalid kernels" sh -c '! "$@"' - clang -x cl -cl-std=CL3.0 -Xclang -finclude-default-header \
		-fsyntax-only -I "$MAM_SRCDIR/src" "$scratch/wrong.cl"
	# NVIDIA's compiler is also based on clang, and defines __NV_CL_C_VERSION. There lanes are those of a warp. The
	# output is assembled if the toolkit is installed.
	if clang -target nvptx64-nvidia-cuda -march=sm_70 -nogpulib -Xclang -target-feature -Xclang +ptx63 -x cl -cl-std=CL1.2 \
		-Xclang -finclude-default-header -S -o "$scratch/warps.ptx" -Dcl_khr_int64_base_atomics \
		-Dcl_khr_int64_extended_atomics -D__NV_CL_C_VERSION=120 -Dasm=__asm__ -Wall -Wextra -Werror \
		-Wno-ignored-pragmas -Wno-unknown-pragmas -O2 -I "$MAM_SRCDIR/src" "$kernels" > "$scratch/said" 2>&1; then
		for word in activemask.b32 match.any.sync.b32 shfl.sync.idx.b32 vote.sync.ballot.b32 bar.warp.sync; do
			try "PTX for NVIDIA has $word" grep -qF "$word" "$scratch/warps.ptx"
		done
		assembler=$(dirname "${NVCC:-/}")/ptxas
		[ ! -x "$assembler" ] || try "ptxas assembles the PTX" "$assembler" -arch=sm_75 -c -o "$scratch/warps.o" "$scratch/warps.ptx"
	else
		not_ok "clang compiles the kernels for NVIDIA" "$(lib_tail "$scratch/said")"
	fi
else
	skip "clang compiles the kernels as OpenCL C" "no clang with OpenCL C 3.0"
fi

# The host needs the size classes to create a heap.
printf '#include <stdbool.h>\n#include "kma/classes.h"\nint main(void) { return mam_kma_class(12, 0).size != 4; }\n' \
	> "$scratch/host.c"
# shellcheck disable=SC2086 # flags are words
try "the host compiles the size classes" "$CC" -std=gnu11 -Wall -Wextra -Werror -I "$MAM_SRCDIR/src" -o "$scratch/host" "$scratch/host.c"
try "host and kernels have the same size classes" "$scratch/host"

if [ "$HAVE_CUDA" = yes ] && [ -n "$NVCC" ]; then
	for architecture in 75 90; do
		if "$NVCC" -x cu -arch="sm_$architecture" -Werror all-warnings -Xcompiler=-Wall -I "$MAM_SRCDIR/src" \
			-cubin -o "$scratch/cubin" "$kernels" > "$scratch/said" 2>&1 && [ ! -s "$scratch/said" ]; then
			ok "nvcc compiles the kernels for sm_$architecture"
		else
			not_ok "nvcc compiles the kernels for sm_$architecture" "$(lib_tail "$scratch/said")"
		fi
	done
else
	skip "nvcc compiles the kernels" "mam was built without the CUDA toolkit"
fi
finish
