/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.h - a heap as the host knows it: the pool's block that is its memory, the access to it, and
 * the objects that serve it if it grows.
 */
#ifndef MAM_HEAP_HOST_CREATE_H
#define MAM_HEAP_HOST_CREATE_H

#include <pthread.h>

#include <mam/heap.h>

#include "heap/growth/growth.h"
#include "heap/host/plot.h"
#include "heap/service/post.h"
#include "heap/service/copy.h"
#include "heap/host/reader.h"

struct mam_heap {
	/* lock: none, set by mam_heap_create() */
	struct mam_pool *handle; /* of the pool */
	struct mam_pool *pool;   /* its storage, which is pinned (api/slots.h) */
	struct mam_copy reach;
	unsigned char *space; /* a block of the pool */
	uint64_t space_bytes;
	uint32_t pages;        /* count; 0: an object heap */
	uint32_t shift;        /* a page is 1 << shift bytes; for objects: a unit */
	uint32_t low;          /* per mille */
	uint32_t blocks;       /* count; 0: a page heap */
	uint32_t columns;      /* rows of handles */
	bool debug;            /* kernels check for errors */
	bool peers;            /* kernels of several devices use it */
	bool has_growth;       /* struct mam_growth follows the metadata: it grows or is debugged */
	struct mam_post *post; /* NULL: it does not grow */

	struct mam_reader *reader; /* of the reports of a debugged heap; otherwise NULL */

	pthread_mutex_t returning; /* held to write objects that the host frees: returns.c */
	pthread_mutex_t counting;
	struct mam_heap_info gone; /* lock: counting. Event counts of freed grants */
};

/* The addresses on the device of the head, and of the metadata of the pages. */
static inline uintptr_t mam_grant_head(const struct mam_heap *heap)
{
	return (uintptr_t)heap->space + mam_head_offset(heap->pages, heap->shift) +
	       ((uint64_t)heap->blocks << MAM_BLOCK_SHIFT);
}

static inline uintptr_t mam_grant_metadata(const struct mam_heap *heap)
{
	return mam_grant_head(heap) + sizeof(struct mam_kheap);
}

/* An object heap: its own memory, and bytes from the head to each part of the metadata. */
static inline struct mam_plot mam_grant_plot(const struct mam_heap *heap)
{
	return (struct mam_plot){ heap->space, heap->blocks, heap->columns };
}

static inline struct mam_metadata_plan mam_grant_plan(const struct mam_heap *heap)
{
	return mam_metadata_plan_of(heap->blocks, heap->columns);
}

/* mam_grant_alive - false: the pool was abandoned while the heap existed. */
bool mam_grant_alive(const struct mam_heap *heap);

#endif
