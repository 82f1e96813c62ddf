/* SPDX-License-Identifier: Apache-2.0 */
__constant__ int table[4];
__device__ int counter;
static const int limit = 8;
constexpr int sizes[2] = { 1, 2 };

__global__ void k(const int *__restrict__ in, volatile int *flag, int n)
{
	extern __shared__ int dynamic[];
	__shared__ float fixed[32];
	static __shared__ int one;
	int a = n, b, *c = &a, d[2] = { 1, n };
	const int e = limit;
	int &f = a;
	volatile int v = 0;

	dynamic[a] = table[b = e];
	fixed[1] = sizes[n];
	one = *c + d[1] + f + v;
	counter += flag[0];
}
