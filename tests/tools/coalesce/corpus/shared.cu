/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and conditions that a block shares: one thread writes, a barrier, all read. */

/* The row of a sparse matrix that the block has; its length is told by the first thread. */
__global__ void sparse_row(const int *starts, const int *values, int *out)
{
	__shared__ int begin, length;

	if (threadIdx.x == 0) {
		begin = starts[blockIdx.x];
		length = starts[blockIdx.x + 1] - begin;
	}
	__syncthreads();
	int *row = (int *)malloc(length * sizeof(int)); // want: block uniform
	int sum = 0;

	if (row != nullptr) {
		for (int i = 0; i < length; i++)
			row[i] = values[begin + i] * (int)(threadIdx.x + 1);
		for (int i = 0; i < length; i++)
			sum += row[i];
		free(row);
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* How many passed is counted together, and then is what each wants. */
__global__ void survivors(const int *scores, int limit, int *out)
{
	__shared__ unsigned int passed;
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	if (threadIdx.x == 0)
		passed = 0;
	__syncthreads();
	if (scores[id] > limit)
		atomicAdd(&passed, 1u);
	__syncthreads();
	if (passed > 4) {
		int *table = (int *)malloc(passed * sizeof(int)); // want: block uniform

		if (table) {
			table[passed - 1] = scores[id] + passed;
			out[id] = table[passed - 1];
		}
		free(table);
	}
}

/* A sum by halves; its result is in the first cell for all. */
__global__ void tree_sum(const int *lengths, int *out)
{
	__shared__ int part[128];
	int t = threadIdx.x, id = blockIdx.x * blockDim.x + t;

	part[t] = lengths[id];
	__syncthreads();
	for (int s = blockDim.x / 2; s > 0; s /= 2) {
		if (t < s)
			part[t] += part[t + s];
		__syncthreads();
	}
	int *whole = (int *)malloc((part[0] + 1) * sizeof(int)); // want: block uniform
	int *own = (int *)malloc((part[t] + 1) * sizeof(int));   // want: block varying
	if (whole && own) {
		whole[part[0]] = t;
		own[part[t]] = part[t];
		out[id] = whole[part[0]] + own[part[t]];
	}
	free(whole);
	free(own);
}

/* Tickets: the block takes jobs from a counter until there are none; two barriers a round. */
__global__ void take_jobs(int *counter, int jobs, const int *sizes, int *out)
{
	__shared__ int job;

	for (;;) {
		if (threadIdx.x == 0)
			job = atomicAdd(counter, 1);
		__syncthreads();
		if (job >= jobs)
			break;
		int *frame = (int *)malloc(16 * sizeof(int)); // want: block uniform

		if (frame != nullptr) {
			frame[threadIdx.x % 16] = sizes[job] + threadIdx.x;
			out[job * blockDim.x + threadIdx.x] = frame[threadIdx.x % 16];
		}
		free(frame);
		__syncthreads();
	}
}

/* A pivot that the host's memory decides; then a list of values that are equal for all. */
__global__ void pivot_list(const int *column, int rows, int *out)
{
	extern __shared__ int best[];
	int id = threadIdx.x;

	if (id == 0) {
		best[0] = 0;
		for (int i = 1; i < rows; i++)
			if (column[i] > column[best[0]])
				best[0] = i;
		best[1] = column[best[0]];
	}
	__syncthreads();
	int pivot = best[1];

	if (pivot == 0)
		return;
	int *row = (int *)malloc(rows * sizeof(int)); // want: block uniform
	if (row) {
		for (int i = 0; i < rows; i++)
			row[i] = column[i] * id / pivot;
		out[blockIdx.x * blockDim.x + id] = row[rows - 1] + best[0];
	}
	free(row);
}

#ifdef CORPUS_MAIN
#include "../main.h"

static int *row_starts(int rows)
{
	int *starts = corpus_numbers(rows + 1, 1, 1), i;

	for (i = 0; i <= rows; i++) {
		int start = i * (i + 3);

		corpus_check(cudaMemcpy(starts + i, &start, sizeof(start), cudaMemcpyHostToDevice),
			     "cudaMemcpy");
	}
	return starts;
}

int main(void)
{
	CORPUS_RUN(sparse_row, 5, 64, row_starts(5), corpus_numbers(64, 40, 1), corpus_out);
	CORPUS_RUN(survivors, 4, 64, corpus_numbers(256, 90, 2), 60, corpus_out);
	CORPUS_RUN(tree_sum, 2, 128, corpus_numbers(256, 4, 3), corpus_out);
	CORPUS_RUN(take_jobs, 2, 64, corpus_numbers(1, 1, 4), 7, corpus_numbers(7, 90, 5),
		   corpus_out);
	corpus_begin();
	pivot_list<<<2, 64, 2 * sizeof(int)>>>(corpus_numbers(30, 90, 6), 30, corpus_out);
	corpus_end("pivot_list");
	return 0;
}
#endif
