/* SPDX-License-Identifier: Apache-2.0 */
namespace shapes
{
__device__ int area(int a, int b = blockIdx.x + 1);
__device__ int area(int a, int b)
{
	return a * b;
}
}

__device__ int once(int &a, const int &b, int c)
{
	return a = b + c;
}

__device__ int unknown(int);

__global__ void k(int *out, int n)
{
	int m = n;

	out[0] = shapes::area(n);
	out[1] = once(m, n, m);
	out[2] = unknown(atomicAdd(out, 1));
	printf("%d", m);
}
