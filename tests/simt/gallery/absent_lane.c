/* SPDX-License-Identifier: Apache-2.0 */
/*
 * absent_lane.c - a shuffle reads from a lane that is absent.
 *
 * The bug: the code assumes that the group's leader is lane 0, as it is when the whole warp
 * calls. In a branch that lane 0 did not take, the shuffle returns an undefined value, here used as
 * a unit's number.
 * Seen in: helpers that were written for whole warps and were later called with a mask. The twin's
 * leader is the lowest lane of the mask.
 * Found by: every interleaving, at the shuffle.
 */
#include "simt/gallery/gallery.h"

struct units {
	uint32_t bug, wrong;
	uint32_t next;
	uint32_t owners[GALLERY_LANES];
};

MAM_KERNEL(gallery_absent_lane)
{
	struct units *units = (struct units *)argument;
	bool wants = mam_lane() % 3 != 0;
	uint32_t mask = mam_warp_ballot(gallery_warp(), wants), at = 0;

	if (!wants)
		return;
	/* The one place: choice of the leader. */
	uint32_t leader = units->bug ? 0 : mam_ffs32(mask) - 1;

	if (mam_lane() == mam_ffs32(mask) - 1)
		at = mam_atomic_add32(&units->next, mam_popc32(mask), MAM_RELAXED, MAM_AT_DEVICE);
	at = mam_warp_shuffle32(mask, at, leader) + mam_popc32(mask & ((1u << mam_lane()) - 1));
	if (at >= GALLERY_LANES ||
	    mam_atomic_add32(&units->owners[at], 1, MAM_RELAXED, MAM_AT_DEVICE) != 0)
		gallery_wrong(&units->wrong);
}

static void units_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	(void)grid;
	(void)block;
	((struct units *)state)->bug = bug;
}

static const char *units_check(void *state)
{
	return ((struct units *)state)->wrong ? "a unit has two owners, or does not exist" : NULL;
}

const struct gallery_row gallery_absent_lane_row = {
	.name = "absent_lane",
	.what = "a shuffle from an absent lane",
	.kernel = gallery_absent_lane,
	.bytes = sizeof(struct units),
	.grid = 1,
	.block = 6,
	.begin = units_begin,
	.check = units_check,
	.plain = GALLERY_LANE,
	.hooks = GALLERY_LANE,
};
