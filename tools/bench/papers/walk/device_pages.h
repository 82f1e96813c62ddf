/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_pages.h - makes an allocator of mam bench device from one that returns page numbers: a
 * request returns the address of one page of the size that the heap was made for.
 *
 * A header before the allocator's own metadata has the address of its pages. A page has a multiple
 * of 16 bytes; that multiple is an odd number times a power of two. An exact multiple of an odd
 * number can be divided by a multiplication with its inverse: a free costs a shift and a
 * multiplication.
 *
 * Each call starts a new search, seeded by the clock: a lane has no place to keep its state from
 * call to call. So crw loses its cached position, the page it got last.
 */
#ifndef MAM_BENCH_PAPERS_WALK_DEVICE_PAGES_H
#define MAM_BENCH_PAPERS_WALK_DEVICE_PAGES_H

#include "device/port.h"

#define BENCH_PAGE_GRAIN 16u

/* All of it is set at the start and never changes. */
struct bench_pages {
	unsigned char *space;
	uint32_t page_bytes; /* a multiple of BENCH_PAGE_GRAIN */
	uint32_t shift;      /* 16-byte units of a page: 1 << shift, times an odd number */
	uint32_t inverse;    /* of that one, modulo 2^32 */
	uint32_t pad[27];    /* the metadata begins at a line */
};

/* By the host. The pages have at most 2^32 units in total. */
MAM_KBOTH void bench_pages_format(struct bench_pages *pages, unsigned char *space,
				  uint32_t page_bytes)
{
	uint32_t odd = page_bytes / BENCH_PAGE_GRAIN, round;

	pages->space = space;
	pages->page_bytes = page_bytes;
	pages->shift = 0;
	for (; odd % 2 == 0; odd /= 2)
		pages->shift++;
	/*
	 * Newton's method: an odd number is its own inverse in 3 bits, and each round doubles the
	 * number of correct bits.
	 */
	pages->inverse = odd;
	for (round = 0; round < 4; round++)
		pages->inverse *= 2 - odd * pages->inverse;
}

MAM_KBOTH void *bench_pages_at(const struct bench_pages *pages, uint32_t page)
{
	return pages->space + (uint64_t)page * pages->page_bytes;
}

/* By the address of a page's first byte. */
MAM_KBOTH uint32_t bench_pages_number(const struct bench_pages *pages, const void *object)
{
	const uint64_t offset = (uint64_t)((const unsigned char *)object - pages->space);

	return ((uint32_t)(offset / BENCH_PAGE_GRAIN) >> pages->shift) * pages->inverse;
}

/* The two calls of an adapter over mam_NAME_take() and mam_NAME_give() of tools/bench/papers/walk/. */
#define BENCH_PAGES(name)                                                           \
	MAM_KFN void *bench_malloc(void *heap, size_t bytes)                        \
	{                                                                           \
		struct bench_pages *pages = (struct bench_pages *)heap;             \
		struct mam_published_walk walk;                                     \
		uint32_t page;                                                      \
                                                                                    \
		if (bytes > pages->page_bytes)                                      \
			return NULL;                                                \
		mam_published_start(&walk, (uint32_t)mam_clock());                  \
		page = mam_##name##_take((struct mam_##name *)(pages + 1), &walk);  \
		return page == MAM_NO_PAGE ? NULL : bench_pages_at(pages, page);    \
	}                                                                           \
	MAM_KFN void bench_free(void *heap, void *object, size_t bytes)             \
	{                                                                           \
		struct bench_pages *pages = (struct bench_pages *)heap;             \
                                                                                    \
		(void)bytes;                                                        \
		if (object != NULL)                                                 \
			(void)mam_##name##_give((struct mam_##name *)(pages + 1),   \
						bench_pages_number(pages, object)); \
	}

#endif
