/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play.c - the works of `mam bench kma` in OpenCL, as kma/play.c and kma/play_graph.c have them in
 * CUDA: skip cells that would take too long, run a pass with full checks, warm-up runs, then timed
 * runs, each checked. At the end nothing may be in use.
 */
#include "bench/papers/kma/kma.h"
#include "cl.h"

#define LONG_US 3000000.0
#define PART 20
#define TOGETHER_US 4000000.0
#define LOOKERS 16384u
#define PROCESSOR_EDGES (1u << 20) /* more would take a CPU minutes */

static struct kma_ask ask_of(const struct device_cell *cell)
{
	return (struct kma_ask){ .lanes = cell->askers,
				 .rounds = cell->rounds,
				 .min = cell->min,
				 .max = cell->max,
				 .edges = cell->filled,
				 .nodes = cell->share };
}

static bool is_right(struct device_run *run, const struct device_heap *heap,
		     const struct device_cell *cell, const struct kma_told *sum)
{
	device_row(run, heap, cell, "wrong", (double)sum->wrong);
	device_row(run, heap, cell, "none", (double)sum->none);
	if (sum->wrong > 0)
		device_note(run, heap, cell,
			    "objects of another, missing, or not freed in the end: %llu",
			    (unsigned long long)sum->wrong);
	else if (sum->none > 0)
		device_note(run, heap, cell, "requests that got nothing: %llu; no time is reported",
			    (unsigned long long)sum->none);
	return sum->wrong == 0 && sum->none == 0;
}

static bool nothing_left(struct device_play *play, struct kma_told *sum)
{
	uint64_t left;

	if (!cl_heap_left(play, &left))
		return false;
	sum->wrong += left;
	return true;
}

/* ---- pairs ---- */

static bool run_pairs(struct device_play *play, const struct kma_ask *ask, double *us,
		      struct kma_told *sum)
{
	struct kma_told told;

	if (!cl_launch(play, "pairs", ask->lanes, ask, NULL, us, &told))
		return false;
	sum->none += told.none;
	sum->wrong += told.wrong;
	return true;
}

bool kma_play_pairs(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell)
{
	const double pairs = (double)cell->askers * cell->rounds;
	double times[DEVICE_REPEATS_MAX], us, spent = 0;
	struct kma_ask ask = ask_of(cell), look = ask;
	struct kma_told sum = { .none = 0 };
	unsigned int i, count = 0;

	look.flags = KMA_LOOK;
	look.rounds = cell->rounds > PART ? cell->rounds / PART : 1;
	if (!run_pairs(run->play, &look, &us, &sum))
		return false;
	us *= (double)cell->rounds / look.rounds;
	if (us > LONG_US) {
		device_note(run, heap, cell, "left out, since each run would take %.0f s",
			    us / 1e6);
		return true;
	}
	for (i = 0; i < run->warm; i++) {
		if (!run_pairs(run->play, &ask, NULL, &sum))
			return false;
	}
	do {
		if (!run_pairs(run->play, &ask, &times[count], &sum))
			return false;
		spent += times[count++];
	} while (count < run->repeats && spent < TOGETHER_US);
	if (!nothing_left(run->play, &sum))
		return false;
	if (!is_right(run, heap, cell, &sum))
		return true;
	us = bench_measure_median(times, count);
	device_row(run, heap, cell, "us", us);
	device_row(run, heap, cell, "ns", us * 1000 / pairs);
	device_row(run, heap, cell, "mpairs", us > 0 ? pairs / us : 0);
	device_row(run, heap, cell, "runs", count);
	return true;
}

/* ---- elements ---- */

static bool run_elements(struct device_run *run, const struct device_cell *cell,
			 const struct cl_buffers *buffers, bool undo, double *us,
			 struct kma_told *sum)
{
	const bool is_list = kma_plan_is_list(cell);
	struct cl_buffers got = { { buffers->of[0] } };
	struct kma_ask ask = ask_of(cell);
	struct kma_told told;

	ask.flags = is_list;
	if ((!undo && !cl_heap_reset(run->play)) ||
	    !cl_launch(run->play, "list", 1, &ask, buffers, NULL, NULL) ||
	    !cl_launch(run->play, is_list ? "together" : "apart", ask.lanes, &ask,
		       is_list ? buffers : &got, us, &told))
		return false;
	sum->none += told.none;
	if (!cl_launch(run->play, "stamped", ask.lanes, &ask, buffers, NULL, &told))
		return false;
	sum->wrong += told.wrong;
	if (is_list && told.nodes != (uint64_t)cell->askers * cell->rounds)
		sum->wrong++;
	if (!undo)
		return true;
	if (is_list)
		return cl_launch(run->play, "clear", 1, &ask, buffers, NULL, NULL) &&
		       nothing_left(run->play, sum);
	if (!cl_launch(run->play, "give_apart", ask.lanes, &ask, &got, NULL, &told))
		return false;
	sum->wrong += told.wrong;
	return nothing_left(run->play, sum);
}

static bool play_elements(struct device_run *run, struct device_heap *heap,
			  const struct device_cell *cell, const struct cl_buffers *buffers)
{
	struct kma_told sum = { .none = 0 };
	double times[DEVICE_REPEATS_MAX];
	unsigned int i;

	if (!run_elements(run, cell, buffers, true, NULL, &sum))
		return false;
	for (i = 0; i < run->warm + run->repeats; i++) {
		if (!run_elements(run, cell, buffers, false,
				  i < run->warm ? NULL : &times[i - run->warm], &sum))
			return false;
	}
	if (!is_right(run, heap, cell, &sum))
		return true;
	device_row(run, heap, cell, "us", bench_measure_median(times, run->repeats));
	device_row(run, heap, cell, "runs", run->repeats);
	return true;
}

