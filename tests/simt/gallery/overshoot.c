/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overshoot.c - a count of free units is too low for a moment, so a request fails.
 *
 * The bug: one unit is free. Lane A wants two: it subtracts two, sees that there was only
 * one, and adds two again. Lane B, which wants one, runs in between, sees a negative count, and
 * gives up, though a unit was free all the time: A could never have had it.
 * Seen in: counting semaphores before free lists and queues, where subtracting first and checking
 * afterward saves a loop; it shows when requests of several units meet a nearly empty pool. The
 * twin subtracts by compare-and-swap, and never more than the count.
 * Found by: any policy that lets B run between A's two additions.
 */
#include "simt/gallery/gallery.h"

struct counts {
	uint32_t bug, wrong;
	uint32_t free[GALLERY_LANES / 2];
};

MAM_KFN bool count_take(uint32_t *count, uint32_t units, uint32_t bug)
{
	/* The one place: subtract and check, or check and subtract. */
	if (bug) {
		uint32_t before = mam_atomic_add32(count, 0u - units, MAM_ACQUIRE, MAM_AT_DEVICE);

		if ((int32_t)before >= (int32_t)units)
			return true;
		(void)mam_atomic_add32(count, units, MAM_RELAXED, MAM_AT_DEVICE);
		return false;
	}
	uint32_t seen = mam_atomic_load32(count, MAM_RELAXED, MAM_AT_DEVICE);

	while (seen >= units) {
		uint32_t found =
			mam_atomic_cas32(count, seen, seen - units, MAM_ACQUIRE, MAM_AT_DEVICE);

		if (found == seen)
			return true;
		seen = found;
	}
	return false;
}

MAM_KERNEL(gallery_overshoot)
{
	struct counts *counts = (struct counts *)argument;
	uint32_t *count = &counts->free[mam_block() / 2 * mam_block_threads() + mam_thread()];
	/*
	 * A lane of an even block wants two units of one, the same lane of the next block wants
	 * one.
	 */
	bool greedy = mam_block() % 2 == 0;

	if (count_take(count, greedy ? 2 : 1, counts->bug) == greedy)
		gallery_wrong(&counts->wrong);
}

static void counts_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct counts *counts = (struct counts *)state;

	counts->bug = bug;
	for (unsigned int i = 0; i < grid * block / 2; i++)
		counts->free[i] = 1;
}

static const char *counts_check(void *state)
{
	return ((struct counts *)state)->wrong ? "a lane got no unit though one was free" : NULL;
}

const struct gallery_row gallery_overshoot_row = {
	.name = "overshoot",
	.what = "a count is too low for a moment",
	.kernel = gallery_overshoot,
	.bytes = sizeof(struct counts),
	.grid = 2,
	.block = 1,
	.begin = counts_begin,
	.check = counts_check,
	.plain = GALLERY_WRONG,
	.hooks = GALLERY_WRONG,
};
