/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clear.h - all free, all counts zero: books as create and reset leave them, but for what is in
 * them that never changes. Fills alone, which a graph can hold without any memory of the host's.
 *
 * Bits past the last page are taken from the start, and again by each reset: at most seven whole
 * bytes and a part of one, at the end of the bitmap, by two fills. Of objects all is zero.
 */
#ifndef MAM_HEAP_CLEAR_H
#define MAM_HEAP_CLEAR_H

#include "heap/plot.h"
#include "heap/reach.h"

/* mam_clear_pages - of the books of a heap of pages, whose header is at `books`. */
void mam_clear_pages(struct mam_reach_visit *visit, uintptr_t books, uint32_t pages);

/* mam_clear_plot - of a plot's books. */
void mam_clear_plot(struct mam_reach_visit *visit, const struct mam_plot *plot);

#endif
