/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp.h - one page for each lane of a warp that calls, all of them served together.
 *
 * 1. Blind: one lane sets as many bits as there are callers where its walk is, without a look
 *    before. Mostly the old value says that all were free: one atomic and one round trip for the
 *    warp.
 * 2. Look, in the same round trip: each lane loads one of the words from there on.
 * 3. Claim: a lane without a page claims one of those it sees. For lanes that see none the
 *    others claim up to three more each; ballots of the two bits of that number are its prefix
 *    sum, whatever lanes take part. One atomic a lane, all of them in one round trip.
 * 4. Deal: a lane keeps one page, the others go to lanes without, by rank and shuffle.
 * 5. A lost claim's old value is the next look at its word: again from 3 while free pages are in
 *    sight.
 * 6. Then jump anywhere and look again; after `patience` pages seen taken one after another,
 *    scan: as 2 to 5, but all words once, one after another (scan.h says when its failure
 *    counts).
 *
 * Nothing is claimed that nobody needs, so nothing is ever taken back, and there is no
 * compare-and-swap. Who claims acquires; the others get it by the barrier at the end, as a
 * shuffle orders nothing.
 *
 * Source: collaborative and clustered random walk, Pham et al., ACM TOPC 12(1), 2025; blind and
 * shared claims of several bits are ours.
 */
#ifndef MAM_HEAP_WARP_H
#define MAM_HEAP_WARP_H

#include "heap/scan.h"

/*
 * Shares out what `starved` lanes want: how many of the caller's `free` spare pages it is to
 * claim. Three at most a lane, so that two ballots are the prefix sum.
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
 * Deals what lanes won for others: the `spare` lanes have a page `mine` for the first of those
 * that have none, by rank. There are never more of them than lanes without.
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

/*
 * After a scan in vain: may the lanes of `needy` be told that there is nothing? They are if the
 * scan counts, or if it was the last; else it pauses, and they scan again. The same in all
 * lanes.
 */
MAM_KSLOW bool mam_warp_conclude(MAM_GLOBAL struct mam_pages *pages, uint32_t mask, uint32_t needy,
				 uint32_t scans, uint32_t undone)
{
	uint32_t leader = mam_ffs32(mask) - 1, counts = 0;

	/* What each lane saw comes before what the leader reads. */
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

/*
 * The word that a lane with this rank looks at when the walk is at `word`; `words` if there is
 * none.
 */
MAM_KFN uint32_t mam_warp_at(uint32_t word, uint32_t rank, uint32_t words)
{
	if (rank >= words)
		return words;
	word += rank;
	return word < words ? word : word - words;
}

MAM_KFN uint64_t mam_warp_look(MAM_GLOBAL uint64_t *bits, uint32_t at, uint32_t words)
{
	return at < words ? mam_bitmap_load(bits, at) : MAM_WORD_FULL;
}

/*
 * Steps 3 to 6, for the lanes of `mask`, of which the caller has `page` or MAM_NO_PAGE, and has
 * seen `seen`. The walk's word is the same in all of them. Few instructions matter here: the
 * first warp of each SM that comes here waits for every line of them.
 */
MAM_KSLOW struct mam_kfound mam_warp_search(MAM_GLOBAL struct mam_pages *pages,
					    struct mam_kwalk walk, uint32_t mask, uint32_t page,
					    uint64_t seen)
{
	MAM_GLOBAL uint64_t *bits = mam_pages_bits(pages);
	uint32_t words = pages->words, patience = pages->patience;
	uint32_t lower = mask & ((1u << mam_lane()) - 1);
	uint32_t width = mam_popc32(mask) < words ? mam_popc32(mask) : words;
	uint32_t needy = mam_warp_ballot(mask, page == MAM_NO_PAGE), has, starved, share, at;
	uint32_t looked = width, scans = 0, undone = 0;
	struct mam_kfound found;
	uint64_t won;

	walk.state = mam_warp_shuffle32(mask, walk.state, mam_ffs32(mask) - 1);
	at = mam_warp_at(walk.word, mam_popc32(lower), words);
	MAM_ROLLED
	for (;;) {
		MAM_ROLLED
		while ((has = mam_warp_ballot(mask, ~seen != 0)) != 0) {
			/* Claim: a page for the caller, and its share for those that see none. */
			starved = needy & ~has;
			share = page == MAM_NO_PAGE && ~seen;
			if (starved)
				share += mam_warp_share(mask, lower, mam_popc64(~seen) - share,
							starved);
			won = 0;
			if (share) {
				won = mam_bits_pick(~seen, share, walk.state >> 26);
				seen = mam_bitmap_claim(bits, at, won);
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
				page = mam_warp_deal(mask, lower, has,
						     at * 64 + mam_ffs64(won) - 1, page);
				won &= won - 1;
			}
			needy = mam_warp_ballot(mask, page == MAM_NO_PAGE);
			if (!needy)
				goto done;
			if (!scans)
				looked = 0;
		}
		if (!scans && looked * 64 < patience) {
			walk.word = mam_walk_scale(mam_walk_random(&walk), words);
		} else {
			walk.word += width;
			walk.word = walk.word < words ? walk.word : walk.word - words;
			if (!scans || looked >= words) {
				/* Begin a scan, or another, or end. */
				if (scans && mam_warp_conclude(pages, mask, needy, scans, undone))
					break;
				scans++;
				looked = 0;
				undone = mam_scan_begin(pages);
				mam_warp_sync(mask);
			}
		}
		looked += width;
		walk.steps++;
		at = mam_warp_at(walk.word, mam_popc32(lower), words);
		seen = mam_warp_look(bits, at, words);
	}
done:
	mam_warp_sync(mask);
	walk.state += mam_lane() * MAM_WALK_GOLDEN;
	found.walk = walk;
	found.page = page;
	return found;
}

/* One page for each lane of `mask`, which are those that are here: more than one. */
MAM_KFN uint32_t mam_warp_take(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk,
			       uint32_t mask)
{
	MAM_GLOBAL uint64_t *bits = mam_pages_bits(pages);
	uint32_t rank = mam_popc32(mask & ((1u << mam_lane()) - 1)), n = mam_popc32(mask);
	uint32_t window = 1u << (64 - mam_clz64(n - 1)), leader = mam_ffs32(mask) - 1;
	uint32_t words = pages->words, first, lost = 0;
	struct mam_kfound found;
	uint64_t chosen, seen;

	first = walk->word * 64 + (walk->bit & ~(window - 1));
	first = mam_warp_shuffle32(mask, first, leader);
	walk->word = first / 64;
	walk->bit = (first + window) % 64;
	walk->steps++;
	seen = mam_warp_look(bits, mam_warp_at(walk->word, rank, words), words);
	if (!rank) {
		chosen = mam_bits_span(first % 64, n);
		seen = mam_bitmap_claim(bits, walk->word, chosen);
		lost = (uint32_t)((seen & chosen) >> first % 64);
		seen |= chosen;
	}
	lost = mam_warp_shuffle32(mask, lost, leader);
	if (lost) {
		found = mam_warp_search(pages, *walk, mask,
					lost >> rank & 1 ? MAM_NO_PAGE : first + rank, seen);
		*walk = found.walk;
		return found.page;
	}
	if (!walk->bit)
		walk->word = walk->word + 1 < words ? walk->word + 1 : 0;
	mam_warp_sync(mask);
	return first + rank;
}

#endif
