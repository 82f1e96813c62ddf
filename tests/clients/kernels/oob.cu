/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oob.cu - writes a few bytes past the end of a block, for compute-sanitizer to find.
 *
 * The bytes belong to no block: they are between the end of this one and the start of the next.
 */
#include <cstdio>

#include <cuda_runtime.h>

__global__ void write(char *block, int at)
{
	block[at] = 1;
}

int main()
{
	char *blocks[3];

	for (int i = 0; i < 3; i++)
		if (cudaMalloc(&blocks[i], 1000) != cudaSuccess)
			return 1;
	write<<<1, 1>>>(blocks[1], 999);
	cudaDeviceSynchronize();
	write<<<1, 1>>>(blocks[1], 1000 + 16);
	printf("wrote: %d\n", (int)cudaDeviceSynchronize());
	return 0;
}
