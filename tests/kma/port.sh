#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# port.sh - the heap of superblocks is OpenCL C and CUDA: clang takes it as the one, nvcc as the other,
# neither says a word, and each header is complete by itself.

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
		ok "clang takes kernels as OpenCL C"
	else
		not_ok "clang takes kernels as OpenCL C" "$(lib_tail "$scratch/said")"
	fi
	standard=CL1.2
	try "and as OpenCL C 1.2" as_opencl "$kernels"
	standard=
	for header in $headers; do
		as_opencl "$(one "$header")" || not_ok "$header.h by itself as OpenCL C" "$(lib_tail "$scratch/said")"
	done
	sed 's/mam_atomic_add32(&counts/mam_atomic_add32(counts, \&counts/' "$kernels" > "$scratch/wrong.cl"
	try "and would not take all" sh -c '! "$@"' - clang -x cl -cl-std=CL3.0 -Xclang -finclude-default-header \
		-fsyntax-only -I "$MAM_SRCDIR/src" "$scratch/wrong.cl"
	# NVIDIA's compiler is clang too, and says so by __NV_CL_C_VERSION. There lanes are those of a warp; what comes
	# out is assembled where the toolkit is.
	if clang -target nvptx64-nvidia-cuda -march=sm_70 -nogpulib -Xclang -target-feature -Xclang +ptx63 -x cl -cl-std=CL1.2 \
		-Xclang -finclude-default-header -S -o "$scratch/warps.ptx" -Dcl_khr_int64_base_atomics \
		-Dcl_khr_int64_extended_atomics -D__NV_CL_C_VERSION=120 -Dasm=__asm__ -Wall -Wextra -Werror \
		-Wno-ignored-pragmas -Wno-unknown-pragmas -O2 -I "$MAM_SRCDIR/src" "$kernels" > "$scratch/said" 2>&1; then
		for word in activemask.b32 match.any.sync.b32 shfl.sync.idx.b32 vote.sync.ballot.b32 bar.warp.sync; do
			try "for NVIDIA's, lanes of a warp meet by $word" grep -qF "$word" "$scratch/warps.ptx"
		done
		assembler=$(dirname "${NVCC:-/}")/ptxas
		[ ! -x "$assembler" ] || try "and that is assembled" "$assembler" -arch=sm_75 -c -o "$scratch/warps.o" "$scratch/warps.ptx"
	else
		not_ok "for NVIDIA's, kernels of lanes of a warp" "$(lib_tail "$scratch/said")"
	fi
else
	skip "clang takes kernels as OpenCL C" "there is no clang that knows OpenCL C 3.0"
fi

# By the host: what it needs to make a heap.
printf '#include <stdbool.h>\n#include "kma/classes.h"\nint main(void) { return mam_kma_class(12, 0).size != 4; }\n' \
	> "$scratch/host.c"
# shellcheck disable=SC2086 # flags are words
try "the host takes the classes" "$CC" -std=gnu11 -Wall -Wextra -Werror -I "$MAM_SRCDIR/src" -o "$scratch/host" "$scratch/host.c"
try "and has them as kernels do" "$scratch/host"

if [ "$HAVE_CUDA" = yes ] && [ -n "$NVCC" ]; then
	for architecture in 75 90; do
		if "$NVCC" -x cu -arch="sm_$architecture" -Werror all-warnings -Xcompiler=-Wall -I "$MAM_SRCDIR/src" \
			-cubin -o "$scratch/cubin" "$kernels" > "$scratch/said" 2>&1 && [ ! -s "$scratch/said" ]; then
			ok "nvcc takes kernels for sm_$architecture"
		else
			not_ok "nvcc takes kernels for sm_$architecture" "$(lib_tail "$scratch/said")"
		fi
	done
else
	skip "nvcc takes kernels" "mam was built without the CUDA toolkit"
fi
finish
