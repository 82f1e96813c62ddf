/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_play_unit.c - runs a cell of a unit workload, as the report's listing 3 does.
 *
 * 1. In an untimed pass each thread writes a pattern into its memory, and reads it after all of its
 *    block have written: this finds overlapping memory. The addresses show the possible gain of
 *    coalescing.
 * 2. Two warm-up runs, then 20 timed ones; fewer if they take more than CELL_NS in total.
 * 3. For each run, the means over its threads of the cycles of malloc, of the work and of free; of
 *    these the mean and the deviation over the runs. Each thread's result is verified in each run.
 * The clock rate is computed from the device timer, as read by the first thread.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/harness/gpu.h"
#include "mpi_bench.h"
#include "mpi_job.h"

#define CELL_NS UINT64_C(120000000)
#define RUNS_MIN 3

struct unit {
	struct device_run *run;
	struct device_heap *heap;
	const struct device_cell *cell;
	struct device_job job;
	uint32_t threads;
	uint64_t *times; /* MPI_TIMES per thread, on the host */
	struct mpi_verdict verdict;
	struct mpi_numbers parts[MPI_TIMES], kernel;
};

/* The result of all threads, by the same additions in the same order. */
static uint32_t wanted_bits(const struct device_cell *cell)
{
	volatile float sum = 0; /* each step is rounded */
	uint32_t bits, i, j;
	float last;

	for (i = 0; i < cell->rounds; i++) {
		if (cell->work == MPI_WORK_LINEAR)
			sum = sum + (float)i;
		for (j = 0; cell->work == MPI_WORK_QUADRATIC && j < cell->rounds; j++)
			sum = sum + (float)i * (float)j; /* the product is exact */
	}
	last = sum;
	memcpy(&bits, &last, sizeof(bits));
	return bits;
}

static bool launch(struct unit *unit, uint32_t flags, double *us)
{
	const struct mpi_way *way = mpi_way_of(unit->heap->allocator->name);
	struct device_found found;
	char kernel[32];

	snprintf(kernel, sizeof(kernel), "unit_%s", way->suffix);
	unit->job.flags = flags;
	if (!device_count_begin(unit->run) ||
	    !device_launch_as(unit->heap, kernel, unit->threads / MPI_UNIT_BLOCK, MPI_UNIT_BLOCK,
			      &unit->job, us) ||
	    !device_count_end(unit->run, &found))
		return false;
	mpi_verdict_add(&unit->verdict, &found);
	return true;
}

static bool check(struct unit *unit)
{
	const uint64_t bytes = unit->threads * sizeof(*unit->times);
	struct mpi_places places;

	if (!launch(unit, MPI_CHECK, NULL))
		return false;
	if (!mpi_plan_detailed(unit->cell) || unit->verdict.wrong > 0)
		return true;
	if (!bench_gpu_fetch(unit->times, unit->job.got, bytes))
		return false;
	places = mpi_places_of(unit->times, unit->threads, MPI_UNIT_BLOCK, unit->cell->max);
	device_row(unit->run, unit->heap, unit->cell, "lines_per_access", places.lines_per_access);
	device_row(unit->run, unit->heap, unit->cell, "lines_held", places.lines_held);
	device_row(unit->run, unit->heap, unit->cell, "lane_distance", places.lane_distance);
	return true;
}

static bool play_runs(struct unit *unit)
{
	const uint32_t flags = (unit->cell->work == MPI_WORK_LINEAR ? MPI_LINEAR : MPI_QUADRATIC) |
			       (unit->cell->share & MPI_TOGETHER);
	const uint64_t begin = bench_now();
	unsigned int i, part, warm = unit->run->repeats > 1 ? 2 : 1;
	double us = 0;
	uint32_t t;

	for (i = 0; i < warm && bench_now() - begin < CELL_NS / 2; i++) {
		if (!launch(unit, flags, NULL))
			return false;
	}
	unit->verdict.clock = unit->verdict.timer = 0;
	for (i = 0; i < unit->run->repeats; i++) {
		double sums[MPI_TIMES] = { 0 };

		if (i >= RUNS_MIN && bench_now() - begin > CELL_NS)
			break;
		if (!launch(unit, flags, &us) ||
		    !bench_gpu_fetch(unit->times, unit->job.more,
				     (uint64_t)unit->threads * MPI_TIMES * sizeof(*unit->times)))
			return false;
		for (t = 0; t < unit->threads * MPI_TIMES; t++)
			sums[t % MPI_TIMES] += (double)unit->times[t];
		for (part = 0; part < MPI_TIMES; part++)
			mpi_numbers_add(&unit->parts[part], sums[part] / unit->threads);
		mpi_numbers_add(&unit->kernel, us);
	}
	return true;
}

