/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations behind conditions: of the thread, of the block, of the host's. */

/* The usual guard: the grid is larger than the work. */
__global__ void scale_rows(const int *matrix, int rows, int columns, int *out)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;

	if (row < rows) {
		int *copy = (int *)malloc(columns * sizeof(int)); // want: none -
		int most = 1;

		if (copy == nullptr)
			return;
		for (int i = 0; i < columns; i++) {
			copy[i] = matrix[row * columns + i];
			most = copy[i] > most ? copy[i] : most;
		}
		for (int i = 0; i < columns; i++)
			out[row] += copy[i] * 100 / most;
		free(copy);
	}
}

/* Only some blocks, but of these all threads. */
__global__ void border_blocks(const int *cells, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	if (blockIdx.x == 0 || blockIdx.x == gridDim.x - 1) {
		int *halo = (int *)malloc(3 * sizeof(int)); // want: block uniform

		if (halo != nullptr) {
			halo[0] = id > 0 ? cells[id - 1] : 0;
			halo[1] = cells[id];
			halo[2] = id + 1 < count ? cells[id + 1] : 0;
			out[id] = halo[0] + 2 * halo[1] + halo[2];
			free(halo);
		}
	} else {
		out[id] = cells[id];
	}
}

/* The leader has the list of the block. */
__global__ void leader_list(const int *keys, int wanted, int *out)
{
	__shared__ int *found;
	__shared__ int used;

	if (threadIdx.x == 0) {
		found = (int *)malloc(blockDim.x * sizeof(int)); // want: none -
		used = 0;
	}
	__syncthreads();
	if (found != nullptr && keys[blockIdx.x * blockDim.x + threadIdx.x] % wanted == 0)
		found[atomicAdd(&used, 1)] = threadIdx.x;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int i = 0; found != nullptr && i < used; i++)
			out[blockIdx.x] += found[i];
		free(found);
	}
}

/* What the host asked for decides; the same for all. */
__global__ void with_option(const int *from, int *out, int length, bool sorted)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	if (sorted && length > 1) {
		int *part = (int *)malloc(length * sizeof(int)); // want: block uniform

		for (int i = 0; part && i < length; i++) {
			int j = i, key = from[id * length + i];

			for (; j > 0 && part[j - 1] > key; j--)
				part[j] = part[j - 1];
			part[j] = key;
		}
		if (part)
			out[id] = part[length / 2];
		free(part);
	} else {
		out[id] = from[id * length + length / 2];
	}
}

/* Half of it is uniform, half is not. */
__global__ void mixed_guard(int *out, int level, int limit)
{
	int lane = threadIdx.x % 32;
	short *marks = nullptr;

	if (level > 2) {
		if (lane < limit)
			marks = (short *)malloc(64); // want: none -
	} else if (gridDim.x > 1) {
		marks = (short *)malloc(32); // want: block uniform
	}
	if (marks != nullptr) {
		marks[lane % 16] = (short)(lane + level);
		out[blockIdx.x * blockDim.x + threadIdx.x] = marks[lane % 16];
	}
	free(marks);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(scale_rows, 3, 64, corpus_numbers(150 * 9, 50, 1), 150, 9, corpus_out);
	CORPUS_RUN(border_blocks, 4, 64, corpus_numbers(256, 50, 2), 256, corpus_out);
	CORPUS_RUN(leader_list, 4, 96, corpus_numbers(384, 50, 3), 3, corpus_out);
	CORPUS_RUN(with_option, 2, 64, corpus_numbers(128 * 8, 50, 4), corpus_out, 8, true);
	CORPUS_RUN(mixed_guard, 2, 64, corpus_out, 3, 20);
	CORPUS_RUN(mixed_guard, 2, 64, corpus_out, 1, 20);
	return 0;
}
#endif
