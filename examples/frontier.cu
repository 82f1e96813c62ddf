/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frontier.cu - breadth-first search with a frontier that grows in the kernel, on a heap of mam;
 * the result is compared with a search on the host.
 *
 *	nvcc -O2 -arch=native -I PREFIX/include -o frontier frontier.cu -L PREFIX/lib -lmam
 *	./frontier [--nodes 1000000] [--degree 4] ...
 *
 * Status 0; 1: wrong result or failure; 2: invalid options.
 */
static const char program[] = "frontier";

#include <vector>

#include "frontier.h"
#include "frontier_host.h"
#include "cuda_host.cuh"
#include "options.h"

enum { NODES, DEGREE, REACH, SEED };

static struct example_option options[] = {
	{ "nodes", "number of nodes", 1, 1u << 26, 1000000 },
	{ "degree", "average number of edges per node", 1, 15, 4 },
	{ "reach", "range of the sinks of a node; smaller: more levels", 1, 1u << 26, 1000000 },
	{ "seed", "random seed of the graph", 0, 1u << 20, 1 },
	{ NULL, NULL, 0, 0, 0 },
};

__global__ void start(struct frontier *frontier, struct mam_kheap *heap, uint32_t *by,
		      uint32_t *distance)
{
	frontier_start(frontier, mam_base_heap(heap), by, distance, 0);
}

__global__ void step(struct frontier *frontier, struct mam_kheap *heap, const uint32_t *first,
		     const uint32_t *sinks, uint32_t *by, uint32_t *distance, uint32_t level,
		     uint64_t *size)
{
	frontier_step(frontier, mam_base_heap(heap), first, sinks, by, distance, level, size);
}

__global__ void finish(struct frontier *frontier, struct mam_kheap *heap)
{
	frontier_end(frontier, mam_base_heap(heap));
}

/* Searches level by level; returns the number of levels. */
static uint32_t search(struct frontier *frontier, struct mam_kheap *heap, const uint32_t *first,
		       const uint32_t *sinks, uint32_t nodes, uint32_t *by, uint32_t *distance,
		       uint64_t *max)
{
	unsigned int blocks = blocks_for(nodes);
	uint64_t *device_size = on_device((uint64_t *)NULL, 1), size;
	uint32_t level = 0;

	*max = 0;
	start<<<1, 1>>>(frontier, heap, by, distance);
	for (;; level++) {
		step<<<blocks, THREADS>>>(frontier, heap, first, sinks, by, distance, level,
					  device_size);
		to_host(&size, device_size, 1);
		if (!size)
			break;
		*max = size > *max ? size : *max;
	}
	check(cudaFree(device_size), "cudaFree");
	return level;
}

int main(int argc, char **argv)
{
	struct frontier *frontier, last;
	struct frontier_graph graph;
	uint32_t nodes, levels, found, *first, *sinks, *by, *distance;
	struct stopwatch watch;
	struct mam_heap *heap;
	uint64_t max;
	double ms;

	example_options(program, "Breadth-first search with a frontier that grows in the kernel.",
			options, argc, argv);
	nodes = (uint32_t)options[NODES].value;
	if (!frontier_graph_make(&graph, options[SEED].value, nodes,
				 (uint32_t)options[DEGREE].value, (uint32_t)options[REACH].value))
		fail("the graph", "out of memory");
	std::vector<uint32_t> expected(nodes), got(nodes), tree(nodes);
	levels = frontier_expect(&graph, 0, expected.data());
	if (!levels)
		fail("the search on the host", "out of memory");

	first = on_device(graph.first, (size_t)nodes + 1);
	sinks = on_device(graph.sinks, graph.edges ? graph.edges : 1);
	by = on_device((uint32_t *)NULL, nodes);
	distance = on_device((uint32_t *)NULL, nodes);
	frontier = on_device((struct frontier *)NULL, 1);
	fill(by, 0xff, (size_t)nodes * sizeof(*by));
	fill(distance, 0xff, (size_t)nodes * sizeof(*distance));
	/* Three frontiers, each at most twice its largest level, in segments that double. */
	heap = heap_of((size_t)nodes * 3 * 4 * sizeof(uint32_t) + ((size_t)16 << 20));

	begin(&watch);
	found = search(frontier, mam_heap_device(heap), first, sinks, nodes, by, distance, &max);
	ms = end(&watch, "search");
	finish<<<1, 1>>>(frontier, mam_heap_device(heap));
	to_host(got.data(), distance, nodes);
	to_host(tree.data(), by, nodes);
	to_host(&last, frontier, 1);
	if (last.lost)
		fail("the frontier", "out of memory");
	if (found != levels || got != expected)
		fail("the distances", "they differ from the search on the host");
	if (!frontier_tree_right(&graph, 0, tree.data(), got.data()))
		fail("the tree", "a node was not reached by an edge from the level before");
	end_heap(heap);
	check(cudaFree(first), "cudaFree");
	check(cudaFree(sinks), "cudaFree");
	check(cudaFree(by), "cudaFree");
	check(cudaFree(distance), "cudaFree");
	check(cudaFree(frontier), "cudaFree");
	std::printf("%u nodes, %u edges, %u levels, the largest of %llu: %.3f ms; distances are "
		    "right\n",
		    nodes, graph.edges, levels, (unsigned long long)max, ms);
	frontier_graph_free(&graph);
	std::printf("all is well\n");
	return std::fflush(stdout) ? 1 : 0;
}
