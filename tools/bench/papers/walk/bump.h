/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bump.h - a bare counter, one atomic per lane: the minimum cost of any allocator with a central
 * word.
 *
 * A page is the counter's next number; it is never freed. Compilers combine such an add into one
 * atomic per warp, so the counter's address is hidden from them; bumpw.h is the variant with one
 * atomic per warp.
 */
#ifndef MAM_BENCH_PAPERS_WALK_BUMP_H
#define MAM_BENCH_PAPERS_WALK_BUMP_H

#include "bench/papers/walk/common.h"

struct mam_bump {
	uint32_t count;     /* pages; never changes */
	uint32_t spare[31]; /* zeros */
	uint64_t next;      /* pages requested; atomic */
	uint64_t away[15];
};

MAM_KBOTH size_t mam_bump_bytes(uint32_t count)
{
	(void)count;
	return sizeof(struct mam_bump);
}

MAM_KBOTH void mam_bump_format(MAM_GLOBAL struct mam_bump *bump, uint32_t count, uint32_t low)
{
	(void)low;
	bump->count = count;
	bump->next = 0;
}

#ifndef MAM_DEVICE_PORT_HOST_H

MAM_KFN uint32_t mam_bump_take(MAM_GLOBAL struct mam_bump *bump, struct mam_published_walk *walk)
{
	uint64_t page = mam_atomic_add64(mam_published_hidden(&bump->next, bump->spare), 1,
					 MAM_RELAXED, MAM_AT_DEVICE);

	walk->steps++;
	return page < bump->count ? (uint32_t)page : MAM_NO_PAGE;
}

/* Frees nothing. */
MAM_KFN bool mam_bump_give(MAM_GLOBAL struct mam_bump *bump, uint32_t page)
{
	return page < bump->count;
}

#endif
#endif
