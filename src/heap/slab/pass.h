/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h - scans all blocks once for a class, and reports "no room" only if that is certain.
 *
 * For each block a lane does the following:
 * 1. It loads the block's number of closed groups, `closes`, with an acquire, and the units' word.
 * 2. It loads the owners of all units, and fences.
 * 3. Of each slab that owns a unit it loads the owner again, as few owners fit into registers, and
 *    then the word, several at once. If a slab of the class has a free slot, there is room. A group
 *    of any class with all slots free is closed, which frees units.
 * 4. It fences, and loads `closes` and the units' word again. If the units of a group of the class
 *    are all free, there is room. The same holds if as many units are free as one object needs: the
 *    object becomes a run (spans.h).
 *
 * Units in transition prove nothing: a claimed unit whose owner is 0 or MOVING; a group of this
 * block that was closed since 1, as `closes` shows; a unit that was free in 1 and claimed in 4.
 * Then the lane is in doubt, and the scan must be repeated. So "no room" means: each slot of the
 * class and each unit was seen claimed, by an actual owner, during this one scan.
 *
 * Why that is enough: a slot's bit is 0 if the slot is allocated, and also while its group opens or
 * closes. A thread that opens a group clears MOVING after it has published the slots, as a release.
 * The fence of 2 makes the loads of owners an acquire. So under an owner without MOVING, a bit of 0
 * means that the slot is allocated, or that the group has closed since. A thread that closes a
 * group sets MOVING, then raises `closes` as a release, then clears the slots as a release. If 1
 * sees the increase, then 2 sees MOVING or a later owner. If 3 sees the cleared slots, then after
 * the fence 4 sees the increase. Reading the owner again would not suffice: the class may have
 * opened the group there again. If 3 reads another class than 2, then 4 sees the increase, too: a
 * thread clears MOVING of a new owner as a release. If 3 reads no class, the lane is in doubt.
 *
 * One load of a slab's word serves all its units, because all owners are loaded before. The units'
 * word in 1 needs no order: a unit that 1 and 4 see as claimed was owned when 2 saw its owner, and
 * a unit that 4 sees as free is room.
 *
 * Bound: a fence, the owners' eight words, and at most one load for each unit, MAM_PASS_WIDTH of
 * them in flight. If all units belong to runs: two round trips.
 */
#ifndef MAM_HEAP_SLAB_PASS_H
#define MAM_HEAP_SLAB_PASS_H

#include "heap/slab/handle.h"
#include "heap/slab/slab.h"
#include "heap/pages/tour.h"

#define MAM_PASSES_MAX 200
#define MAM_PASS_WIDTH 4   /* words of slabs that are loaded at once */
#define MAM_PASS_OWNERS 8u /* words of owners of a block */
#define MAM_PASS_FLIGHT 4u /* of these, loaded at once */

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
 * Step 4: a word in a block with a group whose units are all free in `taken`, its number in
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

/* The highest bits of the bytes of a word, as eight bits. */
MAM_KFN uint32_t mam_pass_gather(uint64_t bytes)
{
	return (uint32_t)((bytes & 0x8080808080808080) * 0x0002040810204081 >> 56);
}

/* The owners that are 0, or a class and MOVING: eight bits for the eight owners in a word. */
MAM_KFN uint32_t mam_pass_moving(uint64_t owners)
{
	uint64_t low = owners & 0x7f7f7f7f7f7f7f7f, some = low + 0x7f7f7f7f7f7f7f7f;

	/* 55 = 127 - MAM_CLASSES. */
	return mam_pass_gather((some & ~(low + 0x3737373737373737) & owners) | ~(some | owners));
}

/*
 * Where slabs start or continue after other owners: eight bits for word `at` of a block's owners.
 * Each unit of a slab is such a unit, or follows one of the same slab. `before` has the owner of
 * the preceding unit in its highest byte.
 */
MAM_KFN uint32_t mam_pass_starts(uint64_t owners, uint64_t before, uint32_t at)
{
	uint64_t low = owners & 0x7f7f7f7f7f7f7f7f, other = owners ^ (owners << 8 | before >> 56);
	/*
	 * A unit with k trailing zeros in its number starts a slab of each class whose span shift is
	 * at most k: of those below 2, 4, 8, 12, 16 and 24; unit 0 of each class. Added to 128 minus
	 * that, a lower class does not reach 128.
	 */
	uint64_t least = 0x7e7c7e787e7c7e00 | (0x7470746874707400 >> 8 * at & 255);

	other = (((other & 0x7f7f7f7f7f7f7f7f) + 0x7f7f7f7f7f7f7f7f) | other) | ~(low + least);
	return mam_pass_gather(other & ((low + 0x7f7f7f7f7f7f7f7f) & ~(low + 0x3737373737373737)) &
			       ~owners);
}

/* The first units of those groups of a slab whose slots are all free in `seen`. */
MAM_KFN uint64_t mam_pass_idle(uint64_t traits, uint32_t word, uint64_t seen)
{
	uint32_t unit = mam_slab_unit(traits, word) % MAM_BLOCK_UNITS, group;
	uint64_t slots, units = 0;

	MAM_ROLLED
	for (; seen; seen &= ~slots) {
		group = (mam_ffs64(seen) - 1) >> mam_traits_group_shift(traits);
		slots = mam_slab_group_slots(traits, group);
		if (!(~seen & slots))
			units |= (uint64_t)1 << (unit + group * mam_traits_group_units(traits));
	}
	return units;
}

