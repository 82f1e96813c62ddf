/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs_warp.h - allocates runs of pages for the calling lanes of a warp, each with its own length.
 *
 * 1. If most of the heap seems free (walk.h) and all want the same length, at most half a word: the
 *    runs are adjacent, as many per word as fit, without gaps. One lane per word claims for the
 *    lanes that share it, blindly, by compare-and-swap from 0, and once more with the value that it
 *    saw. In an empty heap that suffices, in one round trip.
 * 2. Short runs, up to a word: each lane looks at a word of its own, adjacent to its neighbors',
 *    and claims the lowest free stretch there that is long enough, by compare-and-swap, and retries
 *    while the word has one. A lane that found none looks elsewhere with the others, at a random
 *    place, until `patience` pages were seen.
 * 3. All other requests, and long ones, one lane after another with the help of all: each looks at
 *    one word of a row of consecutive words. A stretch continues from a word's highest pages over
 *    words that are all free to the lowest pages of the next one. Ballots show which words those
 *    are, without a prefix sum. Free pages at the end of one row are carried into the next.
 * 4. The lowest stretch that is long enough is claimed by the lane that wants it (runs.h). If that
 *    fails the search continues right after the page that stopped it.
 * 5. Step 3 covers all words once, starting at the search position, and then the beginning, as far
 *    past that position as a run may reach. If nothing was found, every run of so many pages had a
 *    page that was seen allocated. scan.h defines whether that counts.
 *
 * Bound: words / callers round trips for each caller, and one for each page that stopped a claim.
 *
 * Slower alternatives, on an H100: step 1 where half of the heap is allocated, 1.3 times slower
 * than without; without it, 1.1 times slower in an empty heap.
 *
 * Source: RW_malloc of Pham et al., ACM TOPC 12(1), 2025, joins segments across words in a warp's
 * region; theirs ends at the region, this one continues over all words.
 */
#ifndef MAM_HEAP_PAGES_RUNS_WARP_H
#define MAM_HEAP_PAGES_RUNS_WARP_H

#include "heap/pages/runs.h"

/* Allocates a run of `n` pages within `word`, by one lane; MAM_NO_PAGE if none was seen there. */
MAM_KFN uint32_t mam_runs_take_within(MAM_GLOBAL struct mam_pages *pages, uint32_t word, uint32_t n)
{
	MAM_GLOBAL uint64_t *bits = mam_pages_bits(pages);
	uint64_t seen = mam_bitmap_load(bits, word), starts, old;
	uint32_t first;

	MAM_ROLLED
	while ((starts = mam_bits_stretches(~seen, n)) != 0) {
		first = mam_ffs64(starts) - 1;
		old = mam_bitmap_swap(bits, word, seen, seen | mam_bits_span(first, n));
		if (old == seen)
			return word * 64 + first;
		seen = old;
	}
	return MAM_NO_PAGE;
}

/*
 * Step 2. Returns the caller's run or MAM_NO_PAGE; `n` is 0 for a caller that wants none of these.
 */
MAM_KFN uint32_t mam_runs_take_short(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk,
				     uint32_t mask, uint32_t n)
{
	uint32_t words = pages->words, rank = mam_popc32(mask & ((1u << mam_lane()) - 1));
	uint32_t page = MAM_NO_PAGE, looked = 0, word;

	MAM_ROLLED
	for (;;) {
		word = walk->place / 64 + rank;
		word = word < words ? word : word - words;
		walk->steps++;
		if (n && rank < words && page == MAM_NO_PAGE)
			page = mam_runs_take_within(pages, word, n);
		looked++;
		if (!mam_warp_ballot(mask, n && page == MAM_NO_PAGE) ||
		    looked * 64 >= pages->patience)
			return page;
		mam_walk_jump(walk, pages);
	}
}

/*
 * Steps 3 and 4 for lane `who`, over the words from `word` to before `end`: returns a run of `n`
 * pages, or MAM_NO_PAGE if each run there had a page that was seen allocated. The same in all
 * lanes.
 */
