/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.cuh - pages of a heap inside kernels, for CUDA C++ and for C under a simulator of kernels.
 *
 * The host makes a heap (heap.h) and passes mam_heap_device() of it to kernels:
 *
 *	#include <mam/heap.cuh>
 *
 *	__global__ void build(struct mam_kheap *heap, struct list **lists)
 *	{
 *		struct mam_kwalk walk;
 *		struct node *node;
 *
 *		mam_kpage_start(heap, &walk);
 *		node = (struct node *)mam_kpage_alloc(heap, &walk);
 *		if (node)
 *			...
 *		mam_kpage_free(heap, node);
 *	}
 *
 * A lane keeps a walk, sixteen bytes in its registers, for as long as it likes: it says where to
 * look next. One that was not started is garbage. A walk is of one heap.
 *
 * Who may call. Any lane at any time, alone or with others of its warp, also in divergent code:
 * lanes of a warp that happen to come together are served together. None waits for what another
 * warp does: one may stop anywhere, for ever, and all others go on.
 *
 * What is ordered. What a lane wrote to a page before it gave the page back, and what others wrote
 * that it had seen, happens before what the page's next holder does with it, wherever on the device
 * that is. Nothing else is ordered: to pass a page to another lane takes a barrier or a release and
 * an acquire, as with any memory. Between kernels their stream's order is enough.
 *
 * Contents. A page is not cleared: it has what its last holder wrote.
 *
 * Mistakes. A page given back twice, or an address that is no page's first byte, changes nothing,
 * is counted (mam_heap_stats()) and answered with false; but a page that was given back and taken
 * again by another is that one's, and giving it back once more takes it away. A pointer to a head
 * that is none is undefined, and so is use after mam_heap_destroy().
 *
 * Compile with -I to where mam's headers are installed; sm_70 and later.
 */
#ifndef MAM_HEAP_CUH
#define MAM_HEAP_CUH

#if !defined(__CUDACC__) && !defined(MAM_SIMT)
#error "mam/heap.cuh is for kernels: compile it by nvcc, in a .cu file; else include mam/heap.h"
#endif

#include <mam/heap.h>

#include "heap/head.h"
#include "heap/pages.h"

/* The pages' own calls, for who would rather have numbers than addresses: heap/pages.h. */
MAM_KFN struct mam_pages *mam_kpage_books(struct mam_kheap *heap)
{
	return (struct mam_pages *)(heap + 1);
}

/* Before the first request. Costs no access to memory that changes. */
MAM_KFN void mam_kpage_start(struct mam_kheap *heap, struct mam_kwalk *walk)
{
	mam_kwalk_start(walk, mam_kpage_books(heap));
}

/* Bytes of a page. */
MAM_KFN size_t mam_kpage_bytes(const struct mam_kheap *heap)
{
	return (size_t)1 << heap->shift;
}

/* The address of page `number`; NULL: MAM_NO_PAGE. pre: it is MAM_NO_PAGE or below heap->pages. */
MAM_KFN void *mam_kpage_at(const struct mam_kheap *heap, uint32_t number)
{
	return number == MAM_NO_PAGE ? NULL : heap->ground + ((uint64_t)number << heap->shift);
}

/* The page that begins at `address`; MAM_NO_PAGE: none of this heap does. */
MAM_KFN uint32_t mam_kpage_number(const struct mam_kheap *heap, const void *address)
{
	uint64_t offset = (uint64_t)((uintptr_t)address - (uintptr_t)heap->ground);
	uint64_t number = offset >> heap->shift;

	return number < heap->pages && number << heap->shift == offset ? (uint32_t)number
								       : MAM_NO_PAGE;
}

/* The same for an address anywhere in a page. */
MAM_KFN uint32_t mam_kpage_around(const struct mam_kheap *heap, const void *address)
{
	uint64_t number =
		(uint64_t)((uintptr_t)address - (uintptr_t)heap->ground) >> heap->shift;

	return number < heap->pages ? (uint32_t)number : MAM_NO_PAGE;
}

/*
 * mam_kpage_alloc - one page, at a multiple of its size. NULL, counted: all pages were seen taken,
 * each once, in one scan.
 */
MAM_KFN void *mam_kpage_alloc(struct mam_kheap *heap, struct mam_kwalk *walk)
{
	return mam_kpage_at(heap, mam_pages_take(mam_kpage_books(heap), walk));
}

/* mam_kpage_free - true: it is given back. NULL: true, nothing done. */
MAM_KFN bool mam_kpage_free(struct mam_kheap *heap, void *page)
{
	return page == NULL ||
	       mam_pages_give(mam_kpage_books(heap), mam_kpage_number(heap, page));
}

/*
 * mam_kpage_alloc_run - `n` pages in a row, 1 to all, each lane its own number of them; at a
 * multiple of one page's size. NULL, counted: no `n` free pages in a row were seen, or `n` is out
 * of range, or too many such requests were in each other's way.
 */
MAM_KFN void *mam_kpage_alloc_run(struct mam_kheap *heap, struct mam_kwalk *walk, uint32_t n)
{
	return mam_kpage_at(heap, mam_pages_take_run(mam_kpage_books(heap), walk, n));
}

/*
 * mam_kpage_free_run - `n` pages from `page` on, which need not be what was taken together: a run
 * may be given back in parts, and single pages as a run. False: at least one of them was not
 * taken, or there are not so many; what was taken is given back nevertheless.
 */
MAM_KFN bool mam_kpage_free_run(struct mam_kheap *heap, void *page, uint32_t n)
{
	return page == NULL ||
	       mam_pages_give_run(mam_kpage_books(heap), mam_kpage_number(heap, page), n);
}

#endif
