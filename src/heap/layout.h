/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - where things lie in a heap of pages: one header, and the bitmap right behind it, so
 * that one pointer is enough and nothing has to be loaded to find a word.
 *
 * 1. The first line never changes once the heap is made: every lane reads it, caches may keep
 *    it.
 * 2. Then what changes, each on a line of its own: how many runs are being claimed, how many
 *    were undone, and the counters of what went wrong.
 * 3. Then one bit a page, 64 to a word, 1 = taken. Bits past the last page are taken from the
 *    start, so that nobody has to compare a page with the count; there is one word at least.
 *
 * Bound: 640 bytes and a bit a page. Must hold: count, words, patience and low never change; a
 * bit past the end is never given back.
 */
#ifndef MAM_HEAP_LAYOUT_H
#define MAM_HEAP_LAYOUT_H

#include "heap/port.h"

#define MAM_NO_PAGE 0xffffffffu
#define MAM_PAGES_LINE 128
#define MAM_PAGES_COUNT_MAX 0xffffffc0u

/* What went wrong, and how often. */
enum mam_pages_tally {
	MAM_TALLY_FULL,      /* no page: each was seen taken during one scan */
	MAM_TALLY_NO_RUN,    /* no run: every window of that many pages had a page seen taken */
	MAM_TALLY_CONTENDED, /* given up: runs were claimed and undone during each of many scans */
	MAM_TALLY_BAD_SIZE,  /* a run of no pages, or of more than there are */
	MAM_TALLY_TWICE,     /* a page given back that was free */
	MAM_TALLY_FOREIGN,   /* a page given back that is none */
	MAM_TALLY_WRONG,     /* an object asked for or given back, and the heap is of pages */
	MAM_TALLIES,
};

/* A number that many lanes change, alone on its line. */
struct mam_pages_hot {
	uint32_t value; /* atomic */
	uint32_t pad[MAM_PAGES_LINE / 4 - 1];
};

struct mam_pages {
	uint32_t count;    /* pages; set at format */
	uint32_t words;    /* words of the bitmap; set at format */
	uint32_t patience; /* pages seen taken, one after another, before a scan; set at format */
	uint32_t low;      /* the share, per mille, from which on patience is; set at format */
	uint32_t pad[MAM_PAGES_LINE / 4 - 4];
	struct mam_pages_hot open;              /* runs of several words that are being claimed */
	struct mam_pages_hot undone;            /* such runs that were given up half-way, so far */
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
 * How many pages a lane may see taken, at random and one after another, before less than `low`
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

/* What never changes, into a zeroed header. */
MAM_KBOTH void mam_pages_head(MAM_GLOBAL struct mam_pages *pages, uint32_t count, uint32_t low)
{
	if (count > MAM_PAGES_COUNT_MAX)
		count = MAM_PAGES_COUNT_MAX;
	pages->count = count;
	pages->words = mam_layout_words(count);
	pages->patience = mam_layout_patience(low);
	pages->low = low;
}

/* A new heap of free pages in zeroed memory, by the host or by one lane before others come. */
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
