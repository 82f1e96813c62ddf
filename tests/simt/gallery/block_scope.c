/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_scope.c - lanes of several blocks count with an atomic of block scope.
 *
 * The bug: an atomic of block scope is one step for the lanes of its block only. Two blocks
 * that use one on the same word race as if they used plain writes, and additions may be lost.
 * Seen in: counters moved from shared to global memory, or from one block to a grid, whose scope
 * was not updated.
 * The twin's additions have device scope.
 * Found by: the race checker. Atomics are seen in every program, so access hooks are not needed.
 */
#include "simt/gallery/gallery.h"

struct tally {
	uint32_t bug, lanes, count;
};

MAM_KERNEL(gallery_block_scope)
{
	struct tally *tally = (struct tally *)argument;

	/* The one place: the scope of the addition. */
	if (tally->bug)
		(void)mam_atomic_add32(&tally->count, 1, MAM_RELAXED, MAM_AT_BLOCK);
	else
		(void)mam_atomic_add32(&tally->count, 1, MAM_RELAXED, MAM_AT_DEVICE);
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

const struct gallery_row gallery_block_scope_row = {
	.name = "block_scope",
	.what = "atomics of block scope in two blocks",
	.kernel = gallery_block_scope,
	.bytes = sizeof(struct tally),
	.grid = 2,
	.block = 2,
	.begin = tally_begin,
	.check = tally_check,
	.plain = GALLERY_RACE,
	.hooks = GALLERY_RACE,
	.config = { .race = true },
};
