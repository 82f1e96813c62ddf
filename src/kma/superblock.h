/* SPDX-License-Identifier: Apache-2.0 */
/*
 * superblock.h - one superblock: its state word, and the bitmap at its end.
 *
 * The state is one word, which changes by compare-and-swap. It has the superblock's kind (free, of
 * a class, the first of a run, inside a run), the number of its blocks, how many are free, whether
 * it is attached, and a generation that increases each time the superblock becomes free.
 *
 * take, by converged lanes:
 * 1. One lane decreases the count of free blocks by a CAS: this reserves a number of blocks, but
 *    not specific ones.
 * 2. Each lane searches for a clear bit in the bitmap, starting at a common word, the lane of rank
 *    r for the one with r clear bits below it, and sets it by an OR. If another lane was faster, it
 *    continues the search.
 * give:
 * 1. Each lane clears its bit by an AND. If the bit was clear, this is an invalid or double free.
 * 2. One lane increases the count by a CAS. If that makes all blocks free, and the superblock is
 *    not attached, the same CAS makes the superblock free and exclusive to the caller.
 *
 * Active: attached, so an entry of its class names it (actives.h) and other lanes find it.
 * Inactive: not attached; the CAS that reserves its last block makes it so. Free: without a class,
 * in the queue or never used.
 *
 * After Splet, Howes, Gaster, Varbanescu: KMA, GPGPU-7 (2014), with two differences. There the
 * count is increased before the bit is cleared, so a superblock can be free, and prepared again,
 * while one of its bits must still be cleared. And there an attached superblock becomes free like
 * all others, so a lane that repeatedly takes and frees one block prepares a superblock each time.
 * One CAS per lane was slow on an H100: of all lanes that contend for one word, one succeeds per
 * round trip. So each pair took 0.5 to 0.8 us, however many lanes there were, 1.5 to 3 times as
 * long as in CUDA's malloc.
 *
 * Invariants: clear bits >= free + reserved blocks without a bit yet, as bits are cleared before
 * the count is increased. So a lane that has reserved a block finds a clear bit, or another lane
 * found one. An attached superblock has a free block. A superblock of a class with a block in use
 * never becomes free.
 *
 * Memory order: prepare releases by its store of the state, and reserve acquires; the changes in
 * between are CAS, which continue the release sequence. The AND of a bit releases the writes of its
 * owner, and the OR acquires them. The CAS of a give does both, so the accesses of all owners
 * happen before the lane makes the superblock free.
 *
 * Bound: without contention, take is 1 CAS for all lanes and 1 read and 1 OR for each, give 1 AND
 * for each and 1 CAS, plus a read of the state. A CAS or an OR fails only because another lane's
 * succeeded.
 */
#ifndef MAM_KMA_SUPERBLOCK_H
#define MAM_KMA_SUPERBLOCK_H

#include "device/port_global.h"
#include "kma/classes.h"

/* The kind of a superblock: one of these, or MAM_KMA_OF_CLASS + class. */
#define MAM_KMA_FREE 0u
#define MAM_KMA_OF_CLASS 1u
#define MAM_KMA_INSIDE 62u /* in a run, but not its first; or in one that is just being freed */
#define MAM_KMA_RUN 63u

/*
 * kind 6 bits, attached 1, unused 1, total 16, free 16, generation 24. A run's length is in the 32.
 */
#define MAM_KMA_ATTACHED ((uint64_t)1 << 6)
#define MAM_KMA_ONE_FREE ((uint64_t)1 << 24)
#define MAM_KMA_GENERATION ((uint64_t)1 << 40)

MAM_KBOTH uint32_t mam_kma_state_kind(uint64_t state)
{
	return (uint32_t)state & 63;
}

MAM_KBOTH uint32_t mam_kma_state_total(uint64_t state)
{
	return (uint32_t)(state >> 8) & 0xffff;
}

MAM_KBOTH uint32_t mam_kma_state_free(uint64_t state)
{
	return (uint32_t)(state >> 24) & 0xffff;
}

MAM_KBOTH uint32_t mam_kma_state_length(uint64_t state)
{
	return (uint32_t)(state >> 8);
}

MAM_KBOTH bool mam_kma_state_attached(uint64_t state)
{
	return (state & MAM_KMA_ATTACHED) != 0;
}

