/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bumpw.h - a bare counter, one atomic for the lanes of a warp that call together: the upper limit.
 *
 * The lowest lane adds the number of callers; each takes its page by its rank among them. Pages are
 * never freed.
 */
#ifndef MAM_BENCH_PAPERS_WALK_BUMPW_H
#define MAM_BENCH_PAPERS_WALK_BUMPW_H

#include "bench/papers/walk/common.h"

struct mam_bumpw {
	uint32_t count; /* pages; never changes */
	uint32_t spare[31];
	uint64_t next; /* pages requested; atomic */
	uint64_t away[15];
};

MAM_KBOTH size_t mam_bumpw_bytes(uint32_t count)
{
	(void)count;
	return sizeof(struct mam_bumpw);
}

MAM_KBOTH void mam_bumpw_format(MAM_GLOBAL struct mam_bumpw *bumpw, uint32_t count, uint32_t low)
{
	(void)low;
	bumpw->count = count;
	bumpw->next = 0;
}

#ifndef MAM_DEVICE_PORT_HOST_H

MAM_KFN uint32_t mam_bumpw_take(MAM_GLOBAL struct mam_bumpw *bumpw, struct mam_published_walk *walk)
{
	uint32_t active = mam_warp_active(), lead = mam_ffs32(active) - 1;
	uint64_t page = 0;

	if (mam_lane() == lead)
		page = mam_atomic_add64(&bumpw->next, mam_popc32(active), MAM_RELAXED,
					MAM_AT_DEVICE);
	page = mam_warp_shuffle64(active, page, lead) +
	       mam_popc32(active & ((1u << mam_lane()) - 1));
	walk->steps++;
	return page < bumpw->count ? (uint32_t)page : MAM_NO_PAGE;
}

/* Frees nothing. */
MAM_KFN bool mam_bumpw_give(MAM_GLOBAL struct mam_bumpw *bumpw, uint32_t page)
{
	return page < bumpw->count;
}

#endif
#endif
