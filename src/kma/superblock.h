/* SPDX-License-Identifier: Apache-2.0 */
/*
 * superblock.h - one superblock: its state word, and the bitmap at its end.
 *
 * The state is one word, which changes by compare-and-swap: what the superblock is (free, of a
 * class, the first of a run, inside of one), how many blocks it has, how many are free, whether it is
 * attached, and a generation that rises each time it becomes free.
 *
 * take:
 * 1. Lower the count of free blocks by a CAS: a block is reserved, but not which.
 * 2. Look for a clear bit in the bitmap, from a word on that the caller chooses, and set it by an OR.
 *    If another was faster, go on looking.
 * give:
 * 1. Clear the bit by an AND. It was clear: that is no block, or was given back before.
 * 2. Raise the count by a CAS. If that makes all of them free, and it is not attached, the same CAS
 *    makes the superblock free, and the caller's alone.
 *
 * Active: attached, so that an entry of its class names it (actives.h) and others find it. Inactive:
 * not; it is so once its last block was reserved, by the same CAS. Free: of no class, in the queue
 * or never used.
 *
 * After Splet, Howes, Gaster, Varbanescu: KMA, GPGPU-7 (2014), but for two things: there the count is
 * raised before the bit is cleared, so that a superblock can be free, and made anew, while a bit of
 * it is still to be cleared; and there what is attached becomes free like all others, so that one
 * lane that takes and gives one block prepares a superblock each time.
 *
 * Invariants: clear bits >= free + reserved blocks without a bit yet, as bits are cleared before the
 * count is raised; so who has reserved finds a clear bit, or another found one. What is attached
 * has a free block. A superblock of a class with a block in use never becomes free.
 *
 * Orders: prepare releases by its store of the state, and reserve acquires; what comes between are
 * CAS, which hand on. A bit's AND releases what its owner did, its OR acquires. A give's CAS is
 * both, so who makes the superblock free has all that its owners did behind it.
 *
 * Bound: take is 1 CAS, 1 read and 1 OR where nobody is in the way, give 1 AND and 1 CAS, beside a
 * read of the state each. A CAS or an OR is lost only because another lane's was won.
 */
#ifndef MAM_KMA_SUPERBLOCK_H
#define MAM_KMA_SUPERBLOCK_H

#include "heap/port_global.h"
#include "kma/classes.h"

/* What a superblock is: one of these, or MAM_KMA_OF_CLASS + class. */
#define MAM_KMA_FREE 0u
#define MAM_KMA_OF_CLASS 1u
#define MAM_KMA_INSIDE 62u /* of a run, but not its first; or of one that is just given back */
#define MAM_KMA_RUN 63u

/* kind 6 bits, attached 1, nothing 1, total 16, free 16, generation 24. A run's length is in the 32. */
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

/* Cut into blocks? */
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

/* The same superblock when it has become free. */
MAM_KBOTH uint64_t mam_kma_state_freed(uint64_t before)
{
	return before / MAM_KMA_GENERATION * MAM_KMA_GENERATION + MAM_KMA_GENERATION;
}

/* ---- bits ---------------------------------------------------------------------------------- */

/*
 * For who has reserved one of `total` blocks: which one it is, looking from word `start` on, any
 * number.
 */
MAM_KFN uint32_t mam_kma_take_bit(MAM_GLOBAL uint32_t *bitmap, uint32_t total, uint32_t start)
{
	uint32_t words = mam_kma_words(total), word = start % words, valid, seen, bit;

	MAM_ROLLED
	for (;;) {
		valid = word + 1 == words && total % 32 ? (1u << total % 32) - 1 : ~0u;
		seen = mam_atomic_load32(&bitmap[word], MAM_RELAXED, MAM_AT_DEVICE);
		MAM_ROLLED
		while (~seen & valid) {
			bit = mam_ffs32(~seen & valid) - 1;
			seen = mam_atomic_or32(&bitmap[word], 1u << bit, MAM_ACQUIRE,
					       MAM_AT_DEVICE);
			if (!(seen >> bit & 1))
				return word * 32 + bit;
		}
		word = word + 1 == words ? 0 : word + 1;
	}
}

/* False: block `block` was not taken. */
MAM_KFN bool mam_kma_give_bit(MAM_GLOBAL uint32_t *bitmap, uint32_t block)
{
	uint32_t bit = 1u << block % 32;

	return (mam_atomic_and32(&bitmap[block / 32], ~bit, MAM_RELEASE, MAM_AT_DEVICE) & bit) != 0;
}

