/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs.h - claims and releases a run of consecutive pages, one to all of them, without a lock.
 *
 * Within a word a run is one compare-and-swap: all or nothing. Over several words:
 *
 * 1. Raise `open`.
 * 2. Claim the words one after another in ASCENDING order, each by compare-and-swap, its part of
 *    the run or nothing of it.
 * 3. If an allocated page is in the way, release the claimed words and raise `undone`.
 * 4. Lower `open`.
 *
 * The search for free runs is in runs_warp.h.
 *
 * Progress: of all concurrent claims of runs, consider the highest word that two of them want. The
 * one that claims it has no other contested word before it, so it proceeds to its end unless a page
 * there is allocated. So two runs cannot stop each other forever, and of two whole-heap runs one
 * wins at the first word, where the other has nothing to release.
 *
 * Must hold: a bit is cleared by its owner only; `open` is above 0 while any bit may still be
 * cleared by its claim; `undone` rises after the last such bit is cleared (scan.h explains why).
 */
#ifndef MAM_HEAP_PAGES_RUNS_H
#define MAM_HEAP_PAGES_RUNS_H

#include "heap/pages/scan.h"

/*
 * Claims all of `mask` in a word. Returns 0 on success, otherwise the bits of `mask` that were
 * already set.
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

/* The part of a run, from `first` to before `end`, that is in `word`. */
MAM_KFN uint64_t mam_runs_mask(uint32_t first, uint32_t end, uint32_t word)
{
	uint32_t from = first > word * 64 ? first - word * 64 : 0;
	uint32_t to = end - word * 64 < 64 ? end - word * 64 : 64;

	return mam_bits_span(from, to - from);
}

/* Frees the pages from `first` to before `end`; returns whether all of them were allocated. */
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
 * Claims the pages from `first` to before `end`. Returns MAM_NO_PAGE on success, otherwise the
 * highest page that was in the way.
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

#endif
