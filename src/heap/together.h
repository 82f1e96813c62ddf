/* SPDX-License-Identifier: Apache-2.0 */
/*
 * together.h - one object for several lanes: for some of a warp, or for all of a block.
 *
 * 1. One of them asks; which is the same in all.
 * 2. The others get the address: in a warp by a shuffle, in a block by a word of shared memory.
 * 3. A barrier behind that: who asked acquired what the object's last holder wrote, and a shuffle
 *    orders nothing.
 * 4. Back: a barrier first, so that what each of them did with the object comes before it is given
 *    back, by one.
 *
 * Bound: as one lane's request, and two barriers in a block.
 */
#ifndef MAM_HEAP_TOGETHER_H
#define MAM_HEAP_TOGETHER_H

#include "heap/entry.h"

/* One object for the lanes of `mask`, which all come; the lowest one's `bytes` are asked for. */
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

/* Each object that lanes of `mask` name is given back once. */
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

/* What a block's threads are told by one of them. */
struct mam_together_note {
	void *object;
	bool done;
};

/* The second barrier keeps the next call's address away until all have read this one. */
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

/* The next call's first barrier keeps its answer away until all have read this one. */
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
