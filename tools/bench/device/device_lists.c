/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_lists.c - works of `mam bench device` that resemble programs:
 *
 *   fragment   objects are exchanged for others of another size, half of them in each of 100
 *              rounds; then the address range from the first object to the end of the last, divided by
 *              the bytes of all of them
 *   graph      edges are added at random; each vertex keeps its neighbors in a list that doubles
 *   generate   each asker makes 4 to 64 bytes of work; for comparison, as an allocator named
 *              prefix-sum, the same by a prefix sum over sizes
 *
 * As in M. Winter, M. Parger, D. Mlakar, M. Steinberger, "Are Dynamic Memory Managers on GPUs Slow?
 * A Survey and Benchmarks", PPoPP 2021; the metrics and sizes are ours.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "device_time.h"
#include "bench/harness/gpu.h"

#define HEAP (UINT64_C(8) << 30)
#define SMALL_HEAP (UINT64_C(1) << 30)
#define M (UINT32_C(1) << 20)

/* ---- fragment ---- */

void device_plan_fragment(struct device_plan *plan)
{
	static const uint32_t sizes[][2] = { { 64, 64 }, { 4, 8192 } };
	size_t i;

	for (i = 0; i < 2; i++) {
		const struct device_cell cell = { .work = DEVICE_FRAGMENT,
						  .heap_bytes = SMALL_HEAP,
						  .askers = M / 8,
						  .lanes = 32,
						  .min = sizes[i][0],
						  .max = sizes[i][1],
						  .rounds = 100 };

		if (cell.min == cell.max)
			device_plan_add(plan, cell, "%uB 128K", cell.max);
		else
			device_plan_add(plan, cell, "%u..%uB 128K", cell.min, cell.max);
	}
}

/* The address range of the objects of `got`. */
struct cover {
	uint64_t live, range, overlaps;
};

static struct cover find_cover(const struct device_extents *extents)
{
	struct cover cover = { .live = device_extents_bytes(extents) };
	uint64_t end = 0;
	size_t i;

	for (i = 0; i < extents->count; i++) {
		cover.overlaps += extents->of[i].first < end;
		if (extents->of[i].end > end)
			end = extents->of[i].end;
	}
	cover.range = extents->count > 0 ? end - extents->of[0].first : 0;
	return cover;
}

bool device_play_fragment(struct device_run *run, struct device_heap *heap,
			  const struct device_cell *cell)
{
	struct device_extents extents = { .of = NULL };
	struct device_found found;
	struct device_job job;
	struct cover cover;
	uint32_t round;

	if (!heap->allocator->frees)
		return true;
	device_ask(run, heap, cell, &job);
	if (!bench_gpu_fill(job.got, 0, job.askers * sizeof(*job.got)) || !device_count_begin(run))
		return false;
	for (round = 0; round <= cell->rounds; round++) {
		job.seed = round;
		if (!device_launch(heap, "turn", &job, NULL))
			return false;
	}
	if (!device_count_end(run, &found) || !device_extents_fetch(&job, &extents))
		return false;
	if (extents.of == NULL) {
		device_note(run, heap, cell,
			    "there is too little host memory to check the objects");
		return true;
	}
	cover = find_cover(&extents);
	free(extents.of);
	if (!device_time_is_right(run, heap, cell, found.none, found.corrupt + cover.overlaps,
				  "objects overlap, or were written by another than their owner"))
		return true;
	if (cover.live > 0)
		device_row(run, heap, cell, "range_ratio",
			   (double)cover.range / (double)cover.live);
	return true;
}

/* ---- graph ---- */

#define GRAPH_EDGES 8   /* that each asker adds */
#define GRAPH_DEGREE 32 /* of a vertex, on average */

void device_plan_graph(struct device_plan *plan)
{
	device_plan_add(plan,
			(struct device_cell){ .work = DEVICE_GRAPH,
					      .heap_bytes = HEAP,
					      .askers = M,
					      .lanes = 32,
					      .min = 16,
					      .max = 4096,
					      .rounds = GRAPH_EDGES },
			"1M x%u", GRAPH_EDGES);
}

/* Empties the graph. Existing lists are freed, or dropped by the heap's reset. */
static bool clear_graph(struct device_heap *heap, const struct device_job *job, bool first)
{
	if (!first && heap->allocator->frees && !device_launch(heap, "graph_drop", job, NULL))
		return false;
	return device_time_renew(heap) &&
	       bench_gpu_fill(job->more, 0, job->count * sizeof(*job->more)) &&
	       bench_gpu_fill(job->numbers, 0, job->count * sizeof(*job->numbers));
}

