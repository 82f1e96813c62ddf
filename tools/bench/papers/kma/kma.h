/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kma.h - interface between the parts of `mam bench kma`.
 *
 * Terms, in addition to those of device_bench.h:
 *   lane    a requester: a thread, a work item
 *   pair    malloc, and free of the same block
 *   poor    the poor man's heap: a counter that requests add to
 * In a cell, `askers` is the number of lanes, `filled` of edges, `share` of a graph's nodes or of
 * superblocks.
 */
#ifndef MAM_TOOLS_BENCH_KMA_KMA_H
#define MAM_TOOLS_BENCH_KMA_KMA_H

#include "bench/device/device_play.h"

/*
 * Of a heap of a given number of superblocks, as published; a heap of a given size gets suitable
 * parameters (kma/layout.h).
 */
#define KMA_SHIFT 12u
#define KMA_ENTRIES_SHIFT 0u
#define KMA_HEAP ((uint64_t)BENCH_GIB)
#define KMA_HEAP_LARGE (4 * (uint64_t)BENCH_GIB)
#define KMA_BLOCK 256u /* threads of a block, work items of a group */

/* Those of the OpenCL program have no kernels here. */
#define KMA_OPENCL "kma-opencl"
#define KMA_OPENCL_POOR "poor-opencl"

enum kma_work {
	KMA_ONE,       /* figure 4: one lane */
	KMA_MANY,      /* figure 5: many lanes, 100 pairs each */
	KMA_ARRAYLIST, /* figure 6: elements by malloc, or of a list */
	KMA_GRAPH,     /* figure 7: edges to a graph */
	KMA_SETUP,     /* making a heap */
	KMA_WORKS,
};

extern const struct device_work kma_works[KMA_WORKS];

#define KMA_EFFORTS 3
extern const struct device_effort kma_efforts[KMA_EFFORTS];

/* ---- the allocators: heaps.c ---- */

extern const struct device_allocator kma_allocators[];
extern const size_t kma_allocator_count;

/* kma_is_superblocks - its module has the kernels `make` and `left` */
bool kma_is_superblocks(const struct device_allocator *allocator);
/*
 * kma_make - make a heap of superblocks of `bytes` bytes or, if that is not 0, of `count` of them.
 * Returns NULL, or one sentence with the reason of the failure
 */
const char *kma_make(struct device_heap *heap, uint64_t bytes, uint32_t count);
/* kma_format - make an empty heap of superblocks, with `lanes` lanes; `us` may be NULL */
bool kma_format(const struct device_heap *heap, uint32_t lanes, double *us);

/* ---- the cells and how they are run: plan.c, play.c, play_graph.c ---- */

void kma_plan_make(struct device_plan *plan);
bool kma_plan_takes_part(const struct device_allocator *allocator, const struct device_cell *cell);
uint64_t kma_plan_places(const struct device_cell *cell);
void kma_plan_shrink(struct device_cell *cell, uint32_t MAX_ASKERS);
/* kma_plan_is_list - true for the cell with a list, of the two cells of KMA_ARRAYLIST */
bool kma_plan_is_list(const struct device_cell *cell);

bool kma_play_pairs(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell);
bool kma_play_arraylist(struct device_run *run, struct device_heap *heap,
			const struct device_cell *cell);
bool kma_play_graph(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell);
bool kma_play_setup(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell);

struct kma_told;
/* kma_launch - launch a kernel and read its counters */
bool kma_launch(struct device_run *run, struct device_heap *heap, const char *kernel,
		const struct device_job *job, double *us, struct kma_told *told);
/*
 * kma_is_empty - after everything was freed: check that no part of a heap of superblocks is in use.
 * Adds to `wrong`
 */
bool kma_is_empty(struct device_run *run, struct device_heap *heap, uint64_t *wrong);
/*
 * kma_is_right - add rows of the errors. Returns false if a note reports an error and nothing is to
 * be timed
 */
bool kma_is_right(struct device_run *run, const struct device_heap *heap,
		  const struct device_cell *cell, uint64_t none, uint64_t wrong, const char *what);

/* ---- output: published.c, show.c ---- */

/* kma_complete - add the paper's numbers, and ours by the same computation */
void kma_complete(struct bench_results *results);

void kma_show_people(const struct bench_results *results, const struct bench_machine *machine,
		     const struct device_request *request);
void kma_show_keys(const struct bench_results *results, const struct device_request *request);

/* ---- the OpenCL program: opencl.c ---- */

/*
 * kma_opencl_hear - run it with the requested works, and read its rows. Returns false with a note
 * if the program or a device is missing.
 */
bool kma_opencl_hear(const struct device_request *request, struct device_heard *heard);

/* mam bench kma */
int kma_main(int argc, char **argv);

#endif
