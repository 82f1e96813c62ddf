/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kma.h - a heap of superblocks: blocks of any size for any lane of any kernel.
 *
 * alloc:
 * 1. The class of the size (classes.h). What no class has takes whole superblocks, side by side:
 *    one is a free one, more are such as were never used (fresh.h); no others are put together.
 * 2. The entry of the class and the lane (actives.h) names a superblock: reserve a block there, and
 *    pick it (superblock.h). Done, mostly. Who has reserved the last one clears the entry.
 * 3. Else mark the entry, take a free superblock from the queue (queue.h) or a fresh one, prepare
 *    it with the first block taken, and let the entry name it. Others look again while they see the mark,
 *    some times, and then do as if it were theirs.
 * 4. No free one: look at the states of superblocks, as many as the heap's terms say, from one that
 *    hangs on the lane on: one of the class that has a block becomes active again; one without a
 *    block in use, which is only still attached, becomes of this class. None: 3's look once more,
 *    for what was given back meanwhile; then NULL.
 * free:
 * 1. By the address the superblock, by its class the block. What is not at the beginning of a block
 *    that is taken is refused.
 * 2. Clear the bit, raise the count. The last one of a superblock that is not active puts it
 *    into the queue: a free superblock serves any class. An inactive one becomes active again where its
 *    class's entry for the lane names nothing.
 *
 * After Splet, Howes, Gaster, Varbanescu: KMA, GPGPU-7 (2014), with what that paper wishes for a
 * KMA-2: larger requests, and no search without a bound. There inactive superblocks serve nobody
 * before all of their blocks are free; here see 4, and 2 of free.
 *
 * A block is at a multiple of 16, or of its size's power of two where that is less. Memory is not
 * cleared.
 *
 * Bound, where nobody is in the way. alloc: entry, state, word of the bitmap are read, the state
 * changed by 1 CAS, the bitmap by 1 OR: 3 reads and 2 atomics. free: the state read, 1 AND, 1 CAS; of
 * an inactive superblock the entry is read too. A superblock that is prepared costs 3 CAS, and 4 more
 * with its way through the queue, and its bitmap's words. With `counted` one addition more each.
 * Lock-free: a step is repeated only because another lane's was won, marks aside, and those
 * MAM_KMA_PATIENCE times a request at most.
 *
 * NULL is true of a heap that nobody changes meanwhile, if all states may be looked at. Else a
 * superblock may be in somebody's hands, or become free where the look has passed.
 *
 * A lane that stops for ever keeps what it has in its hands: a block, or a superblock.
 *
 * Not seen: a second free of a block while the first is under way, if the superblock is made anew
 * between its look at the state and its AND; and what is written outside of one's block, of which
 * bitmaps are a part of the reach.
 */
#ifndef MAM_KMA_KMA_H
#define MAM_KMA_KMA_H

#include "kma/layout.h"
#include "kma/superblock.h"

#define MAM_KMA_TRIES 8u
#define MAM_KMA_NAP_NS 100u

/* A lane's number, among others: it need not be its own. */
MAM_KFN uint32_t mam_kma_self(void)
{
	return mam_block() * mam_block_threads() + mam_thread();
}

/* The class whose blocks are the smallest that fit, or heap->classes: none. `bytes` > 0. */
MAM_KFN uint32_t mam_kma_class_for(MAM_GLOBAL struct mam_kma *heap, uint64_t bytes)
{
	uint32_t which = bytes <= 4 ? 0 : 62 - mam_clz64(bytes - 1);

	if (which > heap->classes || which > MAM_KMA_CLASSES)
		return heap->classes;
	if (which && heap->class_of[which - 1].size >= bytes)
		return which - 1;
	if (which < heap->classes && heap->class_of[which].size < bytes)
		return heap->classes;
	return which;
}

