/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_more.c - works of `mam bench device` beyond malloc in one kernel and free in a later one:
 *
 *   w4         malloc, write of one word, free in one kernel, 1 and 10 times; in the untimed pass
 *              the whole object is written, and read before it is freed
 *   w6         a heap of 1 GiB is filled until 1% of a round fails: the share of the heap, and of all
 *              device memory that it took, that is then in use
 *   w7         one warp, 64 B, 1000 times malloc and free: the cycles of each
 *   registers  of a kernel that only mallocs and stores
 *   start      the time to make a heap, and of the first kernel on it
 *
 * As in published numbers. Works that resemble programs are in device_lists.c.
 */
#include <string.h>

#include "bench/bench.h"
#include "device_bench.h"
#include "device_job.h"
#include "device_time.h"
#include "bench/harness/driver.h"
#include "bench/harness/gpu.h"

#define HEAP (UINT64_C(8) << 30)
#define SMALL_HEAP (UINT64_C(1) << 30)
#define M (UINT32_C(1) << 20)
#define FRESH 5 /* heaps that work start makes */

/* ---- shared by all of them ---- */

unsigned int device_time_repeats(const struct device_run *run, const struct device_heap *heap)
{
	const unsigned int max = heap->allocator->slow ? 3 : DEVICE_REPEATS_MAX;

	return run->repeats < max ? run->repeats : max;
}

bool device_time_renew(struct device_heap *heap)
{
	return heap->allocator->frees || heap->allocator->reset == NULL ||
	       heap->allocator->reset(heap);
}

bool device_time_count(struct device_run *run, const struct device_heap *heap, const char *kernel,
		       const struct device_job *job, struct device_found *found)
{
	return device_count_begin(run) && device_launch(heap, kernel, job, NULL) &&
	       device_count_end(run, found);
}

bool device_time_median(struct device_run *run, struct device_heap *heap, const char *kernel,
			const char *undo, const struct device_job *job, double *us)
{
	const unsigned int repeats = device_time_repeats(run, heap);
	const unsigned int warm = heap->allocator->slow ? 1 : run->warm;
	double times[DEVICE_REPEATS_MAX];
	unsigned int i;

	for (i = 0; i < warm + repeats; i++) {
		if (!device_time_renew(heap) ||
		    !device_launch(heap, kernel, job, &times[i < warm ? 0 : i - warm]) ||
		    (undo != NULL && !device_launch(heap, undo, job, NULL)))
			return false;
		if (i == 0 && times[0] > DEVICE_LONG_US) {
			*us = times[0];
			return true;
		}
	}
	*us = bench_measure_median(times, repeats);
	return true;
}

bool device_time_is_right(struct device_run *run, const struct device_heap *heap,
			  const struct device_cell *cell, uint64_t none, uint64_t wrong,
			  const char *why)
{
	device_row(run, heap, cell, "wrong", (double)wrong);
	device_row(run, heap, cell, "none", (double)none);
	if (wrong > 0)
		device_note(run, heap, cell, "%s: %llu", why, (unsigned long long)wrong);
	return wrong == 0;
}

void device_time_note_none(struct device_run *run, const struct device_heap *heap,
			   const struct device_cell *cell, uint64_t none)
{
	if (none > 0)
		device_note(run, heap, cell, "requests that got nothing while it was timed: %llu",
			    (unsigned long long)none);
}

/* ---- w4 ---- */

void device_plan_w4(struct device_plan *plan)
{
	static const uint32_t sizes[] = { 4, 64 }, rounds[] = { 1, 10 };
	size_t i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < 2; k++)
			device_plan_add(plan,
					(struct device_cell){ .work = DEVICE_W4,
							      .heap_bytes = HEAP,
							      .askers = M,
							      .lanes = 32,
							      .min = sizes[i],
							      .max = sizes[i],
							      .rounds = rounds[k] },
					"%uB x%u 1M", sizes[i], rounds[k]);
	}
}

