/* SPDX-License-Identifier: Apache-2.0 */
__device__ void *spare(size_t n)
{
	return malloc(n);
}

__device__ void *get(size_t n, void *(*how)(size_t) = nullptr, void *other = spare(8))
{
	return how ? how(n) : other;
}

__global__ void k(void **out)
{
	out[0] = get(3);
	out[1] = get(threadIdx.x, spare);
}
