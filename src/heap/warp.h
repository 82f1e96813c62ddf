/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp.h - one page for each lane of a warp that calls, all of them served together.
 *
 * 1. Blind: one lane sets as many bits as there are callers where its walk is, without a look
 *    before. Mostly the old value says that all were free: one atomic and one round trip for the
 *    warp.
 * 2. Else look: all lanes load neighbouring words, MAM_WARP_LOOKS each, in one round trip.
 * 3. Share the need out: each lane counts the free pages it sees, three at most; ballots of the
 *    two bits of that number are its prefix sum, whatever lanes take part. Each lane claims its
 *    share, one atomic a word, all lanes in one round trip. If what was seen is less than the
 *    need, the loads of the next place go out together with the claims.
 * 4. Deal: a lane keeps a page it won; pages left over go to lanes without, by rank and shuffle.
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

#ifndef MAM_WARP_LOOKS
#define MAM_WARP_LOOKS 2
#endif

/* What the lanes of a warp know while they search together. */
struct mam_warp {
	uint32_t mask;  /* who takes part; the same in all */
	uint32_t lower; /* those of them below the caller */
	uint32_t n;     /* how many; the same in all */
	uint32_t page;  /* the caller's, or MAM_NO_PAGE */
	uint64_t seen[MAM_WARP_LOOKS]; /* the caller's words */
	uint64_t won[MAM_WARP_LOOKS];  /* of them, pages nobody has yet */
};

/*
 * The word that is the caller's number `j` of those from `word` on, or no less than `words` if
 * there is none.
 */
MAM_KFN uint32_t mam_warp_at(const struct mam_warp *warp, uint32_t word, uint32_t words, uint32_t j)
{
	uint32_t step = mam_popc32(warp->lower) + j * warp->n;

	if (step >= words)
		return words;
	word += step;
	return word < words ? word : word - words;
}

/* Step 2: loads the caller's words. */
MAM_KFN void mam_warp_look(const struct mam_warp *warp, MAM_GLOBAL struct mam_pages *pages,
			   uint32_t word, uint64_t *seen)
{
	uint32_t j, at;

	for (j = 0; j < MAM_WARP_LOOKS; j++) {
		at = mam_warp_at(warp, word, pages->words, j);
		seen[j] = MAM_WORD_FULL;
		if (at < pages->words)
			seen[j] = mam_bitmap_load(mam_pages_bits(pages), at);
	}
}

/* One of the pages that the caller won and nobody has. */
MAM_KFN uint32_t mam_warp_one(struct mam_warp *warp, uint32_t word, uint32_t words)
{
	uint32_t j, bit;

	for (j = 0; j < MAM_WARP_LOOKS; j++)
		if (warp->won[j]) {
			bit = mam_ffs64(warp->won[j]) - 1;
			warp->won[j] &= warp->won[j] - 1;
			return mam_warp_at(warp, word, words, j) * 64 + bit;
		}
	return MAM_NO_PAGE;
}

/* Step 4. There are never more spare pages than lanes without one. */
MAM_KFN void mam_warp_deal(struct mam_warp *warp, uint32_t word, uint32_t words)
{
	uint32_t spare, needy, page, rank;
	bool gets;

	if (warp->page == MAM_NO_PAGE)
		warp->page = mam_warp_one(warp, word, words);
	for (;;) {
		page = mam_warp_one(warp, word, words);
		spare = mam_warp_ballot(warp->mask, page != MAM_NO_PAGE);
		if (!spare)
			break;
		needy = mam_warp_ballot(warp->mask, warp->page == MAM_NO_PAGE);
		rank = mam_popc32(needy & warp->lower);
		gets = warp->page == MAM_NO_PAGE && rank < mam_popc32(spare);
		page = mam_warp_shuffle32(warp->mask, page,
					  gets ? mam_bits_nth(spare, rank) : mam_ffs32(spare) - 1);
		if (gets)
			warp->page = page;
	}
}

/*
 * Steps 3 and 5, claims: `share` pages of those the caller sees, from bit `from` of each word
 * on.
 */
MAM_KFN void mam_warp_claim(struct mam_warp *warp, MAM_GLOBAL struct mam_pages *pages,
			    uint32_t word, uint32_t share, uint32_t from)
{
	uint64_t chosen[MAM_WARP_LOOKS], old;
	uint32_t j;

	for (j = 0; j < MAM_WARP_LOOKS; j++) {
		chosen[j] = mam_bits_pick(~warp->seen[j], share, from);
		share -= mam_popc64(chosen[j]);
	}
	for (j = 0; j < MAM_WARP_LOOKS; j++) {
		warp->won[j] = 0;
		if (chosen[j]) {
			old = mam_bitmap_claim(mam_pages_bits(pages),
					       mam_warp_at(warp, word, pages->words, j), chosen[j]);
			warp->won[j] = chosen[j] & ~old;
			warp->seen[j] = old | chosen[j];
		}
	}
}

/*
 * How many pages the caller is to claim of `free` ones it sees, and how many all of them see,
 * up to 3 each.
 */
MAM_KFN uint32_t mam_warp_share(const struct mam_warp *warp, uint32_t free, uint32_t need,
				uint32_t *all)
{
	uint32_t one, two, before;

	free = free < 3 ? free : 3;
	one = mam_warp_ballot(warp->mask, free & 1);
	two = mam_warp_ballot(warp->mask, free & 2);
	*all = mam_popc32(one) + 2 * mam_popc32(two);
	before = mam_popc32(one & warp->lower) + 2 * mam_popc32(two & warp->lower);
	if (before >= need)
		return 0;
	return free < need - before ? free : need - before;
}

