/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kma.h - a heap of superblocks: blocks of any size for any lane of any kernel.
 *
 * alloc:
 * 1. The class of the size (classes.h). A larger request takes whole adjacent superblocks: one is
 *    any free superblock, several must never have been used (fresh.h); others are not combined. The
 *    converged lanes of a warp with the same class form a group: the lowest lane does 2 to 4 for
 *    all of them, and repeats while it got fewer blocks than they need.
 * 2. The entry of the class and the lane (actives.h) names a superblock: reserve blocks there, and
 *    each lane picks one (superblock.h). Usually this is all. The lane that reserves the last block
 *    clears the entry.
 * 3. Otherwise mark the entry, take a free superblock from a queue (queue.h) or a fresh one,
 *    prepare it with the first blocks taken, and let the entry name it. Other lanes read again
 *    while they see the mark, a limited number of times, and then continue as if the mark were
 *    theirs.
 * 4. If no superblock is free: examine the states of superblocks, as many as the heap's terms
 *    specify, from one that depends on the lane. A superblock of the class with a free block
 *    becomes active again. A superblock without a block in use that is only still attached changes
 *    to this class. If there is neither: repeat the search of 3, for superblocks freed meanwhile;
 *    then return NULL.
 * free:
 * 1. The address determines the superblock, and its class the block. An address that is not the
 *    beginning of an allocated block is rejected.
 * 2. Clear the bit and increase the count, once for all converged lanes with blocks of one
 *    superblock. An inactive superblock becomes active again if the entry of its class for the lane
 *    is empty. Otherwise the lane that frees the last block of a superblock that is not active puts
 *    it into a queue: a free superblock serves any class.
 *
 * After Splet, Howes, Gaster, Varbanescu: KMA, GPGPU-7 (2014), with what that paper proposes for a
 * KMA-2: larger requests, and bounded searches. There inactive superblocks serve no request before
 * all of their blocks are free; here see 4, and 2 of free.
 *
 * A block is aligned to 16, or to its size's power of two if that is less. Memory is not cleared.
 *
 * Bound, without contention. alloc: the entry and the state are read, and the state is changed by 1
 * CAS per group; a word of the bitmap is read and changed by 1 OR per lane: 3 reads and 2 atomics.
 * free: the state is read, 1 AND per lane, 1 CAS per group; for an inactive superblock the entry is
 * read too. To prepare a superblock costs 3 CAS, 4 more for its way through the queue, and writes
 * to all words of its bitmap. With `counted` one more addition each. Lock-free: a step is repeated
 * only because another lane's step succeeded, except for marks, at most MAM_KMA_PATIENCE times per
 * request.
 *
 * NULL is exact if no lane changes the heap meanwhile and all states may be examined. Otherwise
 * another lane may be moving a superblock, or a superblock may become free after the search has
 * examined it.
 *
 * A lane that stops forever keeps what it was moving: a block, or a superblock.
 *
 * Not detected: a double free of a block while the first free is in progress, if the superblock is
 * prepared again between its read of the state and its AND; and out-of-bounds writes, which may
 * also hit bitmaps.
 */
#ifndef MAM_KMA_KMA_H
#define MAM_KMA_KMA_H

#include "device/lanes.h"
#include "kma/layout.h"
#include "kma/superblock.h"

#define MAM_KMA_TRIES 8u
#define MAM_KMA_NAP_NS 100u

/* A number of the lane; several lanes may share it. */
MAM_KFN uint32_t mam_kma_self(void)
{
	return mam_block() * mam_block_threads() + mam_thread();
}

/* The class with the smallest blocks that fit, or heap->classes: none. pre: `bytes` > 0. */
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