/* Is it divided into blocks? */
MAM_KBOTH bool mam_kma_state_cut(uint64_t state)
{
	return mam_kma_state_kind(state) >= MAM_KMA_OF_CLASS &&
	       mam_kma_state_kind(state) < MAM_KMA_INSIDE;
}

MAM_KBOTH bool mam_kma_state_unused(uint64_t state)
{
	return mam_kma_state_cut(state) && mam_kma_state_free(state) == mam_kma_state_total(state);
}

/* `count`: blocks, all free; or a run's length. */
MAM_KBOTH uint64_t mam_kma_state_made(uint64_t before, uint32_t kind, uint32_t count)
{
	uint64_t state = before / MAM_KMA_GENERATION * MAM_KMA_GENERATION | kind;

	if (kind == MAM_KMA_RUN)
		return state | (uint64_t)count << 8;
	return state | (uint64_t)count << 8 | (uint64_t)count << 24;
}

/* The state of the same superblock after it has become free. */
MAM_KBOTH uint64_t mam_kma_state_freed(uint64_t before)
{
	return before / MAM_KMA_GENERATION * MAM_KMA_GENERATION + MAM_KMA_GENERATION;
}

/* ---- bits ---------------------------------------------------------------------------------- */

/* The position of the set bit of `x` with `rank` set bits below it. pre: it exists. */
MAM_KFN uint32_t mam_kma_nth_bit(uint32_t x, uint32_t rank)
{
	MAM_ROLLED
	for (; rank; rank--)
		x &= x - 1;
	return mam_ffs32(x) - 1;
}

/*
 * Claims one of `total` blocks after a reservation and returns its number. The search begins at
 * word `start`, which may be any number. Lanes that search at the same time have ranks, so that
 * they do not all try the same block.
 */
MAM_KFN uint32_t mam_kma_take_bit(MAM_GLOBAL uint32_t *bitmap, uint32_t total, uint32_t start,
				  uint32_t rank)
{
	uint32_t words = mam_kma_words(total), word = start % words, valid, clear, count, bit;

	MAM_ROLLED
	for (;;) {
		valid = word + 1 == words && total % 32 ? (1u << total % 32) - 1 : ~0u;
		clear = ~mam_atomic_load32(&bitmap[word], MAM_RELAXED, MAM_AT_DEVICE) & valid;
		MAM_ROLLED
		for (; (count = mam_popc32(clear)) > rank; rank = 0) {
			bit = mam_kma_nth_bit(clear, rank);
			clear = ~mam_atomic_or32(&bitmap[word], 1u << bit, MAM_ACQUIRE,
						 MAM_AT_DEVICE) &
				valid;
			if (clear >> bit & 1)
				return word * 32 + bit;
		}
		rank -= count;
		word = word + 1 == words ? 0 : word + 1;
	}
}

/* False: block `block` was not allocated. */
MAM_KFN bool mam_kma_give_bit(MAM_GLOBAL uint32_t *bitmap, uint32_t block)
{
	uint32_t bit = 1u << block % 32;

	return (mam_atomic_and32(&bitmap[block / 32], ~bit, MAM_RELEASE, MAM_AT_DEVICE) & bit) != 0;
}

/* ---- the state ----------------------------------------------------------------------------- */

/*
 * Called by the owner of a free superblock. It becomes one of `kind`, with all of its blocks free
 * except the first `taken`, which belong to the caller: 1 to 32. If it has no other block, it is
 * not attached.
 */
MAM_KFN void mam_kma_prepare(MAM_GLOBAL uint64_t *state, MAM_GLOBAL uint32_t *bitmap, uint32_t kind,
			     uint32_t total, uint32_t taken, bool attach)
{
	uint64_t made = mam_kma_state_made(mam_atomic_load64(state, MAM_RELAXED, MAM_AT_DEVICE),
					   kind, total);
	uint32_t i, words = mam_kma_words(total);

	made -= taken * MAM_KMA_ONE_FREE;
	if (attach && taken < total)
		made |= MAM_KMA_ATTACHED;
	for (i = 0; i < words; i++)
		mam_atomic_store32(&bitmap[i], i ? 0 : ~0u >> (32 - taken), MAM_RELAXED,
				   MAM_AT_DEVICE);
	mam_atomic_store64(state, made, MAM_RELEASE, MAM_AT_DEVICE);
}

