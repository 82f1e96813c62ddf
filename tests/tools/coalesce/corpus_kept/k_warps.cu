/* SPDX-License-Identifier: Apache-2.0 */
/* Kept back: votes, shuffles, and what only looks like a warp's. */

/* A warp goes on as long as one of its lanes has something. */
__global__ void drain(const int *loads, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, load = loads[id], sum = 0;

	while (__any_sync(~0u, load > 0)) {
		int *batch = (int *)malloc(4 * sizeof(int)); // want: warp uniform

		if (batch) {
			batch[id % 4] = load > 3 ? 3 : load;
			load -= batch[id % 4];
			sum = sum * 5 + batch[id % 4];
		}
		free(batch);
	}
	out[id] = sum;
	int *rest = (int *)malloc(2 * sizeof(int)); // want: block uniform
	if (rest)
		rest[1] = sum % 7;
	out[id] += rest ? rest[1] : 0;
	free(rest);
}

/* The leader of the warp reserves; its answer goes to all lanes. */
__global__ void reserve(int *cursor, const int *needs, int room, int *out)
{
	int lane = threadIdx.x & 31, id = blockIdx.x * blockDim.x + threadIdx.x;
	int need = __popc(__ballot_sync(0xffffffff, needs[id] > 40)), start = 0;

	if (lane == 0)
		start = atomicAdd(cursor, need);
	start = __shfl_sync(0xffffffff, start, 0);
	if (start < room) {
		int *page = (int *)malloc((need + 1) * sizeof(int)); // want: warp uniform

		if (page) {
			page[need] = need;
			out[id] = page[need];
		}
		free(page);
	}
	if (lane == 0 && start < room) {
		int *note = (int *)malloc(16); // want: none -

		if (note)
			note[3] = 1;
		atomicAdd(&out[1000], note ? note[3] : 0);
		free(note);
	}
}

/* A vote in a branch that some have left: it is not the warp's. */
__global__ void vote_inside(const int *in, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned odd = __ballot_sync(0xffffffff, in[id] & 1);
	char *p = nullptr, *q = nullptr;

	if (in[id] & 1) {
		if (__all_sync(odd, in[id] > 9))
			p = (char *)malloc(12); // want: none -
	}
	if (odd >> (threadIdx.x & 31) & 1)
		q = (char *)malloc(12);              // want: none -
	int *r = (int *)malloc(4 * __popc(odd) + 4); // want: block varying
	if (p)
		p[11] = 1;
	if (q)
		q[11] = 2;
	if (r)
		r[__popc(odd)] = 4;
	out[id] = (p ? p[11] : 0) + (q ? q[11] : 0) + (r ? r[__popc(odd)] : 0);
	free(p);
	free(q);
	free(r);
}

/* A lane's number in many disguises. */
__global__ void disguises(int width, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int zero = id - threadIdx.x - blockIdx.x * blockDim.x;
	int warp = id / warpSize, twice = threadIdx.x * 2 % 64 / 2;
	char *a = nullptr, *b = nullptr, *c = nullptr;

	if (warp % 2 == 1)
		a = (char *)malloc(width); // want: none -
	if (twice == 5)
		b = (char *)malloc(width); // want: none -
	if (__shfl_down_sync(0xffffffff, id, 1) > 40)
		c = (char *)malloc(width);                     // want: none -
	char *d = (char *)malloc(width + blockIdx.x % 2 * 16); // want: block uniform
	if (a)
		a[0] = 1;
	if (b)
		b[0] = 2;
	if (c)
		c[0] = 4;
	if (d)
		d[0] = 8;
	out[id] = (a ? a[0] : 0) + (b ? b[0] : 0) + (c ? c[0] : 0) + (d ? d[0] : 0) + zero;
	free(a);
	free(b);
	free(c);
	free(d);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(drain, 2, 128, corpus_numbers(256, 12, 1), corpus_out);
	CORPUS_RUN(reserve, 2, 128, corpus_numbers(1, 1, 2), corpus_numbers(256, 90, 3), 5000,
		   corpus_out);
	CORPUS_RUN(vote_inside, 2, 128, corpus_numbers(256, 30, 4), corpus_out);
	CORPUS_RUN(disguises, 2, 128, 20, corpus_out);
	return 0;
}
#endif
