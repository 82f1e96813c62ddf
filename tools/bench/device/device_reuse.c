/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_reuse.c - works of `mam bench device` on heaps full of small objects:
 *
 *   reuse   a heap of 256 MiB is filled to a quarter with objects of 16 to 512 bytes; or it is filled
 *           completely, and three quarters of the objects are freed. Then larger objects are
 *           allocated until none fits: their share of the free memory, and of what fits between the
 *           live objects, wherever these are
 *   fail    a heap is filled until the smallest request fails; then the time of requests that fail
 *
 * Every word of the small objects is written before the others are allocated, and read afterwards.
 */
#include <stdlib.h>

#include "bench/bench.h"
#include "device_time.h"
#include "bench/harness/gpu.h"

#define MIB ((uint64_t)BENCH_MIB)
#define ASKERS 8192 /* that fill a heap */
#define SMALL_MIN 16
#define SMALL_MAX 512

/* ---- filling a heap ---- */

static uint64_t mean_of(const struct device_cell *cell)
{
	return ((uint64_t)cell->min + cell->max) / 2;
}

/*
 * Maximum number of requests of `bytes` on average in this heap: twice as many as fit, because small
 * ones still succeed where large ones fail, and the failure of each asker.
 */
static uint32_t limit_of(const struct device_cell *cell, uint64_t bytes)
{
	return (uint32_t)(2 * cell->heap_bytes / bytes) + ASKERS;
}

/* Of smallest objects: they are to fill an eighth of the heap if others left that much free. */
static uint32_t limit_of_rest(const struct device_cell *cell)
{
	return (uint32_t)(cell->heap_bytes / cell->min / 8) + ASKERS;
}

uint64_t device_reuse_places(const struct device_cell *cell)
{
	return (uint64_t)limit_of(cell, mean_of(cell)) +
	       (cell->then > 0 ? limit_of(cell, cell->then) : limit_of_rest(cell));
}

/* How many requests have about these bytes together. */
static uint32_t count_for(const struct device_job *job, uint64_t bytes)
{
	uint64_t sum = 0;
	uint32_t count;

	for (count = 0; count < job->count; count++) {
		sum += device_bytes_of(job, count);
		if (sum > bytes)
			break;
	}
	return count;
}

/*
 * Allocates job->count objects, or as many as fit. Afterwards job->askers is the number of requests,
 * with an element each in the arrays. Returns false if the device failed.
 */
static bool exhaust(struct device_run *run, struct device_heap *heap, struct device_job *job,
		    struct device_found *found, double *us)
{
	job->askers = job->count < ASKERS ? job->count : ASKERS;
	if (!device_count_begin(run) || !device_launch(heap, "exhaust", job, us) ||
	    !device_count_end(run, found))
		return false;
	job->askers = found->spare[0] < job->count ? (uint32_t)found->spare[0] : job->count;
	return true;
}

/* The next elements of the same arrays, for requests of other sizes. */
static struct device_job job_after(const struct device_job *job, uint32_t min, uint32_t max,
				   uint32_t count)
{
	struct device_job next = *job;

	next.got = job->got + job->askers;
	next.numbers = job->numbers + job->askers;
	next.sizes = next.numbers;
	next.min = min;
	next.max = max;
	next.count = count;
	return next;
}

/* The cell ends if the limit on requests was reached: the heap is larger than the cell's. */
static bool is_too_large(struct device_run *run, const struct device_heap *heap,
			 const struct device_cell *cell, const struct device_found *found,
			 uint32_t limit)
{
	if (found->spare[0] <= limit)
		return false;
	device_note(run, heap, cell,
		    "the heap is larger than that of the cell, and was not filled");
	return true;
}

/* ---- reuse ---- */

void device_plan_reuse(struct device_plan *plan)
{
	static const uint32_t groups[] = { 0, 1, 256, 8192 }, then[] = { 4096, 8192, 65536 };
	char number[24], state[24];
	size_t i, k;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		for (k = 0; k < sizeof(then) / sizeof(then[0]); k++) {
			snprintf(state, sizeof(state), "%s%s",
				 groups[i] == 0   ? "25% full"
				 : groups[i] == 1 ? "75% freed"
						  : "75% by ",
				 groups[i] > 1
					 ? device_plan_number(groups[i], number, sizeof(number))
					 : "");
			device_plan_add(plan,
					(struct device_cell){ .work = DEVICE_REUSE,
							      .heap_bytes = 256 * MIB,
							      .askers = ASKERS,
							      .lanes = 32,
							      .min = SMALL_MIN,
							      .max = SMALL_MAX,
							      .share = groups[i] == 0 ? 250 : 750,
							      .group = groups[i],
							      .then = then[k],
							      .fine = k == 1 || groups[i] == 256 },
					"%s then %uB", state, then[k]);
		}
	}
}

static bool release(struct device_heap *heap, const struct device_cell *cell,
		    const struct device_job *small)
{
	struct device_job job = *small;

	if (cell->group == 0 || small->askers == 0)
		return true;
	job.count = small->askers;
	job.rounds = cell->group;
	job.flags = cell->share;
	return device_launch(heap, "release", &job, NULL);
}

/* Fills the heap with small objects, checks them, and frees a share. */
static bool prepare(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell, struct device_job *small,
		    struct device_found *found, struct device_verdict *verdict)
{
	device_ask(run, heap, cell, small);
	small->sizes = small->numbers;
	small->count = limit_of(cell, mean_of(cell));
	if (cell->group == 0)
		small->count = count_for(small, (heap->high - heap->low) / 1000 * cell->share);
	return exhaust(run, heap, small, found, NULL) && device_look(run, heap, small, verdict) &&
	       (verdict->wrong > 0 || release(heap, cell, small));
}

