/* SPDX-License-Identifier: Apache-2.0 */
/*
 * release.h - frees pages; those of lanes that call together with few atomics.
 *
 * 1. Lanes that allocated pages together mostly have consecutive ones. A lane whose page is the
 *    lowest lane's page plus its own rank is in line, if the word is the same. One atomic frees all
 *    of those.
 * 2. Each of the other lanes uses an atomic of its own: all are issued together, in one round trip.
 * 3. The old value shows which pages were already free: those are counted, and nothing changes.
 *
 * Slower alternatives, on an H100: one atomic per lane, 2 times slower for a million consecutive
 * pages; the others' atomics after the leader's, 1.2 times slower for a thousand scattered pages;
 * step 1 for fewer than six lanes, 1.2 times slower.
 *
 * The barrier before 1 orders the writes of all lanes before the one release.
 */
#ifndef MAM_HEAP_PAGES_RELEASE_H
#define MAM_HEAP_PAGES_RELEASE_H

#include "heap/pages/bitmap.h"
#include "heap/pages/tally.h"

/* With at least so many lanes, one atomic for all is worth its overhead. */
#define MAM_RELEASE_MANY 6

MAM_KFN bool mam_release_lone(MAM_GLOBAL struct mam_pages *pages, uint32_t page)
{
	uint64_t bit = (uint64_t)1 << page % 64;

	return mam_bitmap_release(mam_pages_bits(pages), page / 64, bit) & bit;
}

/* One page for each lane of `mask`, which must be the active lanes. */
MAM_KFN bool mam_release_warp(MAM_GLOBAL struct mam_pages *pages, uint32_t page, uint32_t mask)
{
	uint32_t lower = mask & ((1u << mam_lane()) - 1), leader = mam_ffs32(mask) - 1;
	uint32_t rank = mam_popc32(lower), first, fits, twice;
	uint64_t given;

	if (mam_popc32(mask) < MAM_RELEASE_MANY)
		return mam_release_lone(pages, page);
	mam_warp_sync(mask);
	first = mam_warp_shuffle32(mask, page, leader);
	/* By rank: the lanes whose page is in line. */
	fits = mam_warp_ballot(mask, page == first + rank && page / 64 == first / 64);
	/* Some lanes of a warp, with gaps: bits by rank are not bits by lane. */
	if (mask + 1 && fits != mask)
		fits = mask & (~mask + 1);
	given = (uint64_t)1 << page % 64;
	if (fits & 1u << mam_lane())
		given = 0;
	if (!lower)
		given = (mask + 1 ? mam_bits_span(0, mam_popc32(fits)) : fits) << first % 64;
	if (given)
		given &= ~mam_bitmap_release(mam_pages_bits(pages), page / 64, given);
	twice = mam_warp_shuffle32(mask, (uint32_t)(given >> first % 64), leader);
	return fits & 1u << mam_lane() ? !(twice >> rank & 1) : !given;
}

#endif
