/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.h - the interface of a base, the allocator under a coalescer or a buffer: any allocator for
 * kernels that has malloc and free.
 *
 * A base is two functions and their first argument. The base is chosen at compile time: all code
 * here and above is inlined, so the pointers below are constants that the compiler calls directly,
 * and no kernel makes an indirect call.
 *
 * Contract of a base:
 *   alloc   `bytes`, 1 or more, at an address that is a multiple of MAM_BASE_ALIGN; NULL: there is
 *           no space. Any lane may call at any time, alone or with others, in divergent code.
 *   free    frees the result of alloc, once, by any lane of any kernel. False: it detected an
 *           invalid free, and changed nothing. All that the caller wrote and had observed before
 *           happens before the accesses of the block's next owner.
 * A base may wait for other warps only if its documentation states this, as for CUDA's own.
 *
 * A base also specifies:
 *   tries   how many lost tries at buffers (buffers.h) a request makes before it calls the base; 0:
 *           MAM_BASE_TRIES. Use many if a request to the base costs microseconds and delays the
 *           next one.
 */
#ifndef MAM_COALESCE_BASE_H
#define MAM_COALESCE_BASE_H

#include "heap/calls/entry.h"

#define MAM_BASE_ALIGN 16u
#define MAM_BASE_TRIES 3u
/* CUDA serves one malloc() at a time, 1 to 2 us each: a try takes less time. */
#define MAM_BASE_CUDA_TRIES 128u

struct mam_kbase {
	void *(*alloc)(void *heap, size_t bytes);
	bool (*free)(void *heap, void *block);
	void *heap; /* the first argument of both */
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

/* CUDA's free() detects no invalid frees. */
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
