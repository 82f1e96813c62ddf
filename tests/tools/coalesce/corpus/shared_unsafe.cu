/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory that only looks as if all read the same: no barrier, a weak one, or too early. */

/* A warp's barrier does not hold the block. */
__global__ void weak_barrier(const int *sizes, int *out)
{
	__shared__ int size;

	if (threadIdx.x == 0)
		size = 4;
	__syncthreads();
	if (threadIdx.x == blockDim.x - 1)
		size = 5 + sizes[blockIdx.x];
	__syncwarp();
	int *part = (int *)malloc(size * sizeof(int)); // want: block varying

	if (part != nullptr) {
		part[0] = threadIdx.x;
		out[blockIdx.x * blockDim.x + threadIdx.x] = part[0];
	}
	free(part);
}

/* A fence orders, but nobody waits at it. */
__global__ void only_fence(const int *flags, int *out)
{
	__shared__ volatile int ready;

	ready = 0;
	__syncthreads();
	if (threadIdx.x % 64 == 5) {
		ready = flags[blockIdx.x] + 1;
		__threadfence_block();
	}
	if (ready) {
		int *note = (int *)malloc(sizeof(int)); // want: none -

		if (note != nullptr)
			*note = 1;
		out[blockIdx.x * blockDim.x + threadIdx.x] = 0;
		free(note);
	}
}

/* One barrier a round: a quick thread writes the next round's size while a slow one reads. */
__global__ void one_barrier(const int *sizes, int rounds, int *out)
{
	__shared__ int size;
	int sum = 0;

	for (int i = 0; i < rounds; i++) {
		if (threadIdx.x == 0)
			size = sizes[i] + 1;
		__syncthreads();
		int *line = (int *)malloc(size * sizeof(int)); // want: block varying

		if (line != nullptr) {
			line[0] = i + threadIdx.x;
			sum += line[0];
		}
		free(line);
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* Each thread's own cell, and a cell that another barrier would be needed for. */
__global__ void own_cells(const int *lengths, int *out)
{
	__shared__ int cell[128];
	int t = threadIdx.x;

	cell[t] = lengths[blockIdx.x * blockDim.x + t] % 8 + 1;
	__syncthreads();
	char *mine = (char *)malloc(cell[t]);                     // want: block varying
	char *right = (char *)malloc(cell[(t + 1) % blockDim.x]); // want: block varying
	char *first = (char *)malloc(cell[0]);                    // want: block uniform

	if (mine && right && first) {
		mine[0] = (char)t;
		right[0] = (char)(t + 1);
		first[0] = (char)(t + 2);
		out[blockIdx.x * blockDim.x + t] = mine[0] + right[0] + first[0] + cell[0];
	}
	free(mine);
	free(right);
	free(first);
}

/* The size changes behind the barrier. */
__global__ void late_change(int start, int *out)
{
	__shared__ int size;
	int *part;

	if (threadIdx.x == 0)
		size = start;
	__syncthreads();
	if (threadIdx.x == 40)
		size++;
	part = (int *)malloc(size * sizeof(int)); // want: block varying
	if (part != nullptr) {
		part[start - 1] = threadIdx.x;
		out[blockIdx.x * blockDim.x + threadIdx.x] = part[start - 1];
	}
	free(part);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(weak_barrier, 2, 64, corpus_numbers(2, 5, 1), corpus_out);
	CORPUS_RUN(only_fence, 2, 64, corpus_numbers(2, 5, 2), corpus_out);
	CORPUS_RUN(one_barrier, 2, 64, corpus_numbers(6, 5, 3), 6, corpus_out);
	CORPUS_RUN(own_cells, 2, 128, corpus_numbers(256, 90, 4), corpus_out);
	CORPUS_RUN(late_change, 2, 64, 6, corpus_out);
	return 0;
}
#endif