MAM_KFN uint32_t mam_runs_sweep_warp(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk,
				     uint32_t mask, uint32_t who, uint32_t n, uint32_t word,
				     uint32_t end, uint32_t *undone)
{
	MAM_GLOBAL uint64_t *bits = mam_pages_bits(pages);
	uint32_t lower = mask & ((1u << mam_lane()) - 1), rank = mam_popc32(lower);
	uint32_t width = mam_popc32(mask), free = 0, lead, tail, room, first, next, gaps, stopped;
	uint64_t seen, below = 0, starts;

	MAM_ROLLED
	while (word < end) {
		seen = rank < end - word ? mam_bitmap_load(bits, word + rank) : MAM_WORD_FULL;
		if (!rank)
			seen |= below;
		walk->steps++;
		lead = seen ? mam_ffs64(seen) - 1 : 64;
		tail = mam_clz64(seen);
		/* Words with an allocated page, and the next of them above the caller's. */
		gaps = mam_warp_ballot(mask, seen != 0);
		next = gaps & ~lower & ~(1u << mam_lane());
		room = tail + 64 * (width - 1 - rank);
		first = mam_warp_shuffle32(mask, lead, next ? mam_ffs32(next) - 1 : mam_lane());
		if (next) {
			next = mam_popc32(mask & ((next & (~next + 1)) - 1));
			room = tail + 64 * (next - 1 - rank) + first;
		}
		/* The first word's stretch starts with the carried pages. */
		first = MAM_NO_PAGE;
		starts = n <= 64 ? mam_bits_stretches(~seen, n) : 0;
		if (starts)
			first = (word + rank) * 64 + mam_ffs64(starts) - 1;
		else if (tail && room >= n)
			first = (word + rank + 1) * 64 - tail;
		if (!rank && free) {
			room = seen ? free + lead : free + room;
			if (room >= n)
				first = word * 64 - free;
		}
		next = mam_warp_ballot(mask, first != MAM_NO_PAGE);
		if (!next) {
			/* Carry the free pages at the end of the row. */
			next = gaps ? 31 - (uint32_t)(mam_clz64(gaps) - 32) : 0;
			tail = mam_warp_shuffle32(mask, tail, gaps ? next : mam_lane());
			free = gaps ? tail + 64 * mam_popc32(mask & ~((2u << next) - 1))
				    : free + 64 * width;
			word += width;
			below = 0;
			continue;
		}
		first = mam_warp_shuffle32(mask, first, mam_ffs32(next) - 1);
		stopped = MAM_NO_PAGE;
		if (mam_lane() == who)
			stopped = mam_runs_claim(pages, first, first + n, undone);
		stopped = mam_warp_shuffle32(mask, stopped, who);
		if (stopped == MAM_NO_PAGE)
			return first;
		word = stopped / 64;
		below = mam_bits_span(0, stopped % 64 + 1);
		free = 0;
	}
	return MAM_NO_PAGE;
}

/* Steps 3 to 5 for lane `who`; the same in all lanes. */
MAM_KFN uint32_t mam_runs_scan_warp(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk,
				    uint32_t mask, uint32_t who, uint32_t n, bool *contended)
{
	uint32_t words = pages->words, word = walk->place / 64, scans, undone = 0, page, over;
	uint32_t from, to, part, counts;

	over = n / 64 + 2 < words - word ? word + n / 64 + 2 : words;
	MAM_ROLLED
	for (scans = 0; scans < MAM_SCANS_MAX; scans++) {
		undone = mam_scan_begin(pages);
		mam_warp_sync(mask);
		MAM_ROLLED
		for (part = 0; part < 2; part++) {
			from = part ? 0 : word;
			to = part ? over : words;
			page = mam_runs_sweep_warp(pages, walk, mask, who, n, from, to, &undone);
			if (page != MAM_NO_PAGE)
				return page;
		}
		/*
		 * Orders the loads of all lanes before those of `who`, which knows how many claims
		 * it has undone itself.
		 */
		mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
		mam_warp_sync(mask);
		counts = mam_lane() == who && mam_scan_counts(pages, undone);
		if (mam_warp_shuffle32(mask, counts, who))
			return MAM_NO_PAGE;
		mam_scan_pause(scans);
	}
	*contended = true;
	return MAM_NO_PAGE;
}

/* Step 1, for the same `n` in all lanes, at most 32. Returns the caller's run or MAM_NO_PAGE. */
MAM_KFN uint32_t mam_runs_take_packed(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk,
				      uint32_t mask, uint32_t n)
{
	MAM_GLOBAL uint64_t *bits = mam_pages_bits(pages);
	uint32_t callers = mam_popc32(mask), rank = mam_popc32(mask & ((1u << mam_lane()) - 1));
	/* Lanes per word, and the caller's number among them. */
	uint32_t share = 64 / n, nth = rank % share;
	uint32_t word = walk->place / 64 + rank / share, last;
	uint64_t pattern, seen = 0, old;
	bool had = false;

	last = walk->place / 64 + (callers - 1) / share;
	walk->steps++;
	if (last >= pages->words)
		return MAM_NO_PAGE;
	if (!nth) {
		share = callers - rank < share ? callers - rank : share;
		pattern = mam_bits_span(0, share * n);
		old = mam_bitmap_swap(bits, word, seen, pattern);
		if (old && !(old & pattern)) {
			seen = old;
			old = mam_bitmap_swap(bits, word, seen, seen | pattern);
		}
		had = old == seen;
	}
	/* The lane that claimed for the caller is `nth` callers below it. */
	seen = mam_warp_ballot(mask, had);
	mam_warp_sync(mask);
	walk->place = last + 1 < pages->words ? (last + 1) * 64 : 0;
	if (!(seen >> mam_bits_nth(mask, rank - nth) & 1))
		return MAM_NO_PAGE;
	return word * 64 + nth * n;
}

