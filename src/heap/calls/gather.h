/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.h - lanes that are active together get one object, of which each has a part: all lanes of
 * a warp, some of them, or a whole block.
 *
 * 1. The sizes are summed: in a warp by shuffles. In a block each warp leaves its sums in shared
 *    memory, and the first warp sums those. Lanes that want nothing have no part.
 * 2. One lane allocates header, table and sum from the heap, and writes the header (collective.h).
 * 3. Each lane computes where its part starts, and records where it ends if the table is needed.
 * 4. A barrier: the header is complete before any lane frees a part.
 *
 * Bound: as for one lane's request; in a warp one more shuffle per lane if sizes differ; in a block
 * three barriers.
 */
#ifndef MAM_HEAP_CALLS_GATHER_H
#define MAM_HEAP_CALLS_GATHER_H

#include "heap/objects/collective.h"
#include "heap/calls/entry.h"
#include "device/lanes.h"

/* More than the size of any heap; the sum over a block still does not overflow. */
#define MAM_GATHER_MAX ((uint64_t)1 << 52)
#define MAM_GATHER_WARPS (MAM_COLLECTIVE_PARTS / 32)
/* In place of the size of each part: sizes differ, or exceed MAM_COLLECTIVE_EACH. */
#define MAM_GATHER_DIFFER 0xffffffffu

/* The combined request of lanes or warps. */
struct mam_kgather {
	uint64_t before; /* bytes of those before the caller */
	uint64_t total;  /* bytes of all; the same in all lanes, as are the following */
	uint32_t each;   /* bytes of every part; 0: no lane wants any; or MAM_GATHER_DIFFER */
	uint32_t askers; /* lanes that want any */
};

/* Step 1 in a warp. */
MAM_KFN struct mam_kgather mam_gather_sum(uint32_t mask, uint64_t bytes)
{
	struct mam_kgather all;
	struct mam_klanes sum;
	uint64_t first;

	all.askers = mam_warp_ballot(mask, bytes != 0);
	first = mam_warp_shuffle64(mask, bytes, mam_lanes_leader(all.askers ? all.askers : mask));
	if (!mam_warp_ballot(mask, bytes && bytes != first)) {
		all.before = first * mam_lanes_rank(all.askers);
		all.total = first * mam_popc32(all.askers);
		all.each = first <= MAM_COLLECTIVE_EACH ? (uint32_t)first : MAM_GATHER_DIFFER;
		return all;
	}
	sum = mam_lanes_sum(mask, bytes);
	all.before = sum.before;
	all.total = sum.total;
	all.each = MAM_GATHER_DIFFER;
	return all;
}

/* The shape for so many parts; `each` is the size of every part or MAM_GATHER_DIFFER. */
MAM_KFN uint32_t mam_gather_shape(uint32_t parts, uint32_t each, uint64_t total)
{
	return mam_collective_shape(parts, each == MAM_GATHER_DIFFER ? 0 : each, total);
}

/* Step 2: returns the object, or NULL. */
MAM_KFN void *mam_gather_ask(struct mam_kheap *heap, uint32_t shape, uint64_t total)
{
	void *object = mam_entry_alloc(heap, (size_t)(mam_collective_front(shape) + total));

	if (object)
		mam_collective_open(heap, object, shape);
	return object;
}

/* Step 3: the part that starts `before` bytes after the first one. */
MAM_KFN void *mam_gather_part(void *object, uint32_t shape, uint32_t part, uint64_t before,
			      uint64_t bytes)
{
	if (!bytes)
		return NULL;
	mam_collective_note(object, shape, part, before + bytes);
	return (unsigned char *)object + mam_collective_front(shape) + before;
}

MAM_KFN uint64_t mam_gather_bytes(size_t bytes)
{
	return bytes < MAM_GATHER_MAX ? bytes : MAM_GATHER_MAX;
}

