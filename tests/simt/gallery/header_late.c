/* SPDX-License-Identifier: Apache-2.0 */
/*
 * header_late.c - a block's header is written after its address was broadcast.
 *
 * One lane allocates a block for its whole warp, shuffles the address to the others, and writes the
 * number of lanes that share it into the header. Each lane that frees its part decrements the
 * number; the last one frees the block.
 * The bug: a lane that got the address frees its part before the header is written. It
 * decrements a stale count, the late write overwrites that, and the block is never freed.
 * Seen in: warp-aggregated allocation, where the leader continues after the shuffle "in the same
 * step" as the others. Lanes may diverge at any point since Volta. The twin writes the header
 * first, and mam_warp_sync() separates that from the broadcast.
 * Found by: lanes in any order. With warps whose lanes run one after the other, the leader first,
 * it may stay hidden, as it does on most hardware; with access hooks it is a race on the header.
 */
#include "simt/gallery/gallery.h"

#define BLOCK_BYTES 256

struct header {
	uint32_t bytes, refs;
};

struct heap {
	uint32_t bug, wrong, warps;
	uint32_t next; /* next block to allocate */
	struct header headers[GALLERY_WARPS];
	uint32_t freed[GALLERY_WARPS];
};

MAM_KFN void header_write(struct header *header, uint32_t lanes)
{
	header->bytes = BLOCK_BYTES;
	mam_atomic_store32(&header->refs, lanes, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KERNEL(gallery_header_late)
{
	struct heap *heap = (struct heap *)argument;
	uint32_t warp = gallery_warp(), at = 0;
	bool leads = mam_lane() == 0;

	if (leads)
		at = mam_atomic_add32(&heap->next, 1, MAM_RELAXED, MAM_AT_DEVICE);
	/* The one place: the twin writes here, the bug after the broadcast. */
	if (leads && !heap->bug)
		header_write(&heap->headers[at], mam_popc32(warp));
	mam_warp_sync(warp);
	at = mam_warp_shuffle32(warp, at, 0);
	if (leads && heap->bug)
		header_write(&heap->headers[at], mam_popc32(warp));

	struct header *header = &heap->headers[at];

	if (header->bytes != BLOCK_BYTES)
		gallery_wrong(&heap->wrong);
	if (mam_atomic_add32(&header->refs, 0xffffffffu, MAM_ACQ_REL, MAM_AT_DEVICE) == 1)
		(void)mam_atomic_add32(&heap->freed[at], 1, MAM_RELAXED, MAM_AT_DEVICE);
}

static void heap_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct heap *heap = (struct heap *)state;

	heap->bug = bug;
	heap->warps = grid * ((block + 31) / 32);
}

static const char *heap_check(void *state)
{
	struct heap *heap = (struct heap *)state;

	if (heap->wrong)
		return "a lane read a header that was not written";
	for (uint32_t at = 0; at < heap->warps; at++)
		if (heap->freed[at] != 1)
			return heap->freed[at] ? "a block was freed twice" : "a block is leaked";
	return NULL;
}

const struct gallery_row gallery_header_late_row = {
	.name = "header_late",
	.what = "a header is written after the broadcast",
	.kernel = gallery_header_late,
	.bytes = sizeof(struct heap),
	.grid = 1,
	.block = 4,
	.begin = heap_begin,
	.check = heap_check,
	.plain = GALLERY_WRONG,
	.hooks = GALLERY_RACE,
};
