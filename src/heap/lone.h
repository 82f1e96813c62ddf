/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lone.h - one page for a lane that calls alone.
 *
 * 1. Set one bit where the walk is, without a look before: the old value is the look. Mostly
 *    that is all.
 * 2. If it was taken, the old value shows the word's other pages: claim a free one while there
 *    is one.
 * 3. Else look at the next words, several loads in flight; claim a free page there.
 * 4. Else jump to a random place, and so on from 3.
 * 5. After `patience` pages seen taken, one after another, scan (scan.h).
 *
 * Source: the random walk of Pham et al., ACM TOPC 12(1), 2025; the blind claim is ours.
 */
#ifndef MAM_HEAP_LONE_H
#define MAM_HEAP_LONE_H

#include "heap/scan.h"

/* Steps 3 to 5. */
MAM_KSLOW struct mam_kfound mam_lone_search(MAM_GLOBAL struct mam_pages *pages,
					    struct mam_kwalk walk)
{
	uint32_t words = pages->words, vain = 64, end;
	struct mam_kfound found;

	found.walk = walk;
	MAM_ROLLED
	while (vain < pages->patience) {
		end = found.walk.word + MAM_SCAN_LOOKS;
		found.page = mam_scan_part(mam_pages_bits(pages), &found.walk, found.walk.word,
					   end < words ? end : words);
		if (found.page != MAM_NO_PAGE)
			return found;
		vain += 64 * MAM_SCAN_LOOKS;
		mam_walk_jump(&found.walk, pages);
	}
	return mam_scan_lone(pages, found.walk);
}

MAM_KFN uint32_t mam_lone_take(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk)
{
	MAM_GLOBAL uint64_t *bits = mam_pages_bits(pages);
	uint64_t chosen = (uint64_t)1 << walk->bit, seen;
	struct mam_kfound found;
	uint32_t page;

	walk->steps++;
	seen = mam_bitmap_claim(bits, walk->word, chosen);
	page = walk->word * 64 + walk->bit;
	if (seen & chosen) {
		page = mam_scan_claim(bits, walk->word, seen, walk->bit);
		if (page == MAM_NO_PAGE) {
			found = mam_lone_search(pages, *walk);
			*walk = found.walk;
			page = found.page;
		}
	}
	if (page != MAM_NO_PAGE) {
		walk->word = (page + 1) / 64 < pages->words ? (page + 1) / 64 : 0;
		walk->bit = (page + 1) % 64;
	}
	return page;
}

#endif
