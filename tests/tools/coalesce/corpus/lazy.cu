/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations inside of expressions: choices, and what is evaluated only if it must be. */

/* A choice by the thread, and one by the host. */
__global__ void choices(bool twice, int items, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *odd = threadIdx.x % 2 ? (int *)malloc(16) : nullptr; // want: none -
	int *all = twice ? (int *)malloc(8 * items) : nullptr;    // want: block uniform
	int *any = (int *)malloc(id % 2 ? 16 : 32);               // want: block varying
	int *set = (int *)malloc(twice ? 16 : 32);                // want: block uniform

	if (any && set) {
		any[3] = id;
		set[3] = any[3] + (odd ? 1 : 0);
		if (all)
			all[items] = set[3];
		out[id] = all ? all[items] : set[3];
	}
	free(odd);
	free(all);
	free(any);
	free(set);
}

/* && and ||: the right side is for those who need it. */
__global__ void short_cuts(const int *values, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *first = nullptr, *second = nullptr, *third = nullptr;

	if (values[id % count] > 40 && (first = (int *)malloc(12)) != nullptr) // want: none -
		first[2] = id;
	if (count > 10 && (second = (int *)malloc(12)) != nullptr) // want: block uniform
		second[2] = id + 1;
	if (first != nullptr || (third = (int *)malloc(12)) != nullptr) // want: none -
		out[id] = 1;
	if (third)
		third[2] = 5;
	out[id] += (first ? first[2] : 0) + (second ? second[2] : 0) + (third ? third[2] : 0);
	free(first);
	free(second);
	free(third);
}

/* In the condition of an if, and in that of a loop. */
__global__ void in_conditions(int rounds, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
	int *page;

	if ((page = (int *)malloc(rounds * sizeof(int)))) { // want: block uniform
		page[rounds - 1] = id;
		sum += page[rounds - 1];
		free(page);
	}
	for (int i = 0; i < rounds && (page = (int *)malloc(16)); i++) { /* later: block */ // want: none -
		page[i % 4] = i;
		sum += page[i % 4];
		free(page);
	}
	out[id] = sum;
}

/* A comma, and an argument of a call. */
static __device__ int fill(int *cells, int count, int value)
{
	int sum = 0;

	for (int i = 0; cells && i < count; i++) {
		cells[i] = value + i;
		sum += cells[i];
	}
	free(cells);
	return sum;
}

__global__ void in_arguments(int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	out[id] = fill((int *)malloc(count * sizeof(int)), count, id); // want: block uniform
	if (id % 3 == 0)
		out[id] += fill((int *)malloc(4), 1, id); // want: none -
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(choices, 2, 64, true, 6, corpus_out);
	CORPUS_RUN(short_cuts, 2, 64, corpus_numbers(50, 90, 1), 50, corpus_out);
	CORPUS_RUN(in_conditions, 2, 64, 5, corpus_out);
	CORPUS_RUN(in_arguments, 2, 64, 7, corpus_out);
	return 0;
}
#endif
