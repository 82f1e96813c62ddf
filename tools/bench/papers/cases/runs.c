/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs.c - a case's memory and time, and how often it is run: once with requests that count
 * themselves, then warm-up runs without counting, then the runs whose median is reported.
 */
#include <string.h>

#include "bench/harness/gpu.h"
#include "cases.h"

#define LONG_US 2000000.0 /* a case that takes longer is not repeated */

void *case_take(struct case_play *play, uint64_t bytes)
{
	void *memory = bench_gpu_take(bytes > 0 ? bytes : 1);

	if (memory == NULL) {
		play->none = true;
		return NULL;
	}
	play->live += bytes;
	if (play->peak < play->live)
		play->peak = play->live;
	return memory;
}

void case_give(struct case_play *play, void *memory, uint64_t bytes)
{
	if (memory == NULL)
		return;
	bench_gpu_give(memory);
	play->live -= bytes;
}

bool case_launch(struct case_play *play, const char *kernel, uint32_t blocks, uint32_t threads,
		 const struct device_job *job)
{
	double us = 0;

	if (!device_launch_as(play->heap, kernel, blocks, threads, job, &us))
		return false;
	play->us += us;
	return true;
}

struct device_job case_job(struct device_run *run, const struct device_heap *heap,
			   const struct device_cell *cell)
{
	struct device_job job;

	device_ask(run, heap, cell, &job);
	job.lanes = DEVICE_WARP;
	job.min = job.max = cell->min;
	job.flags = 0;
	return job;
}

/* One pass. The kernels' counters accumulate: they are not cleared in between. */
static bool pass_once(struct device_run *run, struct device_heap *heap,
		      const struct device_cell *cell, case_once *once, struct case_pass *pass,
		      void *user)
{
	struct device_found found;

	if (!device_count_begin(run) || !once(run, heap, cell, pass, user) ||
	    !device_count_end(run, &found))
		return false;
	memcpy(&pass->told, &found, sizeof(pass->told));
	pass->told.wrong += pass->wrong;
	return true;
}

static void report_memory(struct device_run *run, struct device_heap *heap,
			  const struct device_cell *cell, const struct case_pass *pass,
			  double looks)
{
	const double steps = case_steps(heap, &pass->told, looks);

	device_row(run, heap, cell, "peak_mib",
		   (double)(pass->peak + pass->told.peak) / (double)BENCH_MIB);
	device_row(run, heap, cell, "objects_mib", (double)pass->told.peak / (double)BENCH_MIB);
	device_row(run, heap, cell, "heap_mib", (double)heap->space_bytes / (double)BENCH_MIB);
	device_row(run, heap, cell, "asks", (double)pass->told.asks);
	if (steps >= 0)
		device_row(run, heap, cell, "steps", steps);
}

static bool is_right(struct device_run *run, struct device_heap *heap,
		     const struct device_cell *cell, const struct case_pass *pass, uint64_t none,
		     uint64_t wrong)
{
	device_row(run, heap, cell, "wrong", (double)wrong);
	device_row(run, heap, cell, "none", (double)none);
	if (wrong > 0)
		device_note(run, heap, cell, "results that differ from the reference: %llu",
			    (unsigned long long)wrong);
	else if (none > 0)
		device_note(run, heap, cell, "requests that got nothing: %llu; no time is reported",
			    (unsigned long long)none);
	else if (pass->none)
		device_note(run, heap, cell, "the device has too little free memory for that");
	return wrong == 0 && none == 0 && !pass->none;
}

bool case_runs(struct device_run *run, struct device_heap *heap, const struct device_cell *cell,
	       case_once *once, void *user)
{
	struct case_pass first = { .counts = true }, pass = first;
	double us[DEVICE_REPEATS_MAX], wall[DEVICE_REPEATS_MAX], looks;
	uint64_t none, wrong;
	unsigned int i, count = 0;

	if (!case_occupy(run, heap, cell))
		return false;
	looks = case_looks(run, heap);
	if (!pass_once(run, heap, cell, once, &first, user))
		return false;
	looks = case_looks(run, heap) - looks;
	none = first.told.none;
	wrong = first.told.wrong;
	for (i = 0; i < run->warm + run->repeats && wrong + none == 0 && !first.none; i++) {
		pass = (struct case_pass){ .counts = false };
		if (!pass_once(run, heap, cell, once, &pass, user))
			return false;
		none += pass.told.none;
		wrong += pass.told.wrong;
		if (i >= run->warm || pass.us > LONG_US) {
			us[count] = pass.us;
			wall[count++] = pass.wall_us;
		}
		if (pass.us > LONG_US)
			break;
	}
	if (!is_right(run, heap, cell, &first, none, wrong))
		return true;
	report_memory(run, heap, cell, &first, looks);
	device_row(run, heap, cell, "us", bench_measure_median(us, count));
	device_row(run, heap, cell, "wall_us", bench_measure_median(wall, count));
	device_row(run, heap, cell, "runs", count);
	return true;
}
