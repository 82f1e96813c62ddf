/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ended_lane.c - a mask names a lane that has ended.
 *
 * The bug: the lanes without work return at once, and the others continue with a mask of
 * the whole warp. Current hardware silently ignores ended lanes. The programming model requires
 * that every lane of the mask reaches the call, and ranks and counts computed from the mask are too
 * high.
 * Seen in: the bounds check at the start of a kernel, `if (index >= n) return;`, before a warp-wide
 * sum or an aggregated allocation in the last block.
 * The twin determines before the return which lanes will continue, and names those.
 * Found by: every interleaving in strict mode, where a mask's lanes must be alive.
 */
#include "simt/gallery/gallery.h"

struct items {
	uint32_t bug, count;
	uint32_t sum;
};

MAM_KERNEL(gallery_ended_lane)
{
	struct items *items = (struct items *)argument;
	uint32_t warp = gallery_warp();
	bool works = gallery_index() < items->count;
	uint32_t workers = mam_warp_ballot(warp, works);

	if (!works)
		return;
	/* The one place: the bug's mask is that of the time before the return. */
	uint32_t mask = items->bug ? warp : workers;
	uint32_t votes = mam_warp_ballot(mask, true);

	if (mam_lane() == mam_ffs32(votes) - 1)
		(void)mam_atomic_add32(&items->sum, mam_popc32(votes), MAM_RELAXED, MAM_AT_DEVICE);
}

static void items_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct items *items = (struct items *)state;

	items->bug = bug;
	items->count = grid * block - 2;
}

static const char *items_check(void *state)
{
	struct items *items = (struct items *)state;

	return items->sum != items->count ? "the sum is wrong" : NULL;
}

const struct gallery_row gallery_ended_lane_row = {
	.name = "ended_lane",
	.what = "a mask names a lane that ended",
	.kernel = gallery_ended_lane,
	.bytes = sizeof(struct items),
	.grid = 1,
	.block = 6,
	.begin = items_begin,
	.check = items_check,
	.plain = GALLERY_MASK,
	.hooks = GALLERY_MASK,
	.config = { .strict = true },
};
