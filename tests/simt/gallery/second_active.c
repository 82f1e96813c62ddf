/* SPDX-License-Identifier: Apache-2.0 */
/*
 * second_active.c - the active mask is read a second time, and assumed to be the same.
 *
 * The bug: __activemask() returns the lanes that are active now. Lanes may diverge or
 * converge at any time, so a second read may return another mask: it may lack the leader, or ranks
 * no longer fit the number of units that the leader took for the first group.
 * Seen in: helpers that each read the active mask for themselves and are called one after the
 * other; compilers keep lanes converged just often enough for tests to pass. The twin keeps the
 * first mask for the whole operation.
 * Found by: interleavings in which the lanes of a warp diverge; the simulator creates some on
 * purpose, also when it runs warps as hardware does.
 */
#include "simt/gallery/gallery.h"

struct units {
	uint32_t bug, wrong;
	uint32_t next;
	uint32_t owners[GALLERY_LANES + 32];
};

MAM_KERNEL(gallery_second_active)
{
	struct units *units = (struct units *)argument;
	uint32_t mask = mam_warp_active(), at = 0;
	uint32_t leader = mam_ffs32(mask) - 1;

	if (mam_lane() == leader)
		at = mam_atomic_add32(&units->next, mam_popc32(mask), MAM_RELAXED, MAM_AT_DEVICE);
	/* The one place: the bug reads the mask again. */
	if (units->bug)
		mask = mam_warp_active();
	at = mam_warp_shuffle32(mask, at, leader) + mam_popc32(mask & ((1u << mam_lane()) - 1));
	if (mam_atomic_add32(&units->owners[at], 1, MAM_RELAXED, MAM_AT_DEVICE) != 0)
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
	return ((struct units *)state)->wrong ? "a unit has two owners" : NULL;
}

const struct gallery_row gallery_second_active_row = {
	.name = "second_active",
	.what = "the active mask is read twice",
	.kernel = gallery_second_active,
	.bytes = sizeof(struct units),
	.grid = 1,
	.block = 6,
	.begin = units_begin,
	.check = units_check,
	.plain = GALLERY_WRONG | GALLERY_LANE,
	.hooks = GALLERY_WRONG | GALLERY_LANE,
};
