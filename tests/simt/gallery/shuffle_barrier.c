/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shuffle_barrier.c - a shuffle is used as a memory barrier.
 *
 * One lane fills a buffer, then a shuffle passes its address to the warp, and the others read. The
 * bug: a shuffle makes lanes converge, but does not order their other memory accesses. Compiler and
 * hardware may let the others read before the buffer is filled.
 * Seen in: warp-wide code written before Volta, where lockstep execution hid it, and in code ported
 * by appending _sync to each intrinsic's name and changing nothing else. The twin calls
 * mam_warp_sync(), which does order memory among the lanes that it names.
 * Found by: the race checker with access hooks, on each interleaving. No search of interleavings
 * finds it, as one lane's writes are always seen there in their order.
 */
#include "simt/gallery/gallery.h"

#define NOTE_WORDS 4

struct notes {
	uint32_t bug, wrong;
	uint32_t next;
	uint32_t notes[GALLERY_WARPS][NOTE_WORDS];
};

MAM_KERNEL(gallery_shuffle_barrier)
{
	struct notes *notes = (struct notes *)argument;
	uint32_t warp = gallery_warp(), at = 0;

	if (mam_lane() == 0) {
		at = mam_atomic_add32(&notes->next, 1, MAM_RELAXED, MAM_AT_DEVICE);
		for (uint32_t i = 0; i < NOTE_WORDS; i++)
			notes->notes[at][i] = at + i + 1;
	}
	/* The one place: only the twin has a barrier. */
	if (!notes->bug)
		mam_warp_sync(warp);
	at = mam_warp_shuffle32(warp, at, 0);
	for (uint32_t i = 0; i < NOTE_WORDS; i++)
		if (notes->notes[at][i] != at + i + 1)
			gallery_wrong(&notes->wrong);
}

static void notes_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	(void)grid;
	(void)block;
	((struct notes *)state)->bug = bug;
}

static const char *notes_check(void *state)
{
	return ((struct notes *)state)->wrong ? "a lane read a value that was not written yet"
					      : NULL;
}

const struct gallery_row gallery_shuffle_barrier_row = {
	.name = "shuffle_barrier",
	.what = "a shuffle is used as a barrier",
	.kernel = gallery_shuffle_barrier,
	.bytes = sizeof(struct notes),
	.grid = 1,
	.block = 4,
	.begin = notes_begin,
	.check = notes_check,
	.hooks = GALLERY_RACE,
};