bool device_play_graph(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell)
{
	const unsigned int repeats = device_time_repeats(run, heap);
	const uint64_t edges = (uint64_t)cell->askers * cell->rounds;
	double times[DEVICE_REPEATS_MAX];
	struct device_found found;
	struct device_job job;
	unsigned int i;
	double us;

	device_ask(run, heap, cell, &job);
	/* Kernels that read lists have one thread per list. */
	job.count = edges / GRAPH_DEGREE < cell->askers ? (uint32_t)(edges / GRAPH_DEGREE) + 1
							: cell->askers;
	if (!clear_graph(heap, &job, true) || !device_count_begin(run) ||
	    !device_launch(heap, "graph", &job, NULL) ||
	    !device_launch(heap, "graph_sum", &job, NULL) ||
	    !device_launch(heap, "graph_wanted", &job, NULL) || !device_count_end(run, &found))
		return false;
	/* An edge without memory for its list is missing in both the sum and the count. */
	if (!device_time_is_right(run, heap, cell, found.none,
				  (found.objects + found.none != edges) +
					  (found.none == 0 && found.spare[0] != found.spare[1]),
				  "sums over the lists are not those of the edges"))
		return true;
	if (!device_count_begin(run))
		return false;
	for (i = 0; i < repeats; i++) {
		if (!clear_graph(heap, &job, false) ||
		    !device_launch(heap, "graph", &job, &times[i]))
			return false;
	}
	if (!device_count_end(run, &found))
		return false;
	device_time_note_none(run, heap, cell, found.none);
	us = bench_measure_median(times, repeats);
	device_row(run, heap, cell, "us", us);
	device_row(run, heap, cell, "mops", (double)edges / us);
	return true;
}

/* ---- generate ---- */

#define GENERATE_MIN 4
#define GENERATE_MAX 64

void device_plan_generate(struct device_plan *plan)
{
	static const uint32_t askers[] = { 1 << 10, 1 << 17, M };
	char number[16];
	size_t i;

	for (i = 0; i < sizeof(askers) / sizeof(askers[0]); i++)
		device_plan_add(plan,
				(struct device_cell){ .work = DEVICE_GENERATE,
						      .heap_bytes = HEAP,
						      .askers = askers[i],
						      .lanes = 32,
						      .min = GENERATE_MIN,
						      .max = GENERATE_MAX },
				"%d..%dB %s", GENERATE_MIN, GENERATE_MAX,
				device_plan_number(askers[i], number, sizeof(number)));
}

/* Three kernels, one after another; their times are added. */
static bool run_prefix_sum(const struct device_heap *heap, const struct device_job *job, double *us)
{
	double first = 0, second = 0, third = 0;

	if (!device_launch(heap, "prefix_sum", job, us != NULL ? &first : NULL) ||
	    !device_launch_as(heap, "prefix_scan", 1, DEVICE_BLOCK, job,
			      us != NULL ? &second : NULL) ||
	    !device_launch(heap, "prefix_write", job, us != NULL ? &third : NULL))
		return false;
	if (us != NULL)
		*us = first + second + third;
	return true;
}

static bool play_prefix_sum(struct device_run *run, const struct device_heap *heap,
			    const struct device_cell *cell)
{
	const struct device_allocator none = { .name = "prefix-sum", .role = DEVICE_CEILING };
	const struct device_heap as = { .allocator = &none, .module = heap->module };
	void *const memory = bench_gpu_take((uint64_t)cell->askers * GENERATE_MAX);
	double times[DEVICE_REPEATS_MAX], us;
	struct device_found found;
	struct device_job job;
	unsigned int i;
	bool good;

	if (memory == NULL) {
		device_note(run, &as, cell, "there is too little memory");
		return true;
	}
	device_ask(run, heap, cell, &job);
	job.own[0] = (uint64_t)(uintptr_t)memory;
	good = run_prefix_sum(&as, &job, NULL) &&
	       device_time_count(run, &as, "generate_read", &job, &found);
	if (good && device_time_is_right(run, &as, cell, found.none, found.corrupt,
					 "askers found another's work in the place of theirs")) {
		for (i = 0; good && i < run->repeats; i++)
			good = run_prefix_sum(&as, &job, &times[i]);
		us = good ? bench_measure_median(times, run->repeats) : 1;
		device_row(run, &as, cell, "us", us);
		device_row(run, &as, cell, "mops", cell->askers / us);
	}
	bench_gpu_give(memory);
	return good;
}

/* Runs it once, and checks the result. `undo` may be NULL. */
static bool check_generate(struct device_run *run, struct device_heap *heap, const char *undo,
			   const struct device_job *job, struct device_found *found)
{
	return device_time_renew(heap) && device_launch(heap, "generate", job, NULL) &&
	       device_time_count(run, heap, "generate_read", job, found) &&
	       (undo == NULL || device_launch(heap, undo, job, NULL));
}

bool device_play_generate(struct device_run *run, struct device_heap *heap,
			  const struct device_cell *cell)
{
	const char *const undo = heap->allocator->frees ? "generate_drop" : NULL;
	struct device_found found, later;
	struct device_job job;
	double us = 0;

	if (heap->allocator->role == DEVICE_OURS && !play_prefix_sum(run, heap, cell))
		return false;
	device_ask(run, heap, cell, &job);
	/* Before timing, and on the heap in the state after it. */
	if (!check_generate(run, heap, undo, &job, &found) ||
	    (found.corrupt == 0 && !device_time_median(run, heap, "generate", undo, &job, &us)) ||
	    !check_generate(run, heap, undo, &job, &later))
		return false;
	if (!device_time_is_right(run, heap, cell, found.none + later.none,
				  found.corrupt + later.corrupt,
				  "askers found another's work in the place of theirs"))
		return true;
	device_row(run, heap, cell, "us", us);
	device_row(run, heap, cell, "mops", cell->askers / us);
	return true;
}
