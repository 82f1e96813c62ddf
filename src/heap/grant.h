/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant.h - a heap as the host knows it: which block of which pool its ground is, and the way
 * there.
 */
#ifndef MAM_HEAP_GRANT_H
#define MAM_HEAP_GRANT_H

#include <mam/heap.h>

#include "heap/head.h"
#include "heap/reach.h"

struct mam_heap {
	/* lock: none, all set by mam_heap_create() */
	struct mam_pool *pool;
	struct mam_reach reach;
	unsigned char *ground; /* a block of the pool */
	uint64_t ground_bytes;
	uint32_t pages; /* count */
	uint32_t shift; /* a page is 1 << shift bytes */
	uint32_t low;   /* per mille */
};

/* Where the head and the books of the pages are, on the device. */
static inline uintptr_t mam_grant_head(const struct mam_heap *heap)
{
	return (uintptr_t)heap->ground + mam_head_offset(heap->pages, heap->shift);
}

static inline uintptr_t mam_grant_books(const struct mam_heap *heap)
{
	return mam_grant_head(heap) + sizeof(struct mam_kheap);
}

/* mam_grant_alive - false: the pool has ended under the heap, by being abandoned. */
bool mam_grant_alive(const struct mam_heap *heap);

#endif
