/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - the layout of a page heap: one header, directly followed by the bitmap, so that one
 * pointer suffices and no load is needed to find a word.
 *
 * 1. The first cache line never changes after creation: every lane reads it, and caches may keep
 *    it.
 * 2. The fields that change follow, each on a cache line of its own: how many runs are being
 *    claimed, how many were undone, and the error counters.
 * 3. Then one bit per page, 64 to a word, 1 = allocated. Bits after the last page are set from the
 *    start, so that no lane has to compare a page with the count; there is at least one word.
 *
 * Bound: 640 bytes and a bit per page. Must hold: count, words, patience and low never change; a
 * bit after the last page is never cleared.
 */
#ifndef MAM_HEAP_PAGES_LAYOUT_H
#define MAM_HEAP_PAGES_LAYOUT_H

#include "device/port.h"

#define MAM_NO_PAGE 0xffffffffu
#define MAM_PAGES_LINE 128
#define MAM_PAGES_COUNT_MAX 0xffffffc0u

/* Failed requests and errors, by kind. */
enum mam_pages_tally {
	MAM_TALLY_FULL,      /* no page: each was seen allocated during one scan */
	MAM_TALLY_NO_RUN,    /* no run: every window of that many pages had a page that was seen
				allocated */
	MAM_TALLY_CONTENDED, /* gave up: runs were claimed and undone during each of many scans */
	MAM_TALLY_BAD_SIZE,  /* a run of 0 pages, or of more than the heap has */
	MAM_TALLY_TWICE,     /* double free */
	MAM_TALLY_FOREIGN,   /* invalid free: not a page of the heap */
	MAM_TALLY_WRONG,     /* a call for objects on a page heap */
	MAM_TALLIES,
};

/* A counter that many lanes change, alone on its cache line. */
struct mam_pages_hot {
	uint32_t value; /* atomic */
	uint32_t pad[MAM_PAGES_LINE / 4 - 1];
};

struct mam_pages {
	uint32_t count;    /* pages; set at format */
	uint32_t words;    /* words of the bitmap; set at format */
	uint32_t patience; /* pages seen allocated, one after another, before a scan; set at
			      format */
	uint32_t low;      /* the share of free pages, per mille, down to which `patience` is
			      valid; set at format */
	uint32_t pad[MAM_PAGES_LINE / 4 - 4];
	struct mam_pages_hot open;              /* runs of several words that are being claimed */
	struct mam_pages_hot undone;            /* total of such runs that were given up half-way */
	uint64_t tally[2 * MAM_PAGES_LINE / 8]; /* by enum mam_pages_tally; atomic */
};

MAM_KBOTH uint32_t mam_layout_words(uint32_t count)
{
	return count ? count / 64 + (count % 64 != 0) : 1;
}

/* Header and bitmap together. */
MAM_KBOTH size_t mam_pages_bytes(uint32_t count)
{
	return sizeof(struct mam_pages) + (size_t)mam_layout_words(count) * 8;
}

/*
 * How many pages a lane may see allocated, at random and one after another, before less than `low`
 * per mille are free with 99% confidence: 5.411 (1 - L) / L, from Pham et al., "Dynamic Buffer
 * Management in Massively Parallel Systems: The Power of Randomness", ACM TOPC 12(1), 2025.
 */
MAM_KBOTH uint32_t mam_layout_patience(uint32_t low)
{
	if (low < 1)
		low = 1;
	if (low > 1000)
		low = 1000;
	return (uint32_t)((uint64_t)5411 * (1000 - low) / ((uint64_t)1000 * low));
}

/* Writes the fields that never change into a zeroed header. */
MAM_KBOTH void mam_pages_head(MAM_GLOBAL struct mam_pages *pages, uint32_t count, uint32_t low)
{
	if (count > MAM_PAGES_COUNT_MAX)
		count = MAM_PAGES_COUNT_MAX;
	pages->count = count;
	pages->words = mam_layout_words(count);
	pages->patience = mam_layout_patience(low);
	pages->low = low;
}

/*
 * Creates a new heap of free pages in zeroed memory; called by the host, or by one lane before
 * others access it.
 */
MAM_KBOTH void mam_pages_format(MAM_GLOBAL struct mam_pages *pages, uint32_t count, uint32_t low)
{
	MAM_GLOBAL uint64_t *bits = (MAM_GLOBAL uint64_t *)(pages + 1);

	mam_pages_head(pages, count, low);
	if (!count || count % 64)
		bits[pages->words - 1] = ~(uint64_t)0 << (count % 64);
}

/* The bitmap. */
MAM_KBOTH MAM_GLOBAL uint64_t *mam_pages_bits(MAM_GLOBAL struct mam_pages *pages)
{
	return (MAM_GLOBAL uint64_t *)(pages + 1);
}

#endif