/*
 * Allocates a run of `n` pages, at least two, for each lane of `mask`, which must be the active
 * lanes. `brief`: runs of up to a word are not searched for everywhere, and longer ones only until
 * one search fails.
 */
MAM_KFN struct mam_kfound mam_runs_take_here(MAM_GLOBAL struct mam_pages *pages,
					     struct mam_kwalk walk, uint32_t mask, uint32_t n,
					     bool brief)
{
	uint32_t leader = mam_ffs32(mask) - 1, needy, who, min, page;
	struct mam_kfound found;
	bool contended;

	walk.place = mam_warp_shuffle32(mask, walk.place, leader);
	walk.state = mam_warp_shuffle32(mask, walk.state, leader);
	min = mam_warp_shuffle32(mask, n, leader);
	found.page = MAM_NO_PAGE;
	walk.blind = mam_warp_shuffle32(mask, walk.blind, leader);
	if (walk.blind && min <= 32 && mam_warp_ballot(mask, n == min) == mask) {
		found.page = mam_runs_take_packed(pages, &walk, mask, min);
		walk.blind = !mam_warp_ballot(mask, found.page == MAM_NO_PAGE);
	}
	min = n <= 64 && found.page == MAM_NO_PAGE ? n : 0;
	if (mam_warp_ballot(mask, min != 0)) {
		page = mam_runs_take_short(pages, &walk, mask, min);
		found.page = min ? page : found.page;
	}
	needy = mam_warp_ballot(mask, found.page == MAM_NO_PAGE && (!brief || n > 64));
	MAM_ROLLED
	while (needy) {
		who = mam_ffs32(needy) - 1;
		needy &= needy - 1;
		min = mam_warp_shuffle32(mask, n, who);
		contended = false;
		page = mam_runs_scan_warp(pages, &walk, mask, who, min, &contended);
		if (mam_lane() == who)
			found.page = page;
		if (page != MAM_NO_PAGE) {
			walk.place = mam_walk_behind(pages, page + min - 1);
			continue;
		}
		if (brief)
			break;
		/* Where so many pages do not fit, more do not either. */
		min = needy & ~mam_warp_ballot(mask, n < min);
		needy &= ~min;
		if (mam_lane() == who)
			mam_tally_add(pages, contended ? MAM_TALLY_CONTENDED : MAM_TALLY_NO_RUN,
				      1 + mam_popc32(min));
	}
	walk.state += mam_lane() * MAM_WALK_GOLDEN;
	found.walk = walk;
	return found;
}

/* The same, not inlined. */
MAM_KSLOW struct mam_kfound mam_runs_take_warp(MAM_GLOBAL struct mam_pages *pages,
					       struct mam_kwalk walk, uint32_t mask, uint32_t n)
{
	return mam_runs_take_here(pages, walk, mask, n, false);
}

/*
 * Frees adjacent runs, as step 1 places them, by one atomic per word; other runs one by one. The
 * barrier orders the writes of all lanes before the one release. Returns true if all of the
 * caller's pages were allocated.
 */
MAM_KFN bool mam_runs_release_warp(MAM_GLOBAL struct mam_pages *pages, uint32_t page, uint32_t n,
				   uint32_t mask)
{
	MAM_GLOBAL uint64_t *bits = mam_pages_bits(pages);
	uint32_t rank = mam_popc32(mask & ((1u << mam_lane()) - 1)), leader = mam_ffs32(mask) - 1;
	uint32_t first = mam_warp_shuffle32(mask, page, leader);
	uint32_t each = mam_warp_shuffle32(mask, n, leader);
	/* Runs per word, and the caller's number, counted from the first of the leader's word. */
	uint32_t share = each < 64 ? 64 / each : 1, hint = first % 64 / each + rank;
	uint64_t pattern = 0;
	uint32_t nth;

	if (mam_warp_ballot(mask, n != each || n > 32 || page / 64 != first / 64 + hint / share ||
					  page % 64 != hint % share * each))
		return mam_runs_release(bits, page, page + n);
	/* The caller's rank among those of its word. */
	hint %= share;
	nth = page / 64 == first / 64 ? rank : hint;
	mam_warp_sync(mask);
	if (!nth) {
		share -= hint;
		share = share < mam_popc32(mask) - rank ? share : mam_popc32(mask) - rank;
		pattern = mam_bits_span(page % 64, share * each);
		pattern &= ~mam_bitmap_release(bits, page / 64, pattern);
	}
	/* The pages of the whole word that were already free. */
	pattern = mam_warp_shuffle64(mask, pattern, mam_bits_nth(mask, rank - nth));
	return !(pattern & mam_bits_span(page % 64, n));
}

#endif
