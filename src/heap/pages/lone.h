/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lone.h - allocates one page for a lane that calls alone.
 *
 * 1. Set one bit at the search position, without a look before: the old value is the look. Mostly
 *    that suffices.
 * 2. If the page was allocated, the old value shows the word's other pages: claim a free one while
 *    there is one.
 * 3. Otherwise look at the next words, several loads in flight; claim a free page there.
 * 4. Otherwise jump to a random position, and continue with 3.
 * 5. After `patience` pages seen allocated, one after another, scan (scan.h).
 *
 * Source: the random walk of Pham et al., ACM TOPC 12(1), 2025; the blind claim is ours.
 */
#ifndef MAM_HEAP_PAGES_LONE_H
#define MAM_HEAP_PAGES_LONE_H

#include "heap/pages/scan.h"

/* Steps 3 to 5. */
MAM_KSLOW struct mam_kfound mam_lone_search(MAM_GLOBAL struct mam_pages *pages,
					    struct mam_kwalk walk)
{
	struct mam_kfound found;
	uint32_t vain = 64;

	found.walk = walk;
	MAM_ROLLED
	while (vain < pages->patience) {
		found.page = mam_scan_unit(pages, &found.walk, found.walk.place / 64);
		if (found.page != MAM_NO_PAGE)
			return found;
		vain += 64 * MAM_SCAN_LOOKS;
		mam_walk_jump(&found.walk, pages);
	}
	return mam_scan_lone(pages, found.walk);
}

MAM_KFN uint32_t mam_lone_take(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk)
{
	uint64_t chosen = (uint64_t)1 << walk->place % 64, seen;
	uint32_t page = walk->place, word = page / 64;
	struct mam_kfound found;

	walk->steps++;
	seen = mam_bitmap_claim(mam_pages_bits(pages), word, chosen);
	if (seen & chosen) {
		page = mam_scan_claim(mam_pages_bits(pages), word, seen, page);
		if (page == MAM_NO_PAGE) {
			found = mam_lone_search(pages, *walk);
			*walk = found.walk;
			page = found.page;
		}
	}
	if (page != MAM_NO_PAGE)
		walk->place = mam_walk_behind(pages, page);
	return page;
}

#endif