/*
 * Steps 2 to 6 at random places until each lane has a page or `patience` pages were seen in
 * vain, or (`whole`) at all words from the walk's on. True if each lane has one. `word` and
 * `state` are the same in all lanes.
 */
MAM_KFN bool mam_warp_search(struct mam_warp *warp, MAM_GLOBAL struct mam_pages *pages,
			     struct mam_kwalk *walk, bool whole)
{
	uint32_t words = pages->words, patience = pages->patience, width = warp->n * MAM_WARP_LOOKS;
	uint32_t word = walk->word, next, looked = 0, need, free, all, share, j;
	uint64_t ahead[MAM_WARP_LOOKS];
	bool fetched = false, vain;

	if (width > words)
		width = words;
	for (;;) {
		if (fetched)
			for (j = 0; j < MAM_WARP_LOOKS; j++)
				warp->seen[j] = ahead[j];
		else
			mam_warp_look(warp, pages, word, warp->seen);
		walk->steps++;
		fetched = false;
		vain = true;
		next = word + width < words ? word + width : word + width - words;
		if (!whole)
			next = mam_walk_scale(mam_walk_random(walk), words);
		for (;;) {
			need = mam_popc32(mam_warp_ballot(warp->mask, warp->page == MAM_NO_PAGE));
			if (!need) {
				walk->word = word;
				return true;
			}
			free = 0;
			for (j = 0; j < MAM_WARP_LOOKS; j++)
				free += mam_popc64(~warp->seen[j]);
			share = mam_warp_share(warp, free, need, &all);
			if (!all)
				break;
			vain = false;
			if (all < need && !fetched) {
				mam_warp_look(warp, pages, next, ahead);
				fetched = true;
			}
			mam_warp_claim(warp, pages, word, share, walk->state >> 26);
			mam_warp_deal(warp, word, words);
		}
		looked = vain || whole ? looked + width : 0;
		if (whole ? looked >= words : looked * 64 >= patience)
			return false;
		word = next;
	}
}

/* The last resort: scans, until one counts. Lanes without a page then get none. */
MAM_KFN void mam_warp_scan(struct mam_warp *warp, MAM_GLOBAL struct mam_pages *pages,
			     struct mam_kwalk *walk)
{
	uint32_t leader = mam_ffs32(warp->mask) - 1, scans, undone = 0, counts, needy;

	for (scans = 0; scans < MAM_SCANS_MAX; scans++) {
		if (!warp->lower)
			undone = mam_scan_begin(pages);
		mam_warp_sync(warp->mask);
		if (mam_warp_search(warp, pages, walk, true))
			return;
		mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
		mam_warp_sync(warp->mask);
		counts = !warp->lower && mam_scan_counts(pages, undone);
		counts = mam_warp_shuffle32(warp->mask, counts, leader);
		if (counts)
			break;
		mam_scan_pause(scans);
	}
	needy = mam_warp_ballot(warp->mask, warp->page == MAM_NO_PAGE);
	if (!warp->lower)
		mam_tally_add(pages, counts ? MAM_TALLY_FULL : MAM_TALLY_CONTENDED,
			      mam_popc32(needy));
}

/* Steps 2 to 6, for the lanes of `mask`, of which the caller has `page` or MAM_NO_PAGE. */
MAM_KSLOW struct mam_kfound mam_warp_refill(MAM_GLOBAL struct mam_pages *pages,
					    struct mam_kwalk walk, uint32_t mask, uint32_t page)
{
	struct mam_kfound found;
	struct mam_warp warp;

	warp.mask = mask;
	warp.lower = mask & ((1u << mam_lane()) - 1);
	warp.n = mam_popc32(mask);
	warp.page = page;
	walk.state = mam_warp_shuffle32(mask, walk.state, mam_ffs32(mask) - 1);
	if (!mam_warp_search(&warp, pages, &walk, false))
		mam_warp_scan(&warp, pages, &walk);
	mam_warp_sync(mask);
	walk.state += mam_lane() * MAM_WALK_GOLDEN;
	found.walk = walk;
	found.page = warp.page;
	return found;
}

/* One page for each lane of `mask`, which are those that are here: more than one. */
MAM_KFN uint32_t mam_warp_take(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk,
			       uint32_t mask)
{
	uint32_t rank = mam_popc32(mask & ((1u << mam_lane()) - 1)), n = mam_popc32(mask);
	uint32_t leader = mam_ffs32(mask) - 1, first = 0, lost = 0, window;
	struct mam_kfound found;
	uint64_t chosen;

	window = 1u << (64 - mam_clz64(n - 1));
	if (!rank) {
		first = walk->bit & ~(window - 1);
		chosen = mam_bits_span(first, n);
		lost = (uint32_t)((mam_bitmap_claim(mam_pages_bits(pages), walk->word, chosen) &
				   chosen) >> first);
		first += walk->word * 64;
	}
	first = mam_warp_shuffle32(mask, first, leader);
	lost = mam_warp_shuffle32(mask, lost, leader);
	walk->steps++;
	walk->word = first / 64;
	walk->bit = (first + window) % 64;
	if (lost) {
		found = mam_warp_refill(pages, *walk, mask,
					lost >> rank & 1 ? MAM_NO_PAGE : first + rank);
		*walk = found.walk;
		return found.page;
	}
	mam_warp_sync(mask);
	return first + rank;
}

#endif
