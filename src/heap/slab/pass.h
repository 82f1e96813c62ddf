/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h - scans all blocks once for a class, and reports "no room" only if that is certain.
 *
 * For each block a lane checks:
 * 1. the units' word;
 * 2. of each claimed unit the owner. A slab of the class with a free slot: there is room. A group of
 *    any class with all slots free: it is closed, which frees units;
 * 3. the units' word again: a group of the class whose units are all free: there is room. So there
 *    is where as many units are free as one object needs: it becomes a run (spans.h).
 *
 * Units in transition prove nothing: a claimed unit whose owner is 0 or MOVING; a group that closed
 * in this block since before 1, as `closes` of the block shows; a unit that was free in 1 and
 * claimed in 3. Then the lane is in doubt, and the scan must be repeated. So "no room" means: each
 * slot of the class and each unit was seen claimed, by an actual owner, during this one scan.
 *
 * Why that is enough: a slot's bit is 0 if the slot is allocated, and also while its group opens or
 * closes. A thread that opens one clears MOVING after the slots are published. So under an owner
 * without MOVING, acquired, a bit of 0 means allocated, or the group has closed since. A thread
 * that closes one raises `closes` before it clears the slots, so a thread that sees them cleared
 * and then reads `closes` sees the increase. Reading the owner again would not suffice: the class
 * may have opened the group there again.
 *
 * Bound: one look at each group and at each unit's owner.
 */
#ifndef MAM_HEAP_SLAB_PASS_H
#define MAM_HEAP_SLAB_PASS_H

#include "heap/slab/handle.h"
#include "heap/slab/slab.h"
#include "heap/pages/tour.h"

#define MAM_PASSES_MAX 200

/* The result of checking one block. */
struct mam_klook {
	uint32_t word;   /* of the class, where there is room; or MAM_NO_WORD */
	uint32_t unit;   /* the first of a free run for an object of the class; or MAM_NO_PAGE */
	uint32_t doubt;  /* something was in transition */
	uint32_t closed; /* groups, by this check */
	uint32_t closes; /* the block's number of closed groups, including those */
};

/* Units of an object of the class that is a run. */
MAM_KFN uint32_t mam_pass_units(uint64_t traits)
{
	return (mam_traits_quanta(traits) + MAM_BLOCK_UNITS - 1) / MAM_BLOCK_UNITS;
}

/* Units of the run that starts at a unit with this owner; 0: none does, or a long one. */
MAM_KFN uint32_t mam_pass_run(uint32_t owner)
{
	if (owner > MAM_OWNER_FEW && owner <= MAM_OWNER_FEW + MAM_FEW_UNITS)
		return owner - MAM_OWNER_FEW;
	return owner > MAM_CLASSES && owner < MAM_OWNER_MOVING ? owner - MAM_OWNER_RUN : 0;
}

/*
 * Step 3: a word in a block with a group whose units are all free in `taken`, its number in
 * `group`; or MAM_NO_WORD. The first group that starts at unit `from` or later, or else the first.
 */
MAM_KFN uint32_t mam_pass_open(uint64_t traits, uint32_t block, uint64_t taken, uint32_t from,
			       uint32_t *group)
{
	uint32_t each = mam_traits_group_units(traits), word, unit, number;
	uint32_t span = (1u << mam_traits_span_shift(traits)) - 1;
	uint64_t starts = mam_bits_stretches(~taken, each);

	/* The last group of a slab may have fewer units. */
	if (mam_traits_slots(traits) & ((1u << mam_traits_group_shift(traits)) - 1))
		starts |= ~taken;
	starts = mam_bits_rotate_right(starts, from);
	MAM_ROLLED
	for (; starts; starts &= starts - 1) {
		unit = (mam_ffs64(starts) - 1 + from) % MAM_BLOCK_UNITS;
		number = (unit & span) / each;
		word = (block * MAM_BLOCK_UNITS + unit) >> mam_traits_span_shift(traits);
		if (number * each == (unit & span) && number < mam_slab_groups(traits) &&
		    !(taken & mam_slab_group_units(traits, word, number))) {
			*group = number;
			return word;
		}
	}
	return MAM_NO_WORD;
}

/* Steps 1 to 3. A class of 0: only closes idle groups. */
MAM_KSLOW struct mam_klook mam_pass_block(const struct mam_kheap *heap, uint32_t class_,
					  uint32_t block)
{
	uint64_t *bits = mam_pages_bits(heap->units), taken, seen, traits, units;
	uint32_t unit = 0, owner, word, closes, group;
	struct mam_klook look;

	look.word = MAM_NO_WORD;
	look.unit = MAM_NO_PAGE;
	look.doubt = 0;
	look.closed = 0;
	closes = mam_atomic_load32(&heap->closes[block], MAM_ACQUIRE, MAM_AT_DEVICE);
	taken = mam_global_load64(&bits[block], MAM_ACQUIRE, MAM_AT_DEVICE);
	MAM_ROLLED
	while (unit < MAM_BLOCK_UNITS) {
		if (!(taken >> unit & 1)) {
			unit++;
			continue;
		}
		owner = mam_owners_load_acquire(heap, block * MAM_BLOCK_UNITS + unit);
		look.doubt |= !owner ||
			      (owner > MAM_OWNER_MOVING && owner <= MAM_OWNER_MOVING + MAM_CLASSES);
		if (owner - 1 >= MAM_CLASSES) {
			unit += mam_pass_run(owner) ? mam_pass_run(owner) : 1;
			continue;
		}
		traits = mam_traits_of(owner);
		word = (block * MAM_BLOCK_UNITS + unit) >> mam_traits_span_shift(traits);
		seen = mam_global_load64(&mam_traits_words(heap, traits)[word], MAM_ACQUIRE,
					 MAM_AT_DEVICE);
		if (owner == class_ && seen) {
			look.word = word;
			look.closes = closes;
			return look;
		}
		group = mam_slab_group(traits, word, block * MAM_BLOCK_UNITS + unit);
		units = mam_slab_group_units(traits, word, group);
		if (!(~seen & mam_slab_group_slots(traits, group))) {
			if (mam_slab_close(heap, owner, word, group)) {
				taken &= ~units;
				closes++;
				look.closed++;
			} else {
				look.doubt = 1;
			}
		}
		/* Meanwhile the units may have become a group that contains this unit. */
		unit = MAM_BLOCK_UNITS - mam_clz64(units);
	}
	look.doubt |= mam_atomic_load32(&heap->closes[block], MAM_RELAXED, MAM_AT_DEVICE) != closes;
	look.closes = closes;
	if (!class_)
		return look;
	seen = mam_global_load64(&bits[block], MAM_ACQUIRE, MAM_AT_DEVICE);
	look.doubt |= (seen & ~taken) != 0;
	traits = mam_traits_of(class_);
	look.word = mam_pass_open(traits, block, seen, 0, &group);
	units = mam_bits_stretches(~seen, mam_pass_units(traits));
	/* An object of a power of two is aligned to its size: then a group is such a run. */
	if (look.word == MAM_NO_WORD && units &&
	    mam_traits_quanta(traits) & (mam_traits_quanta(traits) - 1))
		look.unit = block * MAM_BLOCK_UNITS + mam_ffs64(units) - 1;
	return look;
}

#endif
