/* SPDX-License-Identifier: Apache-2.0 */
#include <new>

struct plain {
	int a, b;
};
struct made {
	int a;
	__device__ made(int a) : a(a) {}
};

__global__ void k(int n, char *place)
{
	int *a = new int, *b = new int[n], *c = new (std::nothrow) int[n], *d = new int(n);
	int *e = new (place) int(3);
	int *f = new (int[5]);
	struct plain *g = new struct plain, *h = new plain[n]();
	made *i = new made(n);
	int(*j)[4] = new int[n][4];

	delete a;
	delete[] b;
	::delete g;
}