bool device_play_w4(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell)
{
	struct device_found found;
	struct device_job job;
	double us = 0;

	device_ask(run, heap, cell, &job);
	if (!device_time_renew(heap) || !device_time_count(run, heap, "churn_check", &job, &found))
		return false;
	if (!device_time_is_right(run, heap, cell, found.none, found.corrupt,
				  "objects were written by another while their owner had them"))
		return true;
	if (!device_count_begin(run) || !device_time_median(run, heap, "churn", NULL, &job, &us) ||
	    !device_count_end(run, &found))
		return false;
	device_time_note_none(run, heap, cell, found.none);
	device_row(run, heap, cell, "us", us);
	device_row(run, heap, cell, "mops", (double)cell->askers * cell->rounds / us);
	return true;
}

/* ---- w6 ---- */

void device_plan_w6(struct device_plan *plan)
{
	static const uint32_t sizes[] = { 16, 64, 256, 1050, 4100, 8192 };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const uint64_t objects = SMALL_HEAP / sizes[i];
		/* A round is a hundredth of the heap, or a million. */
		const uint64_t round = objects / 128 / 32 * 32;

		device_plan_add(plan,
				(struct device_cell){ .work = DEVICE_W6,
						      .heap_bytes = SMALL_HEAP,
						      .askers = round < M ? (uint32_t)round : M,
						      .lanes = 32,
						      .min = sizes[i],
						      .max = sizes[i] },
				"%uB", sizes[i]);
	}
}

bool device_play_w6(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell)
{
	const uint64_t max = cell->heap_bytes / cell->max + 2 * (uint64_t)cell->askers;
	const uint64_t rounds = max / cell->askers;
	uint64_t *const all = bench_gpu_take(rounds * cell->askers * 8), live = 0, round;
	struct device_verdict verdict = { .none = 0 };
	struct device_found found = { .none = 0 };
	struct device_job job;
	bool good;

	if (all == NULL) {
		device_note(run, heap, cell, "there is too little memory for so many addresses");
		return true;
	}
	device_ask(run, heap, cell, &job);
	for (round = 0, good = true; good && round < rounds; round++) {
		job.got = all + round * cell->askers;
		good = device_launch(heap, "get", &job, NULL) &&
		       device_time_count(run, heap, "missed", &job, &found);
		live += cell->askers - found.none;
		if (found.none >= (cell->askers + 99) / 100) {
			round++;
			break;
		}
	}
	job.got = all;
	job.askers = (uint32_t)(round * cell->askers);
	good = good && device_look(run, heap, &job, &verdict);
	bench_gpu_give(all);
	if (!good)
		return false;
	if (verdict.wrong > 0) {
		(void)device_time_is_right(run, heap, cell, 0, verdict.wrong, verdict.why);
		return true;
	}
	device_row(run, heap, cell, "wrong", 0);
	if (heap->high > heap->low)
		device_row(run, heap, cell, "used_ratio",
			   (double)live * cell->max / (double)(heap->high - heap->low));
	device_row(run, heap, cell, "taken_ratio",
		   (double)live * cell->max / (double)heap->space_bytes);
	return true;
}

/* ---- w7 ---- */

void device_plan_w7(struct device_plan *plan)
{
	static const uint32_t lanes[] = { 32, 1 };
	size_t i;

	for (i = 0; i < 2; i++)
		device_plan_add(plan,
				(struct device_cell){ .work = DEVICE_W7,
						      .heap_bytes = HEAP,
						      .askers = lanes[i],
						      .lanes = lanes[i],
						      .min = 64,
						      .max = 64,
						      .rounds = 1000 },
				"64B %u", lanes[i]);
}

