/* SPDX-License-Identifier: Apache-2.0 */
/* Graph code: searches with frontiers, colours, components; all that was seen alone, together. */

/* A search from one vertex per block; the frontier's length is shared. */
__global__ void levels(const int *starts, const int *targets, int vertices, int *out)
{
	__shared__ int found, level;
	int t = threadIdx.x, *mine;

	if (t == 0) {
		found = 1;
		level = 0;
	}
	__syncthreads();
	while (found > 0) {
		__syncthreads();
		mine = (int *)malloc(4 * sizeof(int)); // want: block uniform
		if (t == 0) {
			found = 0;
			level++;
		}
		__syncthreads();
		if (mine && t < vertices) {
			int edge = starts[t] + level;

			mine[0] = edge < starts[t + 1] ? targets[edge] : -1;
			if (mine[0] >= 0) {
				atomicAdd(&found, 1);
				out[blockIdx.x * blockDim.x + t] += mine[0] * level;
			}
		}
		free(mine);
		__syncthreads();
	}
}

/* Greedy colours: a mask of what the neighbours have, as wide as the host says. */
__global__ void colours(const int *starts, const int *targets, int vertices, int most, int *out)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	bool *taken = (bool *)malloc(most * sizeof(bool)); // want: block uniform

	if (taken != nullptr && v < vertices) {
		int colour = 0;

		for (int i = 0; i < most; i++)
			taken[i] = false;
		for (int e = starts[v]; e < starts[v + 1]; e++)
			taken[targets[e] % most] = true;
		while (colour < most && taken[colour])
			colour++;
		out[v] = colour;
	}
	free(taken);
}

/* Union and find: the path is as long as it is. */
__global__ void components(const int *parents, int vertices, int *out)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	int length = 0, root = v % vertices;

	while (length < 8 && parents[root] < root) {
		root = parents[root];
		length++;
	}
	if (length == 0) {
		out[v] = root;
		return;
	}
	int *path = (int *)malloc(length * sizeof(int)); // want: none -

	if (path) {
		path[length - 1] = root;
		out[v] = path[length - 1] * 10 + length;
	}
	free(path);
}

/* An adjacency list made from an edge list: a node for each edge of the thread's vertex. */
struct edge {
	int to;
	struct edge *next;
};

__global__ void adjacency(const int *from, const int *to, int edges, int *out)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	struct edge *sentinel = new edge; // want: block uniform
	struct edge *head = sentinel;

	sentinel->next = nullptr;
	sentinel->to = -1;
	for (int e = 0; e < edges; e++) {
		if (from[e] != v)
			continue;
		struct edge *edge = new struct edge; // want: none -

		edge->to = to[e];
		edge->next = head;
		head = edge;
	}
	for (struct edge *edge = head; edge != nullptr; edge = head) {
		out[v] = out[v] * 3 + edge->to;
		head = edge->next;
		delete edge;
	}
}

#ifdef CORPUS_MAIN
#include "../main.h"

static int *vertex_starts(int vertices)
{
	int *starts = corpus_numbers(vertices + 1, 1, 1), start = 0, i;

	for (i = 0; i <= vertices; i++) {
		corpus_check(cudaMemcpy(starts + i, &start, sizeof(start), cudaMemcpyHostToDevice),
			     "cudaMemcpy");
		start += i * 7 % 5;
	}
	return starts;
}

int main(void)
{
	int *starts = vertex_starts(60), *targets = corpus_numbers(240, 60, 1);

	CORPUS_RUN(levels, 2, 64, starts, targets, 60, corpus_out);
	CORPUS_RUN(colours, 2, 64, starts, targets, 60, 9, corpus_out);
	CORPUS_RUN(components, 2, 64, corpus_numbers(100, 100, 2), 100, corpus_out);
	CORPUS_RUN(adjacency, 2, 64, targets, corpus_numbers(240, 60, 3), 240, corpus_out);
	return 0;
}
#endif
