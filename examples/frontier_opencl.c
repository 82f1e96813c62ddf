/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frontier_opencl.c - breadth-first search with a frontier that grows in OpenCL kernels, on a heap
 * of mam; the result is compared with a search on the host.
 *
 *	cc -O2 -I PREFIX/include -o frontier_opencl frontier_opencl.c -L PREFIX/lib -lmam-opencl -lOpenCL
 *	./frontier_opencl [--nodes 100000] [--degree 4] [--platform 0] ...
 *
 * in this folder, where the kernels are. Status 0; 1: wrong result or failure; 2: invalid options;
 * 77: no OpenCL.
 */
#define _POSIX_C_SOURCE 200809L
static const char program[] = "frontier_opencl";

#include "frontier_host.h"
#include "opencl_host.h"
#include "options.h"

#define GROUP ((size_t)64)
#define FRONTIER_BYTES 4096 /* more than a struct frontier, which only kernels declare */

enum { NODES, DEGREE, REACH, LANES, SEED, PLATFORM, DEVICE };

static struct example_option options[] = {
	{ "nodes", "number of nodes", 1, 1u << 26, 100000 },
	{ "degree", "average number of edges per node", 1, 15, 4 },
	{ "reach", "range of the sinks of a node; smaller: more levels", 1, 1u << 26, 100000 },
	{ "lanes", "number of lanes, in groups of 64", 1, 1u << 20, 4096 },
	{ "seed", "random seed of the graph", 0, 1u << 20, 1 },
	{ "platform", "number of the OpenCL platform", 0, PLATFORMS - 1, 0 },
	{ "device", "number of the platform's device", 0, DEVICES - 1, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

struct work {
	struct opencl cl;
	cl_mem heap, frontier, first, sinks, by, distance, answer;
	double ms;
};

/* Searches level by level; returns the number of levels. The first run may include compilation. */
static uint32_t search(struct work *work)
{
	size_t lanes = (options[LANES].value + GROUP - 1) / GROUP * GROUP;
	cl_ulong size;
	cl_uint level;

	work->ms =
		opencl_run(&work->cl, "start", 1, 1, 4, ARGUMENT(work->heap),
			   ARGUMENT(work->frontier), ARGUMENT(work->by), ARGUMENT(work->distance));
	for (level = 0;; level++) {
		work->ms += opencl_run(&work->cl, "deepen", lanes, GROUP, 8, ARGUMENT(work->heap),
				       ARGUMENT(work->frontier), ARGUMENT(work->first),
				       ARGUMENT(work->sinks), ARGUMENT(work->by),
				       ARGUMENT(work->distance), ARGUMENT(level),
				       ARGUMENT(work->answer));
		opencl_read(&work->cl, work->answer, &size, sizeof(size));
		if (!size)
			return level;
	}
}

static void compare(struct work *work, const struct frontier_graph *graph, uint32_t found)
{
	size_t bytes = (size_t)graph->nodes * sizeof(uint32_t);
	uint32_t *expected = (uint32_t *)malloc(bytes), *got = (uint32_t *)malloc(bytes);
	uint32_t *by = (uint32_t *)malloc(bytes);
	cl_ulong lost;

	if (!expected || !got || !by)
		fail("the distances", "out of memory");
	(void)opencl_run(&work->cl, "finish", 1, 1, 3, ARGUMENT(work->heap),
			 ARGUMENT(work->frontier), ARGUMENT(work->answer));
	opencl_read(&work->cl, work->answer, &lost, sizeof(lost));
	opencl_read(&work->cl, work->distance, got, bytes);
	opencl_read(&work->cl, work->by, by, bytes);
	if (lost)
		fail("the frontier", "out of memory");
	if (found != frontier_expect(graph, 0, expected) || memcmp(got, expected, bytes) != 0)
		fail("the distances", "they differ from the search on the host");
	if (!frontier_tree_right(graph, 0, by, got))
		fail("the tree", "a node was not reached by an edge from the level before");
	free(expected);
	free(got);
	free(by);
}

static void begin(struct work *work, const struct frontier_graph *graph)
{
	size_t bytes = (size_t)graph->nodes * sizeof(uint32_t);

	work->first = opencl_buffer(&work->cl, graph->first, bytes + sizeof(uint32_t), 0);
	work->sinks =
		opencl_buffer(&work->cl, graph->sinks, (size_t)graph->edges * sizeof(uint32_t), 0);
	work->by = opencl_buffer(&work->cl, NULL, bytes, 0xff);
	work->distance = opencl_buffer(&work->cl, NULL, bytes, 0xff);
	work->frontier = opencl_buffer(&work->cl, NULL, FRONTIER_BYTES, 0);
	work->answer = opencl_buffer(&work->cl, NULL, sizeof(cl_ulong), 0);
	opencl_build(&work->cl, "", "frontier.cl");
}

static void again(struct work *work, const struct frontier_graph *graph)
{
	opencl_fill(&work->cl, work->by, 0xff, (size_t)graph->nodes * sizeof(uint32_t));
	opencl_fill(&work->cl, work->distance, 0xff, (size_t)graph->nodes * sizeof(uint32_t));
}

static void end(struct work *work)
{
	check(clReleaseMemObject(work->first), "clReleaseMemObject");
	check(clReleaseMemObject(work->sinks), "clReleaseMemObject");
	check(clReleaseMemObject(work->by), "clReleaseMemObject");
	check(clReleaseMemObject(work->distance), "clReleaseMemObject");
	check(clReleaseMemObject(work->frontier), "clReleaseMemObject");
	check(clReleaseMemObject(work->answer), "clReleaseMemObject");
	opencl_close(&work->cl);
}

int main(int argc, char **argv)
{
	struct frontier_graph graph;
	struct mam_cl_heap *heap;
	struct work work;
	uint32_t nodes, found;

	example_options(program,
			"Breadth-first search with a frontier that grows in OpenCL kernels.",
			options, argc, argv);
	nodes = (uint32_t)options[NODES].value;
	if (!frontier_graph_make(&graph, options[SEED].value, nodes,
				 (uint32_t)options[DEGREE].value, (uint32_t)options[REACH].value))
		fail("the graph", "out of memory");
	opencl_open(&work.cl, options[PLATFORM].value, options[DEVICE].value);
	printf("%s\n", work.cl.name);
	/* Three frontiers, each at most twice its largest level, in segments that double. */
	heap = opencl_heap(&work.cl, (size_t)nodes * 3 * 4 * sizeof(uint32_t) + ((size_t)1 << 20));
	work.heap = mam_cl_heap_buffer(heap);
	begin(&work, &graph);
	compare(&work, &graph, search(&work));
	again(&work, &graph);
	found = search(&work);
	compare(&work, &graph, found);
	opencl_end_heap(&work.cl, heap);
	end(&work);
	printf("%u nodes, %u edges, %u levels: %.3f ms; distances are right\n", nodes, graph.edges,
	       found, work.ms);
	frontier_graph_free(&graph);
	printf("all is well\n");
	return fflush(stdout) ? 1 : 0;
}
