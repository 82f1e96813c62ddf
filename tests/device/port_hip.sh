#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# port_hip.sh - kernels that allocate objects and pages compile as HIP for wavefronts of 32 lanes.
#
# clang compiles them with the few declarations of HIP's headers that port_hip.h needs, and hipcc
# with those headers, if it is installed. Nothing is run.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

cat > "$scratch/kernel.hip" << 'EOF_HIP'
#include <hip/hip_runtime.h>
#include <mam/heap.cuh>

extern "C" __global__ void mallocs(struct mam_kheap *heap, void **kept)
{
	kept[threadIdx.x] = mam_kmalloc(heap, threadIdx.x);
	(void)mam_kfree(heap, kept[threadIdx.x ^ 1]);
}

extern "C" __global__ void pages(struct mam_kheap *heap, void **kept)
{
	struct mam_kwalk walk;

	mam_kpage_start(heap, &walk);
	kept[threadIdx.x] = mam_kpage_alloc(heap, &walk);
	(void)mam_kpage_free(heap, kept[threadIdx.x ^ 1]);
}
EOF_HIP

mkdir -p "$scratch/declarations/hip"
cat > "$scratch/declarations/hip/hip_runtime.h" << 'EOF_HIP'
#pragma once
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
struct coordinates { unsigned int x, y, z; };
extern "C" __device__ const coordinates threadIdx, blockIdx, blockDim, gridDim;
extern "C" __device__ void __syncthreads();
extern "C" __device__ unsigned long long __ballot(int);
__device__ long long wall_clock64();
EOF_HIP

by_clang() # GPU SOURCE
{
	clang -x hip --offload-arch="$1" --cuda-device-only -nogpuinc -nogpulib -O1 -Wall -Wextra -Werror \
		-I "$scratch/declarations" -I "$MAM_SRCDIR/include" -I "$MAM_SRCDIR/src" -S -o "$scratch/assembly" "$2" \
		> "$scratch/said" 2>&1
}

compiles() # NAME COMMAND... - without warnings; the code has both kernels
{
	compiles_name=$1
	shift
	if ! "$@" || [ -s "$scratch/said" ]; then
		not_ok "$compiles_name" "$(lib_tail "$scratch/said")"
	else
		same "$compiles_name" "32 mallocs pages" "$(sed -n 's/^ *\.\(name\|wavefront_size\): *\(mallocs\|pages\|[0-9]*\)$/\2/p' \
			"$scratch/assembly" | LC_ALL=C sort -u | paste -s -d ' ')"
	fi
}

echo 'extern "C" __attribute__((global)) void probe(int *at) { *at = 1; }' > "$scratch/probe.hip"
if by_clang gfx1030 "$scratch/probe.hip"; then
	compiles "clang compiles kernels for gfx1030" by_clang gfx1030 "$scratch/kernel.hip"
	by_clang gfx906 "$scratch/kernel.hip"
	try "wavefronts of 64 lanes are rejected" grep -q 'needs wavefronts of 32 lanes' "$scratch/said"
else
	skip "clang compiles kernels for gfx1030" "no clang that supports HIP"
fi

# shellcheck disable=SC2317 # called through compiles
by_hipcc()
{
	hipcc --offload-arch=gfx1030 --cuda-device-only -O1 -Wall -Wextra -Wno-unused-command-line-argument -I "$MAM_SRCDIR/include" \
		-I "$MAM_SRCDIR/src" -S -o "$scratch/assembly" -x hip "$scratch/kernel.hip" 2> "$scratch/all"
	by_hipcc_status=$?
	# Without a GPU, hipcc's search for one fails, with a traceback.
	sed '/^Traceback/,/^[A-Za-z]*Error/d' "$scratch/all" > "$scratch/said"
	return "$by_hipcc_status"
}
if command -v hipcc > /dev/null; then
	compiles "hipcc compiles kernels for gfx1030" by_hipcc
else
	skip "hipcc compiles kernels for gfx1030" "hipcc is not installed"
fi
finish
