/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs.h - claims and gives back a run of consecutive pages, one to all of them, without a lock.
 *
 * Within a word a run is one compare-and-swap: all or nothing. Over several words:
 *
 * 1. Raise `open`.
 * 2. Claim the words one after another in ASCENDING order, each by compare-and-swap, its part of
 *    the run or nothing of it.
 * 3. If a word has a taken page in the way, give back what was claimed and raise `undone`.
 * 4. Lower `open`.
 *
 * Progress: of all runs that are claimed at once, look at the highest word that two of them
 * want. Whoever claims it has no other contested word before it, so it goes on to its end unless
 * a page there is kept by somebody: two runs cannot stop each other for ever, and one of two
 * whole-heap runs wins at the first word, where the other has nothing to give back.
 *
 * Must hold: a bit is given back by its owner only; `open` is above 0 while there is a bit that
 * may yet be given back by its claim; `undone` rises after the last such bit is back (scan.h
 * says why).
 */
#ifndef MAM_HEAP_RUNS_H
#define MAM_HEAP_RUNS_H

#include "heap/scan.h"

/*
 * `mask` of a word, all of it: MAM_WORD_FULL's complement, 0, if it was had, else what of it
 * was taken.
 */
MAM_KFN uint64_t mam_runs_claim_word(MAM_GLOBAL uint64_t *bits, uint32_t word, uint64_t mask)
{
	uint64_t seen = mask == MAM_WORD_FULL ? 0 : mam_bitmap_load(bits, word), old;

	MAM_ROLLED
	while (!(seen & mask)) {
		old = mam_bitmap_swap(bits, word, seen, seen | mask);
		if (old == seen)
			return 0;
		seen = old;
	}
	return seen & mask;
}

/* The part of a run, from `first` to before `end`, that lies in `word`. */
MAM_KFN uint64_t mam_runs_mask(uint32_t first, uint32_t end, uint32_t word)
{
	uint32_t from = first > word * 64 ? first - word * 64 : 0;
	uint32_t to = end - word * 64 < 64 ? end - word * 64 : 64;

	return mam_bits_span(from, to - from);
}

/* Gives back the pages from `first` to before `end`; says whether all of them were taken. */
MAM_KFN bool mam_runs_release(MAM_GLOBAL uint64_t *bits, uint32_t first, uint32_t end)
{
	uint32_t word;
	uint64_t mask;
	bool all = true;

	MAM_ROLLED
	for (word = first / 64; word <= (end - 1) / 64; word++) {
		mask = mam_runs_mask(first, end, word);
		all &= !(~mam_bitmap_release(bits, word, mask) & mask);
	}
	return all;
}

/*
 * MAM_NO_PAGE if it has all pages from `first` to before `end`, else the highest that was in
 * the way.
 */
MAM_KFN uint32_t mam_runs_claim(MAM_GLOBAL struct mam_pages *pages, uint32_t first, uint32_t end,
				uint32_t *undone)
{
	MAM_GLOBAL uint64_t *bits = mam_pages_bits(pages);
	uint32_t from = first / 64, to = (end - 1) / 64, word, stopped = MAM_NO_PAGE;
	uint64_t taken;

	if (to > from)
		(void)mam_atomic_add32(&pages->open.value, 1, MAM_RELAXED, MAM_AT_DEVICE);
	MAM_ROLLED
	for (word = from; word <= to && stopped == MAM_NO_PAGE; word++) {
		taken = mam_runs_claim_word(bits, word, mam_runs_mask(first, end, word));
		if (taken)
			stopped = word * 64 + 63 - mam_clz64(taken);
	}
	if (to > from) {
		if (stopped != MAM_NO_PAGE && stopped / 64 > from) {
			(void)mam_runs_release(bits, first, stopped / 64 * 64);
			(void)mam_atomic_add32(&pages->undone.value, 1, MAM_RELEASE, MAM_AT_DEVICE);
			++*undone;
		}
		(void)mam_atomic_add32(&pages->open.value, (uint32_t)-1, MAM_RELEASE,
				       MAM_AT_DEVICE);
	}
	return stopped;
}

/*
 * Looks at the words from `word` to before `end` for `n` free pages in a row and claims them.
 * Every window of n pages there had a page seen taken if this gives MAM_NO_PAGE. `free` counts
 * free pages in a row up to the word; a claim that fails goes on behind the page that stopped
 * it, so that each attempt begins later than the last.
 */
MAM_KFN uint32_t mam_runs_sweep(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk,
				uint32_t n, uint32_t word, uint32_t end, uint32_t *undone)
{
	MAM_GLOBAL uint64_t *bits = mam_pages_bits(pages);
	uint64_t seen, below = 0, starts;
	uint32_t free = 0, lead, first, stopped;

	MAM_ROLLED
	while (word < end) {
		seen = mam_bitmap_load(bits, word) | below;
		walk->steps++;
		lead = seen ? mam_ffs64(seen) - 1 : 64;
		starts = n <= 64 ? mam_bits_stretches(~seen, n) : 0;
		if (free + lead >= n) {
			first = word * 64 - free;
		} else if (starts) {
			first = word * 64 + mam_ffs64(starts) - 1;
		} else {
			free = lead == 64 ? free + 64 : mam_clz64(seen);
			below = 0;
			word++;
			continue;
		}
		stopped = mam_runs_claim(pages, first, first + n, undone);
		if (stopped == MAM_NO_PAGE)
			return first;
		word = stopped / 64;
		below = mam_bits_span(0, stopped % 64 + 1);
		free = 0;
	}
	return MAM_NO_PAGE;
}

/*
 * A run of `n` pages, for one lane; MAM_NO_PAGE only if every window of n pages had one seen
 * taken.
 */
MAM_KSLOW struct mam_kfound mam_runs_take_lone(MAM_GLOBAL struct mam_pages *pages,
					       struct mam_kwalk walk, uint32_t n)
{
	uint32_t words = pages->words, word = walk.place / 64, scans, undone, over;
	struct mam_kfound found;

	found.walk = walk;
	/* The words that windows reach into which begin before the place where the sweep does. */
	over = n / 64 + 2 < words - word ? word + n / 64 + 2 : words;
	MAM_ROLLED
	for (scans = 0; scans < MAM_SCANS_MAX; scans++) {
		undone = mam_scan_begin(pages);
		found.page = mam_runs_sweep(pages, &found.walk, n, word, words, &undone);
		if (found.page == MAM_NO_PAGE)
			found.page = mam_runs_sweep(pages, &found.walk, n, 0, over, &undone);
		if (found.page != MAM_NO_PAGE) {
			found.walk.place = mam_walk_behind(pages, found.page + n - 1);
			return found;
		}
		if (mam_scan_counts(pages, undone)) {
			mam_tally_add(pages, MAM_TALLY_NO_RUN, 1);
			return found;
		}
		mam_scan_pause(scans);
	}
	mam_tally_add(pages, MAM_TALLY_CONTENDED, 1);
	return found;
}

#endif
