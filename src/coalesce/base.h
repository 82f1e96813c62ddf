/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.h - what stands under a coalescer or a buffer: any allocator for kernels that has malloc and
 * free.
 *
 * A base is two functions and what they are told. Which base it is, is fixed when the code is
 * compiled: everything here and above it is inlined, so the pointers below are constants that the
 * compiler calls directly, and no kernel makes an indirect call.
 *
 * What a base promises:
 *   alloc   `bytes`, 1 or more, at an address that is a multiple of MAM_BASE_ALIGN; NULL: there is
 *           no room. Any lane may call at any time, alone or with others, in divergent code.
 *   free    what alloc gave, once, by any lane of any kernel. False: it saw a mistake, and changed
 *           nothing. What the caller wrote and had seen before, happens before what the block's
 *           next holder does.
 * It may wait for other warps only if it says so: CUDA's own does.
 *
 * What it says of itself:
 *   tries   how many tries that others win are worth making at buffers (buffers.h) before it is
 *           asked; 0: MAM_BASE_TRIES. Where a request costs microseconds, and the next one waits for
 *           it, they are many.
 */
#ifndef MAM_COALESCE_BASE_H
#define MAM_COALESCE_BASE_H

#include "heap/entry.h"

#define MAM_BASE_ALIGN 16u
#define MAM_BASE_TRIES 3u
/* One of CUDA's malloc() is served at a time, 1 to 2 us each: a try is over sooner. */
#define MAM_BASE_CUDA_TRIES 128u

struct mam_kbase {
	void *(*alloc)(void *heap, size_t bytes);
	bool (*free)(void *heap, void *block);
	void *heap; /* what both are told first */
	uint32_t tries;
};

MAM_KFN uint32_t mam_base_tries(struct mam_kbase base)
{
	return base.tries ? base.tries : MAM_BASE_TRIES;
}

MAM_KFN void *mam_base_alloc(struct mam_kbase base, size_t bytes)
{
	return base.alloc(base.heap, bytes);
}

MAM_KFN bool mam_base_free(struct mam_kbase base, void *block)
{
	return base.free(base.heap, block);
}

/* ---- a heap of objects: mam_kmalloc() and mam_kfree() ----------------------------------------- */

MAM_KFN void *mam_base_heap_alloc(void *heap, size_t bytes)
{
	return mam_entry_alloc((struct mam_kheap *)heap, bytes);
}

MAM_KFN bool mam_base_heap_free(void *heap, void *block)
{
	return mam_entry_free((struct mam_kheap *)heap, block);
}

MAM_KFN struct mam_kbase mam_base_heap(struct mam_kheap *heap)
{
	struct mam_kbase base;

	base.alloc = mam_base_heap_alloc;
	base.free = mam_base_heap_free;
	base.heap = heap;
	base.tries = MAM_BASE_TRIES;
	return base;
}

/* ---- CUDA's own: malloc() and free() in kernels ----------------------------------------------- */

#ifdef __CUDACC__
MAM_KFN void *mam_base_cuda_alloc(void *heap, size_t bytes)
{
	(void)heap;
	return malloc(bytes);
}

/* It finds no mistakes. */
MAM_KFN bool mam_base_cuda_free(void *heap, void *block)
{
	(void)heap;
	free(block);
	return true;
}

MAM_KFN struct mam_kbase mam_base_cuda(void)
{
	struct mam_kbase base;

	base.alloc = mam_base_cuda_alloc;
	base.free = mam_base_cuda_free;
	base.heap = NULL;
	base.tries = MAM_BASE_CUDA_TRIES;
	return base;
}
#endif

#endif
