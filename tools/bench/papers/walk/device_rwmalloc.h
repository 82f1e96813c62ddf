/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_rwmalloc.h - an adapter of mam bench device: RW_malloc, a run of units for each request. A
 * free specifies the number of bytes.
 */
#ifndef MAM_BENCH_PAPERS_WALK_DEVICE_RWMALLOC_H
#define MAM_BENCH_PAPERS_WALK_DEVICE_RWMALLOC_H

#include "bench/papers/walk/rwmalloc.h"
#include "bench/papers/walk/device_pages.h"

MAM_KFN uint32_t bench_units(const struct bench_pages *pages, size_t bytes)
{
	/* Most requests are for one unit of the heap: avoid the division. */
	return bytes <= pages->page_bytes
		       ? 1
		       : ((uint32_t)bytes + pages->page_bytes - 1) / pages->page_bytes;
}

MAM_KFN void *bench_malloc(void *heap, size_t bytes)
{
	struct bench_pages *pages = (struct bench_pages *)heap;
	struct mam_published_walk walk;
	uint32_t unit;

	mam_published_start(&walk, (uint32_t)mam_clock());
	unit = mam_rwmalloc_take((struct mam_rwmalloc *)(pages + 1), &walk,
				 bench_units(pages, bytes));
	return unit == MAM_NO_PAGE ? NULL : bench_pages_at(pages, unit);
}

MAM_KFN void bench_free(void *heap, void *object, size_t bytes)
{
	struct bench_pages *pages = (struct bench_pages *)heap;

	if (object != NULL)
		(void)mam_rwmalloc_give((struct mam_rwmalloc *)(pages + 1),
					bench_pages_number(pages, object),
					bench_units(pages, bytes));
}

#endif
