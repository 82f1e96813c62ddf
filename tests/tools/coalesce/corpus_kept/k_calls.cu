/* SPDX-License-Identifier: Apache-2.0 */
/* Kept back: helpers, recursion, who calls whom. */

struct stack {
	int *cells;
	int used, room;
};

/* Opened by all, grown by who needs it. */
static __device__ void stack_open(struct stack &stack, int room)
{
	stack.cells = static_cast<int *>(malloc(room * sizeof(int))); // want: block uniform
	stack.used = 0;
	stack.room = stack.cells ? room : 0;
}

static __device__ void stack_push(struct stack &stack, int value)
{
	if (stack.used == stack.room) {
		int room = 2 * stack.room + 2;
		int *cells = static_cast<int *>(malloc(room * sizeof(int))); // want: none -

		if (!cells)
			return;
		for (int i = 0; i < stack.used; i++)
			cells[i] = stack.cells[i];
		free(stack.cells);
		stack.cells = cells;
		stack.room = room;
	}
	stack.cells[stack.used++] = value;
}

__global__ void depth_first(const int *tree, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	struct stack stack;

	stack_open(stack, 4);
	stack_push(stack, id % count);
	for (int steps = 0; stack.used > 0 && steps < 50; steps++) {
		int node = stack.cells[--stack.used];

		out[id] = (out[id] * 3 + tree[node]) % 10007;
		for (int child = 2 * node + 1; child <= 2 * node + 2 && child < count; child++)
			stack_push(stack, child);
	}
	free(stack.cells);
}

/* An arena within an allocation: by all from two kernels, which give different sizes. */
static __device__ char *arena(size_t bytes)
{
	size_t rounded = (bytes + 15) & ~(size_t)15;

	return (char *)malloc(rounded); // want: block varying
}

__global__ void arena_small(int bytes, int *out)
{
	char *base = arena(bytes);

	if (base)
		base[bytes - 1] = 3;
	out[threadIdx.x] = base ? base[bytes - 1] : 0;
	free(base);
}

__global__ void arena_own(int bytes, int *out)
{
	int own = bytes + threadIdx.x;
	char *base = arena(own);

	if (base)
		base[own - 1] = 5;
	out[threadIdx.x] = base ? base[own - 1] + own : 0;
	free(base);
}

/* From a loop by all, from a guard by some. */
static __device__ int *row_new(int items, int value)
{
	int *row = (int *)malloc(items * sizeof(int)); // want: none - want-best: block

	if (row)
		row[items - 1] = value;
	return row;
}

__global__ void few_more_rows(int rounds, int items, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < rounds; i++) {
		int *row = row_new(items, i);

		out[id] += row ? row[items - 1] : 0;
		free(row);
	}
	if (id % 5 == 0) {
		int *row = row_new(items, id);

		out[id] += row ? row[items - 1] : 0;
		free(row);
	}
}

/* Quadrants: a recursion in a loop, to a depth of the host's. */
struct quad {
	struct quad *part[4];
	int weight;
};

static __device__ struct quad *quad_new(int depth, int weight)
{
	struct quad *quad = new struct quad; // want: block uniform

	for (int i = 0; i < 4; i++) {
		struct quad *part = depth == 0 ? nullptr : quad_new(depth - 1, weight + i);

		if (quad)
			quad->part[i] = part;
	}
	if (quad)
		quad->weight = weight;
	return quad;
}

static __device__ int quad_drop(struct quad *quad)
{
	int sum = quad ? quad->weight : 0;

	for (int i = 0; quad && i < 4; i++)
		sum += quad_drop(quad->part[i]) * (i + 1);
	delete quad;
	return sum % 10007;
}

__global__ void quads(int depth, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	out[id] = quad_drop(quad_new(depth, id));
}

/* A function by its address: who calls it is not seen. */
typedef int (*job_t)(int);

static __device__ int job_plain(int n)
{
	return n + 1;
}

static __device__ int job_memory(int n)
{
	int *cell = (int *)malloc(sizeof(int)); // want: none -
	int value = n;

	if (cell) {
		*cell = 2 * n;
		value = *cell;
	}
	free(cell);
	return value;
}

__global__ void jobs_by_address(const int *kinds, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	job_t jobs[2] = { job_plain, job_memory };

	out[id] = jobs[kinds[id] % 2](id);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(depth_first, 2, 64, corpus_numbers(31, 90, 1), 31, corpus_out);
	CORPUS_RUN(arena_small, 1, 64, 20, corpus_out);
	CORPUS_RUN(arena_own, 1, 64, 20, corpus_out);
	CORPUS_RUN(few_more_rows, 2, 64, 4, 6, corpus_out);
	CORPUS_RUN(quads, 2, 32, 2, corpus_out);
	CORPUS_RUN(jobs_by_address, 2, 64, corpus_numbers(128, 90, 2), corpus_out);
	return 0;
}
#endif
