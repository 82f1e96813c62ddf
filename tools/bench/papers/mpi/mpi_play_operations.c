/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_play_operations.c - runs a cell of All-to-All, Reduce or Broadcast.
 *
 * One kernel is one run. Each rank's time runs from the barrier before the operation until its own
 * part is done. The time of a run is the median over its ranks. Of 20 runs (fewer if they take
 * long) the 5th percentile, the median and the 95th are reported, as in the report's figure 5. All
 * results are verified in each run, and no message may be left. Ranks wait for one another: if not
 * all blocks can be resident at once, the cell is rejected.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/harness/gpu.h"
#include "mpi_bench.h"
#include "mpi_job.h"

#define CELL_NS UINT64_C(700000000)
#define RUNS_MIN 3
#define WAIT_NS UINT64_C(3000000000) /* maximum wait of a rank for a message */

struct operation {
	struct device_run *run;
	struct device_heap *heap;
	const struct device_cell *cell;
	struct device_job job;
	char kernel[32];
	uint64_t *here; /* MPI_TIMES per rank */
	struct mpi_verdict verdict;
	struct mpi_numbers medians, kernels;
};

static int compare(const void *a, const void *b)
{
	const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

/* Counts messages left in inboxes and in the queues of unmatched messages. */
static bool count_left(struct operation *operation, struct device_found *found)
{
	const uint32_t places = 2 * operation->cell->askers;
	uint32_t i;

	if (found->none > 0 || found->beyond > 0)
		return true;
	if (!bench_gpu_fetch(operation->here, operation->job.got, places * UINT64_C(8)))
		return false;
	for (i = 0; i < places; i++)
		found->beyond += operation->here[i] != 0;
	return true;
}

/* One run; `counts`: keep its times. */
static bool play_run(struct operation *operation, bool counts)
{
	const struct device_cell *cell = operation->cell;
	struct device_found found;
	double us = 0;
	uint32_t i;

	if (!bench_gpu_fill(operation->job.got, 0, cell->askers * UINT64_C(16)) ||
	    !device_count_begin(operation->run) ||
	    !device_launch_as(operation->heap, operation->kernel, cell->askers / cell->lanes,
			      cell->lanes, &operation->job, &us) ||
	    !device_count_end(operation->run, &found) || !count_left(operation, &found))
		return false;
	mpi_verdict_add(&operation->verdict, &found);
	if (!counts || operation->verdict.wrong > 0)
		return true;
	if (!bench_gpu_fetch(operation->here, operation->job.more,
			     cell->askers * UINT64_C(8) * MPI_TIMES))
		return false;
	for (i = 0; i < cell->askers; i++)
		operation->here[i] = operation->here[(size_t)i * MPI_TIMES];
	qsort(operation->here, cell->askers, sizeof(*operation->here), compare);
	mpi_numbers_add(&operation->medians, (double)operation->here[cell->askers / 2] * 1e-6);
	mpi_numbers_add(&operation->kernels, us);
	return true;
}

static bool play_runs(struct operation *operation)
{
	const uint64_t begin = bench_now();
	unsigned int i;

	if (!play_run(operation, false))
		return false;
	for (i = 0; i < operation->run->repeats && operation->verdict.wrong == 0 &&
		    operation->verdict.none == 0;
	     i++) {
		if (i >= RUNS_MIN && bench_now() - begin > CELL_NS)
			break;
		if (!play_run(operation, true))
			return false;
	}
	return true;
}

static void report(const struct operation *operation)
{
	static const struct {
		const char *metric;
		double quantile;
	} parts[] = { { "p5_ms", 0.05 }, { "median_ms", 0.5 }, { "p95_ms", 0.95 } };
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		device_row(operation->run, operation->heap, operation->cell, parts[i].metric,
			   mpi_numbers_quantile(&operation->medians, parts[i].quantile));
	device_row(operation->run, operation->heap, operation->cell, "kernel_us",
		   mpi_numbers_quantile(&operation->kernels, 0.5));
	device_row(operation->run, operation->heap, operation->cell, "runs",
		   operation->medians.count);
}

/* Returns false with a note if not all ranks can be resident at once. */
static bool fits(struct operation *operation)
{
	const struct device_cell *cell = operation->cell;
	const unsigned int blocks = cell->askers / cell->lanes;
	const unsigned int max = bench_gpu_resident(
		bench_gpu_kernel(operation->heap->module, operation->kernel), cell->lanes);

	if (max >= blocks)
		return true;
	if (max == 0)
		device_note(
			operation->run, operation->heap, cell,
			"the driver does not report how many blocks are resident, and ranks wait "
			"for one another");
	else
		device_note(operation->run, operation->heap, cell,
			    "of its %u blocks of %u threads only %u run at once, and ranks wait "
			    "for one another",
			    blocks, cell->lanes, max);
	return false;
}

bool mpi_play_operations(struct device_run *run, struct device_heap *heap,
			 const struct device_cell *cell)
{
	struct operation operation = { .run = run, .heap = heap, .cell = cell };
	bool good;

	snprintf(operation.kernel, sizeof(operation.kernel), "%s_%s",
		 cell->share == MPI_ALLTOALL ? "alltoall" : "tree",
		 mpi_way_of(heap->allocator->name)->suffix);
	if (!fits(&operation))
		return true;
	operation.here = malloc((size_t)cell->askers * MPI_TIMES * sizeof(*operation.here));
	if (operation.here == NULL) {
		device_note(run, heap, cell, "memory ran out");
		return true;
	}
	device_ask(run, heap, cell, &operation.job);
	operation.job.flags = cell->share;
	operation.job.own[0] = WAIT_NS;
	good = play_runs(&operation);
	free(operation.here);
	if (!good)
		return false;
	mpi_verdict_report(run, heap, cell, &operation.verdict);
	if (operation.verdict.wrong == 0 && operation.medians.count > 0)
		report(&operation);
	return true;
}
