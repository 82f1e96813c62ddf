/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - host memory straight from the system, for books that must not depend on malloc.
 *
 * Memory is zero, costs nothing until touched, and lies on huge pages once it is large enough to
 * fill one: books are read at random, and with small pages each such read would miss in the page
 * tables as well. Less than a huge page stays on small ones, so that a small pool is small.
 */
#ifndef MAM_BASE_PAGES_H
#define MAM_BASE_PAGES_H

#include <stddef.h>

/* mam_pages_map - bytes is a multiple of 4096; NULL when the system has none. */
void *mam_pages_map(size_t bytes);
void mam_pages_unmap(void *base, size_t bytes);

/*
 * mam_pages_move - to `bytes`, more than `old_bytes`, with the contents; the old address is gone.
 * NULL changes nothing.
 */
void *mam_pages_move(void *base, size_t old_bytes, size_t bytes);

#endif
