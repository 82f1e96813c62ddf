/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_pages.h - a heap of pages as a base: each block is a run of pages that stores its length.
 *
 * 1. A request and the 16 bytes before it take as many consecutive pages as they need
 *    (heap/pages/pages.h); the 16 bytes hold a mark and the number of pages. A request that fits on a
 *    page takes one page.
 * 2. A free clears the mark and frees that many pages. It trusts the number only if the mark is
 *    present, at the begin of a page, and if the heap has as many pages after it.
 *
 * Source: runs and the search for them are those of heap/pages/pages.h (Pham, Asano, Zhang, Jung, ACM
 * TOPC 2025). There the caller of a free passes the size; a base does not get it.
 *
 * Bound: that of mam_pages_take_run(), with a new search for each request; a free costs one load
 * more than mam_pages_give_run(). Each block wastes up to 16 bytes, and a page less one byte: it is
 * a base for coalesced requests, not for small ones.
 *
 * Invariants:
 * - A double free finds no mark, as long as no thread has written there since. Of two concurrent
 *   frees of the same block, the second finds free pages, or pages of another owner.
 * - A mark is written before the block is returned, and cleared before its pages are free.
 */
#ifndef MAM_COALESCE_BASE_PAGES_H
#define MAM_COALESCE_BASE_PAGES_H

#include "coalesce/base.h"
#include "heap/pages/head.h"
#include "heap/pages/pages.h"

#define MAM_BASE_PAGES_MARK ((uint64_t)0x9a6e5b) /* above the number of pages */
#define MAM_BASE_PAGES_MARK_SHIFT 40

/* Pages for `bytes` and the header before them. MAM_NO_PAGE: more than there can be. */
MAM_KFN uint32_t mam_base_pages_count(uint32_t shift, size_t bytes)
{
	uint64_t pages =
		((uint64_t)bytes >> shift) + ((((uint64_t)bytes & (((uint64_t)1 << shift) - 1)) +
					       MAM_BASE_ALIGN + ((uint64_t)1 << shift) - 1) >>
					      shift);

	return pages < MAM_NO_PAGE ? (uint32_t)pages : MAM_NO_PAGE;
}

MAM_KFN void *mam_base_pages_alloc(void *heap, size_t bytes)
{
	struct mam_kheap *space = (struct mam_kheap *)heap;
	struct mam_pages *metadata = (struct mam_pages *)(space + 1);
	uint32_t shift = space->shift, pages = mam_base_pages_count(shift, bytes), first;
	struct mam_kwalk walk;
	unsigned char *run;

	mam_kwalk_start(&walk, metadata);
	first = mam_pages_take_run(metadata, &walk, pages);
	if (first == MAM_NO_PAGE)
		return NULL;
	run = space->space + ((uint64_t)first << shift);
	mam_atomic_store64((uint64_t *)(void *)run,
			   MAM_BASE_PAGES_MARK << MAM_BASE_PAGES_MARK_SHIFT | pages, MAM_RELAXED,
			   MAM_AT_DEVICE);
	return run + MAM_BASE_ALIGN;
}

MAM_KFN bool mam_base_pages_free(void *heap, void *block)
{
	struct mam_kheap *space = (struct mam_kheap *)heap;
	uint64_t offset = (uint64_t)((uintptr_t)block - MAM_BASE_ALIGN - (uintptr_t)space->space);
	uint64_t first = offset >> space->shift, word, pages;
	uint64_t *header;

	if (first >= space->pages || first << space->shift != offset)
		return false;
	header = (uint64_t *)(void *)(space->space + offset);
	word = mam_global_load64(header, MAM_RELAXED, MAM_AT_DEVICE);
	pages = word & (((uint64_t)1 << MAM_BASE_PAGES_MARK_SHIFT) - 1);
	if (word >> MAM_BASE_PAGES_MARK_SHIFT != MAM_BASE_PAGES_MARK || !pages ||
	    pages > space->pages - first)
		return false;
	mam_atomic_store64(header, 0, MAM_RELAXED, MAM_AT_DEVICE);
	return mam_pages_give_run((struct mam_pages *)(space + 1), (uint32_t)first,
				  (uint32_t)pages);
}

/* `heap` is a heap of pages with a page size of at least 16. */
MAM_KFN struct mam_kbase mam_base_pages(struct mam_kheap *heap)
{
	struct mam_kbase base;

	base.alloc = mam_base_pages_alloc;
	base.free = mam_base_pages_free;
	base.tries = MAM_BASE_TRIES;
	base.heap = heap;
	return base;
}

#endif