static void release(struct cl_buffers *buffers)
{
	size_t i;

	for (i = 0; i < CL_BUFFERS; i++) {
		if (buffers->of[i] != NULL)
			clReleaseMemObject(buffers->of[i]);
	}
}

bool kma_play_arraylist(struct device_run *run, struct device_heap *heap,
			const struct device_cell *cell)
{
	struct cl_buffers buffers = { { NULL } };
	bool good;

	buffers.of[0] = cl_buffer(run->play, kma_plan_places(cell) * 8);
	buffers.of[1] = buffers.of[0] != NULL ? cl_buffer(run->play, 256) : NULL;
	good = buffers.of[1] != NULL && play_elements(run, heap, cell, &buffers);
	release(&buffers);
	return good;
}

/* ---- the graph ---- */

struct graph {
	struct kma_ask ask;
	cl_mem edges, marks, got, tree;
	struct kma_told wanted, sum;
	uint32_t lookers;
};

static bool deal(struct device_play *play, struct graph *graph)
{
	const struct cl_buffers buffers = { { graph->edges, graph->marks } };

	return cl_zero(play, graph->marks, graph->ask.nodes * (uint64_t)4) &&
	       cl_launch(play, "deal", graph->lookers, &graph->ask, &buffers, NULL, NULL) &&
	       cl_launch(play, "compute", graph->lookers, &graph->ask, &buffers, NULL,
			 &graph->wanted);
}

static bool build(struct device_play *play, struct graph *graph, double *us)
{
	const struct cl_buffers building = { { graph->edges, graph->tree } };
	const struct cl_buffers touring = { { graph->marks, graph->tree, graph->got } };
	struct kma_told told;

	if (!cl_zero(play, graph->tree, 8) ||
	    !cl_launch(play, "build", graph->ask.lanes, &graph->ask, &building, us, &told))
		return false;
	graph->sum.none += told.none;
	if (!cl_launch(play, "count", graph->lookers, &graph->ask, &touring, NULL, &told))
		return false;
	graph->sum.wrong += told.wrong + (told.nodes != graph->wanted.nodes) +
			    (told.links != graph->ask.edges) + (told.sum != graph->wanted.sum);
	return true;
}

static bool prune(struct device_play *play, struct graph *graph)
{
	const struct cl_buffers buffers = { { graph->got } };
	struct kma_told told;

	if (!cl_launch(play, "prune", graph->lookers, &graph->ask, &buffers, NULL, &told))
		return false;
	graph->sum.wrong += told.wrong;
	return nothing_left(play, &graph->sum);
}

static bool play_graph(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell, struct graph *graph)
{
	double times[DEVICE_REPEATS_MAX], spent = 0, us;
	unsigned int i, count = 0;

	if (!deal(run->play, graph) || !build(run->play, graph, &us) ||
	    (heap->allocator->frees && !prune(run->play, graph)))
		return false;
	for (i = 0; i < run->warm; i++) {
		if (!cl_heap_reset(run->play) || !build(run->play, graph, NULL))
			return false;
	}
	do {
		if (!cl_heap_reset(run->play) || !build(run->play, graph, &times[count]))
			return false;
		spent += times[count++];
	} while (count < run->repeats && spent < TOGETHER_US);
	if (!is_right(run, heap, cell, &graph->sum))
		return true;
	us = bench_measure_median(times, count);
	device_row(run, heap, cell, "us", us);
	device_row(run, heap, cell, "medges", us > 0 ? cell->filled / us : 0);
	device_row(run, heap, cell, "runs", count);
	return true;
}

bool kma_play_graph(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell)
{
	struct graph graph = { .ask = ask_of(cell) };
	struct cl_buffers buffers = { { NULL } };
	bool good;

	if (run->play->is_processor && cell->filled > PROCESSOR_EDGES) {
		device_note(run, heap, cell, "skipped, since the device is not a GPU");
		return true;
	}
	graph.lookers = cell->share < LOOKERS ? cell->share : LOOKERS;
	graph.edges = buffers.of[0] = cl_buffer(run->play, (uint64_t)cell->filled * 8);
	graph.marks = buffers.of[1] = cl_buffer(run->play, (uint64_t)cell->share * 4);
	graph.got = buffers.of[2] = cl_buffer(run->play, (uint64_t)cell->share * 8);
	graph.tree = cl_buffer(run->play, 256);
	good = run->play->trouble[0] == '\0' && play_graph(run, heap, cell, &graph);
	release(&buffers);
	if (graph.tree != NULL)
		clReleaseMemObject(graph.tree);
	return good;
}

/* ---- a heap ---- */

bool kma_play_setup(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell)
{
	const bool poor = !heap->allocator->frees;
	double times[DEVICE_REPEATS_MAX];
	char why[240] = "";
	unsigned int i;

	for (i = 0; i < run->repeats; i++) {
		uint64_t begin;

		cl_heap_end(run->play);
		begin = bench_now();
		if (!cl_heap_make(run->play, poor, cell->heap_bytes, poor ? 0 : cell->share, why,
				  sizeof(why)))
			break;
		times[i] = (double)(bench_now() - begin) / 1000;
	}
	if (run->play->trouble[0] != '\0')
		return false;
	if (i < run->repeats)
		device_note(run, heap, cell, "%s", why);
	else
		device_row(run, heap, cell, "make_us", bench_measure_median(times, run->repeats));
	return true;
}
