/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-collective.cu - kernels that allocate much, timed by gpu-collective.sh as they are and as
 * rewritten by `mam coalesce`. gpu-collective.cuh runs them.
 *
 * Each takes numbers on the device, the amount of work, and a word for each thread, to which it
 * writes a result that does not depend on the allocator, unless an allocation failed. heap_rows
 * takes a heap, too. All but one have allocations that a whole block or warp executes; `singles`
 * has none, and shows the cost of being in a program whose other kernels are rewritten.
 */
#include <mam/heap.cuh>

static __device__ int thread_number(void)
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

/* A row for each thread, read several times. */
__global__ void __launch_bounds__(1024) rows(const int *in, int n, int *out)
{
	int id = thread_number(), sum = 0;
	int *row = (int *)malloc(n * sizeof(int));

	for (int i = 0; row && i < n; i++)
		row[i] = in[(id + i) % 1024];
	for (int round = 0; row && round < 8; round++)
		for (int i = 0; i < n; i++) {
			row[i] += row[(i + 1) % n] ^ round;
			sum += row[i];
		}
	out[id] = row ? sum : -1;
	free(row);
}

struct work {
	int value;
	struct work *next;
};

/* A work list for each thread: built, traversed, and freed. */
__global__ void __launch_bounds__(1024) lists(const int *in, int n, int *out)
{
	int id = thread_number(), sum = 0;
	struct work *first = nullptr;

	for (int i = 0; i < n; i++) {
		struct work *work = (struct work *)malloc(sizeof(*work));

		if (work == nullptr) {
			sum = -1000000;
			continue;
		}
		work->value = in[(id + i) % 1024];
		work->next = first;
		first = work;
	}
	for (int round = 0; round < 4; round++)
		for (struct work *work = first; work; work = work->next)
			sum += work->value ^ round;
	while (first) {
		struct work *next = first->next;

		free(first);
		first = next;
	}
	out[id] = sum;
}

struct particle {
	float at[3], speed[3];
	int steps;

	__device__ particle(int seed) : steps(0)
	{
		for (int i = 0; i < 3; i++) {
			at[i] = (float)(seed % 97 + i);
			speed[i] = (float)(seed % 13 - 6);
		}
	}
	__device__ void step(void)
	{
		for (int i = 0; i < 3; i++)
			at[i] += speed[i];
		steps++;
	}
};

/* Objects with a constructor: one by new, and some in an array of pointers. */
__global__ void __launch_bounds__(1024) objects(const int *in, int n, int *out)
{
	int id = thread_number(), sum = 0;
	particle **all = new particle *[n];

	for (int i = 0; i < n; i++) {
		particle *one = new particle(in[(id + i) % 1024]);

		if (all)
			all[i] = one;
	}
	for (int round = 0; all && round < 4; round++)
		for (int i = 0; i < n; i++)
			if (all[i])
				all[i]->step();
	for (int i = 0; all && i < n; i++) {
		sum += all[i] ? (int)all[i]->at[i % 3] + all[i]->steps : -1000000;
		delete all[i];
	}
	delete[] all;
	out[id] = sum;
}

/* Memory for a round, freed before the next round, which needs more. */
__global__ void __launch_bounds__(1024) rounds(const int *in, int n, int *out)
{
	int id = thread_number(), sum = 0;

	for (int round = 1; round <= n; round++) {
		int *words = (int *)malloc(4 * round * sizeof(int));

		if (words) {
			for (int i = 0; i < 4 * round; i++)
				words[i] = in[(id + i) % 1024] + round;
			for (int i = 4 * round - 1; i >= 0; i--)
				sum = sum * 3 + words[i];
		} else {
			sum = -1;
		}
		free(words);
	}
	out[id] = sum;
}

/* Scratch memory of a warp, if one of its lanes has found something. */
__global__ void __launch_bounds__(1024) scratches(const int *in, int n, int *out)
{
	int id = thread_number(), sum = 0;

	for (int round = 0; round < 8; round++) {
		int word = in[(id * 7 + round) % 1024];

		if (__any_sync(0xffffffffu, word % 64 == 0)) {
			int *words = (int *)malloc(n * sizeof(int));

			for (int i = 0; words && i < n; i++)
				words[i] = word + i;
			for (int i = 0; words && i < n; i++)
				sum = sum * 5 + words[i];
			sum += words == nullptr;
			free(words);
		}
	}
	out[id] = sum;
}

/* The paper's listing 1: all threads call it from one place, and four threads from another. */
static __device__ int exchange(const int *mine, int n, int rank)
{
	int *copy = (int *)malloc(n * sizeof(int)), sum = 0;

	for (int i = 0; copy && i < n; i++)
		copy[i] = mine[i] + rank;
	for (int i = 0; copy && i < n; i++)
		sum += copy[i] * (i + 1);
	free(copy);
	return copy ? sum : -1;
}

__global__ void __launch_bounds__(1024) ranks(const int *in, int n, int *out)
{
	int id = thread_number(), sum = -1;
	int *mine = (int *)malloc(n * sizeof(int));

	for (int i = 0; mine && i < n; i++)
		mine[i] = in[(id + i) % 1024];
	sum = exchange(in, n, id);
	if (mine)
		for (int i = 0; i < n; i++)
			sum += mine[i];
	if (threadIdx.x < 4)
		sum += exchange(in, n, 1);
	free(mine);
	out[id] = sum;
}

/* Memory of a mam heap. */
__global__ void __launch_bounds__(1024)
	heap_rows(struct mam_kheap *heap, const int *in, int n, int *out)
{
	int id = thread_number(), sum = 0;
	int *row = (int *)mam_kmalloc(heap, n * sizeof(int));

	for (int i = 0; row && i < n; i++)
		row[i] = in[(id + i) % 1024];
	for (int round = 0; row && round < 8; round++)
		for (int i = 0; i < n; i++) {
			row[i] += row[(i + 1) % n] ^ round;
			sum += row[i];
		}
	out[id] = row ? sum : -1;
	mam_kfree(heap, row);
}

/* No converged allocations: each third thread allocates, with a size of its own. */
__global__ void __launch_bounds__(1024) singles(const int *in, int n, int *out)
{
	int id = thread_number(), sum = 0;

	if (in[id % 1024] % 3 == 0) {
		int own = n / 2 + in[id % 1024] % n;
		int *words = (int *)malloc(own * sizeof(int));

		for (int i = 0; words && i < own; i++)
			words[i] = i ^ id;
		for (int i = 0; words && i < own; i++)
			sum += words[i];
		sum += words == nullptr;
		free(words);
	}
	out[id] = sum;
}

#ifdef COLLECTIVE_MAIN
#include "gpu-collective.cuh"
#endif