/* ---- the state ----------------------------------------------------------------------------- */

/*
 * By who has a free superblock alone: of `kind`, all of its blocks free but the first, which is the
 * caller's.
 */
MAM_KFN void mam_kma_prepare(MAM_GLOBAL uint64_t *state, MAM_GLOBAL uint32_t *bitmap, uint32_t kind,
			     uint32_t total, bool attach)
{
	uint64_t made = mam_kma_state_made(mam_atomic_load64(state, MAM_RELAXED, MAM_AT_DEVICE),
					   kind, total);
	uint32_t i, words = mam_kma_words(total);

	made -= MAM_KMA_ONE_FREE;
	if (attach)
		made |= MAM_KMA_ATTACHED;
	for (i = 0; i < words; i++)
		mam_atomic_store32(&bitmap[i], i == 0, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(state, made, MAM_RELEASE, MAM_AT_DEVICE);
}

/*
 * Reserves a block, and attaches the superblock too, if wanted and another is free: false if it is
 * not of this kind any more, or none is free. `*state_seen` is what its state was read to be, and
 * becomes what it was before the change.
 */
MAM_KFN bool mam_kma_reserve(MAM_GLOBAL uint64_t *state, uint32_t kind, bool attach,
			     uint64_t *state_seen)
{
	uint64_t seen = *state_seen, next, was;

	MAM_ROLLED
	for (;;) {
		*state_seen = seen;
		if (mam_kma_state_kind(seen) != kind || !mam_kma_state_free(seen))
			return false;
		next = seen - MAM_KMA_ONE_FREE;
		if (attach)
			next |= MAM_KMA_ATTACHED;
		if (!mam_kma_state_free(next))
			next &= ~MAM_KMA_ATTACHED;
		was = mam_atomic_cas64(state, seen, next, MAM_ACQUIRE, MAM_AT_DEVICE);
		if (was == seen)
			return true;
		seen = was;
	}
}

/*
 * After mam_kma_give_bit(). Attaches the superblock too, if wanted and it is neither attached nor
 * becomes free. Gives the state before the change: mam_kma_gave_last() and mam_kma_gave_attached()
 * say what became of it.
 */
MAM_KFN uint64_t mam_kma_unreserve(MAM_GLOBAL uint64_t *state, uint64_t seen, bool attach)
{
	uint64_t next, was;

	MAM_ROLLED
	for (;;) {
		next = seen + MAM_KMA_ONE_FREE;
		if (!mam_kma_state_attached(seen)) {
			if (mam_kma_state_unused(next))
				next = mam_kma_state_freed(seen);
			else if (attach)
				next |= MAM_KMA_ATTACHED;
		}
		was = mam_atomic_cas64(state, seen, next, MAM_ACQ_REL, MAM_AT_DEVICE);
		if (was == seen)
			return seen;
		seen = was;
	}
}

/* Has it become free, and is the caller's alone? */
MAM_KBOTH bool mam_kma_gave_last(uint64_t before)
{
	return !mam_kma_state_attached(before) && mam_kma_state_unused(before + MAM_KMA_ONE_FREE);
}

/*
 * No entry names it after all. True: it has become free by that, and is the caller's alone. If others
 * have made it inactive or free or something else meanwhile, that is as good.
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

/* From `seen` to free, if no block of it is in use: true, and the caller has it alone. */
MAM_KFN bool mam_kma_retire(MAM_GLOBAL uint64_t *state, uint64_t seen)
{
	return mam_kma_state_unused(seen) &&
	       mam_atomic_cas64(state, seen, mam_kma_state_freed(seen), MAM_ACQ_REL,
				MAM_AT_DEVICE) == seen;
}

/*
 * By who has prepared it just now: free again if nobody has come to its blocks meanwhile, and the
 * caller's alone. False: the caller keeps its block, and it is inactive.
 */
MAM_KFN bool mam_kma_unprepare(MAM_GLOBAL uint64_t *state)
{
	uint64_t seen = mam_atomic_load64(state, MAM_RELAXED, MAM_AT_DEVICE);

	if (mam_kma_state_free(seen) + 1 == mam_kma_state_total(seen) &&
	    mam_atomic_cas64(state, seen, mam_kma_state_freed(seen), MAM_ACQ_REL, MAM_AT_DEVICE) ==
		    seen)
		return true;
	(void)mam_kma_detach(state);
	return false;
}

#endif
