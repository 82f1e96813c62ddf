/* SPDX-License-Identifier: Apache-2.0 */
/*
 * together.h - one object for several lanes: for some of a warp, or for a whole block.
 *
 * 1. One lane allocates; which one is the same in all.
 * 2. The others get the address: in a warp by a shuffle, in a block by a word of shared memory.
 * 3. A barrier after that: the allocating lane acquired the writes of the object's last holder, and
 *    a shuffle orders nothing.
 * 4. To free: a barrier first, which orders the accesses of all lanes before the free by one lane.
 *
 * Bound: as one lane's request, and two barriers in a block.
 */
#ifndef MAM_HEAP_CALLS_TOGETHER_H
#define MAM_HEAP_CALLS_TOGETHER_H

#include "heap/calls/entry.h"

/*
 * Allocates one object for the lanes of `mask`, all of which must call; the lowest lane's `bytes`
 * count.
 */
MAM_KFN void *mam_together_alloc(struct mam_kheap *heap, uint32_t mask, size_t bytes)
{
	uint32_t leader = mam_ffs32(mask) - 1;
	uint64_t address = 0;

	if (mam_lane() == leader)
		address = (uint64_t)(uintptr_t)mam_entry_alloc(heap, bytes);
	address = mam_warp_shuffle64(mask, address, leader);
	mam_warp_sync(mask);
	return (void *)(uintptr_t)address;
}

/* Frees each object that lanes of `mask` pass once. */
MAM_KFN bool mam_together_free(struct mam_kheap *heap, uint32_t mask, void *object)
{
	uint32_t group = mam_warp_match64(mask, (uint64_t)(uintptr_t)object);
	uint32_t leader = mam_ffs32(group) - 1;
	bool done = false;

	mam_warp_sync(group);
	if (mam_lane() == leader)
		done = mam_entry_free(heap, object);
	return mam_warp_shuffle32(group, done, leader) != 0;
}

/* One thread of a block writes this for the others. */
struct mam_together_note {
	void *object;
	bool done;
};

/* The second barrier delays the next call's address until all have read this one. */
MAM_KFN void *mam_together_alloc_block(struct mam_kheap *heap, size_t bytes)
{
	MAM_SHARED(struct mam_together_note, note);
	void *object;

	if (mam_block_leader())
		note->object = mam_entry_alloc(heap, bytes);
	mam_syncthreads();
	object = note->object;
	mam_syncthreads();
	return object;
}

/* The next call's first barrier delays its result until all have read this one. */
MAM_KFN bool mam_together_free_block(struct mam_kheap *heap, void *object)
{
	MAM_SHARED(struct mam_together_note, note);

	mam_syncthreads();
	if (mam_block_leader())
		note->done = mam_entry_free(heap, object);
	mam_syncthreads();
	return note->done;
}

#endif
