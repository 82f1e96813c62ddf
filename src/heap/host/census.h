/* SPDX-License-Identifier: Apache-2.0 */
/*
 * census.h - counts what one bitmap of pages, or one plot of an object heap, contains: its metadata
 * is copied to the host and counted there, into fields of struct mam_heap_info.
 *
 * The header is copied at once, and the bitmap in pieces, so that a heap of any size needs little
 * host memory. Each piece is waited for before the next one overwrites it. For objects the bitmap
 * is that of the units; the tallies and the contents of the units (survey.h) follow.
 */
#ifndef MAM_HEAP_HOST_CENSUS_H
#define MAM_HEAP_HOST_CENSUS_H

#include <mam/heap.h>

#include "heap/host/plot.h"
#include "heap/service/copy.h"

/*
 * Each call reads in the order of `stream`, waits, and returns what mam_heap_stats() returns.
 * `info` must be zeroed; its content is undefined if the result is not MAM_OK.
 *
 * mam_census_pages - counts `pages` pages; the header of their bitmap is at `at`.
 */
enum mam_status mam_census_pages(const struct mam_copy *reach, struct CUstream_st *stream,
				 uintptr_t at, uint32_t pages, struct mam_heap_info *info);
/* mam_census_plot - counts the plot's units and their contents. */
enum mam_status mam_census_plot(const struct mam_copy *reach, struct CUstream_st *stream,
				const struct mam_plot *plot, struct mam_heap_info *info);

/* mam_census_add - adds; takes the larger `longest_free`. */
void mam_census_add(struct mam_heap_info *sum, const struct mam_heap_info *one);
/* mam_census_gone - adds the event counts of a plot that is about to disappear. */
void mam_census_gone(struct mam_heap_info *sum, const struct mam_heap_info *one);

/*
 * mam_census_finish - fills in each class's bytes and the totals over all kinds, after the last
 * add.
 */
void mam_census_finish(struct mam_heap_info *sum);

#endif