bool device_play_w7(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell)
{
	const unsigned int repeats = device_time_repeats(run, heap);
	double cycles[2][DEVICE_REPEATS_MAX];
	struct device_found found;
	struct device_job job;
	unsigned int i;

	device_ask(run, heap, cell, &job);
	for (i = 0; i < repeats; i++) {
		if (!device_time_renew(heap) || !device_count_begin(run) ||
		    !device_launch_as(heap, "latency", 1, DEVICE_WARP, &job, NULL) ||
		    !device_count_end(run, &found))
			return false;
		cycles[0][i] = (double)found.cycles[0] / cell->rounds;
		cycles[1][i] = (double)found.cycles[1] / cell->rounds;
	}
	device_row(run, heap, cell, "none", (double)found.none);
	device_row(run, heap, cell, "malloc_cycles", bench_measure_median(cycles[0], repeats));
	if (heap->allocator->frees)
		device_row(run, heap, cell, "free_cycles",
			   bench_measure_median(cycles[1], repeats));
	return true;
}

/* ---- registers ---- */

#define LOCAL_BYTES 3 /* CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES */

void device_plan_registers(struct device_plan *plan)
{
	device_plan_add(plan,
			(struct device_cell){ .work = DEVICE_REGISTERS,
					      .heap_bytes = SMALL_HEAP,
					      .askers = 32,
					      .lanes = 32,
					      .min = 64,
					      .max = 64 },
			"call");
}

bool device_play_registers(struct device_run *run, struct device_heap *heap,
			   const struct device_cell *cell)
{
	static const struct {
		const char *kernel, *registers, *local;
	} sites[] = {
		{ "site", "registers", "local_bytes" },
		{ "site_packed", "packed_registers", "packed_local_bytes" },
	};
	size_t i;

	for (i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		void *kernel = bench_gpu_kernel(heap->module, sites[i].kernel);
		int bytes = 0;

		if (kernel == NULL)
			continue;
		device_row(run, heap, cell, sites[i].registers, bench_gpu_registers(kernel));
		if (bench_driver.function_attribute != NULL &&
		    bench_driver.function_attribute(&bytes, LOCAL_BYTES, kernel) == 0)
			device_row(run, heap, cell, sites[i].local, bytes);
	}
	return true;
}

/* ---- start ---- */

void device_plan_start(struct device_plan *plan)
{
	device_plan_add(plan,
			(struct device_cell){ .work = DEVICE_START,
					      .heap_bytes = HEAP,
					      .askers = M / 8,
					      .lanes = 32,
					      .min = 64,
					      .max = 64 },
			"64B 128K");
}

/* Makes one more heap, and runs the kernel on it once. */
static bool play_fresh(struct device_heap *heap, const struct device_cell *cell,
		       const struct device_job *job, const char **why, double *make_us,
		       double *first_us)
{
	struct device_heap fresh = { .allocator = heap->allocator, .module = heap->module };
	struct device_job ask = *job;
	const uint64_t before = bench_now();
	bool good;

	*why = heap->allocator->make(&fresh, heap->space_bytes, cell->max);
	*make_us = (double)(bench_now() - before) / 1000;
	if (*why != NULL)
		return bench_gpu_trouble()[0] == '\0';
	ask.heap = fresh.heap;
	good = device_launch(&fresh, "get", &ask, first_us);
	fresh.allocator->end(&fresh);
	return good;
}

bool device_play_start(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell)
{
	const bool frees = heap->allocator->frees;
	double make[FRESH], first[FRESH], steady = 0;
	const char *why = NULL;
	struct device_job job;
	unsigned int i;

	if (heap->allocator->reset == NULL) /* CUDA's, of which a process has only one */
		return true;
	device_ask(run, heap, cell, &job);
	if (!device_time_median(run, heap, "get", frees ? "give" : NULL, &job, &steady))
		return false;
	for (i = 0; i < FRESH && why == NULL; i++) {
		if (!play_fresh(heap, cell, &job, &why, &make[i], &first[i]))
			return false;
	}
	if (why != NULL) {
		device_note(run, heap, cell, "no second heap: %s", why);
		return true;
	}
	device_row(run, heap, cell, "make_us", bench_measure_median(make, FRESH));
	device_row(run, heap, cell, "first_us", bench_measure_median(first, FRESH));
	device_row(run, heap, cell, "steady_us", steady);
	return true;
}
