/* SPDX-License-Identifier: Apache-2.0 */
/* Kept back: shared memory, with and without the barriers it needs. */

/* The greatest length of the block's strings, by atomics, is the buffer of each. */
__global__ void pad_strings(const int *lengths, int *out)
{
	__shared__ int longest;
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	if (!threadIdx.x)
		longest = 0;
	__syncthreads();
	atomicMax(&longest, lengths[id]);
	__syncthreads();

	char *padded = (char *)malloc(longest + 1); // want: block uniform
	if (padded) {
		for (int i = 0; i < longest; i++)
			padded[i] = i < lengths[id] ? 'x' : '.';
		padded[longest] = 0;
		out[id] = padded[longest / 2] + longest;
	}
	free(padded);
}

/* The same, but who is quick reads before who is slow has said what it wants. */
__global__ void pad_early(const int *lengths, int *out)
{
	__shared__ int longest;
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	if (!threadIdx.x)
		longest = 1;
	__syncthreads();
	atomicMax(&longest, lengths[id]);
	char *padded = (char *)malloc(longest); // want: block varying
	if (padded)
		padded[0] = 'y';
	out[id] = padded ? padded[0] : 0;
	free(padded);
}

/* A structure in shared memory that one thread fills in. */
struct tile {
	int rows, columns, kind;
};

__global__ void shared_tile(const int *shapes, int *out)
{
	__shared__ struct tile tile;
	int id = threadIdx.x + blockIdx.x * blockDim.x;

	if (threadIdx.x == blockDim.x - 1) {
		tile.rows = shapes[blockIdx.x] % 4 + 1;
		tile.columns = shapes[blockIdx.x] % 5 + 1;
		tile.kind = shapes[blockIdx.x] % 2;
	}
	__syncthreads();
	int *cells = (int *)malloc(tile.rows * tile.columns * sizeof(int)); // want: block uniform
	if (cells)
		cells[tile.rows * tile.columns - 1] = id;
	if (tile.kind == 1) {
		int *border =
			(int *)malloc(2 * (tile.rows + tile.columns) * 4); // want: block uniform

		if (border)
			border[tile.rows] = 7;
		out[id] = border ? border[tile.rows] : 0;
		free(border);
	}
	out[id] += cells ? cells[tile.rows * tile.columns - 1] : 0;
	free(cells);
}

/* A prefix sum in shared memory; the last cell for all, the own one, and a copy of the last. */
__global__ void offsets(const int *counts, int *out)
{
	__shared__ int sum[64];
	int t = threadIdx.x, id = blockIdx.x * blockDim.x + t;

	sum[t] = counts[id];
	__syncthreads();
	for (int step = 1; step < blockDim.x; step <<= 1) {
		int left = t >= step ? sum[t - step] : 0;

		__syncthreads();
		sum[t] += left;
		__syncthreads();
	}
	const int total = sum[blockDim.x - 1], own = sum[t];
	if (total > 16) {
		int *list = (int *)malloc(total * sizeof(int)); // want: block uniform

		if (list) {
			list[total - 1] = own;
			out[id] = list[total - 1];
		}
		free(list);
	}
	if (own > 16) {
		int *list = (int *)malloc(own * sizeof(int)); // want: none -

		if (list)
			list[own - 1] = total;
		out[id] += list ? list[own - 1] : 0;
		free(list);
	}
}

/* The barrier is only in one branch; in the other one, which the block may take, there is none. */
__global__ void half_a_barrier(const int *in, bool careful, int *out)
{
	__shared__ int size;
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	size = 6;
	__syncthreads();
	if (threadIdx.x == 33)
		size = 6 + in[blockIdx.x];
	if (careful)
		__syncthreads();
	int *part = (int *)malloc(size * sizeof(int)); // want: block varying
	if (part)
		part[5] = id;
	out[id] = part ? part[5] : 0;
	free(part);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(pad_strings, 2, 64, corpus_numbers(128, 20, 1), corpus_out);
	CORPUS_RUN(pad_early, 2, 64, corpus_numbers(128, 20, 1), corpus_out);
	CORPUS_RUN(shared_tile, 4, 64, corpus_numbers(4, 90, 2), corpus_out);
	CORPUS_RUN(offsets, 2, 64, corpus_numbers(128, 4, 3), corpus_out);
	CORPUS_RUN(half_a_barrier, 2, 64, corpus_numbers(2, 9, 4), false, corpus_out);
	return 0;
}
#endif
