/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play.c - the works of `mam bench kma` with malloc, free and lists, and making heaps; play_graph.c
 * has the graph.
 *
 * 1. A run with fewer rounds predicts the total time; cells above LONG_US are skipped.
 * 2. An untimed pass, in which the owner writes and reads each whole block.
 * 3. Warm-up runs, then those whose median is reported. Each is checked: no request and no free
 *    failed; for elements, each element.
 * 4. After everything was freed, a heap of superblocks must have nothing in use.
 * Wrong results get no time.
 */
#include <string.h>

#include "bench/harness/gpu.h"
#include "kma.h"
#include "told.h"

#define LONG_US 3000000.0
#define PART 20               /* the share of rounds that predicts the total time */
#define TOGETHER_US 4000000.0 /* limit of the timed runs after the first, in total */

_Static_assert(sizeof(struct kma_told) <= sizeof(struct device_found),
	       "kma_told fits into device_found");

bool kma_launch(struct device_run *run, struct device_heap *heap, const char *kernel,
		const struct device_job *job, double *us, struct kma_told *told)
{
	struct device_found found;

	if (!device_count_begin(run) || !device_launch(heap, kernel, job, us) ||
	    !device_count_end(run, &found))
		return false;
	memcpy(told, &found, sizeof(*told));
	return true;
}

bool kma_is_empty(struct device_run *run, struct device_heap *heap, uint64_t *wrong)
{
	const struct device_job job = {
		.heap = heap->heap, .askers = 4096, .lanes = DEVICE_WARP, .found = run->found
	};
	struct kma_told told;

	if (!kma_is_superblocks(heap->allocator))
		return true;
	if (!kma_launch(run, heap, "left", &job, NULL, &told))
		return false;
	*wrong += told.nodes;
	return true;
}

bool kma_is_right(struct device_run *run, const struct device_heap *heap,
		  const struct device_cell *cell, uint64_t none, uint64_t wrong, const char *what)
{
	device_row(run, heap, cell, "wrong", (double)wrong);
	device_row(run, heap, cell, "none", (double)none);
	if (wrong > 0)
		device_note(run, heap, cell, "%s: %llu", what, (unsigned long long)wrong);
	else if (none > 0)
		device_note(run, heap, cell, "requests that got nothing: %llu; no time is reported",
			    (unsigned long long)none);
	return wrong == 0 && none == 0;
}

/* ---- pairs ---- */

/* One run; adds up its errors. */
static bool run_pairs(struct device_run *run, struct device_heap *heap,
		      const struct device_job *job, double *us, struct kma_told *sum)
{
	struct kma_told told;

	if (!kma_launch(run, heap, "pairs", job, us, &told))
		return false;
	sum->none += told.none;
	sum->wrong += told.wrong;
	return true;
}

/* Returns the number of timed runs; 0: the device failed. */
static unsigned int time_pairs(struct device_run *run, struct device_heap *heap,
			       const struct device_job *job, double *times, struct kma_told *sum)
{
	unsigned int i, count = 0;
	double spent = 0;

	for (i = 0; i < run->warm; i++) {
		if (!run_pairs(run, heap, job, NULL, sum))
			return 0;
	}
	do {
		if (!run_pairs(run, heap, job, &times[count], sum))
			return 0;
		spent += times[count++];
	} while (count < run->repeats && spent < TOGETHER_US);
	return count;
}

bool kma_play_pairs(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell)
{
	const double pairs = (double)cell->askers * cell->rounds;
	struct kma_told sum = { .none = 0 };
	double times[DEVICE_REPEATS_MAX], us;
	struct device_job job, look;
	unsigned int count;

	device_ask(run, heap, cell, &job);
	look = job;
	look.flags = KMA_LOOK;
	look.rounds = cell->rounds > PART ? cell->rounds / PART : 1;
	if (!run_pairs(run, heap, &look, &us, &sum))
		return false;
	us *= (double)cell->rounds / look.rounds;
	if (us > LONG_US) {
		device_note(run, heap, cell, "left out, since each run would take %.0f s",
			    us / 1e6);
		return true;
	}
	count = time_pairs(run, heap, &job, times, &sum);
	if (count == 0 || !kma_is_empty(run, heap, &sum.wrong))
		return false;
	if (!kma_is_right(run, heap, cell, sum.none, sum.wrong,
			  "blocks overlapped, were rejected by free, or were not freed"))
		return true;
	us = bench_measure_median(times, count);
	device_row(run, heap, cell, "us", us);
	device_row(run, heap, cell, "ns", us * 1000 / pairs);
	device_row(run, heap, cell, "mpairs", us > 0 ? pairs / us : 0);
	device_row(run, heap, cell, "runs", count);
	return true;
}

