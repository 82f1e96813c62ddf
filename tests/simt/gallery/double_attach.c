/* SPDX-License-Identifier: Apache-2.0 */
/*
 * double_attach.c - two warps attach the same slab.
 *
 * A warp that needs a slab of its own searches for one without an owner and writes its number
 * there. Then its lanes take slots by their rank, without atomics, as the slab belongs to the warp
 * alone. The bug: two leaders see the same slab without an owner, and both store. The
 * second store wins the word, but both warps hand out the slab's slots.
 * Seen in: slab caches per SM or warp, where attaching is the rare path and little tested. The twin
 * stores by compare-and-swap and continues the search if it was late.
 * Found by: any policy that lets another warp run between load and store. With access hooks also as
 * a race on the slots, which are written with plain stores.
 */
#include "simt/gallery/gallery.h"

struct slabs {
	uint32_t bug, wrong, count;
	uint32_t owner[GALLERY_WARPS];
	uint32_t slots[GALLERY_WARPS][32];
};

/* The warp's new slab; `count` if there is none. */
MAM_KFN uint32_t slabs_attach(struct slabs *slabs, uint32_t me)
{
	for (uint32_t slab = 0; slab < slabs->count; slab++) {
		uint32_t *owner = &slabs->owner[slab];

		if (mam_atomic_load32(owner, MAM_RELAXED, MAM_AT_DEVICE) != 0)
			continue;
		/* The one place: the twin takes the slab only if it still has no owner. */
		if (slabs->bug)
			mam_atomic_store32(owner, me, MAM_RELEASE, MAM_AT_DEVICE);
		else if (mam_atomic_cas32(owner, 0, me, MAM_ACQ_REL, MAM_AT_DEVICE) != 0)
			continue;
		return slab;
	}
	return slabs->count;
}

MAM_KERNEL(gallery_double_attach)
{
	struct slabs *slabs = (struct slabs *)argument;
	uint32_t warp = gallery_warp(), slab = 0;

	if (mam_lane() == 0)
		slab = slabs_attach(slabs, gallery_index() + 1);
	slab = mam_warp_shuffle32(warp, slab, 0);
	if (slab == slabs->count) {
		gallery_wrong(&slabs->wrong);
		return;
	}
	slabs->slots[slab][mam_lane()]++;
}

static void slabs_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct slabs *slabs = (struct slabs *)state;

	slabs->bug = bug;
	slabs->count = grid * ((block + 31) / 32);
}

static const char *slabs_check(void *state)
{
	struct slabs *slabs = (struct slabs *)state;

	if (slabs->wrong)
		return "a warp got no slab";
	for (uint32_t slab = 0; slab < slabs->count; slab++)
		if (slabs->slots[slab][0] != 1)
			return slabs->slots[slab][0] ? "a slab has two owners"
						     : "a slab has no owner";
	return NULL;
}

const struct gallery_row gallery_double_attach_row = {
	.name = "double_attach",
	.what = "two warps attach one slab",
	.kernel = gallery_double_attach,
	.bytes = sizeof(struct slabs),
	.grid = 3,
	.block = 2,
	.begin = slabs_begin,
	.check = slabs_check,
	.plain = GALLERY_WRONG,
	.hooks = GALLERY_RACE,
};
