/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lost_count.c - a counter is loaded, incremented, and stored.
 *
 * The bug: two lanes load 5, and both store 6: one of two live units is not counted. Later
 * a slab that is in use is reported as empty.
 * Seen in: statistics and reference counts that were atomic in name (a volatile variable, or an
 * atomic load and an atomic store) but not one step.
 * The twin uses one atomic addition.
 * Found by: any policy that lets another lane run between load and store.
 */
#include "simt/gallery/gallery.h"

struct tally {
	uint32_t bug, lanes, count;
};

MAM_KERNEL(gallery_lost_count)
{
	struct tally *tally = (struct tally *)argument;

	/* The one place: two steps instead of the twin's one. */
	if (tally->bug) {
		uint32_t seen = mam_atomic_load32(&tally->count, MAM_RELAXED, MAM_AT_DEVICE);

		mam_atomic_store32(&tally->count, seen + 1, MAM_RELAXED, MAM_AT_DEVICE);
	} else {
		(void)mam_atomic_add32(&tally->count, 1, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

static void tally_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct tally *tally = (struct tally *)state;

	tally->bug = bug;
	tally->lanes = grid * block;
}

static const char *tally_check(void *state)
{
	struct tally *tally = (struct tally *)state;

	return tally->count != tally->lanes ? "a lane was not counted" : NULL;
}

const struct gallery_row gallery_lost_count_row = {
	.name = "lost_count",
	.what = "a counter is loaded, then stored",
	.kernel = gallery_lost_count,
	.bytes = sizeof(struct tally),
	.grid = 2,
	.block = 2,
	.begin = tally_begin,
	.check = tally_check,
	.plain = GALLERY_WRONG,
	.hooks = GALLERY_WRONG,
};
