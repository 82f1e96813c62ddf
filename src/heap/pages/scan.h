/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - looks at every word of a heap once, and reports "nothing" only if that is certain.
 *
 * "No page" is true only if each page was seen allocated once during this one scan, by an owner
 * that keeps it. A run of several words is claimed word by word, and undone when one of the claims
 * fails: its bits may be seen set though no thread ever gets the pages. So a scan that found
 * nothing counts only if it cannot have seen such a claim:
 *
 * 1. Read `undone`.
 * 2. Look at all words.
 * 3. Read `open`, then `undone`.
 * 4. If `open` is 0 and `undone` is unchanged, the result is certain.
 * 5. If not, wait a moment and look again; after many attempts give up, and count that as
 *    contended.
 *
 * Why 4 is enough: a claim raises `open` before its first bit and lowers it after its last action.
 * One that clears bits again raises `undone` after that and before it lowers `open`. A thread that
 * saw such a bit sees either `open` raised, or `open` lowered again with `undone` raised after step
 * 1, or the run is complete and its pages are allocated. A thread that saw `undone` already raised
 * in step 1 cannot see the bits any more.
 *
 * Bound: words / MAM_SCAN_LOOKS round trips per scan for one lane, MAM_SCANS_MAX scans.
 */
#ifndef MAM_HEAP_PAGES_SCAN_H
#define MAM_HEAP_PAGES_SCAN_H

#include "heap/pages/tally.h"
#include "heap/pages/tour.h"

#define MAM_SCANS_MAX 1000
#define MAM_SCAN_SHIFT 2
#define MAM_SCAN_LOOKS (1u << MAM_SCAN_SHIFT)

/* How many runs were undone: before a scan. */
MAM_KFN uint32_t mam_scan_begin(MAM_GLOBAL struct mam_pages *pages)
{
	return mam_atomic_load32(&pages->undone.value, MAM_ACQUIRE, MAM_AT_DEVICE);
}

/* Returns whether a scan that began with `undone` and found nothing is conclusive. */
MAM_KFN bool mam_scan_counts(MAM_GLOBAL struct mam_pages *pages, uint32_t undone)
{
	uint32_t open;

	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	open = mam_atomic_load32(&pages->open.value, MAM_ACQUIRE, MAM_AT_DEVICE);
	return !open &&
	       mam_atomic_load32(&pages->undone.value, MAM_ACQUIRE, MAM_AT_DEVICE) == undone;
}

MAM_KFN void mam_scan_pause(uint32_t scans)
{
	mam_nanosleep(scans < 8 ? 64u << scans : 16384u);
}

/*
 * Claims one of the free pages of a word that was seen as `seen`; retries until it has one or sees
 * none.
 */
MAM_KFN uint32_t mam_scan_claim(MAM_GLOBAL uint64_t *bits, uint32_t word, uint64_t seen,
				uint32_t from)
{
	uint64_t chosen;

	MAM_ROLLED
	while (~seen) {
		chosen = mam_bits_pick(~seen, 1, from);
		seen = mam_bitmap_claim(bits, word, chosen);
		if (!(seen & chosen))
			return word * 64 + mam_ffs64(chosen) - 1;
	}
	return MAM_NO_PAGE;
}

/*
 * Loads the words from `*at` to before `end`, at most MAM_SCAN_LOOKS, all in flight together.
 * Returns the first that has room, with its number in `*at`, or MAM_WORD_FULL.
 */
MAM_KFN uint64_t mam_scan_look(MAM_GLOBAL uint64_t *bits, uint32_t end, uint32_t *at)
{
	uint64_t seen[MAM_SCAN_LOOKS], room = MAM_WORD_FULL;
	uint32_t first = *at, j;

	for (j = 0; j < MAM_SCAN_LOOKS; j++) {
		seen[j] = MAM_WORD_FULL;
		if (j < end - first)
			seen[j] = mam_bitmap_load(bits, first + j);
	}
	for (j = MAM_SCAN_LOOKS; j--;)
		if (~seen[j]) {
			room = seen[j];
			*at = first + j;
		}
	return room;
}

/*
 * Searches the group of words starting at `at`, by one lane: returns a page, or MAM_NO_PAGE if each
 * there was seen allocated.
 */
MAM_KFN uint32_t mam_scan_unit(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk,
			       uint32_t at)
{
	MAM_GLOBAL uint64_t *bits = mam_pages_bits(pages);
	uint32_t end = pages->words - at > MAM_SCAN_LOOKS ? at + MAM_SCAN_LOOKS : pages->words;
	uint32_t page = MAM_NO_PAGE;
	uint64_t seen;

	MAM_ROLLED
	while (at < end && page == MAM_NO_PAGE) {
		seen = mam_scan_look(bits, end, &at);
		walk->steps++;
		if (!~seen)
			break;
		page = mam_scan_claim(bits, at, seen, walk->place);
		at++;
	}
	return page;
}

/* The last resort of a lone lane. */
MAM_KSLOW struct mam_kfound mam_scan_lone(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk walk)
{
	struct mam_kfound found;
	uint32_t scans, undone, next, word;

	found.walk = walk;
	found.page = MAM_NO_PAGE;
	MAM_ROLLED
	for (scans = 0; scans < MAM_SCANS_MAX; scans++) {
		undone = mam_scan_begin(pages);
		(void)mam_walk_random(&found.walk);
		next = 0;
		MAM_ROLLED
		while ((word = mam_tour_next(pages->words, MAM_SCAN_SHIFT, found.walk.state,
					     &next)) != MAM_TOUR_END) {
			found.page = mam_scan_unit(pages, &found.walk, word);
			if (found.page != MAM_NO_PAGE)
				return found;
		}
		if (mam_scan_counts(pages, undone)) {
			mam_tally_add(pages, MAM_TALLY_FULL, 1);
			return found;
		}
		mam_scan_pause(scans);
	}
	mam_tally_add(pages, MAM_TALLY_CONTENDED, 1);
	return found;
}

#endif
