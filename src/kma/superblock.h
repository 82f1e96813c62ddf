/* SPDX-License-Identifier: Apache-2.0 */
/*
 * superblock.h - one superblock: its state word, and the bitmap at its end.
 *
 * The state is one word, which changes by compare-and-swap: what the superblock is (free, of a
 * class, the first of a run, inside of one), how many blocks it has, how many are free, whether it is
 * attached, and a generation that rises each time it becomes free.
 *
 * take, by lanes that come together:
 * 1. One lowers the count of free blocks by a CAS: as many blocks are reserved, but not which.
 * 2. Each looks for a clear bit in the bitmap, from a word on that they have in common, the lane of
 *    rank r for the one with r clear bits below it, and sets it by an OR. If another was faster, it
 *    goes on looking.
 * give:
 * 1. Each clears its bit by an AND. It was clear: that is no block, or was given back before.
 * 2. One raises the count by a CAS. If that makes all of them free, and it is not attached, the same
 *    CAS makes the superblock free, and the caller's alone.
 *
 * Active: attached, so that an entry of its class names it (actives.h) and others find it. Inactive:
 * not; it is so once its last block was reserved, by the same CAS. Free: of no class, in the queue
 * or never used.
 *
 * After Splet, Howes, Gaster, Varbanescu: KMA, GPGPU-7 (2014), but for two things: there the count is
 * raised before the bit is cleared, so that a superblock can be free, and made anew, while a bit of
 * it is still to be cleared; and there what is attached becomes free like all others, so that one
 * lane that takes and gives one block prepares a superblock each time. And a CAS for each lane lost,
 * on an H100: of those that are under way at one word one wins in a round trip, so 0.5 to 0.8 us
 * passed for each pair, however many lanes there were, 1.5 to 3 times as long as in CUDA's malloc.
 *
 * Invariants: clear bits >= free + reserved blocks without a bit yet, as bits are cleared before the
 * count is raised; so who has reserved finds a clear bit, or another found one. What is attached
 * has a free block. A superblock of a class with a block in use never becomes free.
 *
 * Orders: prepare releases by its store of the state, and reserve acquires; what comes between are
 * CAS, which hand on. A bit's AND releases what its owner did, its OR acquires. A give's CAS is
 * both, so who makes the superblock free has all that its owners did behind it.
 *
 * Bound: take is 1 CAS for all, 1 read and 1 OR each where nobody is in the way, give 1 AND each and 1
 * CAS, beside a read of the state. A CAS or an OR is lost only because another lane's was won.
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

/* Where the set bit of `x` is that has `rank` set bits below it; there is one. */
MAM_KFN uint32_t mam_kma_nth_bit(uint32_t x, uint32_t rank)
{
	MAM_ROLLED
	for (; rank; rank--)
		x &= x - 1;
	return mam_ffs32(x) - 1;
}

/*
 * For who has reserved one of `total` blocks: which one it is, looking from word `start` on, any
 * number. Lanes that look at the same time have ranks, so that they do not all want the same one.
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
						 MAM_AT_DEVICE) & valid;
			if (clear >> bit & 1)
				return word * 32 + bit;
		}
		rank -= count;
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
 * By who has a free superblock alone: of `kind`, all of its blocks free but the first `taken`, which
 * are the caller's: 1 to 32. One that has no other is not attached.
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
 * Reserves `want` blocks, or as many as are free, and attaches the superblock too, if wanted and
 * another is free. Gives how many; 0: it is not of this kind any more, or none is free.
 * `*state_seen` is what its state was read to be, and becomes what it was before the change.
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
 * After mam_kma_give_bit() of `count` blocks. Attaches the superblock too, if wanted. Gives the state
 * before the change: mam_kma_gave_last() says what became of it.
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

/* Has it become free by a give that did not attach it, and is the caller's alone? */
MAM_KBOTH bool mam_kma_gave_last(uint64_t before, uint32_t count)
{
	return !mam_kma_state_attached(before) &&
	       mam_kma_state_unused(before + count * MAM_KMA_ONE_FREE);
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
 * caller's alone. False: the caller keeps its `taken` blocks, and it is inactive.
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
