/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_plan.c - the cells of `mam bench mpi`, and the allocators that run them.
 *
 *   linear      each thread of 12 blocks of 1024 allocates n floats, adds them, and frees them
 *   quadratic   the same, adding the products of all pairs
 *   operations  All-to-All of 8 blocks of 32 ranks and 4 doubles for each; Reduce and Broadcast of 30
 *               blocks of 512 and 16 doubles
 * n is 25 to 400 in steps of 25. Two variants of the unit workloads are ours, at n of 100 to 400:
 * `full` has a block of 1024 threads on every SM of the GPU, where 12 blocks leave most of a large
 * GPU idle; in `together` the threads of a block synchronize before the work, so that no thread
 * works while others still wait for memory and interferes with them.
 *
 * Skipped: quadratic `full` above n of 200, and CUDA's malloc alone above n of 100 there, which
 * take seconds; and trees of static ways over mam, whose messages come from their base in any case.
 *
 * Cells are in the order in which they are run: those of the targets come first.
 */
#include <string.h>

#include "mpi_bench.h"
#include "mpi_job.h"

#define STEP 25u
#define MAX 400u
#define DETAIL 100u /* n of figures 3 and 4 are multiples of it */

static const struct {
	const char *name;
	uint32_t blocks, block, doubles;
} operations[] = {
	[MPI_REDUCE] = { "reduce", 30, 512, 16 },
	[MPI_BROADCAST] = { "broadcast", 30, 512, 16 },
	[MPI_ALLTOALL] = { "all-to-all", 8, 32, 4 },
};

static void add_unit(struct device_plan *plan, enum mpi_work work, uint32_t n, uint32_t variant)
{
	const bool full = variant & MPI_CELL_FULL;
	const uint32_t blocks = full ? MPI_SMS_MAX : MPI_PUBLISHED_BLOCKS;
	const struct device_cell cell = { .work = work,
					  .heap_bytes = BENCH_GIB,
					  .askers = blocks * MPI_UNIT_BLOCK,
					  .lanes = 32,
					  .min = n * 4,
					  .max = n * 4,
					  .rounds = n,
					  .share = variant,
					  .fine = n % DETAIL != 0 || variant != 0 };

	device_plan_add(plan, cell, "%u%s", n,
			full                     ? " full"
			: variant & MPI_TOGETHER ? " together"
						 : "");
}

static void plan_figures(struct device_plan *plan, enum mpi_work work)
{
	uint32_t n;

	for (n = DETAIL; n <= MAX; n += DETAIL)
		add_unit(plan, work, n, 0);
}

/* The cells that a quick run skips. */
static void plan_rest(struct device_plan *plan, enum mpi_work work)
{
	uint32_t n;

	for (n = DETAIL; n <= MAX; n += DETAIL)
		add_unit(plan, work, n, MPI_TOGETHER);
	for (n = DETAIL; n <= (work == MPI_WORK_LINEAR ? MAX : MAX / 2); n += DETAIL)
		add_unit(plan, work, n, MPI_CELL_FULL);
	for (n = STEP; n <= MAX; n += STEP) {
		if (n % DETAIL != 0)
			add_unit(plan, work, n, 0);
	}
}

static void plan_linear(struct device_plan *plan)
{
	plan_figures(plan, MPI_WORK_LINEAR);
}

static void plan_quadratic(struct device_plan *plan)
{
	plan_figures(plan, MPI_WORK_QUADRATIC);
}

static void plan_operations(struct device_plan *plan)
{
	static const enum mpi_operation order[] = { MPI_ALLTOALL, MPI_REDUCE, MPI_BROADCAST };
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const uint32_t blocks = operations[order[i]].blocks,
			       block = operations[order[i]].block;
		const uint32_t bytes = operations[order[i]].doubles * 8;
		const struct device_cell cell = { .work = MPI_WORK_OPERATIONS,
						  .heap_bytes = MPI_HEAP,
						  .askers = blocks * block,
						  .lanes = block, /* threads of a block */
						  .min = bytes,
						  .max = bytes,
						  .rounds = bytes / 8,
						  .share = order[i] };

		device_plan_add(plan, cell, "%s", operations[order[i]].name);
	}
}

const struct device_work mpi_works[MPI_WORKS] = {
	[MPI_WORK_LINEAR] = { "linear", "sum of n floats of its own, a thread", plan_linear,
			      mpi_play_unit },
	[MPI_WORK_QUADRATIC] = { "quadratic", "sum of the products of all pairs of them",
				 plan_quadratic, mpi_play_unit },
	[MPI_WORK_OPERATIONS] = { "operations", "All-to-All, Reduce, Broadcast of ranks",
				  plan_operations, mpi_play_operations },
};

void mpi_plan_make(struct device_plan *plan)
{
	plan->count = 0;
	plan_linear(plan);
	plan_operations(plan);
	plan_quadratic(plan);
	plan_rest(plan, MPI_WORK_LINEAR);
	plan_rest(plan, MPI_WORK_QUADRATIC);
}

bool mpi_plan_detailed(const struct device_cell *cell)
{
	return cell->rounds % DETAIL == 0;
}

bool mpi_plan_takes_part(const struct device_allocator *allocator, const struct device_cell *cell)
{
	const struct mpi_way *way = mpi_way_of(allocator->name);

	if (way == NULL)
		return false;
	if (cell->work == MPI_WORK_OPERATIONS)
		return way->trees || cell->share == MPI_ALLTOALL;
	return !allocator->slow || !(cell->share & MPI_CELL_FULL) || cell->rounds <= DETAIL;
}

uint64_t mpi_plan_places(const struct device_cell *cell)
{
	return (uint64_t)cell->askers * MPI_TIMES;
}

/* A smoke run skips the cells that fill the GPU; others are small. */
void mpi_plan_shrink(struct device_cell *cell, uint32_t MAX_ASKERS)
{
	(void)cell;
	(void)MAX_ASKERS;
}
