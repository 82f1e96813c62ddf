/* SPDX-License-Identifier: Apache-2.0 */
__device__ int leave(int n)
{
	if (n == 1)
		__trap();
	return n ? n : (__trap(), 3);
}

__global__ void k(int *out, int n)
{
	if (threadIdx.x > n)
		return;
	out[0] = leave(n);
}