/* Closes the group of a unit of a block. Returns its units, or 0. */
MAM_KFN uint64_t mam_pass_close(const struct mam_kheap *heap, uint32_t block, uint32_t unit)
{
	uint32_t owner, word, group;
	uint64_t traits;

	unit += block * MAM_BLOCK_UNITS;
	owner = mam_owners_load(heap, unit);
	if (owner - 1 >= MAM_CLASSES)
		return 0;
	traits = mam_traits_of(owner);
	word = unit >> mam_traits_span_shift(traits);
	group = mam_slab_group(traits, word, unit);
	return mam_slab_close(heap, owner, word, group) ? mam_slab_group_units(traits, word, group)
							: 0;
}

/* Steps 1 to 4. A class of 0: only closes idle groups. */
MAM_KSLOW struct mam_klook mam_pass_block(const struct mam_kheap *heap, uint32_t class_,
					  uint32_t block)
{
	uint64_t *bits = mam_pages_bits(heap->units), taken, traits, starts = 0, moving = 0, left;
	uint64_t owners[MAM_PASS_FLIGHT], seen[MAM_PASS_WIDTH], one, before = 0, idle = 0;
	uint32_t owner[MAM_PASS_WIDTH], at, i, unit, word;
	struct mam_klook look;

	look.word = MAM_NO_WORD;
	look.unit = MAM_NO_PAGE;
	look.closed = 0;
	taken = mam_bitmap_load(bits, block);
	look.closes = mam_atomic_load32(&heap->closes[block], MAM_ACQUIRE, MAM_AT_DEVICE);
	MAM_ROLLED
	for (at = 0; at < MAM_PASS_OWNERS; at += MAM_PASS_FLIGHT) {
		for (i = 0; i < MAM_PASS_FLIGHT; i++)
			owners[i] =
				mam_global_load64(&heap->owners[block * MAM_PASS_OWNERS + at + i],
						  MAM_RELAXED, MAM_AT_DEVICE);
		for (i = 0; i < MAM_PASS_FLIGHT; i++) {
			starts |= (uint64_t)mam_pass_starts(owners[i], before, at + i)
				  << 8 * (at + i);
			moving |= (uint64_t)mam_pass_moving(owners[i]) << 8 * (at + i);
			before = owners[i];
		}
	}
	look.doubt = (moving & taken) != 0;
	if (!starts && !~taken)
		return look;
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	MAM_ROLLED
	while (starts) {
		left = starts;
		for (i = 0; i < MAM_PASS_WIDTH; i++) {
			owner[i] = 0;
			if (!left)
				continue;
			owner[i] = mam_owners_load(heap,
						   block * MAM_BLOCK_UNITS + mam_ffs64(left) - 1);
			left &= left - 1;
		}
		one = starts;
		for (i = 0; i < MAM_PASS_WIDTH; i++) {
			seen[i] = 0;
			unit = block * MAM_BLOCK_UNITS + mam_ffs64(one) - 1;
			one &= one - 1;
			/* It has changed since: so has `closes`, or it is about to. */
			if (owner[i] - 1 >= MAM_CLASSES)
				continue;
			traits = mam_traits_of(owner[i]);
			seen[i] = mam_slots_load(mam_traits_words(heap, traits),
						 unit >> mam_traits_span_shift(traits));
		}
		MAM_ROLLED
		for (; starts != left; starts &= starts - 1) {
			one = seen[0];
			at = owner[0];
			for (i = 1; i < MAM_PASS_WIDTH; i++) {
				seen[i - 1] = seen[i];
				owner[i - 1] = owner[i];
			}
			look.doubt |= at - 1 >= MAM_CLASSES;
			if (!one)
				continue;
			traits = mam_traits_of(at);
			word = (block * MAM_BLOCK_UNITS + mam_ffs64(starts) - 1) >>
			       mam_traits_span_shift(traits);
			if (at == class_) {
				look.word = word;
				return look;
			}
			idle |= mam_pass_idle(traits, word, one);
		}
	}
	/* After the loop, as few registers are in use here. */
	MAM_ROLLED
	for (; idle; idle &= idle - 1) {
		one = mam_pass_close(heap, block, mam_ffs64(idle) - 1);
		taken &= ~one;
		look.closes += one != 0;
		look.closed += one != 0;
		look.doubt |= !one;
	}
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	look.doubt |=
		mam_atomic_load32(&heap->closes[block], MAM_RELAXED, MAM_AT_DEVICE) != look.closes;
	if (!class_)
		return look;
	left = mam_bitmap_load(bits, block);
	look.doubt |= (left & ~taken) != 0;
	if (!~left)
		return look;
	traits = mam_traits_of(class_);
	look.word = mam_pass_open(traits, block, left, 0, &at);
	starts = mam_bits_stretches(~left, mam_pass_units(traits));
	/* An object of a power of two is aligned to its size: then a group is such a run. */
	if (look.word == MAM_NO_WORD && starts &&
	    mam_traits_quanta(traits) & (mam_traits_quanta(traits) - 1))
		look.unit = block * MAM_BLOCK_UNITS + mam_ffs64(starts) - 1;
	return look;
}

#endif