/* Counts `count` failed requests. */
MAM_KFN void mam_kma_fail(MAM_GLOBAL struct mam_kma *heap, enum mam_kma_failure why, uint32_t count)
{
	(void)mam_atomic_add64(&heap->failures[why], count, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KFN MAM_GLOBAL unsigned char *mam_kma_superblock_at(MAM_GLOBAL struct mam_kma *heap,
							uint32_t superblock)
{
	return mam_kma_space(heap) + ((uint64_t)superblock << heap->shift);
}

MAM_KFN MAM_GLOBAL uint32_t *mam_kma_bitmap(MAM_GLOBAL struct mam_kma *heap, uint32_t superblock,
					    uint32_t total)
{
	return (MAM_GLOBAL uint32_t *)(mam_kma_superblock_at(heap, superblock) +
				       ((size_t)1 << heap->shift)) -
	       mam_kma_words(total);
}

MAM_KFN MAM_GLOBAL void *mam_kma_block(MAM_GLOBAL struct mam_kma *heap, uint32_t superblock,
				       uint32_t which, uint32_t block)
{
	return mam_kma_superblock_at(heap, superblock) + heap->class_of[which].size * block;
}

/* A block that was reserved; of converged lanes the one of this rank. */
MAM_KFN MAM_GLOBAL void *mam_kma_pick(MAM_GLOBAL struct mam_kma *heap, uint32_t superblock,
				      uint32_t which, uint32_t lane, uint32_t rank)
{
	uint32_t total = heap->class_of[which].total;

	return mam_kma_block(
		heap, superblock, which,
		mam_kma_take_bit(mam_kma_bitmap(heap, superblock, total), total, lane / 32, rank));
}

/* The queue of a lane with this number. */
MAM_KFN uint32_t mam_kma_queue_of(MAM_GLOBAL struct mam_kma *heap, uint32_t lane)
{
	return mam_kma_mix(lane / 32) & (mam_kma_queues(heap->entries_shift) - 1);
}

/* Tries the lane's own queue first, then a fresh superblock, then the other queues. */
MAM_KFN uint32_t mam_kma_take_free(MAM_GLOBAL struct mam_kma *heap, uint32_t lane)
{
	MAM_GLOBAL struct mam_kma_queue *queue = mam_kma_queue(heap);
	uint32_t queues = mam_kma_queues(heap->entries_shift), own, i, superblock;

	own = mam_kma_queue_of(heap, lane);
	superblock = mam_kma_queue_take(queue, own);
	if (superblock == MAM_KMA_NONE)
		superblock = mam_kma_fresh_take(&heap->fresh, 1);
	MAM_ROLLED
	for (i = 1; i < queues && superblock == MAM_KMA_NONE; i++)
		superblock = mam_kma_queue_take(queue, (own + i) & (queues - 1));
	return superblock;
}

MAM_KFN void mam_kma_give_free(MAM_GLOBAL struct mam_kma *heap, uint32_t superblock)
{
	mam_kma_queue_put(mam_kma_queue(heap), mam_kma_queue_of(heap, mam_kma_self()), superblock);
}

enum mam_kma_found {
	MAM_KMA_NOTHING,
	MAM_KMA_RESERVED, /* a block of a superblock of that kind; `before` is its previous state */
	MAM_KMA_TAKEN,    /* a superblock that is now free and exclusive to the caller */
};

/* The blocks found for a group: `count` blocks of one superblock, 0: none. */
struct mam_kma_share {
	uint32_t superblock;
	uint32_t count;
	bool first; /* they are its first ones; otherwise they are reserved and must be picked */
};

/*
 * Step 4 of alloc for `want` blocks; `kind` MAM_KMA_RUN: only take superblocks. `*count` receives
 * the number of reserved blocks.
 */
MAM_KFN enum mam_kma_found mam_kma_search(MAM_GLOBAL struct mam_kma *heap, uint32_t kind,
					  uint32_t want, uint32_t lane, bool attach,
					  struct mam_kma_share *share, uint64_t *before)
{
	uint32_t at = mam_kma_mix(lane) % heap->superblocks, i;
	MAM_GLOBAL uint64_t *state;

	MAM_ROLLED
	for (i = 0; i < heap->search; i++) {
		state = mam_kma_state(heap, at);
		share->superblock = at;
		*before = mam_atomic_load64(state, MAM_RELAXED, MAM_AT_DEVICE);
		if (kind < MAM_KMA_INSIDE) {
			share->count = mam_kma_reserve(state, kind, want, attach, before);
			if (share->count)
				return MAM_KMA_RESERVED;
		}
		if (mam_kma_retire(state, *before))
			return MAM_KMA_TAKEN;
		at = at + 1 == heap->superblocks ? 0 : at + 1;
	}
	return MAM_KMA_NOTHING;
}

/*
 * Finds a superblock or blocks, by 3 and 4 of alloc; the arguments are those of mam_kma_search().
 */
MAM_KFN enum mam_kma_found mam_kma_find(MAM_GLOBAL struct mam_kma *heap, uint32_t kind,
					uint32_t want, uint32_t lane, bool attach,
					struct mam_kma_share *share, uint64_t *before)
{
	enum mam_kma_found found;
	uint32_t look;

	*before = 0;
	MAM_ROLLED
	for (look = 0; look < 2; look++) {
		share->superblock = mam_kma_take_free(heap, lane);
		if (share->superblock != MAM_KMA_NONE)
			return MAM_KMA_TAKEN;
		if (look)
			break;
		found = mam_kma_search(heap, kind, want, lane, attach, share, before);
		if (found != MAM_KMA_NOTHING)
			return found;
	}
	return MAM_KMA_NOTHING;
}

/*
 * Steps 3 and 4 of alloc for an entry that has the mark `seen`; `entry` NULL: a superblock that no
 * entry names. False: another lane was faster, and the entry must be read again.
 */
MAM_KSLOW bool mam_kma_open(MAM_GLOBAL struct mam_kma *heap, uint32_t which, uint32_t want,
			    uint32_t lane, MAM_GLOBAL uint64_t *entry, uint64_t seen,
			    struct mam_kma_share *share)
{
	uint32_t kind = MAM_KMA_OF_CLASS + which, total = heap->class_of[which].total;
	MAM_GLOBAL uint64_t *state;
	enum mam_kma_found found;
	uint64_t before;

	share->count = 0;
	share->first = false;
	found = mam_kma_find(heap, kind, want, lane, entry != NULL, share, &before);
	if (found == MAM_KMA_NOTHING) {
		if (entry)
			mam_kma_entry_clear(entry, seen);
		return true;
	}
	state = mam_kma_state(heap, share->superblock);
	if (found == MAM_KMA_RESERVED) {
		/* The owner of a block may detach: that does not make the superblock free. */
		if (entry && mam_kma_state_free(before) == share->count)
			mam_kma_entry_clear(entry, seen);
		else if (entry && !mam_kma_entry_publish(entry, seen, share->superblock) &&
			 !mam_kma_state_attached(before))
			(void)mam_kma_detach(state);
		return true;
	}
	share->count = want < total ? want : total;
	share->first = true;
	mam_kma_prepare(state, mam_kma_bitmap(heap, share->superblock, total), kind, total,
			share->count, entry != NULL);
	if (entry && share->count == total) {
		mam_kma_entry_clear(entry, seen);
	} else if (entry && !mam_kma_entry_publish(entry, seen, share->superblock) &&
		   mam_kma_unprepare(state, share->count)) {
		mam_kma_give_free(heap, share->superblock);
		return false;
	}
	return true;
}

/* Steps 2 to 4 of alloc for `want` lanes. */
MAM_KFN void mam_kma_share(MAM_GLOBAL struct mam_kma *heap, uint32_t which, uint32_t want,
			   uint32_t lane, struct mam_kma_share *share)
{
	MAM_GLOBAL uint64_t *entry = mam_kma_entry(mam_kma_entries(heap), heap->entries_shift,
						   which, lane),
			    *state;
	uint32_t patience = MAM_KMA_PATIENCE, tries = MAM_KMA_TRIES;
	uint64_t seen, before;

	MAM_ROLLED
	while (tries) {
		seen = mam_kma_entry_look(entry);
		if (mam_kma_entry_names(seen)) {
			share->superblock = mam_kma_entry_superblock(seen);
			state = mam_kma_state(heap, share->superblock);
			before = mam_atomic_load64(state, MAM_RELAXED, MAM_AT_DEVICE);
			share->count = mam_kma_reserve(state, MAM_KMA_OF_CLASS + which, want, false,
						       &before);
			share->first = false;
			if (share->count) {
				if (mam_kma_state_free(before) == share->count)
					mam_kma_entry_clear(entry, seen);
				return;
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
		if (mam_kma_open(heap, which, want, lane, entry, seen, share))
			return;
		tries--;
	}
	(void)mam_kma_open(heap, which, want, lane, NULL, 0, share);
}

/*
 * A block for each lane that calls. All communication between lanes is in this one function: nvcc
 * 13.0 merges such code if it finds it twice. Lanes that are converged on entry are converged on
 * return. Without that, on an H100, groups of four were mostly all that remained of a warp after
 * some rounds, and a pair took 20 times as long.
 */
MAM_KSLOW MAM_GLOBAL void *mam_kma_alloc_block(MAM_GLOBAL struct mam_kma *heap, uint32_t which,
					       uint32_t lane)
{
	uint32_t came = mam_warp_active(), group, leader, rank, count, rest;
	MAM_GLOBAL void *block = NULL;
	struct mam_kma_share share;
	uint64_t word;

	group = mam_warp_match32(came, which);
	for (;;) {
		leader = mam_lanes_leader(group);
		rank = mam_lanes_rank(group);
		word = 0;
		if (mam_lane() == leader) {
			mam_kma_share(heap, which, mam_popc32(group), lane, &share);
			if (!share.count)
				mam_kma_fail(heap, MAM_KMA_NO_SUPERBLOCK, mam_popc32(group));
			word = (uint64_t)share.superblock << 32 | share.count << 1 | share.first;
		}
		word = mam_warp_shuffle64(group, word, leader);
		/* Makes the memory that the leader has prepared or acquired visible to all. */
		mam_warp_sync(group);
		count = (uint32_t)word >> 1;
		rest = mam_warp_ballot(group, rank >= count);
		if (rank < count || !count)
			break;
		group = rest;
	}
	if (count && word & 1)
		block = mam_kma_block(heap, (uint32_t)(word >> 32), which, rank);
	else if (count)
		block = mam_kma_pick(heap, (uint32_t)(word >> 32), which, lane, rank);
	mam_warp_sync(came);
	return block;
}

/* `count` adjacent superblocks. */
MAM_KSLOW MAM_GLOBAL void *mam_kma_alloc_run(MAM_GLOBAL struct mam_kma *heap, uint32_t count,
					     uint32_t lane)
{
	MAM_GLOBAL uint64_t *state;
	struct mam_kma_share share;
	uint32_t first, i;
	uint64_t before;

	if (count == 1) {
		if (mam_kma_find(heap, MAM_KMA_RUN, 1, lane, false, &share, &before) ==
		    MAM_KMA_NOTHING) {
			mam_kma_fail(heap, MAM_KMA_NO_SUPERBLOCK, 1);
			return NULL;
		}
		first = share.superblock;
	} else {
		first = mam_kma_fresh_take(&heap->fresh, count);
		if (first == MAM_KMA_NONE) {
			mam_kma_fail(heap, MAM_KMA_NO_RUN, 1);
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

/* NULL: no memory, or `bytes` is 0. */
MAM_KFN MAM_GLOBAL void *mam_kma_alloc(MAM_GLOBAL struct mam_kma *heap, size_t bytes)
{
	uint32_t lane = mam_kma_self(), which;
	MAM_GLOBAL void *block;

	if (!bytes)
		return NULL;
	if (bytes > (uint64_t)heap->superblocks << heap->shift) {
		mam_kma_fail(heap, MAM_KMA_TOO_LARGE, 1);
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

/* `seen`: the state of a run's first superblock. */
MAM_KSLOW bool mam_kma_free_run(MAM_GLOBAL struct mam_kma *heap, uint32_t first, uint64_t seen)
{
	uint32_t count = mam_kma_state_length(seen), i;
	MAM_GLOBAL uint64_t *state = mam_kma_state(heap, first);

	/* If two lanes free it at the same time, one is rejected. */
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

/* Increases the count of a superblock of class `which` by `count` blocks whose bits are clear. */
MAM_KFN void mam_kma_give_blocks(MAM_GLOBAL struct mam_kma *heap, uint32_t superblock,
				 uint32_t which, uint32_t count, uint64_t seen)
{
	MAM_GLOBAL uint64_t *state = mam_kma_state(heap, superblock), *entry = NULL;
	uint64_t vacancy = 0, before;

	if (!mam_kma_state_attached(seen)) {
		entry = mam_kma_entry(mam_kma_entries(heap), heap->entries_shift, which,
				      mam_kma_self());
		vacancy = mam_kma_entry_look(entry);
		if (mam_kma_entry_what(vacancy) != MAM_KMA_VACANT)
			entry = NULL;
	}
	before = mam_kma_unreserve(state, seen, count, entry != NULL);
	if (entry ? !mam_kma_state_attached(before) &&
			    !mam_kma_entry_publish(entry, vacancy, superblock) &&
			    mam_kma_detach(state)
		  : mam_kma_gave_last(before, count))
		mam_kma_give_free(heap, superblock);
}

/* Frees a block for each lane that calls; in one function as mam_kma_alloc_block() is. */
MAM_KSLOW bool mam_kma_free_block(MAM_GLOBAL struct mam_kma *heap, uint32_t superblock,
				  uint32_t inside, uint64_t seen)
{
	uint32_t which = mam_kma_state_kind(seen) - MAM_KMA_OF_CLASS, block, came, group, own;
	struct mam_kma_class cut = heap->class_of[which];

	block = inside / cut.size;
	own = superblock;
	if (block * cut.size != inside || block >= cut.total ||
	    !mam_kma_give_bit(mam_kma_bitmap(heap, superblock, cut.total), block))
		own = MAM_KMA_NONE;
	came = mam_warp_active();
	group = mam_warp_match32(came, own);
	/* The leader's CAS carries what each lane has released. */
	mam_warp_sync(group);
	if (own != MAM_KMA_NONE && mam_lane() == mam_lanes_leader(group))
		mam_kma_give_blocks(heap, superblock, which, mam_popc32(group), seen);
	mam_warp_sync(came);
	return own != MAM_KMA_NONE;
}

/* Any lane of any kernel may call. NULL: true, a no-op. False: rejected, as in 1 of free. */
MAM_KFN bool mam_kma_free(MAM_GLOBAL struct mam_kma *heap, MAM_GLOBAL void *object)
{
	uint64_t at = (uint64_t)((uintptr_t)object - (uintptr_t)mam_kma_space(heap)), seen;
	uint32_t superblock, inside;
	bool done = false;

	if (!object)
		return true;
	/* For an address below the superblocks the difference is huge. */
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
		mam_kma_fail(heap, MAM_KMA_WRONG_FREE, 1);
	else if (heap->counted)
		(void)mam_atomic_add64(&heap->slots[mam_kma_self() / 32 % MAM_KMA_SLOTS].frees, 1,
				       MAM_RELAXED, MAM_AT_DEVICE);
	return done;
}

#endif
