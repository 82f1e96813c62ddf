/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_churn.c - works of `mam bench device` in which objects of mixed sizes are freed and
 * replaced, while the same share of the heap stays live:
 *
 *   churn      50 kernels, in each of which half of the askers, at random, free their object and
 *              allocate another one: the time of the first ten kernels and of the last ten
 *   exchange   askers publish objects in slots, by an atomic exchange, and free the objects that were
 *              there
 *
 * After each kernel of churn, all words of the remaining objects are read, and all objects are
 * checked. In exchange all objects are checked before and after the timed kernels, and an untimed
 * kernel reads each object completely before it frees it.
 */
#include "bench/bench.h"
#include "device_time.h"
#include "bench/harness/gpu.h"

#define HEAP (256 * (uint64_t)BENCH_MIB)
#define EDGE 10 /* kernels of churn, at the start and at the end, whose median is reported */
/* Total time of the kernels of a cell after which it launches no more. */
#define KERNELS_US 6000000.

static uint64_t mean_of(const struct device_cell *cell)
{
	return ((uint64_t)cell->min + cell->max) / 2;
}

/* Number of objects that are the share of these bytes: whole warps. */
static uint32_t count_objects(const struct device_cell *cell, uint64_t bytes)
{
	return (uint32_t)(bytes / 1000 * cell->share / mean_of(cell) / DEVICE_WARP * DEVICE_WARP);
}

/* ---- churn ---- */

void device_plan_churn(struct device_plan *plan)
{
	static const uint32_t shares[] = { 500, 800 };
	size_t i;

	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		struct device_cell cell = { .work = DEVICE_CHURN,
					    .heap_bytes = HEAP,
					    .lanes = 32,
					    .min = 16,
					    .max = 4096,
					    .rounds = 50,
					    .share = shares[i] };

		cell.askers = count_objects(&cell, HEAP);
		device_plan_add(plan, cell, "%u..%uB %u%%", cell.min, cell.max, cell.share / 10);
	}
}

/* One kernel, after which job->more has the remaining objects, and the checks. */
static bool play_swap(struct device_run *run, struct device_heap *heap,
		      const struct device_job *job, struct device_verdict *verdict, uint64_t *none,
		      double *us)
{
	struct device_job remaining = *job;
	struct device_found found;

	remaining.got = job->more;
	if (!device_count_begin(run) || !device_launch(heap, "swap", job, us) ||
	    !device_count_end(run, &found) || !device_look_again(run, heap, &remaining, verdict) ||
	    !device_look(run, heap, job, verdict))
		return false;
	*none += found.none;
	return true;
}

static void report_churn(struct device_run *run, const struct device_heap *heap,
			 const struct device_cell *cell, double *times, uint32_t count)
{
	if (count < cell->rounds)
		device_note(run, heap, cell,
			    "stopped after %u of %u kernels, which took %.0f seconds", count,
			    cell->rounds, KERNELS_US / 1e6);
	/* The median sorts. */
	if (count >= 2 * EDGE)
		device_row(run, heap, cell, "late_us",
			   bench_measure_median(times + count - EDGE, EDGE));
	device_row(run, heap, cell, "early_us",
		   bench_measure_median(times, count < EDGE ? count : EDGE));
}

bool device_play_churn(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell)
{
	struct device_verdict verdict = { .none = 0 };
	double times[DEVICE_REPEATS_MAX], spent = 0, us;
	struct device_job job;
	uint32_t count = 0;
	uint64_t none = 0;

	device_ask(run, heap, cell, &job);
	job.sizes = job.numbers;
	/* The first kernel fills the heap. */
	if (!bench_gpu_fill(job.got, 0, job.askers * sizeof(*job.got)) ||
	    !play_swap(run, heap, &job, &verdict, &none, &spent))
		return false;
	while (verdict.wrong == 0 && count < cell->rounds && count < DEVICE_REPEATS_MAX &&
	       (count == 0 || spent < KERNELS_US)) {
		job.seed = count + 1;
		if (!play_swap(run, heap, &job, &verdict, &none, &us))
			return false;
		times[count++] = us;
		spent += us;
	}
	verdict.none = none;
	if (device_time_verdict(run, heap, cell, &verdict, false))
		report_churn(run, heap, cell, times, count);
	return true;
}

/* ---- exchange ---- */

