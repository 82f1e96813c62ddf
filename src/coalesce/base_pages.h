/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_pages.h - a heap of pages as a base: each block is a run of pages that knows how many it has.
 *
 * 1. A request and 16 bytes in front of it are that many pages in a row (heap/pages.h); the 16 bytes
 *    hold a mark and the number of pages. What fits on a page is one page.
 * 2. A free wipes the mark and gives back as many pages. It believes the number only where the mark
 *    is, at the begin of a page, and where the heap has so many pages behind it.
 *
 * Source: runs and the walk to them are those of heap/pages.h (Pham, Asano, Zhang, Jung, ACM TOPC
 * 2025). There whoever frees knows the size; a base is not told it.
 *
 * Bound: that of mam_pages_take_run(), with a walk that is started anew for each request; a free, a
 * load more than mam_pages_give_run(). Up to 16 bytes, and a page less one byte, are lost a block: a
 * base for requests that were put together, not for small ones.
 *
 * What holds:
 * - Who frees what was freed before finds no mark, as long as nobody wrote there since; of two that
 *   free the same at once the second finds free pages, or somebody else's.
 * - A mark is written before the block is handed out, and wiped before its pages are free.
 */
#ifndef MAM_COALESCE_BASE_PAGES_H
#define MAM_COALESCE_BASE_PAGES_H

#include "coalesce/base.h"
#include "heap/head.h"
#include "heap/pages.h"

#define MAM_BASE_PAGES_MARK ((uint64_t)0x9a6e5b) /* above the number of pages */
#define MAM_BASE_PAGES_MARK_SHIFT 40

/* Pages for `bytes` and what is in front of them; more than there can be where it is too much. */
MAM_KFN uint32_t mam_base_pages_count(uint32_t shift, size_t bytes)
{
	uint64_t pages = ((uint64_t)bytes >> shift) +
			 ((((uint64_t)bytes & (((uint64_t)1 << shift) - 1)) + MAM_BASE_ALIGN +
			   ((uint64_t)1 << shift) - 1) >>
			  shift);

	return pages < MAM_NO_PAGE ? (uint32_t)pages : MAM_NO_PAGE;
}

MAM_KFN void *mam_base_pages_alloc(void *heap, size_t bytes)
{
	struct mam_kheap *ground = (struct mam_kheap *)heap;
	struct mam_pages *books = (struct mam_pages *)(ground + 1);
	uint32_t shift = ground->shift, pages = mam_base_pages_count(shift, bytes), first;
	struct mam_kwalk walk;
	unsigned char *run;

	mam_kwalk_start(&walk, books);
	first = mam_pages_take_run(books, &walk, pages);
	if (first == MAM_NO_PAGE)
		return NULL;
	run = ground->ground + ((uint64_t)first << shift);
	mam_atomic_store64((uint64_t *)(void *)run,
			   MAM_BASE_PAGES_MARK << MAM_BASE_PAGES_MARK_SHIFT | pages, MAM_RELAXED,
			   MAM_AT_DEVICE);
	return run + MAM_BASE_ALIGN;
}

MAM_KFN bool mam_base_pages_free(void *heap, void *block)
{
	struct mam_kheap *ground = (struct mam_kheap *)heap;
	uint64_t offset = (uint64_t)((uintptr_t)block - MAM_BASE_ALIGN - (uintptr_t)ground->ground);
	uint64_t first = offset >> ground->shift, word, pages;
	uint64_t *header;

	if (first >= ground->pages || first << ground->shift != offset)
		return false;
	header = (uint64_t *)(void *)(ground->ground + offset);
	word = mam_global_load64(header, MAM_RELAXED, MAM_AT_DEVICE);
	pages = word & (((uint64_t)1 << MAM_BASE_PAGES_MARK_SHIFT) - 1);
	if (word >> MAM_BASE_PAGES_MARK_SHIFT != MAM_BASE_PAGES_MARK || !pages ||
	    pages > ground->pages - first)
		return false;
	mam_atomic_store64(header, 0, MAM_RELAXED, MAM_AT_DEVICE);
	return mam_pages_give_run((struct mam_pages *)(ground + 1), (uint32_t)first,
				  (uint32_t)pages);
}

/* `heap` is one of pages, whose size is at least 16. */
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
