/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_malloc.c - the works of `mam bench device` in which one kernel mallocs and a later one
 * frees: W1, W2, W3, scaling, shapes, and W5.
 *
 * First an untimed pass, whose objects are checked; then a few warm-up rounds, until the heap is in
 * its steady state; then those whose medians are reported. The objects of the last one are checked
 * again. A heap without free is reset before each round. If a kernel takes DEVICE_LONG_US or more,
 * the first one's time is reported, as a median would take seconds.
 */
#include "device_play.h"
#include "device_time.h"
#include "bench/harness/gpu.h"

#define AT_A_TIME 8192 /* askers of each step of W5's filling */

static void report_times(struct device_run *run, const struct device_heap *heap,
			 const struct device_cell *cell, double *gets, double *gives)
{
	const double get = bench_measure_median(gets, run->repeats);

	device_row(run, heap, cell, "us", get);
	device_row(run, heap, cell, "mops", get > 0 ? cell->askers / get : 0);
	if (gives != NULL) {
		const double give = bench_measure_median(gives, run->repeats);

		device_row(run, heap, cell, "free_us", give);
		device_row(run, heap, cell, "free_mops", give > 0 ? cell->askers / give : 0);
	}
}

bool device_time_verdict(struct device_run *run, const struct device_heap *heap,
			 const struct device_cell *cell, const struct device_verdict *verdict,
			 bool may_fail)
{
	device_row(run, heap, cell, "wrong", (double)verdict->wrong);
	if (!may_fail)
		device_row(run, heap, cell, "none", (double)verdict->none);
	if (verdict->wrong > 0)
		device_note(run, heap, cell, "%s", verdict->why);
	return verdict->wrong == 0;
}

/* One round; the times may be NULL. */
static bool play_round(struct device_heap *heap, const struct device_job *job, double *get,
		       double *give)
{
	const struct device_allocator *allocator = heap->allocator;

	if (!allocator->frees && allocator->reset != NULL && !allocator->reset(heap))
		return false;
	return device_launch(heap, "get", job, get) &&
	       (!allocator->frees || device_launch(heap, "give", job, give));
}

bool device_time_check(struct device_run *run, struct device_heap *heap,
		       const struct device_job *job, struct device_verdict *verdict, double *get,
		       double *give)
{
	const struct device_allocator *allocator = heap->allocator;

	return (allocator->frees || allocator->reset == NULL || allocator->reset(heap)) &&
	       bench_gpu_fill(job->got, 0, job->askers * UINT64_C(8)) &&
	       device_launch(heap, "get", job, get) && device_look(run, heap, job, verdict) &&
	       (!allocator->frees || device_launch(heap, "give", job, give));
}

/* The reported rounds, and how many requests fail in the heap's state after them. */
static bool time_rounds(struct device_run *run, struct device_heap *heap,
			const struct device_job *job, struct device_verdict *verdict, double *gets,
			double *gives)
{
	unsigned int i;

	for (i = 0; i < run->warm; i++) {
		if (!play_round(heap, job, NULL, NULL))
			return false;
	}
	for (i = 0; i < run->repeats; i++) {
		if (!play_round(heap, job, &gets[i], &gives[i]))
			return false;
	}
	verdict->none = 0;
	return device_time_check(run, heap, job, verdict, NULL, NULL);
}

bool device_play_malloc(struct device_run *run, struct device_heap *heap,
			const struct device_cell *cell)
{
	double gets[DEVICE_REPEATS_MAX], gives[DEVICE_REPEATS_MAX];
	struct device_verdict verdict = { .none = 0 };
	struct device_job job;

	device_ask(run, heap, cell, &job);
	if (!device_time_check(run, heap, &job, &verdict, &gets[0], &gives[0]))
		return false;
	if (gets[0] > DEVICE_LONG_US)
		run->repeats = 1;
	else if (verdict.wrong == 0 && !time_rounds(run, heap, &job, &verdict, gets, gives))
		return false;
	if (device_time_verdict(run, heap, cell, &verdict, false))
		report_times(run, heap, cell, gets, heap->allocator->frees ? gives : NULL);
	return true;
}

