/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that all call from one place, and some from another. */

struct node {
	int key;
	struct node *left, *right;
};

static __device__ struct node *node_new(int key)
{
	struct node *node = (struct node *)malloc(sizeof(*node)); // want: none - want-best: block

	if (node) {
		node->key = key;
		node->left = node->right = nullptr;
	}
	return node;
}

static __device__ void insert(struct node *root, int key)
{
	struct node **at = &root;

	while (*at != nullptr)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	*at = node_new(key);
}

static __device__ int drop(struct node *node)
{
	int keys = 0;

	while (node != nullptr) {
		struct node *gone = node;

		if (node->left != nullptr) {
			struct node *left = node->left;

			node->left = left->right;
			left->right = node;
			node = left;
			continue;
		}
		keys = keys * 3 + node->key;
		node = node->right;
		free(gone);
	}
	return keys;
}

/* The root is made by all, the rest by those who have a key. */
__global__ void search_trees(const int *keys, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	struct node *root = node_new(50);

	for (int i = 0; root && i < count; i++)
		if ((keys[i] + id) % 3 == 0)
			insert(root, keys[i]);
	out[id] = drop(root);
}

static __device__ int *buffer_new(int items)
{
	int *buffer = (int *)malloc(items * sizeof(int)); // want: none - want-best: block

	for (int i = 0; buffer && i < items; i++)
		buffer[i] = i;
	return buffer;
}

/* As listing 1 of the paper: once by all, once by the first four. */
__global__ void all_then_few(int items, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *all = buffer_new(items);

	if (all)
		out[id] = all[items - 1] + id;
	free(all);
	if (threadIdx.x < 4) {
		int *few = buffer_new(items + 2);

		if (few)
			out[id] += few[items + 1];
		free(few);
	}
}

/* Two kernels share a helper; in one of them a part of the threads has left. */
static __device__ short *line_new(int width)
{
	return (short *)malloc(width * sizeof(short)); // want: none - want-best: block
}

__global__ void draw_all(int width, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	short *line = line_new(width);

	if (line) {
		line[id % width] = (short)id;
		out[id] = line[id % width];
	}
	free(line);
}

__global__ void draw_inside(int width, int lines, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	if (id >= lines)
		return;
	short *line = line_new(width);
	if (line) {
		line[id % width] = (short)(2 * id);
		out[id] = line[id % width];
	}
	free(line);
}

/* Warps from one place, blocks from another: a warp is what is left for both. */
static __device__ char *note_new(void)
{
	return (char *)malloc(48); // want: warp uniform
}

__global__ void notes(const int *values, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	char *first = note_new(), *second = nullptr;

	if (__any_sync(0xffffffff, values[id] == 7))
		second = note_new();
	if (first)
		first[id % 48] = 1;
	if (second)
		second[id % 48] = 2;
	out[id] = (first ? first[id % 48] : 0) + (second ? second[id % 48] : 0);
	free(first);
	free(second);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(search_trees, 2, 64, corpus_numbers(40, 100, 1), 40, corpus_out);
	CORPUS_RUN(all_then_few, 2, 64, 10, corpus_out);
	CORPUS_RUN(draw_all, 2, 64, 20, corpus_out);
	CORPUS_RUN(draw_inside, 2, 64, 20, 100, corpus_out);
	CORPUS_RUN(notes, 2, 128, corpus_numbers(256, 60, 2), corpus_out);
	return 0;
}
#endif
