/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lost_slab.c - a slab with free slots is on no list, because two lanes each assume that the other
 * one inserted it.
 *
 * A bit in `room` records that a slab has a free slot. A lane that takes the last slot clears it; a
 * lane that frees a slot of a full slab sets it.
 * The bug: A takes the last slot. Before A clears the bit, B frees a slot of the slab, sees
 * that it was full, and sets the bit, which is still set. Then A clears it. The slab has a free
 * slot, and no lane will ever look there again: the pool shrinks by a slab each time.
 * Seen in: slab allocators that move slabs between a full and a partial list; it shows as a heap
 * that fails after hours although many units were freed.
 * The twin checks the slab once more after it cleared the bit, and sets the bit again if there is a
 * free slot. A bit that is set for a full slab is harmless: the next lane that looks there clears
 * it.
 * Found by: any policy that lets a freeing lane run between the last claim and the clearing.
 */
#include "simt/gallery/gallery.h"

#define SLAB_SLOTS 2
#define SLAB_FULL 3u
#define SLAB_ROUNDS 2

struct slab {
	uint32_t room;  /* 1: a slot may be free */
	uint32_t taken; /* one bit per slot */
};

struct slabs {
	uint32_t bug, count;
	struct slab slabs[GALLERY_LANES];
};

/* The slab is full: lanes need not look there. */
MAM_KFN void slab_hide(struct slab *slab, uint32_t bug)
{
	(void)mam_atomic_and32(&slab->room, 0, MAM_ACQ_REL, MAM_AT_DEVICE);
	/* The one place: the twin checks again whether the slab is still full. */
	if (!bug && mam_atomic_load32(&slab->taken, MAM_RELAXED, MAM_AT_DEVICE) != SLAB_FULL)
		(void)mam_atomic_or32(&slab->room, 1, MAM_ACQ_REL, MAM_AT_DEVICE);
}

/* The bit of a slot; 0 if there was none. */
MAM_KFN uint32_t slab_alloc(struct slab *slab, uint32_t bug)
{
	if (mam_atomic_load32(&slab->room, MAM_RELAXED, MAM_AT_DEVICE) == 0)
		return 0;
	for (uint32_t bit = 1; bit & SLAB_FULL; bit <<= 1) {
		uint32_t before = mam_atomic_or32(&slab->taken, bit, MAM_ACQ_REL, MAM_AT_DEVICE);

		if (before & bit)
			continue;
		if ((before | bit) == SLAB_FULL)
			slab_hide(slab, bug);
		return bit;
	}
	slab_hide(slab, bug);
	return 0;
}

MAM_KFN void slab_free(struct slab *slab, uint32_t bit)
{
	uint32_t before = mam_atomic_and32(&slab->taken, ~bit, MAM_ACQ_REL, MAM_AT_DEVICE);

	if (before == SLAB_FULL)
		(void)mam_atomic_or32(&slab->room, 1, MAM_ACQ_REL, MAM_AT_DEVICE);
}

MAM_KERNEL(gallery_lost_slab)
{
	struct slabs *slabs = (struct slabs *)argument;
	struct slab *slab = &slabs->slabs[gallery_index() % slabs->count];

	for (uint32_t round = 0; round < SLAB_ROUNDS; round++) {
		uint32_t bit = slab_alloc(slab, slabs->bug);

		if (bit)
			slab_free(slab, bit);
	}
}

static void slabs_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct slabs *slabs = (struct slabs *)state;

	slabs->bug = bug;
	slabs->count = grid * block / 3;
	for (uint32_t i = 0; i < slabs->count; i++)
		slabs->slabs[i].room = 1;
}

static const char *slabs_check(void *state)
{
	struct slabs *slabs = (struct slabs *)state;

	for (uint32_t i = 0; i < slabs->count; i++) {
		if (slabs->slabs[i].taken)
			return "a slot was not freed";
		if (!slabs->slabs[i].room)
			return "a slab has a free slot, but no bit";
	}
	return NULL;
}

const struct gallery_row gallery_lost_slab_row = {
	.name = "lost_slab",
	.what = "a slab is lost between full and empty",
	.kernel = gallery_lost_slab,
	.bytes = sizeof(struct slabs),
	.grid = 3,
	.block = 1,
	.begin = slabs_begin,
	.check = slabs_check,
	.plain = GALLERY_WRONG,
	.hooks = GALLERY_WRONG,
};
