/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h - scans all blocks once for a class, and reports "no room" only if that is certain.
 *
 * For each block a lane checks:
 * 1. the units' word;
 * 2. of each claimed unit the owner. A slab of the class with a free slot: there is room. A slab of
 *    any class with all slots free: it is closed, which frees units;
 * 3. the units' word again: a place where a slab of the class may start: there is room.
 *
 * Units in transition prove nothing: a claimed unit whose owner is 0 or MOVING; a slab that closed
 * in this block since before 1, as `closes` of the block shows; a unit that was free in 1 and
 * claimed in
 * 3. Then the lane is in doubt, and the scan must be repeated. So "no room" means: each slot of the
 *    class and each unit was seen claimed, by an actual owner, during this one scan.
 *
 * Why that is enough: a word is 0 if all slots are allocated, and also while a slab opens or
 * closes. A thread that opens one clears MOVING after the word is published. So under an owner
 * without MOVING, acquired, a word of 0 means full, or a slab that has closed since. A thread that
 * closes one raises `closes` before it clears the word, so a thread that sees the cleared word and
 * then reads `closes` sees the increase. Reading the owner again would not suffice: the class may
 * have opened a slab there again.
 *
 * Bound: one look at each slab and at each unit's owner.
 */
#ifndef MAM_HEAP_SLAB_PASS_H
#define MAM_HEAP_SLAB_PASS_H

#include "heap/slab/deal.h"
#include "heap/pages/tour.h"

#define MAM_PASSES_MAX 200

/* The result of checking one block. */
struct mam_klook {
	uint32_t word;   /* of the class, where there is room; or MAM_NO_WORD */
	uint32_t doubt;  /* something was in transition */
	uint32_t closed; /* slabs, by this check */
	uint32_t closes; /* the block's number of closed slabs, including those */
};

/* Units from the one with this owner to the next one with an owner of its own. */
MAM_KFN uint32_t mam_pass_step(uint32_t owner)
{
	return owner > MAM_CLASSES && owner < MAM_OWNER_MOVING ? owner - MAM_OWNER_RUN : 1;
}

/* Step 3: the first place in a block where a slab may start; or MAM_NO_WORD. */
MAM_KFN uint32_t mam_pass_open(uint64_t traits, uint32_t block, uint64_t taken)
{
	uint32_t word = block << mam_traits_words_shift(traits);
	uint32_t end = word + (1u << mam_traits_words_shift(traits));

	MAM_ROLLED
	for (; word < end; word++)
		if (!(taken & mam_slab_span(traits, word)))
			return word;
	return MAM_NO_WORD;
}

/* Steps 1 to 3. A class of 0: only closes idle slabs. */
MAM_KSLOW struct mam_klook mam_pass_block(const struct mam_kheap *heap, uint32_t class_,
					  uint32_t block)
{
	uint64_t *bits = mam_pages_bits(heap->units), taken, seen, traits;
	uint32_t unit = block * MAM_BLOCK_UNITS, end = unit + MAM_BLOCK_UNITS, owner, word, closes;
	struct mam_klook look;

	look.word = MAM_NO_WORD;
	look.doubt = 0;
	look.closed = 0;
	closes = mam_atomic_load32(&heap->closes[block], MAM_ACQUIRE, MAM_AT_DEVICE);
	taken = mam_global_load64(&bits[block], MAM_ACQUIRE, MAM_AT_DEVICE);
	MAM_ROLLED
	while (unit < end) {
		owner = 0;
		if (taken >> unit % MAM_BLOCK_UNITS & 1) {
			owner = mam_owners_load_acquire(heap, unit);
			look.doubt |= !owner || (owner > MAM_OWNER_MOVING &&
						 owner <= MAM_OWNER_MOVING + MAM_CLASSES);
		}
		if (!owner || owner > MAM_CLASSES) {
			unit += mam_pass_step(owner);
			continue;
		}
		traits = mam_traits_of(owner);
		word = unit >> mam_traits_span_shift(traits);
		seen = mam_global_load64(&mam_traits_words(heap, traits)[word], MAM_ACQUIRE,
					 MAM_AT_DEVICE);
		if (owner == class_ && seen) {
			look.word = word;
			look.closes = closes;
			return look;
		}
		if (seen == mam_slots_all(traits)) {
			if (mam_slab_close(heap, owner, word)) {
				taken &= ~mam_slab_span(traits, word);
				closes++;
				look.closed++;
			} else {
				look.doubt = 1;
			}
		}
		/* Meanwhile the units may have become one slab that contains this unit. */
		unit = mam_slab_unit(traits, word) + mam_traits_units(traits);
	}
	look.doubt |= mam_atomic_load32(&heap->closes[block], MAM_RELAXED, MAM_AT_DEVICE) != closes;
	look.closes = closes;
	if (!class_)
		return look;
	seen = mam_global_load64(&bits[block], MAM_ACQUIRE, MAM_AT_DEVICE);
	look.doubt |= (seen & ~taken) != 0;
	look.word = mam_pass_open(mam_traits_of(class_), block, seen);
	return look;
}

#endif