bool device_play_shapes(struct device_run *run, struct device_heap *heap,
			const struct device_cell *cell)
{
	heap->grid = cell->grid;
	heap->block = cell->block;
	return device_play_malloc(run, heap, cell);
}

/* ---- W5 ---- */

/*
 * The remaining objects are in job's array from its start, `filled` places of which some are empty;
 * the askers' places follow.
 */
struct nearly_full {
	struct device_job fill, ask;
};

/*
 * Fills the heap, a number of requests at a time: a heap may have to search everywhere for each
 * request that fails. full->fill.askers is then the number of requests.
 */
static bool fill_up(struct device_run *run, struct device_heap *heap, struct nearly_full *full)
{
	const uint32_t max = full->fill.askers;
	struct device_job part = full->fill;
	struct device_found found;
	uint32_t at;

	for (at = 0; at < max; at += part.askers) {
		part.askers = max - at < AT_A_TIME ? max - at : AT_A_TIME;
		part.got = full->fill.got + at;
		if (!device_count_begin(run) || !device_launch(heap, "fill", &part, NULL) ||
		    !device_count_end(run, &found))
			return false;
		full->fill.askers = at + part.askers;
		if (found.none > part.askers / 100)
			break;
	}
	return true;
}

/* Fills it again, then frees a share. */
static bool prepare(const struct device_heap *heap, struct nearly_full *full,
		    const struct device_cell *cell, uint32_t round)
{
	if (!device_launch(heap, "fill", &full->fill, NULL))
		return false;
	full->fill.seed = round * 1000003u;
	full->fill.count = (uint32_t)((uint64_t)full->fill.askers * cell->share / 1000);
	/* share has one asker per thread; there are enough threads */
	return device_launch(heap, "share", &full->fill, NULL);
}

/*
 * The maximum of failed requests, and a check of the allocated objects; with `all`, together with
 * all remaining ones.
 */
static bool look_at_round(struct device_run *run, struct device_heap *heap,
			  const struct nearly_full *full, bool all, struct device_verdict *verdict)
{
	struct device_verdict alone = { .none = 0 }, together = { .none = 0 };
	struct device_job both = full->fill;
	const uint64_t none = verdict->none;

	both.askers += full->ask.askers;
	if (!device_look(run, heap, &full->ask, &alone) ||
	    (all && !device_look(run, heap, &both, &together)))
		return false;
	if (verdict->wrong == 0)
		*verdict = alone.wrong > 0 ? alone : together;
	verdict->none = alone.none > none ? alone.none : none;
	return true;
}

bool device_play_w5(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell)
{
	const unsigned int rounds = run->warm + run->repeats;
	double us[DEVICE_REPEATS_MAX];
	struct device_verdict verdict = { .none = 0 };
	struct nearly_full full;
	unsigned int i;

	device_ask(run, heap, cell, &full.fill);
	full.ask = full.fill;
	full.fill.askers = run->askers_max - cell->askers;
	if (heap->space_bytes / cell->min < full.fill.askers)
		full.fill.askers = (uint32_t)(heap->space_bytes / cell->min);
	if (!bench_gpu_fill(full.fill.got, 0, full.fill.askers * UINT64_C(8)) ||
	    !fill_up(run, heap, &full))
		return false;
	full.ask.got = full.fill.got + full.fill.askers;
	for (i = 0; i < rounds; i++) {
		if (!prepare(heap, &full, cell, i) ||
		    !device_launch(heap, "get", &full.ask,
				   i < run->warm ? NULL : &us[i - run->warm]) ||
		    !look_at_round(run, heap, &full, i == 0 || i == rounds - 1, &verdict) ||
		    !device_launch(heap, "give", &full.ask, NULL))
			return false;
	}
	if (!device_time_verdict(run, heap, cell, &verdict, false))
		return true;
	device_row(run, heap, cell, "failed_percent", (double)verdict.none * 100 / cell->askers);
	report_times(run, heap, cell, us, NULL);
	return true;
}
