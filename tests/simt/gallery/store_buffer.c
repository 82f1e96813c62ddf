/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_buffer.c - two lanes each write a flag and then read the other's, with too weak a fence.
 *
 * One lane closes a slab: it sets a flag, then checks whether the slab is in use. Another lane uses
 * it: it sets a flag, then checks whether the slab is closing. At least one of them must see the
 * other. The bug: both stores may still be in flight when both loads are served, so that
 * neither sees the other, and the slab is closed while in use. Release and acquire do not forbid
 * that; only sequentially consistent fences do.
 * Seen in: closing, retiring and hazard-pointer schemes on every kind of machine. The twin's fences
 * are MAM_SEQ_CST.
 * Found by: loads that return older values. The simulator performs stores when they are made, and
 * the accesses are atomic, so the race checker has nothing to report. If lanes must see each other's
 * stores, both sides need MAM_SEQ_CST.
 */
#include "simt/gallery/gallery.h"

struct gate {
	uint32_t closing, used;
	uint32_t missed; /* lanes that did not see the other */
};

struct gates {
	uint32_t bug, count;
	struct gate gates[GALLERY_LANES / 2];
};

MAM_KERNEL(gallery_store_buffer)
{
	struct gates *gates = (struct gates *)argument;
	struct gate *gate = &gates->gates[mam_block() / 2 * mam_block_threads() + mam_thread()];
	bool closes = mam_block() % 2 == 0;
	uint32_t *mine = closes ? &gate->closing : &gate->used;
	uint32_t *other = closes ? &gate->used : &gate->closing;

	mam_atomic_store32(mine, 1, MAM_RELAXED, MAM_AT_DEVICE);
	/* The one place: the memory order of the fence. */
	if (gates->bug)
		mam_fence(MAM_ACQ_REL, MAM_AT_DEVICE);
	else
		mam_fence(MAM_SEQ_CST, MAM_AT_DEVICE);
	if (mam_atomic_load32(other, MAM_RELAXED, MAM_AT_DEVICE) == 0)
		(void)mam_atomic_add32(&gate->missed, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

static void gates_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct gates *gates = (struct gates *)state;

	gates->bug = bug;
	gates->count = grid * block / 2;
}

static const char *gates_check(void *state)
{
	struct gates *gates = (struct gates *)state;

	for (uint32_t i = 0; i < gates->count; i++)
		if (gates->gates[i].missed > 1)
			return "a slab was closed with a user in it";
	return NULL;
}

const struct gallery_row gallery_store_buffer_row = {
	.name = "store_buffer",
	.what = "flags with too weak a fence",
	.kernel = gallery_store_buffer,
	.bytes = sizeof(struct gates),
	.grid = 2,
	.block = 1,
	.begin = gates_begin,
	.check = gates_check,
	.plain = GALLERY_WRONG,
	.hooks = GALLERY_WRONG,
	.config = { .race = true, .stale = true },
};
