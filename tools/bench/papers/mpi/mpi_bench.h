/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_bench.h - interface between the parts of `mam bench mpi`.
 *
 * Terms, in addition to those of device_bench.h:
 *   base     the allocator under a coalescer: CUDA's own malloc, or mam's
 *   way      how mallocs are coalesced above it; the base alone is a way, too
 *   static   a way that all threads of a warp or block must call together
 *   rank     a thread that sends and receives messages
 *   run      a timed kernel; each has a mean, or a median, over its threads
 */
#ifndef MAM_TOOLS_BENCH_MPI_BENCH_H
#define MAM_TOOLS_BENCH_MPI_BENCH_H

#include "bench/device/device_play.h"

#define MPI_HEAP (4 * (uint64_t)BENCH_GIB) /* as published for the operations */
#define MPI_RUNS_MAX 21
#define MPI_PUBLISHED_BLOCKS 12u
#define MPI_UNIT_BLOCK 1024u
#define MPI_SMS_MAX 256u /* limit for cells that fill the GPU */

enum mpi_work { MPI_WORK_LINEAR, MPI_WORK_QUADRATIC, MPI_WORK_OPERATIONS, MPI_WORKS };

extern const struct device_work mpi_works[MPI_WORKS];

/* ---- the allocators: mpi_allocators.c ---- */

struct mpi_way {
	const char *suffix; /* of its kernels: unit_SUFFIX */
	bool over_mam;      /* otherwise over CUDA's own malloc */
	bool map, buffers;  /* metadata that it needs */
	bool trees;         /* it has kernels of trees */
};

extern const struct device_allocator mpi_allocators[];
extern const size_t mpi_allocator_count;
/* mpi_way_of - return the way of an allocator, or NULL */
const struct mpi_way *mpi_way_of(const char *allocator);

/* ---- the cells and how they are run: mpi_plan.c, mpi_play_unit.c, mpi_play_operations.c ---- */

/* Of a unit workload's cell, in `share`. */
#define MPI_CELL_FULL 8u /* one block per SM of the GPU; combines with MPI_TOGETHER */

void mpi_plan_make(struct device_plan *plan);
bool mpi_plan_takes_part(const struct device_allocator *allocator, const struct device_cell *cell);
uint64_t mpi_plan_places(const struct device_cell *cell);
void mpi_plan_shrink(struct device_cell *cell, uint32_t MAX_ASKERS);
/* mpi_plan_detailed - true if the cell has all numbers, otherwise only those of the curves */
bool mpi_plan_detailed(const struct device_cell *cell);

bool mpi_play_unit(struct device_run *run, struct device_heap *heap,
		   const struct device_cell *cell);
bool mpi_play_operations(struct device_run *run, struct device_heap *heap,
			 const struct device_cell *cell);

/* ---- numbers of a cell's runs: mpi_numbers.c ---- */

/* One number per run. */
struct mpi_numbers {
	double values[MPI_RUNS_MAX];
	unsigned int count;
};

void mpi_numbers_add(struct mpi_numbers *numbers, double value);
double mpi_numbers_mean(const struct mpi_numbers *numbers);
/* mpi_numbers_deviation - the standard deviation of single values; 0 for one value */
double mpi_numbers_deviation(const struct mpi_numbers *numbers);
/* mpi_numbers_quantile - from 0 to 1; interpolates linearly between two values */
double mpi_numbers_quantile(const struct mpi_numbers *numbers, double quantile);

/* Errors of a cell's runs. */
struct mpi_verdict {
	uint64_t none, wrong;
	char why[96];          /* the first error */
	uint64_t clock, timer; /* of the first thread: cycles and ns */
};

void mpi_verdict_add(struct mpi_verdict *verdict, const struct device_found *found);
/* mpi_verdict_report - add rows `wrong` and, if any request failed, `none`; a note on errors */
void mpi_verdict_report(struct device_run *run, const struct device_heap *heap,
			const struct device_cell *cell, const struct mpi_verdict *verdict);
/* mpi_verdict_ghz - cycles per ns; 0: unknown */
double mpi_verdict_ghz(const struct mpi_verdict *verdict);

/* ---- placement of memory: mpi_places.c ---- */

struct mpi_places {
	double lane_distance;    /* bytes between neighboring lanes' addresses; mean */
	double lines_per_access; /* lines accessed when a warp's lanes read element i; mean */
	double lines_held;       /* lines that a block's memory spans, divided by the minimum */
};

/*
 * mpi_places_of - placement of each thread's memory of `bytes`, address 0 for none; blocks of
 * `block` threads
 */
struct mpi_places mpi_places_of(const uint64_t *addresses, uint32_t threads, uint32_t block,
				uint32_t bytes);

/* ---- output: mpi_published.c, mpi_show.c ---- */

/* mpi_complete - add speedups of the measurements, and the corresponding published values */
void mpi_complete(struct bench_results *results);

void mpi_show_people(const struct bench_results *results, const struct bench_machine *machine,
		     const struct device_request *request);
void mpi_show_keys(const struct bench_results *results, const struct device_request *request);

/* mam bench mpi */
int mpi_main(int argc, char **argv);

#endif
