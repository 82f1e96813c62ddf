/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corw.h - CoRW: the lanes of a warp search together, and a lane that finds more than it needs
 * shares.
 *
 * Of the lanes that call together, until each has a page:
 * 1. Each locks and reads a random word; a word locked by another lane counts as full. That is a
 *    step of every lane.
 * 2. While one needs and one has: each lane that has offers its lowest free page. A lane preceded
 *    by s needy lanes takes the offer of the (s + 1)-th lane that has one: ballot, count,
 *    find-k-th-set, shuffle.
 * 3. Each lane allocates the pages of its word that were handed out, all at once, and unlocks it.
 *
 * Source: common.h, algorithms 3 and 4. The sketch sets a bit as soon as it is offered; here only
 * bits that a lane took are set, so no page is lost.
 *
 * Bound: mam_published_bound() steps in a row in which no lane found a page, then MAM_NO_PAGE for
 * those that still need one, though pages may be left. Between calls no lock bit is set.
 */
#ifndef MAM_BENCH_PAPERS_WALK_CORW_H
#define MAM_BENCH_PAPERS_WALK_CORW_H

#include "bench/papers/walk/bitlock.h"

struct mam_corw {
	struct mam_bitlock bits;
};

MAM_KBOTH size_t mam_corw_bytes(uint32_t count)
{
	return mam_bitlock_bytes(count);
}

MAM_KBOTH void mam_corw_format(MAM_GLOBAL struct mam_corw *corw, uint32_t count, uint32_t low)
{
	mam_bitlock_format(&corw->bits, count, low);
}

#ifndef MAM_DEVICE_PORT_HOST_H

/*
 * Step 2. `free` are the pages of the caller's word; returns those that were handed out. `page` is
 * the caller's page, if it has one or is handed one.
 */
MAM_KFN uint32_t mam_corw_share(uint32_t active, uint32_t word, uint32_t free, uint32_t *page)
{
	uint32_t below = (1u << mam_lane()) - 1, handed = 0;
	uint32_t need = mam_warp_ballot(active, *page == MAM_NO_PAGE);
	uint32_t has = mam_warp_ballot(active, free != 0);

	while (need && has) {
		uint32_t bit = free & (0u - free), source = 0, got;

		if (*page == MAM_NO_PAGE)
			source = mam_published_kth(has, mam_popc32(need & below) + 1);
		got = mam_warp_shuffle32(active, word * 32 + mam_ffs32(free) - 1,
					 source ? source - 1 : mam_lane());
		if (source)
			*page = got;
		if (mam_popc32(has & below) < mam_popc32(need)) {
			handed |= bit;
			free ^= bit;
		}
		need = mam_warp_ballot(active, *page == MAM_NO_PAGE);
		has = mam_warp_ballot(active, free != 0);
	}
	return handed;
}

/* Called by all lanes of `active`. */
MAM_KFN uint32_t mam_corw_together(MAM_GLOBAL struct mam_corw *corw,
				   struct mam_published_walk *walk, uint32_t active)
{
	MAM_GLOBAL struct mam_bitlock *bits = &corw->bits;
	uint32_t need = active, barren = 0, page = MAM_NO_PAGE;

	while (need && barren < bits->bound) {
		uint32_t word = mam_published_below(walk, bits->words), free, handed;
		bool locked;

		walk->steps++;
		free = mam_bitlock_enter(bits, word, &locked);
		barren = mam_warp_ballot(active, free != 0) ? 0 : barren + 1;
		handed = mam_corw_share(active, word, free, &page);
		if (locked)
			mam_bitlock_leave(bits, word, handed);
		need = mam_warp_ballot(active, page == MAM_NO_PAGE);
	}
	/* The lane that locked a page's word acquired it, on behalf of the lane that has it now. */
	mam_warp_sync(active);
	return page;
}

MAM_KFN uint32_t mam_corw_take(MAM_GLOBAL struct mam_corw *corw, struct mam_published_walk *walk)
{
	return mam_corw_together(corw, walk, mam_warp_active());
}

MAM_KFN bool mam_corw_give(MAM_GLOBAL struct mam_corw *corw, uint32_t page)
{
	return mam_bitlock_give(&corw->bits, page);
}

#endif
#endif
