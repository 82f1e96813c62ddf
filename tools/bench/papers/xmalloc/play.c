/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play.c - the works of `mam bench xmalloc`.
 *
 * 1. If the cell specifies it, allocate blocks of 1 KiB until the end of the cell: from the base
 *    itself, so that all its layered allocators find the same heap.
 * 2. A part of the workers predicts the total time; cells above LONG_US are skipped. In a prefilled
 *    heap, that part is then timed, too.
 * 3. An untimed pass in which all objects exist at the same time and are checked; in a heap of
 *    pages as many as it has pages, as 500 MiB are half a million.
 * 4. Warm-up kernels, then those whose median is reported: LEAST of them, as in the paper, and more
 *    within ENOUGH_US. The mean of the first LEAST is reported, too.
 * 5. Buffers are drained, as their blocks belong to the base, and CUDA's heap is reused by the next
 *    cell.
 */
#include <stdio.h>

#include "bench/device/device_time.h"
#include "bench/harness/gpu.h"
#include "xmalloc.h"

#define MIN 4
#define LONG_US 1000000.0
#define ENOUGH_US 600000.0
#define MAX_US 3000000.0 /* then even fewer than LEAST must suffice */
#define PART 64          /* the share of the workers that predicts the total time */
#define PART_MIN 8192
#define FILL_BYTES 1024
#define FILL_HEADER 16 /* of each block over a heap of pages: it then takes two */

/* The prefilled blocks, for the cell's whole time. */
static struct device_job fill_job(const struct device_run *run, const struct device_heap *heap,
				  const struct device_cell *cell)
{
	struct device_job job;

	device_ask(run, heap, cell, &job);
	job.askers = cell->filled;
	job.lanes = DEVICE_WARP;
	job.min = job.max = FILL_BYTES;
	job.got = run->more;
	return job;
}

static bool fill(struct device_run *run, struct device_heap *heap, const struct device_cell *cell)
{
	const char *kernel = xmalloc_is_layered(heap->allocator) ? "base_fill" : "fill";
	const struct device_job job = fill_job(run, heap, cell);
	struct device_found found;

	if (cell->filled == 0)
		return true;
	if (!bench_gpu_fill(job.got, 0, job.askers * sizeof(*job.got)) ||
	    !device_time_count(run, heap, kernel, &job, &found))
		return false;
	if (found.none > 0)
		device_note(run, heap, cell, "blocks that could not be allocated before: %llu",
			    (unsigned long long)found.none);
	return true;
}

static bool unfill(struct device_run *run, struct device_heap *heap, const struct device_cell *cell)
{
	const bool layered = xmalloc_is_layered(heap->allocator);
	const struct device_job job = fill_job(run, heap, cell);

	return xmalloc_drain(run, heap) &&
	       (cell->filled == 0 ||
		device_launch(heap, layered ? "base_give" : "give", &job, NULL));
}

/* *us: the predicted time of all workers, extrapolated from a part; 0: there are few. */
static bool foresee(struct device_run *run, struct device_heap *heap, const struct device_job *job,
		    double *us)
{
	struct device_job part = *job;

	*us = 0;
	part.askers = job->askers / PART;
	if (part.askers < PART_MIN)
		return true;
	if (!device_time_renew(heap) || !device_count_begin(run) ||
	    !device_launch(heap, "use", &part, us))
		return false;
	*us *= PART;
	return true;
}

static void report_times(struct device_run *run, const struct device_heap *heap,
			 const struct device_cell *cell, double *times, unsigned int count)
{
	const uint64_t requests = (cell->askers + cell->lanes - 1) / cell->lanes;
	double mean = 0, us;
	unsigned int i;

	for (i = 0; i < count && i < MIN; i++)
		mean += times[i] / (count < MIN ? count : MIN);
	us = bench_measure_median(times, count);
	device_row(run, heap, cell, "us", us);
	device_row(run, heap, cell, "ns", us * 1000 / cell->askers);
	device_row(run, heap, cell, "mean_ns", mean * 1000 / cell->askers);
	device_row(run, heap, cell, "request_ns", us * 1000 / (double)requests);
	device_row(run, heap, cell, "runs", count);
}

static bool is_more_wanted(const struct device_run *run, unsigned int count, double spent)
{
	if (count == 0 || count >= run->repeats)
		return count == 0;
	return spent < ENOUGH_US || (count < MIN && spent < MAX_US);
}

/* Returns the number of timed runs; 0: the device failed. */
static unsigned int time_uses(struct device_run *run, struct device_heap *heap,
			      const struct device_job *job, double *times)
{
	double spent = 0, us;
	unsigned int i, count = 0;

	for (i = 0; i < run->warm; i++) {
		if (!device_time_renew(heap) || !device_launch(heap, "use", job, NULL))
			return 0;
	}
	while (is_more_wanted(run, count, spent)) {
		if (!device_time_renew(heap) || !device_launch(heap, "use", job, &us))
			return 0;
		times[count++] = us;
		spent += us;
	}
	return count;
}

/*
 * The check runs as many workers as can have objects at the same time. Where pages are few, that
 * number is known in advance. The check should not report failed requests that the timed kernels do
 * not have, of which the device runs fewer workers at once.
 */
