/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases.h - what the parts of `mam bench case` share.
 *
 * Words, beside those of device_bench.h:
 *   case       a program that needs memory as its kernels run; one of device_bench.h's works
 *   reserved   what asks nobody: a first pass counts what is needed, or the most that may be is reserved
 *   share      of a heap that is free before the case begins, per mille: 1000, 500, 50
 *   memory     of a case's own, beside the heap: tables, inputs are not counted
 * Of a cell `filled` are tuples, keys, bodies or edges; `least` the bytes of a page; `share` as above;
 * `rounds` and `buffers` are the case's own.
 *
 * Numbers of a cell: us (kernels, added up), wall_us (with what the host does between them), peak_mib
 * (the case's own arrays and what is live of the heap, at its most), objects_mib (the latter alone),
 * heap_mib (what the heap was given), asks, steps (a request, mean), none, wrong.
 */
#ifndef MAM_TOOLS_BENCH_CASES_CASES_H
#define MAM_TOOLS_BENCH_CASES_CASES_H

#include "bench/cases/told.h"
#include "bench/device_job.h"
#include "bench/device_play.h"

enum case_work { CASE_JOIN, CASE_GROUP, CASE_OCTREE, CASE_GRAPH, CASE_WORKS };

extern const struct device_work case_works[CASE_WORKS];

#define CASE_EFFORTS 3
extern const struct device_effort case_efforts[CASE_EFFORTS];
#define CASE_SYSTEM_HEAP (2 * (uint64_t)BENCH_GIB) /* CUDA's own */

/* ---- who is asked: heaps.c ---- */

extern const struct device_allocator case_allocators[];
extern const size_t case_allocator_count;

#define CASE_MAM "mam_kmalloc"
#define CASE_MAM_PAGES "mam-pages"
#define CASE_RESERVED "two-pass" /* as published; of the octree and the graph: reserved */
#define CASE_COMPACT \
	"two-pass-compact" /* of the group-by: counters only of groups that are there */

bool case_is_reserved(const struct device_allocator *allocator);

/* case_occupy - before anything is asked: all but the cell's share of the heap is in use, in objects of
 * `least` bytes. False: the device failed. A note says if less could be had. */
bool case_occupy(struct device_run *run, struct device_heap *heap, const struct device_cell *cell);
/* case_looks - steps that the heap has counted since it was made; 0 where it does not */
double case_looks(struct device_run *run, const struct device_heap *heap);
/* case_steps - a request's mean, of a pass with CASE_COUNT in which the heap counted `looks`; below 0: not
 * known */
double case_steps(const struct device_heap *heap, const struct case_told *told, double looks);

/* ---- a case's memory and time: runs.c ---- */

/* Times add up, memory is counted, the first trouble stays. Zero at first. */
struct case_play {
	struct device_run *run;
	struct device_heap *heap;
	double us;           /* of kernels */
	uint64_t live, peak; /* bytes of its own, inputs not among them */
	bool none;           /* the device had too little memory */
};

/* case_take - device memory of the case's own; NULL: play->none is set */
void *case_take(struct case_play *play, uint64_t bytes);
void case_give(struct case_play *play, void *memory, uint64_t bytes);
/* case_launch - a kernel of the heap's module; its time is added up. False: the device failed */
bool case_launch(struct case_play *play, const char *kernel, uint32_t blocks, uint32_t threads,
		 const struct device_job *job);
/* case_job - of a cell: the heap, what kernels tell, the page's bytes as `least` */
struct device_job case_job(struct device_run *run, const struct device_heap *heap,
			   const struct device_cell *cell);

/* One pass of a case. */
struct case_pass {
	bool counts;        /* requests are to count themselves (CASE_COUNT in a job's flags) */
	uint64_t wrong;     /* out: what the host found of the results, beside what kernels tell */
	double us, wall_us; /* out */
	uint64_t peak;      /* out: of the case's own memory, bytes */
	bool none;          /* out: the device had too little memory */
	struct case_told told; /* not of the case: what all kernels of the pass told */
};

/*
 * Plays the case once: takes its memory, launches, notes times, then checks what came out, against a
 * reference that the host has reckoned, and gives all back, in the heap, too. Kernels count in
 * job.found, which is zero before a pass and is not cleared in it. False: the device failed.
 */
typedef bool case_once(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell, struct case_pass *pass, void *user);

/* case_runs - plays a cell, once counting and then for its time, and tells the rows above. False: the
 * device failed */
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

/* ---- what is asked: plan.c ---- */

/* case_heap_bytes - of a heap of which `share` per mille are to be free, `need` bytes of objects */
uint64_t case_heap_bytes(uint64_t need, uint32_t share);
void case_plan_make(struct device_plan *plan);
bool case_takes_part(const struct device_allocator *allocator, const struct device_cell *cell);
uint64_t case_places(const struct device_cell *cell);
void case_shrink(struct device_cell *cell, uint32_t most);

/* ---- showing it: show.c ---- */

void case_complete(struct bench_results *results);
void case_show_people(const struct bench_results *results, const struct bench_machine *machine,
		      const struct device_request *request);
void case_show_keys(const struct bench_results *results, const struct device_request *request);

/* mam bench case */
int case_main(int argc, char **argv);

#endif
