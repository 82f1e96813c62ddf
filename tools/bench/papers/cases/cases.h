/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases.h - interface between the parts of `mam bench case`.
 *
 * Terms, in addition to those of device_bench.h:
 *   case       a program whose kernels allocate memory as they run; one of device_bench.h's works
 *   reserved   a variant without an allocator: a first pass counts the required memory, or the maximum
 *              is reserved
 *   share      the part of the heap that is free before the case begins, per mille: 1000, 500, 50
 *   memory     the case's own, outside the heap: tables; inputs are not counted
 * In a cell, `filled` is the number of tuples, keys, bodies or edges, `least` the bytes of a page
 * and `share` as above; `rounds` and `buffers` are specific to the case.
 *
 * Metrics of a cell: us (sum of the kernels), wall_us (including the host's work between them),
 * peak_mib (peak of the case's own arrays plus live heap bytes), objects_mib (peak live heap bytes
 * alone), heap_mib (size of the heap), asks, steps (mean per request), none, wrong.
 */
#ifndef MAM_TOOLS_BENCH_CASES_CASES_H
#define MAM_TOOLS_BENCH_CASES_CASES_H

#include "bench/papers/cases/told.h"
#include "bench/device/device_job.h"
#include "bench/device/device_play.h"

enum case_work { CASE_JOIN, CASE_GROUP, CASE_OCTREE, CASE_GRAPH, CASE_WORKS };

extern const struct device_work case_works[CASE_WORKS];

#define CASE_EFFORTS 3
extern const struct device_effort case_efforts[CASE_EFFORTS];
#define CASE_SYSTEM_HEAP (2 * (uint64_t)BENCH_GIB) /* the heap of CUDA's own malloc */

/* ---- the allocators: heaps.c ---- */

extern const struct device_allocator case_allocators[];
extern const size_t case_allocator_count;

#define CASE_MAM "mam_kmalloc"
#define CASE_MAM_PAGES "mam-pages"
#define CASE_RESERVED "two-pass"        /* as published; for the octree and the graph: reserved */
#define CASE_COMPACT "two-pass-compact" /* of the group-by: counters only for groups that exist */

bool case_is_reserved(const struct device_allocator *allocator);

/*
 * case_occupy - before the first request of the case, fill the heap with objects of `least` bytes,
 * except for the cell's share. Returns false if the device failed. Adds a note if fewer objects
 * fit.
 */
bool case_occupy(struct device_run *run, struct device_heap *heap, const struct device_cell *cell);
/*
 * case_looks - return the steps that the heap has counted since it was made; 0 if it does not count
 */
double case_looks(struct device_run *run, const struct device_heap *heap);
/*
 * case_steps - return the mean steps per request of a pass with CASE_COUNT in which the heap
 * counted `looks`; negative if unknown
 */
double case_steps(const struct device_heap *heap, const struct case_told *told, double looks);

/* ---- a case's memory and time: runs.c ---- */

/* Adds up times, counts memory and keeps the first error. Initially zero. */
struct case_play {
	struct device_run *run;
	struct device_heap *heap;
	double us;           /* of kernels */
	uint64_t live, peak; /* the case's own bytes, without inputs */
	bool none;           /* the device had too little memory */
};

/*
 * case_take - allocate device memory for the case itself; returns NULL and sets play->none on
 * failure
 */
void *case_take(struct case_play *play, uint64_t bytes);
void case_give(struct case_play *play, void *memory, uint64_t bytes);
/*
 * case_launch - launch a kernel of the heap's module and add up its time. Returns false if the
 * device failed
 */
bool case_launch(struct case_play *play, const char *kernel, uint32_t blocks, uint32_t threads,
		 const struct device_job *job);
/* case_job - the job of a cell: the heap, the kernels' counters, and the page's bytes as `least` */
struct device_job case_job(struct device_run *run, const struct device_heap *heap,
			   const struct device_cell *cell);

/* One pass of a case. */
struct case_pass {
	bool counts;           /* requests must count themselves (CASE_COUNT in a job's flags) */
	uint64_t wrong;        /* out: the host's errors in the results, besides the kernels' */
	double us, wall_us;    /* out */
	uint64_t peak;         /* out: peak of the case's own memory, bytes */
	bool none;             /* out: the device had too little memory */
	struct case_told told; /* set by the caller: the counters of all kernels of the pass */
};

/*
 * Runs the case once: allocates its memory, launches the kernels, records times, compares the
 * results with a reference that the host has computed, and frees everything, including heap memory.
 * Kernels count in job.found, which is zero before a pass and is not cleared during it. Returns
 * false if the device failed.
 */
typedef bool case_once(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell, struct case_pass *pass, void *user);

/*
 * case_runs - run a cell, once with counting and then for its time, and add the metrics above.
 * Returns false if the device failed
 */
bool case_runs(struct device_run *run, struct device_heap *heap, const struct device_cell *cell,
	       case_once *once, void *user);

/* ---- the cases: play_join.c, play_group.c, play_octree.c, play_graph.c ---- */

void case_plan_join(struct device_plan *plan);
bool case_play_join(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell);
void case_plan_group(struct device_plan *plan);
bool case_play_group(struct device_run *run, struct device_heap *heap,
		     const struct device_cell *cell);
void case_plan_octree(struct device_plan *plan);
bool case_play_octree(struct device_run *run, struct device_heap *heap,
		      const struct device_cell *cell);
void case_plan_graph(struct device_plan *plan);
bool case_play_graph(struct device_run *run, struct device_heap *heap,
		     const struct device_cell *cell);

/* ---- the cells: plan.c ---- */

/*
 * case_heap_bytes - the size of a heap in which `need` bytes of objects fit when `share` per mille
 * are free
 */
uint64_t case_heap_bytes(uint64_t need, uint32_t share);
void case_plan_make(struct device_plan *plan);
bool case_takes_part(const struct device_allocator *allocator, const struct device_cell *cell);
uint64_t case_places(const struct device_cell *cell);
void case_shrink(struct device_cell *cell, uint32_t max);

/* ---- output: show.c ---- */

void case_complete(struct bench_results *results);
void case_show_people(const struct bench_results *results, const struct bench_machine *machine,
		      const struct device_request *request);
void case_show_keys(const struct bench_results *results, const struct device_request *request);

/* mam bench case */
int case_main(int argc, char **argv);

#endif
