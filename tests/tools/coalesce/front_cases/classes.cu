/* SPDX-License-Identifier: Apache-2.0 */
struct span {
	int *data, count = 0;
	__device__ span(int n) : data((int *)malloc(n)), count(n) {}
	__device__ ~span() { free(data); }
	__device__ int &operator[](int i) { return data[i]; }
	__device__ int total() const { return count + this->count; }
	__device__ static int two() { return 2; }
	__device__ operator int() const { return count; }
};

__global__ void k(int *out, int n)
{
	span a(n), *b = &a;

	if (n)
		return;
	a[1] = b->total() + a.total() + span::two() + a.count + b->count;
	for (int i = 0; i < n; i++) {
		span c(i);
		if (i == 3)
			continue;
		if (i == 4)
			break;
		out[i] = c;
	}
}
