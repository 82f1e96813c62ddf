/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that ask whether they were given memory. As they stand each thread has its own answer,
 * so behind the question nobody is known to come with all others; once they are rewritten all
 * threads of a block have the same answer: later.
 */

/* Two buffers, and home where there is no memory. */
__global__ void two_buffers(int length, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *from = (int *)malloc(length * sizeof(int)); // want: block uniform
	if (!from)
		return;
	int *to = (int *)malloc(length * sizeof(int)); /* later: block */ // want: none -
	if (to == nullptr) {
		free(from);
		return;
	}
	for (int i = 0; i < length; i++)
		from[i] = id * i;
	for (int i = 0; i < length; i++)
		to[i] = from[length - i - 1];
	out[id] = to[0] + to[length - 1];
	free(from);
	free(to);
}

/* A list that grows by one node a round, until there is no memory. */
struct node {
	int value;
	struct node *next;
};

__global__ void list_of_rounds(int rounds, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	struct node *first = NULL;

	for (int i = 0; i < rounds; i++) {
		struct node *node = new struct node; /* later: block */ // want: none -
		if (node == NULL)
			break;
		node->value = id + i;
		node->next = first;
		first = node;
	}
	while (first) {
		struct node *next = first->next;
		out[id] = out[id] * 3 + first->value;
		delete first;
		first = next;
	}
}

/* What a helper gives is asked by who called it. */
__device__ int *row_of(int length)
{
	int *row = (int *)malloc(length * sizeof(int)); /* later: block */ // want: none -

	if (row)
		for (int i = 0; i < length; i++)
			row[i] = i;
	return row;
}

__global__ void rows(int count, int length, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < count; i++) {
		int *row = row_of(length);
		if (!row || length < 3)
			return;
		out[id] += row[i % length];
		free(row);
	}
}

/* There is no such memory for anybody. */
__global__ void too_much(int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	char *all = (char *)malloc((size_t)1 << 41); // want: block uniform
	if (all == NULL) {
		int *some = (int *)malloc(sizeof(int)); /* later: block */ // want: none -
		if (some != NULL) {
			*some = id;
			out[id] = *some + 1;
			free(some);
		}
		return;
	}
	out[id] = -1;
	free(all);
}

/* A thread's own pointer is not the block's, nor is what stands where it shows. */
__global__ void own_pointers(const int *keys, int length, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *mine = (int *)malloc(length * sizeof(int)); // want: block uniform
	int *other = mine;

	if (keys[id] % 3 == 0)
		other = NULL;
	if (other != NULL) {
		int *more = (int *)malloc(sizeof(int)); // want: none -
		if (more) {
			*more = keys[id];
			out[id] = *more;
			free(more);
		}
	}
	if (mine) {
		mine[0] = keys[id] % 2;
		if (!mine[0]) {
			int *last = (int *)malloc(sizeof(int)); // want: none -
			if (last)
				out[id] += 1;
			free(last);
		}
	}
	free(mine);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(two_buffers, 3, 64, 9, corpus_out);
	CORPUS_RUN(list_of_rounds, 3, 64, 7, corpus_out);
	CORPUS_RUN(rows, 3, 64, 5, 8, corpus_out);
	CORPUS_RUN(too_much, 2, 64, corpus_out);
	CORPUS_RUN(own_pointers, 2, 64, corpus_numbers(128, 60, 1), 4, corpus_out);
	return 0;
}
#endif
