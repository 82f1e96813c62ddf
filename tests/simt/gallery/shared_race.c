/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_race.c - lanes of a block exchange values in shared memory without a barrier.
 *
 * The bug: each lane writes its value and reads that of the opposite lane. Without a
 * barrier in between, that lane may not have written yet.
 * Seen in: reductions and scans; often only the last of several barriers is missing, before the
 * memory is reused, and blocks of one warp never show it.
 * The twin calls mam_syncthreads() between writing and reading.
 * Found by: almost any interleaving, as the value is wrong; with access hooks as a race, even if
 * the value is right by luck.
 */
#include "simt/gallery/gallery.h"

struct board {
	uint32_t at[GALLERY_LANES];
};

struct game {
	uint32_t bug, wrong;
};

MAM_KERNEL(gallery_shared_race)
{
	struct game *game = (struct game *)argument;
	uint32_t other = mam_block_threads() - 1 - mam_thread();
	MAM_SHARED(struct board, board);

	board->at[mam_thread()] = mam_block() + mam_thread();
	/* The one place: only the twin has a barrier. */
	if (!game->bug)
		mam_syncthreads();
	if (board->at[other] != mam_block() + other)
		gallery_wrong(&game->wrong);
}

static void game_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	(void)grid;
	(void)block;
	((struct game *)state)->bug = bug;
}

static const char *game_check(void *state)
{
	return ((struct game *)state)->wrong ? "a lane read a value that was not written yet"
					     : NULL;
}

const struct gallery_row gallery_shared_race_row = {
	.name = "shared_race",
	.what = "shared memory without __syncthreads",
	.kernel = gallery_shared_race,
	.bytes = sizeof(struct game),
	.grid = 1,
	.block = 34,
	.begin = game_begin,
	.check = game_check,
	.plain = GALLERY_WRONG,
	.hooks = GALLERY_RACE,
};
