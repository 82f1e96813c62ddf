/* SPDX-License-Identifier: Apache-2.0 */
__device__ int one(int a)
{
	return a;
}

__device__ int two(int a)
{
	return a;
}

__device__ int (*chosen)(int) = two;

__global__ void k(int *out, int n, int (*given)(int))
{
	int (*p)(int) = &one;

	out[0] = p(n) + given(n) + chosen(n);
}
