/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h - goes once over all blocks for a class, and says honestly that there is no room.
 *
 * Of each block a lane looks at everything:
 * 1. the units' word;
 * 2. of each taken unit the owner. A slab of the class with a free slot: there is room. A slab of
 *    any class with all slots free: it is closed, which gives units;
 * 3. the units' word again: a place where a slab of the class may begin: there is room.
 *
 * What is in motion is no proof: a taken unit whose owner says nothing or MOVING; an owner that
 * changed while its word was looked at; a unit that was free in 1 and taken in 3. Then the lane is
 * in doubt, and the pass must be made again. So "no room" says: each slot of the class and each
 * unit was seen taken, by one that had it, during this one pass.
 *
 * Why the owner is asked before and after its word: a word is 0 if all slots are taken, and also
 * while a slab begins or ends. Who ends one sets MOVING before it clears the word, and whoever
 * sees the word cleared and then asks again sees that or what came later; who begins one clears
 * MOVING after the word is published.
 *
 * Bound: one look at each slab and at each unit's owner.
 */
#ifndef MAM_HEAP_PASS_H
#define MAM_HEAP_PASS_H

#include "heap/deal.h"
#include "heap/tour.h"

#define MAM_PASSES_MAX 200

/* What a look at one block found. */
struct mam_klook {
	uint32_t word;  /* of the class, where there is room; or MAM_NO_WORD */
	uint32_t doubt; /* something was in motion */
};

/* Units from the one with this owner to the next that has one of its own. */
MAM_KFN uint32_t mam_pass_step(uint32_t owner)
{
	if (owner <= MAM_CLASSES)
		return mam_class_units(owner);
	return owner < MAM_OWNER_MOVING ? owner - MAM_OWNER_RUN : 1;
}

/* Steps 1 to 3. A class of 0: only idle slabs are closed. */
MAM_KSLOW struct mam_klook mam_pass_block(const struct mam_kheap *heap, uint32_t class_,
					  uint32_t block)
{
	uint64_t *bits = mam_pages_bits(heap->units), taken, seen, span;
	uint32_t unit = block * MAM_BLOCK_UNITS, end = unit + MAM_BLOCK_UNITS, owner, word;
	struct mam_klook look;

	look.word = MAM_NO_WORD;
	look.doubt = 0;
	taken = mam_global_load64(&bits[block], MAM_ACQUIRE, MAM_AT_DEVICE);
	MAM_ROLLED
	while (unit < end) {
		owner = 0;
		if (taken >> unit % MAM_BLOCK_UNITS & 1) {
			owner = mam_owners_load(heap, unit);
			look.doubt |= !owner || (owner > MAM_OWNER_MOVING &&
						 owner <= MAM_OWNER_MOVING + MAM_CLASSES);
		}
		if (!owner || owner > MAM_CLASSES) {
			unit += owner ? mam_pass_step(owner) : 1;
			continue;
		}
		word = unit >> mam_class_span_shift(owner);
		seen = mam_global_load64(&mam_books_words(heap, owner)[word], MAM_ACQUIRE,
					 MAM_AT_DEVICE);
		if (owner == class_ && seen) {
			look.word = word;
			return look;
		}
		if (seen == mam_slots_all(owner) && mam_slab_close(heap, owner, word))
			taken &= ~mam_slab_span(owner, word);
		else if (seen == mam_slots_all(owner) || mam_owners_load(heap, unit) != owner)
			look.doubt = 1;
		unit += mam_class_units(owner);
	}
	if (!class_)
		return look;
	seen = mam_global_load64(&bits[block], MAM_ACQUIRE, MAM_AT_DEVICE);
	look.doubt |= (seen & ~taken) != 0;
	word = block << (6 - mam_class_span_shift(class_));
	MAM_ROLLED
	for (owner = mam_class_words(class_); owner; owner--, word++) {
		span = mam_slab_span(class_, word);
		if (!(seen & span)) {
			look.word = word;
			return look;
		}
	}
	return look;
}

#endif
