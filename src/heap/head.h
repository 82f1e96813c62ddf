/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head.h - how the ground of a heap is laid out, for the host, which makes it, and for kernels,
 * which know it by the address of its head.
 *
 *   ground                     the pages, first to last: each at a multiple of its size, since the
 *                              ground is at one
 *   ground + pages << shift    the head: one line that never changes while the heap lives
 *   head + 1                   the books of the pages (layout.h), the bitmap last
 *
 * The head lies behind the pages because a page may be 4 MiB: in front of them it would cost one.
 */
#ifndef MAM_HEAP_HEAD_H
#define MAM_HEAP_HEAD_H

#include "heap/layout.h"

struct mam_kheap {
	unsigned char *ground;
	uint32_t pages; /* count */
	uint32_t shift; /* a page is 1 << shift bytes */
	unsigned char pad[MAM_PAGES_LINE - 16];
};

/* Bytes of all pages. */
MAM_KBOTH uint64_t mam_head_offset(uint32_t pages, uint32_t shift)
{
	return (uint64_t)pages << shift;
}

/* Bytes of head and books. */
MAM_KBOTH uint64_t mam_head_bytes(uint32_t pages)
{
	return sizeof(struct mam_kheap) + mam_pages_bytes(pages);
}

#endif