MAM_KFN void mam_kma_fail(MAM_GLOBAL struct mam_kma *heap, enum mam_kma_failure why)
{
	(void)mam_atomic_add64(&heap->failures[why], 1, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KFN MAM_GLOBAL unsigned char *mam_kma_superblock_at(MAM_GLOBAL struct mam_kma *heap,
							uint32_t superblock)
{
	return mam_kma_ground(heap) + ((uint64_t)superblock << heap->shift);
}

MAM_KFN MAM_GLOBAL uint32_t *mam_kma_bitmap(MAM_GLOBAL struct mam_kma *heap, uint32_t superblock,
					    uint32_t total)
{
	return (MAM_GLOBAL uint32_t *)(mam_kma_superblock_at(heap, superblock) +
				       ((size_t)1 << heap->shift)) -
	       mam_kma_words(total);
}

/* A block that was reserved. */
MAM_KFN MAM_GLOBAL void *mam_kma_pick(MAM_GLOBAL struct mam_kma *heap, uint32_t superblock,
				      uint32_t which, uint32_t lane)
{
	struct mam_kma_class cut = heap->class_of[which];

	return mam_kma_superblock_at(heap, superblock) +
	       cut.size * mam_kma_take_bit(mam_kma_bitmap(heap, superblock, cut.total), cut.total,
					   lane);
}

MAM_KFN uint32_t mam_kma_take_free(MAM_GLOBAL struct mam_kma *heap)
{
	uint32_t superblock = mam_kma_queue_take(mam_kma_queue(heap));

	return superblock != MAM_KMA_NONE ? superblock : mam_kma_fresh_take(&heap->fresh, 1);
}

MAM_KFN void mam_kma_give_free(MAM_GLOBAL struct mam_kma *heap, uint32_t superblock)
{
	mam_kma_queue_put(mam_kma_queue(heap), superblock);
}

enum mam_kma_found {
	MAM_KMA_NOTHING,
	MAM_KMA_RESERVED, /* a block of a superblock of that kind; `before` is its state before */
	MAM_KMA_TAKEN,    /* a superblock that is free now, and the caller's alone */
};

/* Step 4 of alloc. `kind` may be MAM_KMA_RUN: what is taken only. */
MAM_KFN enum mam_kma_found mam_kma_search(MAM_GLOBAL struct mam_kma *heap, uint32_t kind,
					  uint32_t lane, bool attach, uint32_t *superblock,
					  uint64_t *before)
{
	uint32_t at = mam_kma_mix(lane) % heap->superblocks, i;
	MAM_GLOBAL uint64_t *state;

	MAM_ROLLED
	for (i = 0; i < heap->search; i++) {
		state = mam_kma_state(heap, at);
		*superblock = at;
		*before = mam_atomic_load64(state, MAM_RELAXED, MAM_AT_DEVICE);
		if (kind < MAM_KMA_INSIDE && mam_kma_reserve(state, kind, attach, before))
			return MAM_KMA_RESERVED;
		if (mam_kma_retire(state, *before))
			return MAM_KMA_TAKEN;
		at = at + 1 == heap->superblocks ? 0 : at + 1;
	}
	return MAM_KMA_NOTHING;
}

/* A superblock or a block, by 3 and 4 of alloc; the arguments are mam_kma_search()'s. */
MAM_KFN enum mam_kma_found mam_kma_find(MAM_GLOBAL struct mam_kma *heap, uint32_t kind,
					uint32_t lane, bool attach, uint32_t *superblock,
					uint64_t *before)
{
	enum mam_kma_found found;
	uint32_t look;

	*before = 0;
	MAM_ROLLED
	for (look = 0; look < 2; look++) {
		*superblock = mam_kma_take_free(heap);
		if (*superblock != MAM_KMA_NONE)
			return MAM_KMA_TAKEN;
		if (look)
			break;
		found = mam_kma_search(heap, kind, lane, attach, superblock, before);
		if (found != MAM_KMA_NOTHING)
			return found;
	}
	mam_kma_fail(heap, MAM_KMA_NO_SUPERBLOCK);
	return MAM_KMA_NOTHING;
}

/*
 * Steps 3 and 4 of alloc for an entry that has the mark `seen`; `entry` NULL: a superblock that no
 * entry names. `*again`: another came first, and the entry is to be looked at.
 */
MAM_KSLOW MAM_GLOBAL void *mam_kma_open(MAM_GLOBAL struct mam_kma *heap, uint32_t which,
					uint32_t lane, MAM_GLOBAL uint64_t *entry, uint64_t seen,
					bool *again)
{
	uint32_t superblock, kind = MAM_KMA_OF_CLASS + which;
	struct mam_kma_class cut = heap->class_of[which];
	enum mam_kma_found found;
	uint64_t before;

	*again = false;
	found = mam_kma_find(heap, kind, lane, entry != NULL, &superblock, &before);
	if (found == MAM_KMA_NOTHING) {
		if (entry)
			mam_kma_entry_clear(entry, seen);
		return NULL;
	}
	if (found == MAM_KMA_RESERVED) {
		/* Who holds a block may detach: the superblock does not become free by it. */
		if (entry && mam_kma_state_free(before) == 1)
			mam_kma_entry_clear(entry, seen);
		else if (entry && !mam_kma_entry_publish(entry, seen, superblock) &&
			 !mam_kma_state_attached(before))
			(void)mam_kma_detach(mam_kma_state(heap, superblock));
		return mam_kma_pick(heap, superblock, which, lane);
	}
	mam_kma_prepare(mam_kma_state(heap, superblock),
			mam_kma_bitmap(heap, superblock, cut.total), kind, cut.total,
			entry != NULL);
	if (entry && !mam_kma_entry_publish(entry, seen, superblock) &&
	    mam_kma_unprepare(mam_kma_state(heap, superblock))) {
		mam_kma_give_free(heap, superblock);
		*again = true;
		return NULL;
	}
	return mam_kma_superblock_at(heap, superblock);
}

MAM_KFN MAM_GLOBAL void *mam_kma_alloc_block(MAM_GLOBAL struct mam_kma *heap, uint32_t which,
					     uint32_t lane)
{
	MAM_GLOBAL uint64_t *entry = mam_kma_entry(mam_kma_entries(heap), heap->entries_shift,
						   which, lane),
			    *state;
	uint32_t patience = MAM_KMA_PATIENCE, tries = MAM_KMA_TRIES, superblock;
	uint64_t seen, before;
	MAM_GLOBAL void *block;
	bool again;

	MAM_ROLLED
	while (tries) {
		seen = mam_kma_entry_look(entry);
		if (mam_kma_entry_names(seen)) {
			superblock = mam_kma_entry_superblock(seen);
			state = mam_kma_state(heap, superblock);
			before = mam_atomic_load64(state, MAM_RELAXED, MAM_AT_DEVICE);
			if (mam_kma_reserve(state, MAM_KMA_OF_CLASS + which, false, &before)) {
				if (mam_kma_state_free(before) == 1)
					mam_kma_entry_clear(entry, seen);
				return mam_kma_pick(heap, superblock, which, lane);
			}
		}
		if (mam_kma_entry_what(seen) == MAM_KMA_MARK) {
			if (patience) {
				patience--;
				mam_nanosleep(MAM_KMA_NAP_NS);
				continue;
			}
		} else if (!mam_kma_entry_mark(entry, &seen)) {
			tries--;
			continue;
		}
		block = mam_kma_open(heap, which, lane, entry, seen, &again);
		if (!again)
			return block;
		tries--;
	}
	return mam_kma_open(heap, which, lane, NULL, 0, &again);
}

/* `count` superblocks side by side. */
MAM_KSLOW MAM_GLOBAL void *mam_kma_alloc_run(MAM_GLOBAL struct mam_kma *heap, uint32_t count,
					     uint32_t lane)
{
	uint32_t first, i;
	MAM_GLOBAL uint64_t *state;
	uint64_t before;

	if (count == 1) {
		if (mam_kma_find(heap, MAM_KMA_RUN, lane, false, &first, &before) ==
		    MAM_KMA_NOTHING)
			return NULL;
	} else {
		first = mam_kma_fresh_take(&heap->fresh, count);
		if (first == MAM_KMA_NONE) {
			mam_kma_fail(heap, MAM_KMA_NO_RUN);
			return NULL;
		}
	}
	for (i = count; i-- > 0;) {
		state = mam_kma_state(heap, first + i);
		before = mam_atomic_load64(state, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_store64(
			state,
			mam_kma_state_made(before, i ? MAM_KMA_INSIDE : MAM_KMA_RUN, i ? 0 : count),
			MAM_RELAXED, MAM_AT_DEVICE);
	}
	return mam_kma_superblock_at(heap, first);
}

/* NULL: no room, or `bytes` is 0. */
MAM_KFN MAM_GLOBAL void *mam_kma_alloc(MAM_GLOBAL struct mam_kma *heap, size_t bytes)
{
	uint32_t lane = mam_kma_self(), which;
	MAM_GLOBAL void *block;

	if (!bytes)
		return NULL;
	if (bytes > (uint64_t)heap->superblocks << heap->shift) {
		mam_kma_fail(heap, MAM_KMA_TOO_LARGE);
		return NULL;
	}
	which = mam_kma_class_for(heap, bytes);
	if (which < heap->classes)
		block = mam_kma_alloc_block(heap, which, lane);
	else
		block = mam_kma_alloc_run(heap, (uint32_t)((bytes - 1) >> heap->shift) + 1, lane);
	if (block && heap->counted)
		(void)mam_atomic_add64(&heap->slots[lane / 32 % MAM_KMA_SLOTS].allocs, 1,
				       MAM_RELAXED, MAM_AT_DEVICE);
	return block;
}

/* `seen`: the state of a run's first. */
MAM_KSLOW bool mam_kma_free_run(MAM_GLOBAL struct mam_kma *heap, uint32_t first, uint64_t seen)
{
	uint32_t count = mam_kma_state_length(seen), i;
	MAM_GLOBAL uint64_t *state = mam_kma_state(heap, first);

	/* Of two that give it back at the same time one is refused. */
	if (mam_atomic_cas64(state, seen, mam_kma_state_made(seen, MAM_KMA_INSIDE, 0), MAM_ACQ_REL,
			     MAM_AT_DEVICE) != seen)
		return false;
	for (i = 0; i < count; i++) {
		state = mam_kma_state(heap, first + i);
		seen = mam_atomic_load64(state, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_store64(state, mam_kma_state_freed(seen), MAM_RELAXED, MAM_AT_DEVICE);
	}
	if (!mam_kma_fresh_give(&heap->fresh, first, count))
		for (i = 0; i < count; i++)
			mam_kma_give_free(heap, first + i);
	return true;
}

MAM_KFN bool mam_kma_free_block(MAM_GLOBAL struct mam_kma *heap, uint32_t superblock,
				uint32_t inside, uint64_t seen)
{
	uint32_t which = mam_kma_state_kind(seen) - MAM_KMA_OF_CLASS, block;
	MAM_GLOBAL uint64_t *state = mam_kma_state(heap, superblock), *entry = NULL;
	struct mam_kma_class cut = heap->class_of[which];
	uint64_t vacancy = 0, before;

	block = inside / cut.size;
	if (block * cut.size != inside || block >= cut.total ||
	    !mam_kma_give_bit(mam_kma_bitmap(heap, superblock, cut.total), block))
		return false;
	if (!mam_kma_state_attached(seen) && !mam_kma_gave_last(seen)) {
		entry = mam_kma_entry(mam_kma_entries(heap), heap->entries_shift, which,
				      mam_kma_self());
		vacancy = mam_kma_entry_look(entry);
		if (mam_kma_entry_what(vacancy) != MAM_KMA_VACANT)
			entry = NULL;
	}
	before = mam_kma_unreserve(state, seen, entry != NULL);
	if (mam_kma_gave_last(before) ||
	    (entry && !mam_kma_state_attached(before) &&
	     !mam_kma_entry_publish(entry, vacancy, superblock) && mam_kma_detach(state)))
		mam_kma_give_free(heap, superblock);
	return true;
}

/* By any lane of any kernel. NULL: true, nothing done. False: it is refused, as 1 of free says. */
MAM_KFN bool mam_kma_free(MAM_GLOBAL struct mam_kma *heap, MAM_GLOBAL void *object)
{
	uint64_t at = (uint64_t)((uintptr_t)object - (uintptr_t)mam_kma_ground(heap)), seen;
	uint32_t superblock, inside;
	bool done = false;

	if (!object)
		return true;
	/* Below the ground the difference is huge. */
	if (at < (uint64_t)heap->superblocks << heap->shift) {
		superblock = (uint32_t)(at >> heap->shift);
		inside = (uint32_t)at & ((1u << heap->shift) - 1);
		seen = mam_atomic_load64(mam_kma_state(heap, superblock), MAM_RELAXED,
					 MAM_AT_DEVICE);
		if (mam_kma_state_cut(seen))
			done = mam_kma_free_block(heap, superblock, inside, seen);
		else if (mam_kma_state_kind(seen) == MAM_KMA_RUN && !inside)
			done = mam_kma_free_run(heap, superblock, seen);
	}
	if (!done)
		mam_kma_fail(heap, MAM_KMA_WRONG_FREE);
	else if (heap->counted)
		(void)mam_atomic_add64(&heap->slots[mam_kma_self() / 32 % MAM_KMA_SLOTS].frees, 1,
				       MAM_RELAXED, MAM_AT_DEVICE);
	return done;
}

#endif
