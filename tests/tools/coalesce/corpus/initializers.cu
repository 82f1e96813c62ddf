/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations outside of functions' bodies: initializers of members, default arguments, lambdas. Each
 * kernel allocates far more than CUDA's heap has, so that a free that does not fit shows.
 */

#define ROUNDS 400
#define WORDS 128

struct row {
	int *cells = (int *)malloc(WORDS * sizeof(int)); // want: none -

	__device__ ~row()
	{
		free(cells);
	}
};

template <typename T> struct pair_of {
	T *first = (T *)malloc(WORDS * sizeof(T)); // want: none -
	T *second{ new T[WORDS] };                 // want: none -

	__device__ ~pair_of()
	{
		free(first);
		delete[] second;
	}
};

__device__ int last(int value, int *cells = (int *)malloc(WORDS * sizeof(int))) // want: none -
{
	int sum = -1;

	if (cells) {
		cells[WORDS - 1] = value;
		sum = cells[WORDS - 1];
	}
	free(cells);
	return sum;
}

/* Memory from initializers and memory that all threads allocate together is freed alike. */
__global__ void members(int *out)
{
	int *all = (int *)malloc(WORDS * sizeof(int)); // want: block uniform
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	for (int r = 0; r < ROUNDS; r++) {
		row own;
		pair_of<int> two;

		if (!all || !own.cells || !two.first || !two.second) {
			out[id] = -1;
		} else if (out[id] >= 0) {
			all[r % WORDS] = own.cells[r % WORDS] = two.first[0] = two.second[1] = id + r;
			out[id] += all[r % WORDS] % 7 + own.cells[r % WORDS] % 5 + two.first[0] % 3 +
				   two.second[1] % 2;
		}
	}
	free(all);
}

__global__ void arguments(int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	for (int r = 0; r < ROUNDS; r++) {
		int value = last(id + r);

		if (value < 0)
			out[id] = -1;
		else if (out[id] >= 0)
			out[id] += value % 11;
	}
}

__global__ void in_lambdas(int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	auto take = [=](int words) {
		return (int *)malloc(words * sizeof(int)); // want: none -
	};

	for (int r = 0; r < ROUNDS; r++) {
		int *cells = take(WORDS);

		if (!cells) {
			out[id] = -1;
		} else if (out[id] >= 0) {
			cells[r % WORDS] = id;
			out[id] += cells[r % WORDS] % 13;
		}
		free(cells);
	}
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(members, 2, 64, corpus_out);
	CORPUS_RUN(arguments, 2, 64, corpus_out);
	CORPUS_RUN(in_lambdas, 2, 64, corpus_out);
	return 0;
}
#endif
