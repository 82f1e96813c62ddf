/* SPDX-License-Identifier: Apache-2.0 */
/*
 * census.h - what one bitmap of pages, or one plot of a heap of objects, has in it: its books,
 * copied to the host and counted there, as fields of struct mam_heap_info.
 *
 * The header in one copy, the bitmap in pieces, so that a heap of any size is read with little host
 * memory. Each piece is waited for before the next one takes its place. Of objects the bitmap is
 * that of the units; then come the tallies and what stands on the units (survey.h).
 */
#ifndef MAM_HEAP_CENSUS_H
#define MAM_HEAP_CENSUS_H

#include <mam/heap.h>

#include "heap/plot.h"
#include "heap/reach.h"

/*
 * Each call reads in the order of `stream`, waits, and answers as mam_heap_stats() does. `info`
 * comes zeroed; where the answer is not MAM_OK, it has anything.
 *
 * mam_census_pages - of `pages` pages, the header of whose bitmap is at `at`.
 */
enum mam_status mam_census_pages(const struct mam_reach *reach, struct CUstream_st *stream,
				 uintptr_t at, uint32_t pages, struct mam_heap_info *info);
/* mam_census_plot - of the plot's units, and of what is on them. */
enum mam_status mam_census_plot(const struct mam_reach *reach, struct CUstream_st *stream,
				const struct mam_plot *plot, struct mam_heap_info *info);

/* mam_census_add - sums, and of `longest_free` the larger. */
void mam_census_add(struct mam_heap_info *sum, const struct mam_heap_info *one);
/* mam_census_gone - of what was counted in a plot that ceases to be, what happened there. */
void mam_census_gone(struct mam_heap_info *sum, const struct mam_heap_info *one);

/* mam_census_finish - each class's bytes, and objects of all kinds: once the sum is complete. */
void mam_census_finish(struct mam_heap_info *sum);

#endif
