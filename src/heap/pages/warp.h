/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp.h - allocates one page for each calling lane of a warp, all of them together.
 *
 * 1. Blind, if most of the heap seems free (walk.h): one lane sets as many bits as there are
 *    callers at its search position, without a look before. Mostly the old value shows that all
 *    were free: one atomic and one round trip for the warp.
 * 2. Otherwise look: each lane loads one of the words starting there.
 * 3. Claim: a lane without a page claims one of those it sees. For lanes that see none the others
 *    claim up to three more each; ballots of the two bits of that number are its prefix sum, for
 *    any set of lanes. One atomic per lane, all of them in one round trip.
 * 4. Deal: a lane keeps one page, the others go to lanes without one, by rank and shuffle.
 * 5. The old value of a failed claim is the next look at its word: again from 3 while free pages
 *    are in sight.
 * 6. Then jump to a random position and look again; after `patience` pages seen allocated one after
 *    another, scan: as 2 to 5, but every word once (tour.h; scan.h defines when its failure
 *    counts).
 *
 * No lane claims more pages than are needed, so no page is ever returned, and there is no
 * compare-and-swap. The claiming lane acquires; the others synchronize by the barrier at the end,
 * as a shuffle orders nothing.
 *
 * Bound: one atomic for a warp while pages are plenty; the number of words in round trips, divided
 * by the number of callers, to find the last page or none. Must hold: claimed pages that are not
 * yet dealt are never more than the lanes without one.
 *
 * Source: collaborative and clustered random walk, Pham et al., ACM TOPC 12(1), 2025; blind and
 * shared claims of several bits are ours.
 *
 * Slower alternatives, on an H100. Two words per lane in a look: 1.6 times slower at 1% free, as
 * the code is larger; four: twice as slow with one lane per warp, because of its registers.
 * Unrolled loops and atomics on generic addresses: 2.5 times slower at 1% free, where every SM
 * fetches the slow path for the first time. The look issued together with the blind claim: 1.25
 * times slower for 2 to 16 lanes in an empty heap, and no faster in a scarce one. The next look
 * issued together with the claims: the same within noise. No blind claim: 1.1 times faster at 50%
 * free, 2.5 times slower in an empty heap. Random starts in place of the golden section: 1.4 times
 * slower for 128K threads in an empty heap.
 */
#ifndef MAM_HEAP_PAGES_WARP_H
#define MAM_HEAP_PAGES_WARP_H

#include "heap/pages/scan.h"

/*
 * Distributes the need of the `starved` lanes: returns how many of its `free` spare pages the
 * caller must claim. At most three per lane, so that two ballots are the prefix sum.
 */
MAM_KFN uint32_t mam_warp_share(uint32_t mask, uint32_t lower, uint32_t free, uint32_t starved)
{
	uint32_t one, two, before, want = mam_popc32(starved);

	free = free < 3 ? free : 3;
	one = mam_warp_ballot(mask, free & 1);
	two = mam_warp_ballot(mask, free & 2);
	before = mam_popc32(one & lower) + 2 * mam_popc32(two & lower);
	want = before < want ? want - before : 0;
	return free < want ? free : want;
}

/*
 * Deals pages that lanes won for others: each of the `spare` lanes has a page `mine` for one of the
 * lanes without a page, by rank. There are never more of them than lanes without.
 */
MAM_KFN uint32_t mam_warp_deal(uint32_t mask, uint32_t lower, uint32_t spare, uint32_t mine,
			       uint32_t page)
{
	uint32_t rank = mam_popc32(mam_warp_ballot(mask, page == MAM_NO_PAGE) & lower), from;
	bool gets = page == MAM_NO_PAGE && rank < mam_popc32(spare);

	from = gets ? mam_bits_nth(spare, rank) : mam_ffs32(spare) - 1;
	mine = mam_warp_shuffle32(mask, mine, from);
	return gets ? mine : page;
}

/* The word of a lane of this rank when all look starting at `word`, and its number in `at`. */
MAM_KFN uint64_t mam_warp_look(MAM_GLOBAL struct mam_pages *pages, uint32_t word, uint32_t rank,
			       uint32_t *at)
{
	uint32_t words = pages->words;

	if (rank >= words)
		return MAM_WORD_FULL;
	word += rank;
	*at = word < words ? word : word - words;
	return mam_bitmap_load(mam_pages_bits(pages), *at);
}

/*
 * Steps 2 to 5 starting at `word`, over as many words as there are callers. Returns the caller's
 * page; `needy` are the lanes without one, `vain` is set if no free page was seen.
 */
MAM_KFN uint32_t mam_warp_harvest(MAM_GLOBAL struct mam_pages *pages, uint32_t word, uint32_t mask,
				  uint32_t page, uint32_t from, uint32_t *needy, bool *vain)
{
	uint32_t lower = mask & ((1u << mam_lane()) - 1), has, starved, share, at = 0;
	uint64_t seen = mam_warp_look(pages, word, mam_popc32(lower), &at), won;

	*vain = true;
	MAM_ROLLED
	while (*needy && (has = mam_warp_ballot(mask, ~seen != 0)) != 0) {
		*vain = false;
		/* Claim: a page for the caller, and its share for lanes that see none. */
		starved = *needy & ~has;
		share = page == MAM_NO_PAGE && ~seen;
		if (starved)
			share += mam_warp_share(mask, lower, mam_popc64(~seen) - share, starved);
		won = 0;
		if (share) {
			won = mam_bits_pick(~seen, share, from);
			seen = mam_bitmap_claim(mam_pages_bits(pages), at, won);
			won &= ~seen;
			seen |= won;
		}
		if (page == MAM_NO_PAGE && won) {
			page = at * 64 + mam_ffs64(won) - 1;
			won &= won - 1;
		}
		/* Deal. */
		MAM_ROLLED
		while (starved && (has = mam_warp_ballot(mask, won != 0)) != 0) {
			page = mam_warp_deal(mask, lower, has, at * 64 + mam_ffs64(won) - 1, page);
			won &= won - 1;
		}
		*needy = mam_warp_ballot(mask, page == MAM_NO_PAGE);
	}
	return page;
}

