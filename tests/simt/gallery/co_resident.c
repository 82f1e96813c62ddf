/* SPDX-License-Identifier: Apache-2.0 */
/*
 * co_resident.c - a block waits for all the others, which may not have started.
 *
 * Each block leaves a part of a sum, and one block adds the parts. The bug: every block
 * waits until all have arrived, as at a barrier of the grid. A GPU runs as many blocks at the same
 * time as fit; a block that waits stays resident, and the block that it waits for never becomes
 * resident.
 * Seen in: home-made grid barriers that work until the grid grows, the GPU is shared, or the GPU is
 * a smaller one.
 * In the twin no block waits: the block that arrives last adds the parts.
 * Found by: every interleaving if fewer blocks are resident than the grid has: a livelock whose
 * text reports that blocks are waiting to become resident.
 */
#include "simt/gallery/gallery.h"

struct sums {
	uint32_t bug, wrong;
	uint32_t arrived;
	uint32_t parts[GALLERY_LANES];
	uint32_t sum;
};

/* True for the block that adds, after all have left their parts. */
MAM_KFN bool sums_arrive(struct sums *sums)
{
	uint32_t before = mam_atomic_add32(&sums->arrived, 1, MAM_ACQ_REL, MAM_AT_DEVICE);

	/* The one place: the bug waits; in the twin the last block does the work. */
	if (!sums->bug)
		return before + 1 == mam_grid_blocks();
	while (mam_atomic_load32(&sums->arrived, MAM_ACQUIRE, MAM_AT_DEVICE) < mam_grid_blocks())
		mam_nanosleep(100);
	return mam_block() == 0;
}

MAM_KERNEL(gallery_co_resident)
{
	struct sums *sums = (struct sums *)argument;

	if (mam_thread() != 0)
		return;
	sums->parts[mam_block()] = mam_block() + 1;
	if (!sums_arrive(sums))
		return;
	for (uint32_t block = 0; block < mam_grid_blocks(); block++)
		sums->sum += sums->parts[block];
	if (sums->sum != mam_grid_blocks() * (mam_grid_blocks() + 1) / 2)
		gallery_wrong(&sums->wrong);
}

static void sums_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	(void)grid;
	(void)block;
	((struct sums *)state)->bug = bug;
}

static const char *sums_check(void *state)
{
	struct sums *sums = (struct sums *)state;

	return sums->wrong || sums->sum == 0 ? "the sum is wrong" : NULL;
}

const struct gallery_row gallery_co_resident_row = {
	.name = "co_resident",
	.what = "a spin on blocks that are not resident",
	.kernel = gallery_co_resident,
	.bytes = sizeof(struct sums),
	.grid = 3,
	.block = 1,
	.begin = sums_begin,
	.check = sums_check,
	.plain = GALLERY_LIVELOCK,
	.hooks = GALLERY_LIVELOCK,
	.config = { .resident = 2, .steps_max = 20000 },
};
