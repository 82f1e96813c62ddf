/* SPDX-License-Identifier: Apache-2.0 */
struct base {
	__device__ virtual int size() { return 1; }
	__device__ virtual ~base() {}
};
struct more : base {
	int *p;
	__device__ more() : p(new int) {}
	__device__ int size() override { return 2; }
	__device__ ~more() { delete p; }
};

__global__ void k(base *b)
{
	more m;

	m.size();
	b->size();
	delete b;
}