/*
 * After a scan that failed: returns whether the lanes of `needy` fail. They do if the scan counts,
 * or if it was the last; otherwise this pauses, and they scan again. The same in all lanes.
 */
MAM_KSLOW bool mam_warp_conclude(MAM_GLOBAL struct mam_pages *pages, uint32_t mask, uint32_t needy,
				 uint32_t scans, uint32_t undone)
{
	uint32_t leader = mam_ffs32(mask) - 1, counts = 0;

	/* Orders the loads of all lanes before those of the leader. */
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	mam_warp_sync(mask);
	if (mam_lane() == leader) {
		counts = mam_scan_counts(pages, undone);
		if (counts || scans == MAM_SCANS_MAX)
			mam_tally_add(pages, counts ? MAM_TALLY_FULL : MAM_TALLY_CONTENDED,
				      mam_popc32(needy));
	}
	if (mam_warp_shuffle32(mask, counts, leader) || scans == MAM_SCANS_MAX)
		return true;
	mam_scan_pause(scans);
	return false;
}

/* The last resort: every word once, and again until a scan counts. */
MAM_KSLOW struct mam_kfound mam_warp_scan(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk walk,
					  uint32_t mask, uint32_t page)
{
	uint32_t needy = mam_warp_ballot(mask, page == MAM_NO_PAGE);
	uint32_t scans = 0, undone, next, word;
	struct mam_kfound found;
	bool vain;

	do {
		undone = mam_scan_begin(pages);
		mam_warp_sync(mask);
		(void)mam_walk_random(&walk);
		next = 0;
		MAM_ROLLED
		while (needy) {
			/*
			 * As many words as a power of two of lanes looks at; the remaining lanes
			 * look further.
			 */
			word = mam_tour_next(pages->words, 63 - mam_clz64(mam_popc32(mask)),
					     walk.state, &next);
			if (word == MAM_TOUR_END)
				break;
			walk.place = word * 64;
			walk.steps++;
			page = mam_warp_harvest(pages, word, mask, page, walk.state >> 26, &needy,
						&vain);
		}
	} while (needy && !mam_warp_conclude(pages, mask, needy, ++scans, undone));
	mam_warp_sync(mask);
	found.walk = walk;
	found.page = page;
	return found;
}

/*
 * Steps 2 to 6, for the lanes of `mask`, of which the caller has `page` or MAM_NO_PAGE. The search
 * position is the same in all of them. Code size matters here: the first warp of each SM that gets
 * here waits for every cache line of it.
 */
MAM_KSLOW struct mam_kfound mam_warp_search(MAM_GLOBAL struct mam_pages *pages,
					    struct mam_kwalk walk, uint32_t mask, uint32_t page)
{
	uint32_t needy = mam_warp_ballot(mask, page == MAM_NO_PAGE), looked = 0;
	struct mam_kfound found;
	bool vain;

	walk.state = mam_warp_shuffle32(mask, walk.state, mam_ffs32(mask) - 1);
	MAM_ROLLED
	for (;;) {
		walk.steps++;
		page = mam_warp_harvest(pages, walk.place / 64, mask, page, walk.state >> 26,
					&needy, &vain);
		if (!needy)
			break;
		looked = vain ? looked + mam_popc32(mask) : 0;
		if (looked * 64 >= pages->patience) {
			found = mam_warp_scan(pages, walk, mask, page);
			found.walk.state += mam_lane() * MAM_WALK_GOLDEN;
			return found;
		}
		mam_walk_jump(&walk, pages);
	}
	mam_warp_sync(mask);
	/* Each lane had the bit that it prefers: a blind claim would have succeeded. */
	walk.blind = mam_warp_ballot(mask, page % 64 == walk.state >> 26) == mask;
	walk.state += mam_lane() * MAM_WALK_GOLDEN;
	found.walk = walk;
	found.page = page;
	return found;
}

/* Allocates one page for each lane of `mask`, which must be the active lanes: more than one. */
MAM_KFN uint32_t mam_warp_take(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk,
			       uint32_t mask)
{
	uint32_t rank = mam_popc32(mask & ((1u << mam_lane()) - 1)), n = mam_popc32(mask);
	uint32_t window = 1u << (64 - mam_clz64(n - 1)), leader = mam_ffs32(mask) - 1;
	uint32_t first = walk->place & ~(window - 1), lost = ~0u;
	struct mam_kfound found;
	uint64_t chosen;

	walk->steps += walk->blind;
	if (!rank && walk->blind) {
		chosen = mam_bits_span(first % 64, n);
		lost = (uint32_t)((mam_bitmap_claim(mam_pages_bits(pages), first / 64, chosen) &
				   chosen) >>
				  first % 64);
	}
	first = mam_warp_shuffle32(mask, first, leader);
	lost = mam_warp_shuffle32(mask, lost, leader);
	walk->place = first;
	if (lost) {
		found = mam_warp_search(pages, *walk, mask,
					lost >> rank & 1 ? MAM_NO_PAGE : first + rank);
		*walk = found.walk;
		return found.page;
	}
	walk->place = mam_walk_behind(pages, first + window - 1);
	mam_warp_sync(mask);
	return first + rank;
}

#endif