/* Returns a part to each lane of `mask` with nonzero `bytes`. All lanes of `mask` must call. */
MAM_KFN void *mam_gather_lanes(struct mam_kheap *heap, uint32_t mask, size_t bytes)
{
	uint64_t own = mam_gather_bytes(bytes), address = 0;
	struct mam_kgather all = mam_gather_sum(mask, own);
	uint32_t leader, shape;
	void *part;

	if (!all.askers)
		return NULL;
	leader = mam_lanes_leader(all.askers);
	shape = mam_gather_shape(mam_popc32(all.askers), all.each, all.total);
	if (mam_lane() == leader)
		address = (uint64_t)(uintptr_t)mam_gather_ask(heap, shape, all.total);
	address = mam_warp_shuffle64(mask, address, leader);
	if (!address)
		return NULL;
	/* The leader acquired the accesses of the memory's last holder. */
	mam_warp_sync(mask);
	part = mam_gather_part((void *)(uintptr_t)address, shape, mam_lanes_rank(all.askers),
			       all.before, own);
	mam_warp_sync(mask);
	return part;
}

/* The warps of a block exchange these in shared memory. */
struct mam_gather_note {
	uint64_t bytes; /* that the warp wants; then: that the warps before it want */
	uint32_t parts; /* likewise */
	uint32_t each;
};

struct mam_gather_notes {
	struct mam_gather_note warp[MAM_GATHER_WARPS];
	void *object;
	uint32_t shape, parts;
};

/* Steps 1 and 2 for a block, by the lanes of its first warp. */
MAM_KFN void mam_gather_join(struct mam_kheap *heap, uint32_t mask, uint32_t warps,
			     struct mam_gather_notes *notes)
{
	struct mam_klanes bytes, parts;
	uint32_t lane = mam_lane(), each = 0, told, first;
	struct mam_gather_note note;

	note.bytes = 0;
	note.parts = 0;
	note.each = 0;
	if (lane < warps)
		note = notes->warp[lane];
	bytes = mam_lanes_sum(mask, note.bytes);
	parts = mam_lanes_sum(mask, note.parts);
	told = mam_warp_ballot(mask, note.each != 0);
	if (told) {
		first = mam_warp_shuffle32(mask, note.each, mam_lanes_leader(told));
		each = mam_warp_ballot(mask, note.each && note.each != first) ? MAM_GATHER_DIFFER
									      : first;
	}
	if (lane < warps) {
		notes->warp[lane].bytes = bytes.before;
		notes->warp[lane].parts = (uint32_t)parts.before;
	}
	if (lane == 0) {
		notes->object = NULL;
		notes->parts = (uint32_t)parts.total;
		if (parts.total) {
			notes->shape = mam_gather_shape((uint32_t)parts.total, each, bytes.total);
			notes->object = mam_gather_ask(heap, notes->shape, bytes.total);
		}
	}
}

/* Returns a part to each thread of the block with nonzero `bytes`. All threads must call. */
MAM_KFN void *mam_gather_block(struct mam_kheap *heap, size_t bytes)
{
	MAM_SHARED(struct mam_gather_notes, notes);
	uint32_t number = mam_thread(), threads = mam_block_threads(), warp = number / 32;
	uint32_t mask = mam_collective_bits(threads, warp);
	uint64_t own = mam_gather_bytes(bytes);
	struct mam_kgather all = mam_gather_sum(mask, own);
	struct mam_collective *whole;
	void *part = NULL;

	if (mam_lane() == 0) {
		notes->warp[warp].bytes = all.total;
		notes->warp[warp].parts = mam_popc32(all.askers);
		notes->warp[warp].each = all.each;
	}
	mam_syncthreads();
	if (warp == 0)
		mam_gather_join(heap, mask, (threads + 31) / 32, notes);
	mam_syncthreads();
	whole = (struct mam_collective *)notes->object;
	if (whole) {
		if (number < mam_collective_words(notes->parts))
			((uint32_t *)(whole + 1))[number] =
				mam_collective_bits(notes->parts, number);
		part = mam_gather_part(whole, notes->shape,
				       notes->warp[warp].parts + mam_lanes_rank(all.askers),
				       notes->warp[warp].bytes + all.before, own);
	}
	/* The header is complete, and the next call may reuse the notes. */
	mam_syncthreads();
	return part;
}

#endif
