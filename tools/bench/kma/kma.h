/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kma.h - what the parts of `mam bench kma` share.
 *
 * Words, beside those of device_bench.h:
 *   lane    an asker: a thread, a work item
 *   pair    malloc, and free of the same block
 *   poor    the poor man's heap: a number that requests are added to
 * Of a cell `askers` are lanes, `filled` edges, `share` nodes of a graph, or superblocks.
 */
#ifndef MAM_TOOLS_BENCH_KMA_KMA_H
#define MAM_TOOLS_BENCH_KMA_KMA_H

#include "bench/device_play.h"

/* Of a heap of so many superblocks, as published; a heap of so many bytes has what suits it (kma/layout.h). */
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
	KMA_SETUP,     /* to make a heap */
	KMA_WORKS,
};

extern const struct device_work kma_works[KMA_WORKS];

#define KMA_EFFORTS 3
extern const struct device_effort kma_efforts[KMA_EFFORTS];

/* ---- who is asked: heaps.c ---- */

extern const struct device_allocator kma_allocators[];
extern const size_t kma_allocator_count;

/* kma_is_superblocks - its module has the kernels `make` and `left` */
bool kma_is_superblocks(const struct device_allocator *allocator);
/* kma_make - a heap of superblocks of so many bytes, or, if that is not 0, of so many of them. NULL, or
 * one sentence: why not */
const char *kma_make(struct device_heap *heap, uint64_t bytes, uint32_t count);
/* kma_format - an empty heap of superblocks, made by so many lanes; `us` may be NULL */
bool kma_format(const struct device_heap *heap, uint32_t lanes, double *us);

/* ---- what is asked, and doing it: plan.c, play.c, play_graph.c ---- */

void kma_plan_make(struct device_plan *plan);
bool kma_plan_takes_part(const struct device_allocator *allocator, const struct device_cell *cell);
uint64_t kma_plan_places(const struct device_cell *cell);
void kma_plan_shrink(struct device_cell *cell, uint32_t askers_most);
/* kma_plan_is_list - of two cells of KMA_ARRAYLIST that with a list */
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
/* kma_launch - a kernel that tells, and what it told */
bool kma_launch(struct device_run *run, struct device_heap *heap, const char *kernel,
		const struct device_job *job, double *us, struct kma_told *told);
/* kma_is_empty - after all went back: nothing of a heap of superblocks is in use. Adds to `wrong` */
bool kma_is_empty(struct device_run *run, struct device_heap *heap, uint64_t *wrong);
/* kma_is_right - rows of what was found; false: a note says what is wrong, and nothing is timed */
bool kma_is_right(struct device_run *run, const struct device_heap *heap,
		  const struct device_cell *cell, uint64_t none, uint64_t wrong, const char *what);

/* ---- showing it: published.c, show.c ---- */

/* kma_complete - the paper's numbers, and ours as it reckons them, of what was measured */
void kma_complete(struct bench_results *results);

void kma_show_people(const struct bench_results *results, const struct bench_machine *machine,
		     const struct device_request *request);
void kma_show_keys(const struct bench_results *results, const struct device_request *request);

/* ---- the program that asks OpenCL: opencl.c ---- */

/*
 * kma_opencl_hear - has it measure what is wanted, and hears its rows. False: there is no such
 * program, or no device, and a note says so.
 */
bool kma_opencl_hear(const struct device_request *request, struct device_heard *heard);

/* mam bench kma */
int kma_main(int argc, char **argv);

#endif
