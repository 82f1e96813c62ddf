/* SPDX-License-Identifier: Apache-2.0 */
struct own {
	int a;
	__device__ static void *operator new(size_t n) { return malloc(n); }
	__device__ static void operator delete(void *p) { free(p); }
};

__global__ void k(int n)
{
	own *p = new own;

	delete p;
}
