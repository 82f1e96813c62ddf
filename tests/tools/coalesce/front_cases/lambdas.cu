/* SPDX-License-Identifier: Apache-2.0 */
__device__ int inside(int a)
{
	return a;
}

__global__ void k(int *out, int n)
{
	int seen = 0, other = 1;
	auto f = [&](int a) { return seen += inside(a); };

	out[0] = f(n) + other;
}
