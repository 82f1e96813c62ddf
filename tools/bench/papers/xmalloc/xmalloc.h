/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc.h - interface between the parts of `mam bench xmalloc`.
 *
 * Terms, in addition to those of device_bench.h:
 *   worker   an asker, in the XMalloc paper's term
 *   base     the allocator under a coalescer: CUDA's own malloc, mam's, or a heap of pages
 *   layered  an allocator above a base; for pages, also the base alone
 *   request  a request to the buffers: one per warp, for all its workers
 */
#ifndef MAM_TOOLS_BENCH_XMALLOC_H
#define MAM_TOOLS_BENCH_XMALLOC_H

#include "bench/device/device_play.h"

#define XMALLOC_HEAP (500 * (uint64_t)BENCH_MIB)
/*
 * Of a heap of pages, bytes: a warp's 32 blocks of 4 B with all headers, 536, fit on one; 512 is
 * too few.
 */
#define XMALLOC_PAGE 1024
#define XMALLOC_BUFFERS 16     /* FIFOs per class, if a cell does not specify another number */
#define XMALLOC_BUFFERS_MAX 32 /* equal to MAM_BUFFERS_MAX */

enum xmalloc_work {
	XMALLOC_TIME,      /* figure 2: malloc, write, read, free in one kernel */
	XMALLOC_PREFILLED, /* the same in a heap of which a quarter is in use */
	XMALLOC_COALESCE,  /* figure 5: the same, without buffers */
	XMALLOC_FIFOS,     /* figure 6: the same, for several numbers of buffers */
	XMALLOC_HOLD,      /* malloc and free in two kernels, several objects per worker */
	XMALLOC_WORKS,
};

extern const struct device_work xmalloc_works[XMALLOC_WORKS];

/* ---- the allocators: layers.c ---- */

#define XMALLOC_ALLOCATORS_MAX 20
extern struct device_allocator xmalloc_allocators[XMALLOC_ALLOCATORS_MAX];
extern size_t xmalloc_allocator_count;

/* xmalloc_allocators_make - the layered ones, and those of `mam bench device` */
void xmalloc_allocators_make(void);
/* xmalloc_is_layered - otherwise its modules have none of the kernels below */
bool xmalloc_is_layered(const struct device_allocator *allocator);
/* xmalloc_over_cuda - CUDA's own, or layered over it */
bool xmalloc_over_cuda(const struct device_allocator *allocator);
/* xmalloc_is_page_each - a heap of pages alone: the smallest object takes one */
bool xmalloc_is_page_each(const struct device_allocator *allocator);
/* xmalloc_pages_of - the number of pages; 0 if it is not a heap of pages */
uint64_t xmalloc_pages_of(const struct device_heap *heap);
/* xmalloc_is_coalesced - without buffers */
bool xmalloc_is_coalesced(const struct device_allocator *allocator);
/* xmalloc_has_buffers - as many as a cell specifies */
bool xmalloc_has_buffers(const struct device_allocator *allocator);
/* xmalloc_is_by_calls - by xmcMalloc() and xmcFree(), as in programs */
bool xmalloc_is_by_calls(const struct device_allocator *allocator);
/* xmalloc_format - give an unused heap `count` FIFOs per class */
bool xmalloc_format(struct device_run *run, struct device_heap *heap, uint32_t count);
/* xmalloc_drain - free the buffered blocks to the base, before its next use */
bool xmalloc_drain(struct device_run *run, struct device_heap *heap);

/* ---- the cells and how they are run: plan.c, play.c ---- */

void xmalloc_plan_make(struct device_plan *plan);
bool xmalloc_plan_takes_part(const struct device_allocator *allocator,
			     const struct device_cell *cell);
uint64_t xmalloc_plan_places(const struct device_cell *cell);
void xmalloc_plan_shrink(struct device_cell *cell, uint32_t MAX_ASKERS);

bool xmalloc_play_use(struct device_run *run, struct device_heap *heap,
		      const struct device_cell *cell);
bool xmalloc_play_hold(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell);

/* ---- output: published.c, show.c ---- */

/* xmalloc_complete - add the paper's numbers, and ours by the same computation */
void xmalloc_complete(struct bench_results *results);

void xmalloc_show_people(const struct bench_results *results, const struct bench_machine *machine,
			 const struct device_request *request);
void xmalloc_show_keys(const struct bench_results *results, const struct device_request *request);

/* mam bench xmalloc */
int xmalloc_main(int argc, char **argv);

#endif
