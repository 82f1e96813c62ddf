/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full_mask.c - a collective in divergent code names all lanes of the warp.
 *
 * Lanes that need a unit elect one of them, which counts for all that are present. The bug:
 * the mask contains all 32 lanes, but only the lanes that took the branch arrive; the others are
 * past it. The warp waits for lanes that are at another collective, or waits forever.
 * Seen in: code ported from the intrinsics without _sync by writing 0xffffffff for the mask. The
 * twin names the active lanes, and uses that mask for the whole group.
 * Found by: every interleaving: the lanes of a mask wait at different calls.
 */
#include "simt/gallery/gallery.h"

struct units {
	uint32_t bug, wrong;
	uint32_t next;
	uint32_t owners[GALLERY_LANES + 32];
};

MAM_KERNEL(gallery_full_mask)
{
	struct units *units = (struct units *)argument;
	uint32_t warp = gallery_warp();

	if (mam_lane() % 2 == 1) {
		uint32_t here = mam_warp_active();
		/* The one place: the lanes that the collectives name. */
		uint32_t mask = units->bug ? warp : here;
		uint32_t group = mam_warp_ballot(mask, true), at = 0;
		uint32_t leader = mam_ffs32(group) - 1;

		if (mam_lane() == leader)
			at = mam_atomic_add32(&units->next, mam_popc32(group), MAM_RELAXED,
					      MAM_AT_DEVICE);
		at = mam_warp_shuffle32(mask, at, leader);
		at += mam_popc32(group & ((1u << mam_lane()) - 1));
		if (mam_atomic_add32(&units->owners[at], 1, MAM_RELAXED, MAM_AT_DEVICE) != 0)
			gallery_wrong(&units->wrong);
	}
	mam_warp_sync(warp);
}

static void units_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	(void)grid;
	(void)block;
	((struct units *)state)->bug = bug;
}

static const char *units_check(void *state)
{
	return ((struct units *)state)->wrong ? "a unit has two owners" : NULL;
}

const struct gallery_row gallery_full_mask_row = {
	.name = "full_mask",
	.what = "a full mask in divergent code",
	.kernel = gallery_full_mask,
	.bytes = sizeof(struct units),
	.grid = 1,
	.block = 6,
	.begin = units_begin,
	.check = units_check,
	.plain = GALLERY_MASK,
	.hooks = GALLERY_MASK,
};
