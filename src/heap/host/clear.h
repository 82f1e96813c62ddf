/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clear.h - resets metadata to "all free, all counts zero", as create and reset leave it, except
 * for the fields that never change. Uses only fills, which a graph can contain without host memory.
 *
 * Bits after the last page are marked allocated at creation and by each reset: at most seven whole
 * bytes and a part of one, at the end of the bitmap, by two fills. For objects everything is zero.
 */
#ifndef MAM_HEAP_HOST_CLEAR_H
#define MAM_HEAP_HOST_CLEAR_H

#include "heap/host/plot.h"
#include "heap/service/copy.h"

/* mam_clear_pages - clears the metadata of a page heap, whose header is at `books`. */
void mam_clear_pages(struct mam_copy_visit *visit, uintptr_t metadata, uint32_t pages);

/* mam_clear_plot - clears a plot's metadata. */
void mam_clear_plot(struct mam_copy_visit *visit, const struct mam_plot *plot);

#endif
