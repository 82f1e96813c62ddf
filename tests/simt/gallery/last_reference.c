/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_reference.c - a reference is dropped by a relaxed subtraction.
 *
 * The bug: lanes share a block, each uses its part and decrements the count, and the lane
 * that drops the last reference clears the block for its next owner. With a relaxed subtraction the
 * other lanes' last writes are not ordered before the clearing, and may land in memory of the next
 * owner.
 * Seen in: reference counts of blocks shared by a warp, copied from counters, for which relaxed is
 * right: a count that decides which lane frees is a lock.
 * The twin's subtraction releases the lane's own accesses, and acquires those of the other lanes.
 * Found by: the race checker with access hooks, on each interleaving.
 */
#include "simt/gallery/gallery.h"

struct shared {
	uint32_t bug, wrong, lanes;
	uint32_t refs;
	uint32_t parts[GALLERY_LANES];
};

/* True for the last reference. */
MAM_KFN bool shared_drop(struct shared *shared)
{
	/* The one place: the memory order of the subtraction. */
	if (shared->bug)
		return mam_atomic_add32(&shared->refs, 0xffffffffu, MAM_RELAXED, MAM_AT_DEVICE) ==
		       1;
	return mam_atomic_add32(&shared->refs, 0xffffffffu, MAM_ACQ_REL, MAM_AT_DEVICE) == 1;
}

MAM_KERNEL(gallery_last_reference)
{
	struct shared *shared = (struct shared *)argument;

	shared->parts[gallery_index()] = gallery_index() + 1;
	if (!shared_drop(shared))
		return;
	for (uint32_t i = 0; i < shared->lanes; i++) {
		if (shared->parts[i] != i + 1)
			gallery_wrong(&shared->wrong);
		shared->parts[i] = 0;
	}
}

static void shared_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct shared *shared = (struct shared *)state;

	shared->bug = bug;
	shared->lanes = shared->refs = grid * block;
}

static const char *shared_check(void *state)
{
	struct shared *shared = (struct shared *)state;

	if (shared->wrong)
		return "the last lane did not see another's writes";
	for (uint32_t i = 0; i < shared->lanes; i++)
		if (shared->parts[i] != 0)
			return "a write landed in the block's next life";
	return NULL;
}

const struct gallery_row gallery_last_reference_row = {
	.name = "last_reference",
	.what = "a reference is dropped without order",
	.kernel = gallery_last_reference,
	.bytes = sizeof(struct shared),
	.grid = 2,
	.block = 2,
	.begin = shared_begin,
	.check = shared_check,
	.hooks = GALLERY_RACE,
};