void device_plan_exchange(struct device_plan *plan)
{
	static const uint32_t shares[] = { 350, 700, 900 };
	size_t i;

	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		device_plan_add(plan,
				(struct device_cell){ .work = DEVICE_EXCHANGE,
						      .heap_bytes = HEAP,
						      .askers = 8192,
						      .lanes = 32,
						      .min = 16,
						      .max = 512,
						      .rounds = 64,
						      .share = shares[i] },
				"16..512B %u%%", shares[i] / 10);
}

uint64_t device_exchange_places(const struct device_cell *cell)
{
	const uint32_t slots = count_objects(cell, cell->heap_bytes);

	return slots > cell->askers ? slots : cell->askers;
}

static void complain(struct device_verdict *verdict, uint64_t corrupt)
{
	if (corrupt > 0 && verdict->wrong == 0)
		snprintf(verdict->why, sizeof(verdict->why),
			 "objects in slots were written by others: %llu",
			 (unsigned long long)corrupt);
	verdict->wrong += corrupt;
}

/* Fills all slots, checks their objects, and writes them as exchange_check expects. */
static bool fill_slots(struct device_run *run, struct device_heap *heap,
		       const struct device_job *job, struct device_verdict *verdict, uint64_t *none)
{
	struct device_job slots = *job;
	struct device_found found;

	slots.askers = job->count;
	slots.got = job->more;
	if (!device_time_count(run, heap, "exchange_fill", &slots, &found) ||
	    !device_look(run, heap, &slots, verdict) ||
	    !device_launch(heap, "exchange_write", &slots, NULL))
		return false;
	*none += found.none;
	complain(verdict, found.corrupt);
	return true;
}

static bool check_exchange(struct device_run *run, struct device_heap *heap,
			   const struct device_job *job, struct device_verdict *verdict,
			   uint64_t *none)
{
	struct device_found found;

	if (!fill_slots(run, heap, job, verdict, none))
		return false;
	if (verdict->wrong > 0)
		return true;
	if (!device_time_count(run, heap, "exchange_check", job, &found))
		return false;
	*none += found.none;
	complain(verdict, found.corrupt);
	return true;
}

/* Stores the times of the timed kernels, and returns their number; 0 if the device failed. */
static unsigned int time_exchange(struct device_run *run, struct device_heap *heap,
				  struct device_job *job, uint64_t *none, double *times)
{
	const unsigned int repeats = device_time_repeats(run, heap), warm = run->warm;
	struct device_found found;
	double spent = 0, us;
	unsigned int i, count = 0;

	for (i = 0; i < warm + repeats && (count == 0 || spent < KERNELS_US); i++) {
		job->seed = i + 1;
		if (!device_count_begin(run) || !device_launch(heap, "exchange", job, &us) ||
		    !device_count_end(run, &found))
			return 0;
		*none += found.none;
		spent += us;
		if (i >= warm || us > DEVICE_LONG_US)
			times[count++] = us;
		if (us > DEVICE_LONG_US)
			break;
	}
	return count;
}

bool device_play_exchange(struct device_run *run, struct device_heap *heap,
			  const struct device_cell *cell)
{
	const bool known = heap->high > heap->low && heap->high - heap->low < cell->heap_bytes;
	struct device_verdict verdict = { .none = 0 };
	double times[DEVICE_REPEATS_MAX], us, longest = 0;
	unsigned int count = 0, i;
	struct device_job job;
	uint64_t none = 0;

	device_ask(run, heap, cell, &job);
	job.sizes = job.numbers;
	job.count = count_objects(cell, known ? heap->high - heap->low : cell->heap_bytes);
	if (!bench_gpu_fill(job.more, 0, job.count * sizeof(*job.more)) ||
	    !check_exchange(run, heap, &job, &verdict, &none))
		return false;
	if (verdict.wrong == 0) {
		count = time_exchange(run, heap, &job, &none, times);
		if (count == 0 || !check_exchange(run, heap, &job, &verdict, &none))
			return false;
	}
	verdict.none = none;
	if (!device_time_verdict(run, heap, cell, &verdict, false))
		return true;
	for (i = 0; i < count; i++)
		longest = times[i] > longest ? times[i] : longest;
	us = bench_measure_median(times, count);
	device_row(run, heap, cell, "us", us);
	device_row(run, heap, cell, "max_us", longest);
	device_row(run, heap, cell, "mops", (double)cell->askers * cell->rounds / us);
	return true;
}