/*
 * Reserves `want` blocks, or as many as are free. Also attaches the superblock, if `attach` is set
 * and another block is free. Returns the number of reserved blocks; 0: it has another kind now, or
 * none is free. `*state_seen` is the state that the caller has read, and receives the state before
 * the change.
 */
MAM_KFN uint32_t mam_kma_reserve(MAM_GLOBAL uint64_t *state, uint32_t kind, uint32_t want,
				 bool attach, uint64_t *state_seen)
{
	uint64_t seen = *state_seen, next, was;
	uint32_t count;

	MAM_ROLLED
	for (;;) {
		*state_seen = seen;
		count = mam_kma_state_free(seen);
		if (mam_kma_state_kind(seen) != kind || !count)
			return 0;
		if (count > want)
			count = want;
		next = seen - count * MAM_KMA_ONE_FREE;
		if (attach)
			next |= MAM_KMA_ATTACHED;
		if (!mam_kma_state_free(next))
			next &= ~MAM_KMA_ATTACHED;
		was = mam_atomic_cas64(state, seen, next, MAM_ACQUIRE, MAM_AT_DEVICE);
		if (was == seen)
			return count;
		seen = was;
	}
}

/*
 * After mam_kma_give_bit() of `count` blocks. Also attaches the superblock, if requested. Returns
 * the state before the change: mam_kma_gave_last() evaluates it.
 */
MAM_KFN uint64_t mam_kma_unreserve(MAM_GLOBAL uint64_t *state, uint64_t seen, uint32_t count,
				   bool attach)
{
	uint64_t next, was;

	MAM_ROLLED
	for (;;) {
		next = seen + count * MAM_KMA_ONE_FREE;
		if (attach)
			next |= MAM_KMA_ATTACHED;
		else if (!mam_kma_state_attached(seen) && mam_kma_state_unused(next))
			next = mam_kma_state_freed(seen);
		was = mam_atomic_cas64(state, seen, next, MAM_ACQ_REL, MAM_AT_DEVICE);
		if (was == seen)
			return seen;
		seen = was;
	}
}

/* Has a give without attaching made it free and exclusive to the caller? */
MAM_KBOTH bool mam_kma_gave_last(uint64_t before, uint32_t count)
{
	return !mam_kma_state_attached(before) &&
	       mam_kma_state_unused(before + count * MAM_KMA_ONE_FREE);
}

/*
 * Used if no entry names it after all. True: this made it free and exclusive to the caller. If
 * other lanes have made it inactive or free or changed its kind meanwhile, nothing needs to be
 * done.
 */
MAM_KFN bool mam_kma_detach(MAM_GLOBAL uint64_t *state)
{
	uint64_t seen = mam_atomic_load64(state, MAM_RELAXED, MAM_AT_DEVICE), next, was;

	MAM_ROLLED
	while (mam_kma_state_cut(seen) && mam_kma_state_attached(seen)) {
		next = mam_kma_state_unused(seen) ? mam_kma_state_freed(seen)
						  : seen & ~MAM_KMA_ATTACHED;
		was = mam_atomic_cas64(state, seen, next, MAM_ACQ_REL, MAM_AT_DEVICE);
		if (was == seen)
			return mam_kma_state_unused(seen);
		seen = was;
	}
	return false;
}

/* Changes it from `seen` to free, if no block of it is in use: true, and the caller owns it. */
MAM_KFN bool mam_kma_retire(MAM_GLOBAL uint64_t *state, uint64_t seen)
{
	return mam_kma_state_unused(seen) &&
	       mam_atomic_cas64(state, seen, mam_kma_state_freed(seen), MAM_ACQ_REL,
				MAM_AT_DEVICE) == seen;
}

/*
 * Called by the lane that has just prepared it: makes it free again and exclusive to the caller, if
 * no other lane has reserved a block meanwhile. False: the caller keeps its `taken` blocks, and the
 * superblock is inactive.
 */
MAM_KFN bool mam_kma_unprepare(MAM_GLOBAL uint64_t *state, uint32_t taken)
{
	uint64_t seen = mam_atomic_load64(state, MAM_RELAXED, MAM_AT_DEVICE);

	if (mam_kma_state_free(seen) + taken == mam_kma_state_total(seen) &&
	    mam_atomic_cas64(state, seen, mam_kma_state_freed(seen), MAM_ACQ_REL, MAM_AT_DEVICE) ==
		    seen)
		return true;
	(void)mam_kma_detach(state);
	return false;
}

#endif
