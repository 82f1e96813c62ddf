/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_graph.c - `mam bench kma`: a list of edges becomes a graph, KMA's section 5.3.
 *
 * 1. The edges are generated, and the expected values of their graph are computed from them alone:
 *    the number of nodes with an edge, and a checksum of all edges.
 * 2. A graph is built, and all of it is freed, by lanes other than those that allocated: a heap of
 *    superblocks must have nothing in use then.
 * 3. Warm-up runs, then those whose median is reported, each on an empty heap. Each graph is
 *    checked: it has exactly the nodes of the edges, as many links as edges, and the same checksum.
 */
#include "bench/harness/gpu.h"
#include "kma.h"
#include "told.h"

#define LOOKERS 16384u /* lanes of untimed kernels */
#define LONG_US 5000000.0

struct graph {
	struct device_job build, look;
	struct kma_told wanted, sum;
	uint64_t *tree; /* in device memory */
};

static bool deal(struct device_run *run, struct device_heap *heap, struct graph *graph)
{
	return bench_gpu_fill(run->numbers, 0, graph->look.own[1] * sizeof(*run->numbers)) &&
	       device_launch(heap, "deal", &graph->look, NULL) &&
	       kma_launch(run, heap, "compute", &graph->look, NULL, &graph->wanted);
}

/* One run, with checks. */
static bool build(struct device_run *run, struct device_heap *heap, struct graph *graph, double *us)
{
	struct kma_told told;

	if (!bench_gpu_fill(graph->tree, 0, sizeof(*graph->tree)) ||
	    !kma_launch(run, heap, "build", &graph->build, us, &told))
		return false;
	graph->sum.none += told.none;
	if (!kma_launch(run, heap, "count", &graph->look, NULL, &told))
		return false;
	graph->sum.wrong += told.wrong + (told.nodes != graph->wanted.nodes) +
			    (told.links != graph->build.count) + (told.sum != graph->wanted.sum);
	return true;
}

static bool prune(struct device_run *run, struct device_heap *heap, struct graph *graph)
{
	struct kma_told told;

	if (!heap->allocator->frees)
		return true;
	if (!kma_launch(run, heap, "prune", &graph->look, NULL, &told))
		return false;
	graph->sum.wrong += told.wrong;
	return kma_is_empty(run, heap, &graph->sum.wrong);
}

static bool play(struct device_run *run, struct device_heap *heap, const struct device_cell *cell,
		 struct graph *graph)
{
	double times[DEVICE_REPEATS_MAX];
	unsigned int i, count = 0;

	if (!deal(run, heap, graph) || !build(run, heap, graph, &times[0]) ||
	    !prune(run, heap, graph))
		return false;
	for (i = 0; i < run->warm + run->repeats && times[0] < LONG_US; i++) {
		if (heap->allocator->reset != NULL && !heap->allocator->reset(heap))
			return false;
		count = i < run->warm ? 0 : i - run->warm;
		if (!build(run, heap, graph, &times[count]) ||
		    (heap->allocator->reset == NULL && !prune(run, heap, graph)))
			return false;
	}
	if (!kma_is_right(run, heap, cell, graph->sum.none, graph->sum.wrong,
			  "things of a graph are not as its edges say, or not back in the end"))
		return true;
	device_row(run, heap, cell, "us", bench_measure_median(times, count + 1));
	device_row(run, heap, cell, "medges",
		   (double)cell->filled / bench_measure_median(times, count + 1));
	device_row(run, heap, cell, "runs", count + 1);
	return true;
}

bool kma_play_graph(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell)
{
	struct graph graph = { .tree = bench_gpu_take(sizeof(*graph.tree)) };
	bool good;

	if (graph.tree == NULL) {
		device_note(run, heap, cell, "the device has too little free memory for that");
		return bench_gpu_trouble()[0] == '\0';
	}
	device_ask(run, heap, cell, &graph.build);
	graph.build.count = cell->filled;
	graph.build.own[0] = (uint64_t)(uintptr_t)graph.tree;
	graph.build.own[1] = cell->share;
	graph.look = graph.build;
	if (graph.look.askers < LOOKERS && graph.look.askers < cell->share)
		graph.look.askers = cell->share < LOOKERS ? cell->share : LOOKERS;
	good = play(run, heap, cell, &graph);
	bench_gpu_give(graph.tree);
	return good;
}