static struct device_job check_job(const struct device_heap *heap, const struct device_cell *cell,
				   const struct device_job *job)
{
	const uint64_t filled = (FILL_BYTES + FILL_HEADER + XMALLOC_PAGE - 1) / XMALLOC_PAGE;
	const uint64_t all = xmalloc_pages_of(heap), taken = cell->filled * filled;
	struct device_job check = *job;
	uint64_t max;

	if (all <= taken)
		return check;
	max = (all - taken) * (xmalloc_is_page_each(heap->allocator) ? 1 : cell->lanes);
	if (max < check.askers)
		check.askers = (uint32_t)max;
	return check;
}

/* Between fill() and unfill(). */
static bool play_use(struct device_run *run, struct device_heap *heap,
		     const struct device_cell *cell)
{
	struct device_verdict verdict = { .none = 0 };
	double times[DEVICE_REPEATS_MAX], us;
	struct device_job job, check;
	struct device_found found;
	unsigned int count;

	device_ask(run, heap, cell, &job);
	check = check_job(heap, cell, &job);
	if (!foresee(run, heap, &job, &us))
		return false;
	if (us > LONG_US) {
		device_note(run, heap, cell, "left out, since each run would take %.0f s",
			    us / 1e6);
		return true;
	}
	if (!device_time_check(run, heap, &check, &verdict, NULL, NULL))
		return false;
	if (!device_time_is_right(run, heap, cell, verdict.none, verdict.wrong, verdict.why))
		return true;
	if (!device_count_begin(run))
		return false;
	count = time_uses(run, heap, &job, times);
	if (count == 0 || !device_count_end(run, &found))
		return false;
	device_time_note_none(run, heap, cell, found.none);
	if (found.corrupt > 0) {
		device_row(run, heap, cell, "wrong", (double)found.corrupt);
		device_note(run, heap, cell,
			    "objects that another thread wrote while their owner had them: %llu",
			    (unsigned long long)found.corrupt);
		return true;
	}
	report_times(run, heap, cell, times, count);
	return true;
}

/*
 * Prefilling a heap takes long: fewer workers run in it as it is, in place of the skipped cell of
 * all.
 */
static bool play_fewer(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell)
{
	struct device_cell fewer = *cell;
	char number[24];

	fewer.askers /= PART;
	if (cell->filled == 0 || fewer.askers == 0)
		return true;
	snprintf(fewer.parameter, sizeof(fewer.parameter), "%s %u",
		 device_plan_number(fewer.askers, number, sizeof(number)), fewer.lanes);
	return play_use(run, heap, &fewer);
}

bool xmalloc_play_use(struct device_run *run, struct device_heap *heap,
		      const struct device_cell *cell)
{
	return xmalloc_format(run, heap, cell->buffers) && fill(run, heap, cell) &&
	       play_use(run, heap, cell) && play_fewer(run, heap, cell) && unfill(run, heap, cell);
}

/* ---- hold ---- */

/* One round; the times may be NULL. */
static bool hold(struct device_heap *heap, const struct device_job *job, double *get, double *give)
{
	return device_time_renew(heap) && device_launch(heap, "hold", job, get) &&
	       (!heap->allocator->frees || device_launch(heap, "drop", job, give));
}

/* A round that checks all objects together. */
static bool check_hold(struct device_run *run, struct device_heap *heap,
		       const struct device_job *job, struct device_verdict *verdict)
{
	struct device_job all = *job;

	all.askers *= job->rounds;
	return device_time_renew(heap) && device_launch(heap, "hold", job, NULL) &&
	       device_look(run, heap, &all, verdict) &&
	       (!heap->allocator->frees || device_launch(heap, "drop", job, NULL));
}

bool xmalloc_play_hold(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell)
{
	double gets[DEVICE_REPEATS_MAX], gives[DEVICE_REPEATS_MAX], spent = 0;
	const double objects = (double)cell->askers * cell->rounds;
	struct device_verdict verdict = { .none = 0 };
	struct device_job job;
	unsigned int i, count = 0;

	device_ask(run, heap, cell, &job);
	if (!xmalloc_format(run, heap, cell->buffers) || !check_hold(run, heap, &job, &verdict))
		return false;
	if (!device_time_is_right(run, heap, cell, verdict.none, verdict.wrong, verdict.why))
		return xmalloc_drain(run, heap);
	for (i = 0; i < run->warm; i++) {
		if (!hold(heap, &job, NULL, NULL))
			return false;
	}
	while (is_more_wanted(run, count, spent)) {
		gives[count] = 0;
		if (!hold(heap, &job, &gets[count], &gives[count]))
			return false;
		spent += gets[count] + gives[count];
		count++;
	}
	device_row(run, heap, cell, "ns", bench_measure_median(gets, count) * 1000 / objects);
	if (heap->allocator->frees)
		device_row(run, heap, cell, "free_ns",
			   bench_measure_median(gives, count) * 1000 / objects);
	device_row(run, heap, cell, "runs", count);
	return xmalloc_drain(run, heap);
}
