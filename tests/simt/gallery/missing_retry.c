/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing_retry.c - a claim that lost its race gives up, though a unit is free.
 *
 * The bug: two lanes choose the same free bit of a word; one of them gets it, and the other
 * returns NULL at once. There are as many units as lanes, so every lane must get one.
 * Seen in: allocators that treat "my atomic did not win" as "memory is full", and pass load tests
 * because their callers retry, or because the pool is never nearly full when they are measured. The
 * twin reads the word again, and gives up only if the word was full.
 * Found by: any policy that lets another lane run between load and OR.
 */
#include "simt/gallery/gallery.h"

struct word {
	uint32_t bug, wrong;
	uint32_t full;                     /* the bits of a word that are units */
	uint32_t taken[GALLERY_LANES / 2]; /* one per group of lanes */
};

/* The bit that the caller got; 0 if there is none. */
MAM_KFN uint32_t word_claim(struct word *word, uint32_t *taken)
{
	for (;;) {
		uint32_t seen = mam_atomic_load32(taken, MAM_RELAXED, MAM_AT_DEVICE);
		uint32_t bit = ~seen & (seen + 1) & word->full;

		if (bit == 0)
			return 0;
		if (!(mam_atomic_or32(taken, bit, MAM_ACQ_REL, MAM_AT_DEVICE) & bit))
			return bit;
		/* The one place: the twin tries again. */
		if (word->bug)
			return 0;
	}
}

MAM_KERNEL(gallery_missing_retry)
{
	struct word *word = (struct word *)argument;

	/* Lanes with the same number in all blocks share a word, which has a bit per lane. */
	if (word_claim(word, &word->taken[mam_thread()]) == 0)
		gallery_wrong(&word->wrong);
}

static void word_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct word *word = (struct word *)state;

	(void)block;
	word->bug = bug;
	word->full = grid >= 32 ? 0xffffffffu : (1u << grid) - 1;
}

static const char *word_check(void *state)
{
	return ((struct word *)state)->wrong ? "a lane got no unit though one was free" : NULL;
}

const struct gallery_row gallery_missing_retry_row = {
	.name = "missing_retry",
	.what = "a claim that lost its race gives up",
	.kernel = gallery_missing_retry,
	.bytes = sizeof(struct word),
	.grid = 4,
	.block = 1,
	.begin = word_begin,
	.check = word_check,
	.plain = GALLERY_WRONG,
	.hooks = GALLERY_WRONG,
};
