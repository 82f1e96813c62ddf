/* SPDX-License-Identifier: Apache-2.0 */
/* break and continue around allocations. */

/* Who found its key leaves; those who stay allocate. After the loop all are there again. */
__global__ void probe(const int *table, int slots, int *out)
{
	int key = threadIdx.x * 3, steps = 0;
	int *trail;

	for (int i = 0; i < slots; i++) {
		int *note = (int *)malloc(sizeof(int)); // want: none -

		if (note != nullptr)
			*note = table[(key + i) % slots];
		steps += note != nullptr ? *note % 2 + 1 : 0;
		free(note);
		if (table[(key + i) % slots] == key)
			break;
	}
	trail = (int *)malloc(4 * sizeof(int)); // want: block uniform
	if (trail != nullptr) {
		trail[steps % 4] = steps;
		out[blockIdx.x * blockDim.x + threadIdx.x] = trail[steps % 4];
	}
	free(trail);
}

/* continue by some: what stands before it is for all, what stands behind it is not. */
__global__ void filter(const int *values, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;

	for (int i = 0; i < count; i++) {
		int *early = (int *)malloc(8); // want: block uniform

		if (early)
			early[0] = values[i] + id;
		sum += early ? early[0] : 0;
		free(early);
		if ((values[i] + id) % 2)
			continue;
		int *late = (int *)malloc(8); // want: none -
		if (late)
			late[1] = sum % 7;
		sum += late ? late[1] : 0;
		free(late);
	}
	out[id] = sum;
}

/* The block decides together when it ends. */
__global__ void relax(const int *edges, int nodes, int rounds, int *out)
{
	int id = threadIdx.x, mine = id;

	for (int round = 0; round < rounds; round++) {
		int *next = (int *)malloc(2 * sizeof(int)); // want: block uniform
		int changed = 0;

		if (next != nullptr) {
			next[0] = edges[(id + round) % nodes];
			next[1] = next[0] < mine ? next[0] : mine;
			changed = next[1] != mine;
			mine = next[1];
		}
		free(next);
		if (!__syncthreads_or(changed))
			break;
	}
	out[blockIdx.x * blockDim.x + id] = mine;
}

/* Both leave the loop for reasons that all share. */
__global__ void budget(int most, int step, int *out)
{
	int spent = 0, sum = 0;

	for (;;) {
		if (spent + step > most)
			break;
		spent += step;
		if (spent % (3 * step) == 0)
			continue;
		char *chunk = (char *)malloc(spent); // want: block uniform
		if (chunk != nullptr) {
			chunk[spent - 1] = (char)threadIdx.x;
			sum += chunk[spent - 1] + spent;
		}
		free(chunk);
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* The break in the inner loop ends that one only. */
__global__ void two_loops(const int *costs, int rows, int columns, int *out)
{
	int id = threadIdx.x, total = 0;

	for (int r = 0; r < rows; r++) {
		int limit = costs[r * columns] + id % 5;
		int *row = (int *)malloc(columns * sizeof(int)); // want: block uniform

		for (int c = 0; row && c < columns; c++) {
			row[c] = costs[r * columns + c];
			total += row[c];
			if (row[c] > limit)
				break;
		}
		free(row);
	}
	out[blockIdx.x * blockDim.x + id] = total;
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(probe, 2, 64, corpus_numbers(50, 192, 1), 50, corpus_out);
	CORPUS_RUN(filter, 2, 64, corpus_numbers(9, 192, 2), 9, corpus_out);
	CORPUS_RUN(relax, 2, 64, corpus_numbers(80, 64, 3), 80, 12, corpus_out);
	CORPUS_RUN(budget, 2, 64, 100, 9, corpus_out);
	CORPUS_RUN(two_loops, 1, 96, corpus_numbers(80, 20, 4), 10, 8, corpus_out);
	return 0;
}
#endif
