/* SPDX-License-Identifier: Apache-2.0 */
#include <cooperative_groups.h>
/* Two are in the same place. */
__global__ void k(int n)
{
	extern __shared__ int one[];

	one[threadIdx.x] = n;
}

template <typename T> __device__ void f(int n)
{
	extern __shared__ char other[];
	auto block = cooperative_groups::this_thread_block();
	auto warp = cooperative_groups::tiled_partition<32>(block);
	auto half = cooperative_groups::tiled_partition<16>(block);

	other[threadIdx.x] = warp.any(n) + half.any(n);
}

template __device__ void f<int>(int);
