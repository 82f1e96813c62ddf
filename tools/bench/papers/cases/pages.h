/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - makes an allocator of `mam bench case` from one of tools/bench/papers/walk that returns page
 * numbers (device_pages.h): each request returns one page, whatever its size, if the page is large
 * enough. Each request begins a new search, whose steps it counts.
 */
#ifndef MAM_TOOLS_BENCH_CASES_PAGES_H
#define MAM_TOOLS_BENCH_CASES_PAGES_H

#include "bench/papers/walk/device_pages.h"

#define CASE_PAGES(name)                                                            \
	MAM_KFN void *case_pages_alloc(void *heap, uint32_t bytes, uint32_t *steps) \
	{                                                                           \
		struct bench_pages *pages = (struct bench_pages *)heap;             \
		struct mam_published_walk walk;                                     \
		uint32_t page;                                                      \
                                                                                    \
		if (bytes > pages->page_bytes)                                      \
			return NULL;                                                \
		mam_published_start(&walk, (uint32_t)mam_clock());                  \
		page = mam_##name##_take((struct mam_##name *)(pages + 1), &walk);  \
		*steps += walk.steps;                                               \
		return page == MAM_NO_PAGE ? NULL : bench_pages_at(pages, page);    \
	}                                                                           \
	MAM_KFN void case_pages_free(void *heap, void *object)                      \
	{                                                                           \
		struct bench_pages *pages = (struct bench_pages *)heap;             \
                                                                                    \
		if (object != NULL)                                                 \
			(void)mam_##name##_give((struct mam_##name *)(pages + 1),   \
						bench_pages_number(pages, object)); \
	}

#define CASE_ALLOC(heap, bytes, steps) case_pages_alloc(heap, bytes, steps)
#define CASE_FREE(heap, object, bytes) ((void)(bytes), case_pages_free(heap, object))

#endif
