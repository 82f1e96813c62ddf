/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations in for loops: trip counts of the host's, of the block's, of the thread's. */

struct link {
	int value;
	struct link *next;
};

/* Every thread builds a list of the same length. */
__global__ void equal_lists(int length, int *out)
{
	struct link *head = nullptr;
	int sum = 0;

	for (int i = 0; i < length; i++) {
		struct link *link = (struct link *)malloc(sizeof(*link)); // want: block uniform

		if (link != nullptr) {
			link->value = i * threadIdx.x;
			link->next = head;
			head = link;
		}
	}
	while (head != nullptr) {
		struct link *next = head->next;

		sum += head->value;
		free(head);
		head = next;
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* A grid-stride loop: the last round may be without some threads. */
__global__ void stride_items(const int *items, int count, int *out)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
	     i += gridDim.x * blockDim.x) {
		int *pair = (int *)malloc(2 * sizeof(int)); // want: none -

		if (pair == nullptr)
			continue;
		pair[0] = items[i];
		pair[1] = items[count - 1 - i];
		out[i] = pair[0] * pair[1];
		free(pair);
	}
}

/* A loop over tiles, one block a tile; all threads go round as often. */
__global__ void stride_tiles(const int *items, int tiles, int tile, int *out)
{
	for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
		int *work = (int *)malloc(tile * sizeof(int)); // want: block uniform

		if (work != nullptr) {
			for (int i = 0; i < tile; i++)
				work[i] = items[(t * tile + i) % 256] ^ (int)threadIdx.x;
			out[t * blockDim.x + threadIdx.x] = work[t % tile];
		}
		free(work);
	}
}

/* The base of the round is uniform, the index in it is not. */
__global__ void rounds(const int *items, int count, int *out)
{
	for (int base = 0; base < count; base += blockDim.x) {
		int i = base + threadIdx.x;
		int *seen = (int *)malloc(sizeof(int) * 4); // want: block uniform

		if (i < count) {
			int *extra = (int *)malloc(sizeof(int)); // want: none -

			if (seen && extra) {
				seen[i % 4] = items[i];
				*extra = seen[i % 4] + base;
				out[i] = *extra;
			}
			free(extra);
		}
		free(seen);
	}
}

/* Each round wants more; all the same. Then each thread wants as many rounds as its number. */
__global__ void pyramids(int levels, int *out)
{
	int sum = 0;

	for (int level = 1; level <= levels; level *= 2) {
		short *row = (short *)malloc(level * sizeof(short)); // want: block uniform

		if (row) {
			row[level - 1] = (short)(level + threadIdx.x);
			sum += row[level - 1];
		}
		free(row);
	}
	for (int i = 0; i < threadIdx.x % 4; i++) {
		short *top = (short *)malloc(sizeof(short)); // want: none -

		if (top) {
			*top = (short)i;
			sum += *top;
		}
		free(top);
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(equal_lists, 2, 64, 5, corpus_out);
	CORPUS_RUN(stride_items, 2, 64, corpus_numbers(300, 90, 1), 300, corpus_out);
	CORPUS_RUN(stride_tiles, 2, 64, corpus_numbers(256, 90, 2), 5, 16, corpus_out);
	CORPUS_RUN(rounds, 1, 64, corpus_numbers(200, 90, 3), 200, corpus_out);
	CORPUS_RUN(pyramids, 2, 64, 32, corpus_out);
	return 0;
}
#endif
