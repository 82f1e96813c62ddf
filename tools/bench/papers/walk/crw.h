/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crw.h - CRW: a lane looks first where it found its last page.
 *
 * 1. The word that contains the page after the lane's last one: its lowest free page, if it has
 *    one. That look is a step.
 * 2. Otherwise random words, as in RW-BM. The page is remembered either way.
 *
 * Source: common.h, algorithm 5. A lane that has had no page yet starts with 2; page 0 follows the
 * last page. Bound: that of RW-BM and one more look.
 */
#ifndef MAM_BENCH_PAPERS_WALK_CRW_H
#define MAM_BENCH_PAPERS_WALK_CRW_H

#include "bench/papers/walk/bitlock.h"

struct mam_crw {
	struct mam_bitlock bits;
};

MAM_KBOTH size_t mam_crw_bytes(uint32_t count)
{
	return mam_bitlock_bytes(count);
}

MAM_KBOTH void mam_crw_format(MAM_GLOBAL struct mam_crw *crw, uint32_t count, uint32_t low)
{
	mam_bitlock_format(&crw->bits, count, low);
}

#ifndef MAM_DEVICE_PORT_HOST_H

MAM_KFN uint32_t mam_crw_take(MAM_GLOBAL struct mam_crw *crw, struct mam_published_walk *walk)
{
	uint32_t page = MAM_NO_PAGE;

	if (walk->last != MAM_NO_PAGE) {
		uint32_t next = walk->last + 1 < crw->bits.count ? walk->last + 1 : 0;

		walk->steps++;
		page = mam_bitlock_probe(&crw->bits, next / 32);
	}
	if (page == MAM_NO_PAGE)
		page = mam_bitlock_walk(&crw->bits, walk);
	if (page != MAM_NO_PAGE)
		walk->last = page;
	return page;
}

MAM_KFN bool mam_crw_give(MAM_GLOBAL struct mam_crw *crw, uint32_t page)
{
	return mam_bitlock_give(&crw->bits, page);
}

#endif
#endif