static void put(const struct unit *unit, const char *metric, double value)
{
	device_row(unit->run, unit->heap, unit->cell, metric, value);
}

/* A mean of cycles as milliseconds, and its deviation. */
static void put_ms(const struct unit *unit, const char *metric, const char *deviation, size_t part,
		   double ghz)
{
	put(unit, metric, mpi_numbers_mean(&unit->parts[part]) / ghz * 1e-6);
	if (mpi_plan_detailed(unit->cell))
		put(unit, deviation, mpi_numbers_deviation(&unit->parts[part]) / ghz * 1e-6);
}

static void report(const struct unit *unit)
{
	const double n = unit->cell->rounds, ghz = mpi_verdict_ghz(&unit->verdict);
	const double flops = (unit->cell->work == MPI_WORK_LINEAR ? n : 2 * n * n) * unit->threads;
	const double work = mpi_numbers_mean(&unit->parts[1]);

	put(unit, "work_cycles", work);
	if (mpi_plan_detailed(unit->cell)) {
		put(unit, "work_cycles_sd", mpi_numbers_deviation(&unit->parts[1]));
		put(unit, "malloc_cycles", mpi_numbers_mean(&unit->parts[0]));
		put(unit, "free_cycles", mpi_numbers_mean(&unit->parts[2]));
		put(unit, "kernel_us", mpi_numbers_quantile(&unit->kernel, 0.5));
		put(unit, "runs", unit->kernel.count);
		put(unit, "threads", unit->threads);
	}
	if (ghz <= 0 || work <= 0)
		return;
	put(unit, "gflops", flops / (work / ghz));
	put_ms(unit, "malloc_ms", "malloc_ms_sd", 0, ghz);
	put_ms(unit, "free_ms", "free_ms_sd", 2, ghz);
	if (mpi_plan_detailed(unit->cell)) {
		put(unit, "gflops_sd",
		    flops / (work / ghz) * mpi_numbers_deviation(&unit->parts[1]) / work);
		put(unit, "ghz", ghz);
	}
}

/* The number of threads. */
static uint32_t threads_of(const struct device_cell *cell)
{
	const unsigned int sms = bench_gpu_sms();

	if (!(cell->share & MPI_CELL_FULL))
		return cell->askers;
	return (sms == 0            ? MPI_PUBLISHED_BLOCKS
		: sms < MPI_SMS_MAX ? sms
				    : MPI_SMS_MAX) *
	       MPI_UNIT_BLOCK;
}

bool mpi_play_unit(struct device_run *run, struct device_heap *heap, const struct device_cell *cell)
{
	struct unit unit = { .run = run, .heap = heap, .cell = cell, .threads = threads_of(cell) };
	bool good;

	unit.times = malloc((size_t)unit.threads * MPI_TIMES * sizeof(*unit.times));
	if (unit.times == NULL) {
		device_note(run, heap, cell, "memory ran out");
		return true;
	}
	device_ask(run, heap, cell, &unit.job);
	unit.job.own[0] = wanted_bits(cell);
	good = check(&unit);
	if (good && unit.verdict.wrong == 0)
		good = play_runs(&unit);
	free(unit.times);
	if (!good)
		return false;
	mpi_verdict_report(run, heap, cell, &unit.verdict);
	if (unit.verdict.wrong == 0)
		report(&unit);
	return true;
}
