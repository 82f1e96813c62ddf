/* SPDX-License-Identifier: Apache-2.0 */
/* Kept back: larger pieces - particles, matrices, strings, ranks, mam's heap. */

#include <mam/heap.cuh>

struct cell {
	int count;
	int first[4];
};

/* Particles in cells; a cell's table is of the block's, made by each for itself. */
__global__ void bin_particles(struct mam_kheap *heap, const int *x, int count, int cells, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	size_t bytes = cells * sizeof(struct cell);
	struct cell *grid = (struct cell *)mam_kmalloc(heap, bytes); // want: block uniform

	if (grid == nullptr)
		return;
	for (int c = 0; c < cells; c++)
		grid[c].count = 0;
	for (int i = id; i < count; i += blockDim.x * gridDim.x) {
		struct cell *cell = &grid[x[i] % cells];

		if (cell->count < 4)
			cell->first[cell->count] = i;
		cell->count++;
	}
	for (int c = 0; c < cells; c++)
		out[id] = out[id] * 3 + grid[c].count;
	mam_kfree(heap, grid);
}

/* Blocks of a matrix: the last panel is narrower, for all of the block. */
__global__ void panels(const int *matrix, int order, int panel, int *out)
{
	int row = threadIdx.x, sum = 0;

	for (int start = blockIdx.x * panel; start < order; start += gridDim.x * panel) {
		int width = start + panel <= order ? panel : order - start;
		int *strip = (int *)malloc(width * sizeof(int)); // want: block uniform

		for (int c = 0; strip && c < width; c++)
			strip[c] = row < order ? matrix[row * order + start + c] : 1;
		for (int c = 0; strip && c < width; c++)
			sum = sum * 3 + strip[c];
		free(strip);
	}
	out[blockIdx.x * blockDim.x + row] = sum;
}

/* Patterns in a text: the failure table is of the pattern, which the host knows. */
__global__ void matches(const char *text, int length, const char *pattern, int m, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, found = 0, k = 0;
	int *failure = (int *)malloc(m * sizeof(int)); // want: block uniform

	if (failure) {
		failure[0] = 0;
		for (int i = 1; i < m; i++) {
			while (k > 0 && pattern[i] != pattern[k])
				k = failure[k - 1];
			k += pattern[i] == pattern[k];
			failure[i] = k;
		}
		k = 0;
		for (int i = id % 8; i < length; i++) {
			while (k > 0 && text[i] != pattern[k])
				k = failure[k - 1];
			k += text[i] == pattern[k];
			if (k == m) {
				found++;
				k = failure[k - 1];
			}
		}
		out[id] = found;
	}
	free(failure);
	int *places = (int *)malloc((found + 1) * sizeof(int)); // want: block varying
	if (places) {
		places[found] = k;
		out[id] += places[found] * 100;
	}
	free(places);
}

/* Ranks: pairs of neighbours exchange; the upper one of each has the buffer. */
__global__ void pairs(const int *values, int words, int *out)
{
	__shared__ int *buffer[32];
	int rank = threadIdx.x, pair = rank / 2, id = blockIdx.x * blockDim.x + rank;
	int *result = (int *)malloc(words * sizeof(int)); // want: block uniform

	if (rank & 1)
		buffer[pair] = (int *)malloc(words * sizeof(int)); // want: none -
	__syncthreads();
	if (!(rank & 1) && buffer[pair])
		for (int i = 0; i < words; i++)
			buffer[pair][i] = values[id] + i;
	__syncthreads();
	for (int i = 0; result && i < words; i++)
		result[i] = buffer[pair] ? buffer[pair][i] * (rank % 2 ? 2 : 1) : 0;
	out[id] = result ? result[words - 1] : -1;
	__syncthreads();
	if (rank & 1)
		free(buffer[pair]);
	free(result);
}

/* What is in a heap for a warp, and what the answer of the heap decides. */
__global__ void two_tries(struct mam_kheap *heap, const int *in, int bytes, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	void *object = mam_kmalloc(heap, bytes); // want: block uniform

	if (!object)
		object = mam_kmalloc(heap, bytes / 2); // want: none -
	if (object)
		((char *)object)[0] = (char)(in[id] % 50);
	if (__all_sync(0xffffffff, in[id] < 86)) {
		int *low = (int *)mam_kmalloc(heap, 2 * bytes); // want: warp uniform

		if (low)
			low[0] = id;
		out[id] = low ? low[0] : 0;
		mam_kfree(heap, low);
	}
	out[id] += object ? ((char *)object)[0] : 0;
	mam_kfree(heap, object);
}

/* Work of 2-D blocks, a row of threads each; the size is of the block's shape. */
__global__ void transpose(const int *in, int width, int *out)
{
	int x = threadIdx.x, y = threadIdx.y, cells = blockDim.x * blockDim.y;
	int *tile = (int *)malloc(cells * sizeof(int)); // want: block uniform
	int *row = nullptr;

	if (y == 0)
		row = (int *)malloc(blockDim.x * sizeof(int)); // want: none -
	if (tile) {
		tile[y * blockDim.x + x] = in[(y * width + x) % 100];
		out[x * blockDim.y + y] = tile[y * blockDim.x + x];
	}
	if (row) {
		row[x] = x;
		out[cells + x] = row[x];
	}
	free(row);
	free(tile);
}

#ifdef CORPUS_MAIN
#define CORPUS_HEAP
#include "../main.h"

int main(void)
{
	struct mam_kheap *heap = corpus_heap();

	CORPUS_RUN(bin_particles, 2, 64, heap, corpus_numbers(500, 90, 1), 500, 6, corpus_out);
	CORPUS_RUN(panels, 2, 64, corpus_numbers(50 * 50, 90, 2), 50, 8, corpus_out);
	CORPUS_RUN(matches, 2, 64, corpus_text(400, 3), 400, corpus_text(2, 5), 2, corpus_out);
	CORPUS_RUN(pairs, 2, 64, corpus_numbers(128, 90, 4), 5, corpus_out);
	CORPUS_RUN(two_tries, 2, 128, heap, corpus_numbers(256, 90, 5), 48, corpus_out);
	CORPUS_RUN(transpose, 1, dim3(16, 8), corpus_numbers(100, 90, 6), 12, corpus_out);
	return 0;
}
#endif
