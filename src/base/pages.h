/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - host memory directly from the system, for metadata that must not depend on malloc.
 *
 * Memory is zero and costs nothing until touched. It is on huge pages once it is large enough to
 * fill one: metadata is read at random, and with small pages each such read would also miss in the
 * page tables. Less than a huge page stays on small pages, so that a small pool is small.
 */
#ifndef MAM_BASE_PAGES_H
#define MAM_BASE_PAGES_H

#include <stddef.h>

/* mam_pages_map - bytes is a multiple of 4096; NULL if the system has no memory. */
void *mam_pages_map(size_t bytes);
void mam_pages_unmap(void *base, size_t bytes);

/*
 * mam_pages_move - move to a range of `bytes`, more than `old_bytes`, with the contents. The old
 * address is invalid afterwards. NULL: nothing has changed.
 */
void *mam_pages_move(void *base, size_t old_bytes, size_t bytes);

#endif
