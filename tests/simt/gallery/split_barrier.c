/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_barrier.c - a block's barrier in a branch that only some lanes take.
 *
 * The bug: the lanes with work wait at the barrier of the block for all the others, which
 * wait for them at a barrier of the warp. No lane continues.
 * Seen in: functions that contain a barrier and are called conditionally. The twin's barrier is
 * where every lane reaches it.
 * Found by: every interleaving, as a deadlock; the text lists which lanes wait where. Hardware
 * hangs if the branch splits a warp, and a hung kernel reports nothing.
 */
#include "simt/gallery/gallery.h"

struct game {
	uint32_t bug, wrong;
	uint32_t values[GALLERY_LANES];
};

MAM_KERNEL(gallery_split_barrier)
{
	struct game *game = (struct game *)argument;
	uint32_t half = mam_block_threads() / 2;
	uint32_t *values = &game->values[mam_block() * mam_block_threads()];

	if (mam_thread() < half) {
		values[mam_thread()] = mam_thread() + 1;
		/* The one place: the twin's barrier follows the branch. */
		if (game->bug)
			mam_syncthreads();
	}
	mam_warp_sync(gallery_warp());
	if (!game->bug)
		mam_syncthreads();
	if (values[mam_thread() % half] != mam_thread() % half + 1)
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

const struct gallery_row gallery_split_barrier_row = {
	.name = "split_barrier",
	.what = "__syncthreads in a branch",
	.kernel = gallery_split_barrier,
	.bytes = sizeof(struct game),
	.grid = 1,
	.block = 6,
	.begin = game_begin,
	.check = game_check,
	.plain = GALLERY_DEADLOCK,
	.hooks = GALLERY_DEADLOCK,
};
