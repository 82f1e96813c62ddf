/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_then_set.c - a bitmap's bit is checked, then set, and the check decides which lane owns the
 * unit.
 *
 * The bug: lane A loads the word and sees bit 3 clear; lane B does the same; both set it
 * with an atomic OR, and both assume that they own unit 3. An atomic OR does not help: the check
 * and the setting must be one step.
 * Seen in: page and slot bitmaps whose authors loaded the word to choose a bit and then trusted it.
 * The twin uses the result of the OR: the previous value determines which lane was first.
 * Found by: any policy that lets another lane run between load and OR. With access hooks, too.
 */
#include "simt/gallery/gallery.h"

struct bits {
	uint32_t bug, wrong, units;
	uint32_t taken[GALLERY_LANES / 32];
	uint32_t owners[GALLERY_LANES];
};

MAM_KERNEL(gallery_check_then_set)
{
	struct bits *bits = (struct bits *)argument;

	for (uint32_t i = 0; i < bits->units; i++) {
		uint32_t unit = (mam_lane() + i) % bits->units;
		uint32_t *word = &bits->taken[unit / 32];
		uint32_t bit = 1u << unit % 32;
		uint32_t seen = mam_atomic_load32(word, MAM_RELAXED, MAM_AT_DEVICE);

		if (seen & bit)
			continue;
		uint32_t before = mam_atomic_or32(word, bit, MAM_ACQ_REL, MAM_AT_DEVICE);

		/*
		 * The one place: the load decides whether the bit was free; in the twin the OR
		 * does.
		 */
		if ((bits->bug ? seen : before) & bit)
			continue;
		if (mam_atomic_add32(&bits->owners[unit], 1, MAM_RELAXED, MAM_AT_DEVICE) != 0)
			gallery_wrong(&bits->wrong);
		return;
	}
}

static void bits_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct bits *bits = (struct bits *)state;

	bits->bug = bug;
	bits->units = grid * block;
}

static const char *bits_check(void *state)
{
	return ((struct bits *)state)->wrong ? "a unit has two owners" : NULL;
}

const struct gallery_row gallery_check_then_set_row = {
	.name = "check_then_set",
	.what = "a bitmap's bit is checked, then set",
	.kernel = gallery_check_then_set,
	.bytes = sizeof(struct bits),
	.grid = 2,
	.block = 3,
	.begin = bits_begin,
	.check = bits_check,
	.plain = GALLERY_WRONG,
	.hooks = GALLERY_WRONG,
};