/* ---- elements ---- */

static bool clear_elements(struct device_heap *heap, const struct device_job *job, bool list)
{
	if (list)
		return device_launch_as(heap, "clear", 1, DEVICE_WARP, job, NULL);
	return device_launch(heap, "give_apart", job, NULL);
}

/*
 * One run on an empty heap, with checks. The heap is emptied afterwards, by clear_elements() if
 * `undo`.
 */
static bool run_elements(struct device_run *run, struct device_heap *heap,
			 const struct device_cell *cell, const struct device_job *job, bool undo,
			 double *us, struct kma_told *sum)
{
	const bool is_list = kma_plan_is_list(cell);
	struct kma_told told;

	if (!undo && !heap->allocator->reset(heap))
		return false;
	if ((is_list && !device_launch_as(heap, "list", 1, DEVICE_WARP, job, NULL)) ||
	    !kma_launch(run, heap, is_list ? "together" : "apart", job, us, &told))
		return false;
	sum->none += told.none;
	if (!kma_launch(run, heap, "stamped", job, NULL, &told))
		return false;
	sum->wrong += told.wrong;
	if (is_list && told.nodes != (uint64_t)cell->askers * cell->rounds)
		sum->wrong++;
	return !undo || clear_elements(heap, job, is_list);
}

bool kma_play_arraylist(struct device_run *run, struct device_heap *heap,
			const struct device_cell *cell)
{
	const bool undo = heap->allocator->reset == NULL;
	struct kma_told sum = { .none = 0 };
	double times[DEVICE_REPEATS_MAX];
	struct device_job job;
	unsigned int i;

	device_ask(run, heap, cell, &job);
	/* The list is in the run's third array, which is otherwise unused here. */
	job.own[0] = kma_plan_is_list(cell) ? (uint64_t)(uintptr_t)run->numbers : 0;
	if (!run_elements(run, heap, cell, &job, true, NULL, &sum) ||
	    !kma_is_empty(run, heap, &sum.wrong))
		return false;
	for (i = 0; i < run->warm + run->repeats; i++) {
		if (!run_elements(run, heap, cell, &job, undo,
				  i < run->warm ? NULL : &times[i - run->warm], &sum))
			return false;
	}
	if (!kma_is_right(run, heap, cell, sum.none, sum.wrong,
			  "elements overlapped, were missing, or were not freed"))
		return true;
	device_row(run, heap, cell, "us", bench_measure_median(times, run->repeats));
	device_row(run, heap, cell, "runs", run->repeats);
	return true;
}

/* ---- a heap ---- */

/* Makes a second heap: times the host's call and the kernel that initializes it. */
static bool run_setup(const struct device_heap *heap, const struct device_cell *cell,
		      const char **why, double *make, double *kernel, double *lone)
{
	struct device_heap fresh = { .allocator = heap->allocator, .module = heap->module };
	const uint64_t begin = bench_now();

	*why = kma_is_superblocks(fresh.allocator)
		       ? kma_make(&fresh, 0, cell->share)
		       : fresh.allocator->make(&fresh, cell->heap_bytes, 0);
	*make = (double)(bench_now() - begin) / 1000;
	*kernel = *lone = 0;
	if (*why != NULL)
		return bench_gpu_trouble()[0] == '\0';
	if (kma_is_superblocks(fresh.allocator) &&
	    (!kma_format(&fresh, 4096, kernel) || !kma_format(&fresh, 1, lone)))
		return false;
	fresh.allocator->end(&fresh);
	return bench_gpu_trouble()[0] == '\0';
}

bool kma_play_setup(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell)
{
	double make[DEVICE_REPEATS_MAX], kernel[DEVICE_REPEATS_MAX], lone[DEVICE_REPEATS_MAX];
	const char *why = NULL;
	unsigned int i;

	for (i = 0; i < run->repeats && why == NULL; i++) {
		if (!run_setup(heap, cell, &why, &make[i], &kernel[i], &lone[i]))
			return false;
	}
	if (why != NULL) {
		device_note(run, heap, cell, "no second heap: %s", why);
		return true;
	}
	device_row(run, heap, cell, "make_us", bench_measure_median(make, run->repeats));
	if (kma_is_superblocks(heap->allocator)) {
		device_row(run, heap, cell, "kernel_us",
			   bench_measure_median(kernel, run->repeats));
		device_row(run, heap, cell, "lone_us", bench_measure_median(lone, run->repeats));
	}
	return true;
}