/* The larger objects, and a check of all. */
static bool continue_larger(struct device_run *run, struct device_heap *heap,
			    const struct device_cell *cell, const struct device_job *small,
			    struct device_found *found, struct device_verdict *verdict, double *us)
{
	struct device_job large =
		job_after(small, cell->then, cell->then, limit_of(cell, cell->then));
	struct device_job both = *small;

	if (!exhaust(run, heap, &large, found, us) || !device_look_again(run, heap, small, verdict))
		return false;
	both.askers += large.askers;
	both.max = cell->then;
	return device_look(run, heap, &both, verdict);
}

bool device_play_reuse(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell)
{
	const uint64_t space = heap->high - heap->low;
	struct device_verdict verdict = { .none = 0 };
	struct device_extents live;
	struct device_found found;
	struct device_job small;
	uint64_t bytes, room;
	double us = 0;

	if (!prepare(run, heap, cell, &small, &found, &verdict))
		return false;
	if (verdict.wrong > 0) {
		(void)device_time_verdict(run, heap, cell, &verdict, true);
		return true;
	}
	if (cell->group > 0 && is_too_large(run, heap, cell, &found, small.count))
		return true;
	if (!device_extents_fetch(&small, &live))
		return false;
	if (live.of == NULL) {
		device_note(run, heap, cell, "there is too little host memory for the addresses");
		return true;
	}
	bytes = device_extents_bytes(&live);
	room = device_extents_room(&live, heap->low, heap->high, cell->then);
	free(live.of);
	if (!continue_larger(run, heap, cell, &small, &found, &verdict, &us))
		return false;
	if (!device_time_verdict(run, heap, cell, &verdict, true) ||
	    is_too_large(run, heap, cell, &found, limit_of(cell, cell->then)))
		return true;
	device_row(run, heap, cell, "live_ratio", (double)bytes / (double)space);
	device_row(run, heap, cell, "free_ratio",
		   (double)found.objects * cell->then / (double)(space - bytes));
	if (room > 0)
		device_row(run, heap, cell, "room_ratio", (double)found.objects / (double)room);
	device_row(run, heap, cell, "us", us);
	return true;
}

/* ---- fail ---- */

void device_plan_fail(struct device_plan *plan)
{
	static const struct {
		uint32_t min, max, mib;
	} heaps[] = { { 16, 16, 64 }, { SMALL_MIN, SMALL_MAX, 256 } };
	char mix[16];
	size_t i;

	for (i = 0; i < sizeof(heaps) / sizeof(heaps[0]); i++) {
		snprintf(mix, sizeof(mix), "%u..", heaps[i].min);
		device_plan_add(plan,
				(struct device_cell){ .work = DEVICE_FAIL,
						      .heap_bytes = heaps[i].mib * MIB,
						      .askers = 131072,
						      .lanes = 32,
						      .min = heaps[i].min,
						      .max = heaps[i].max },
				"%s%uB 128K", heaps[i].min < heaps[i].max ? mix : "", heaps[i].max);
	}
}

/* Then the smallest request fails, as far as one asker can see. */
static bool fill_completely(struct device_run *run, struct device_heap *heap,
			    const struct device_cell *cell, struct device_job *all,
			    struct device_found *found)
{
	struct device_job rest;

	if (!exhaust(run, heap, all, found, NULL))
		return false;
	rest = job_after(all, cell->min, cell->min, limit_of_rest(cell));
	if (!exhaust(run, heap, &rest, found, NULL))
		return false;
	all->askers += rest.askers;
	return true;
}

/* Times requests that should fail; adds the number of those that do not to `served`. */
static bool time_failures(struct device_run *run, struct device_heap *heap,
			  const struct device_job *job, uint64_t *served, double *us)
{
	const unsigned int repeats = device_time_repeats(run, heap), warm = run->warm;
	double times[DEVICE_REPEATS_MAX];
	struct device_found found;
	unsigned int i;

	for (i = 0; i < warm + repeats; i++) {
		if (!bench_gpu_fill(job->got, 0, job->askers * sizeof(*job->got)) ||
		    !device_launch(heap, "get", job, &times[i < warm ? 0 : i - warm]) ||
		    !device_time_count(run, heap, "missed", job, &found))
			return false;
		*served += job->askers - found.none;
		if (i == 0 && times[0] > DEVICE_LONG_US) {
			*us = times[0];
			return true;
		}
	}
	*us = bench_measure_median(times, repeats);
	return true;
}

bool device_play_fail(struct device_run *run, struct device_heap *heap,
		      const struct device_cell *cell)
{
	struct device_verdict verdict = { .none = 0 };
	struct device_job all, ask;
	struct device_found found;
	uint64_t served = 0;
	double us = 0;

	device_ask(run, heap, cell, &all);
	ask = all;
	ask.got = run->more;
	all.sizes = all.numbers;
	all.count = limit_of(cell, mean_of(cell));
	if (!fill_completely(run, heap, cell, &all, &found) ||
	    !device_look(run, heap, &all, &verdict))
		return false;
	if (verdict.wrong == 0 && is_too_large(run, heap, cell, &found, limit_of_rest(cell)))
		return true;
	if (verdict.wrong == 0 && (!time_failures(run, heap, &ask, &served, &us) ||
				   !device_look_again(run, heap, &all, &verdict)))
		return false;
	if (!device_time_verdict(run, heap, cell, &verdict, true))
		return true;
	if (served > 0)
		device_note(run, heap, cell,
			    "requests that got memory after smaller ones had failed: %llu",
			    (unsigned long long)served);
	device_row(run, heap, cell, "served", (double)served);
	device_row(run, heap, cell, "us", us);
	return true;
}
