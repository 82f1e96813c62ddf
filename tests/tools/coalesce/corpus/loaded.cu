/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and conditions that come from memory: what is there is not known, nor who else writes. */

/* Vertices of a graph, each with its own number of neighbours. */
__global__ void neighbours(const int *starts, const int *targets, int vertices, int *out)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	int degree = v < vertices ? starts[v] : 0;
	int *seen = (int *)malloc((degree + 1) * sizeof(int)); // want: block varying

	if (seen != nullptr) {
		seen[0] = v;
		for (int i = 0; i < degree; i++)
			seen[i + 1] = targets[(v + i) % vertices];
		out[v] = seen[degree];
		free(seen);
	}
}

/* One length for the whole grid, but in memory. */
__global__ void length_in_memory(const int *length, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int bytes = *length * (int)sizeof(int);
	int *part = (int *)malloc(bytes); // want: block varying

	if (*length > 6) {
		int *more = (int *)malloc(32); // want: none -

		if (more && part) {
			part[0] = id;
			more[7] = part[0] + 2;
			out[id] = more[7];
		}
		free(more);
	}
	free(part);
}

/* The length of a word is found by reading it. */
__global__ void copy_words(const char *text, int length, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int begin = id * 5 % length, end = begin;
	int sum = 0;

	while (end < length && text[end] != ' ')
		end++;
	char *word = (char *)malloc(end - begin + 1); // want: block varying
	if (word == nullptr)
		return;
	for (int i = begin; i < end; i++)
		word[i - begin] = text[i];
	word[end - begin] = '\0';
	for (int i = 0; word[i] != '\0'; i++)
		sum = sum * 31 + word[i];
	out[id] = sum;
	free(word);
}

/* What the thread has written into its own memory and reads back is data like any other. */
__global__ void through_memory(int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *sizes = (int *)malloc(count * sizeof(int)); // want: block uniform

	if (sizes == nullptr)
		return;
	for (int i = 0; i < count; i++)
		sizes[i] = (id + i) % 5 + 1;
	if (sizes[0] > 2) {
		int *part = (int *)malloc(sizes[1] * sizeof(int)); // want: none -

		if (part) {
			part[sizes[1] - 1] = count;
			out[id] = part[sizes[1] - 1];
		}
		free(part);
	}
	free(sizes);
}

/* A variable of the device: anybody may write it, at any time. */
__device__ int most_items = 24;

__global__ void device_limit(const int *items, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *list = (int *)malloc(most_items * sizeof(int)); // want: block varying

	if (list != nullptr) {
		list[id % 16] = items[id];
		out[id] = list[id % 16];
	}
	free(list);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(neighbours, 2, 64, corpus_numbers(100, 9, 1), corpus_numbers(100, 99, 2), 100,
		   corpus_out);
	CORPUS_RUN(length_in_memory, 2, 64, corpus_numbers(1, 90, 3), corpus_out);
	CORPUS_RUN(copy_words, 2, 64, corpus_text(400, 4), 400, corpus_out);
	CORPUS_RUN(through_memory, 2, 64, 4, corpus_out);
	CORPUS_RUN(device_limit, 2, 64, corpus_numbers(128, 90, 5), corpus_out);
	return 0;
}
#endif
