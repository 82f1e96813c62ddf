/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slab.h - opens the groups of a slab on free units, and closes a group when all its slots are free
 * and its units are needed.
 *
 * A slab has one word. Its groups (classes.h) are opened and closed one by one, so a slab may have
 * gaps, in which there are slabs of other classes and runs. The bit of a slot is set only while all
 * units of its group belong to the class.
 *
 * To open groups of the slab that has word w of its class:
 * 1. claim their units, those of the groups whose units are all free, by one OR on the block's word.
 *    If others were faster with some of them, raise `closes` of the block, release those that were
 *    won, and look again. A third thread may have found them claimed for a moment, and opens nothing
 *    there. That proves nothing: they have no owner (below), and a search for a run that met them
 *    sees afterwards that `closes` has changed (spans.h);
 * 2. owners of these units: the class, with MOVING;
 * 3. publish: set in w, as a release, those of their slots that stay free. Until then they are 0
 *    in w, and no claim wins any;
 * 4. owners: clear MOVING.
 *
 * To close a group:
 * 1. change the owner of its first unit from the class to the class and MOVING, by
 *    compare-and-swap. Of two threads that want to close the group, one fails here;
 * 2. raise `closes` of the block, for threads that check whether there is room (pass.h);
 * 3. clear the group's slots in w by compare-and-swap while all of them are set. An earlier claim
 *    has cleared a bit, so this fails: MOVING is cleared, and nothing has changed. A later claim
 *    wins nothing;
 * 4. owners: clear to 0;
 * 5. free the units, as a release.
 *
 * A stale idea of where slabs are does no harm: the slots stay 0 from step 3 until a group of the
 * same class opens there again, and a slot won from that group is valid. A correct program never
 * frees a free slot. If a double free does so, then the owner is 0 or another class, or the bit is
 * already set. Only a double free between steps 3 and 4 goes undetected: the owner still has the
 * class, and the OR sets a bit of a w that belongs to no group.
 *
 * A thread that sees a claimed unit whose owner is 0 or has MOVING knows that the unit is in
 * transition, and draws no conclusion from it yet (pass.h). A release of the last slot does not
 * close the group: that is left to the thread that needs units.
 */
#ifndef MAM_HEAP_SLAB_SLAB_H
#define MAM_HEAP_SLAB_SLAB_H

#include "heap/slab/owners.h"

/* Attempts to claim units, while others change the block's word. */
#define MAM_SLAB_TRIES 8u

/* The first unit of the slab with this word. */
MAM_KFN uint32_t mam_slab_unit(uint64_t traits, uint32_t word)
{
	return word << mam_traits_span_shift(traits);
}

MAM_KFN uint32_t mam_slab_block(uint64_t traits, uint32_t word)
{
	return word >> mam_traits_words_shift(traits);
}

/* The bits of the slab's units in their block's word, whether they belong to it or not. */
MAM_KFN uint64_t mam_slab_span(uint64_t traits, uint32_t word)
{
	return mam_bits_span(mam_slab_unit(traits, word) % MAM_BLOCK_UNITS,
			     mam_traits_units(traits));
}

/* The number of groups. */
MAM_KFN uint32_t mam_slab_groups(uint64_t traits)
{
	uint32_t shift = mam_traits_group_shift(traits);

	return (mam_traits_slots(traits) + (1u << shift) - 1) >> shift;
}

/* The group of the slab that has this unit. */
MAM_KFN uint32_t mam_slab_group(uint64_t traits, uint32_t word, uint32_t unit)
{
	return (unit - mam_slab_unit(traits, word)) / mam_traits_group_units(traits);
}

/* The bits of a group's units in their block's word. */
MAM_KFN uint64_t mam_slab_group_units(uint64_t traits, uint32_t word, uint32_t group)
{
	uint32_t each = mam_traits_group_units(traits);

	return mam_slab_span(traits, word) &
	       mam_bits_span(0, each)
		       << (mam_slab_unit(traits, word) % MAM_BLOCK_UNITS + group * each);
}

/* The bits of a group's slots in the slab's word. */
MAM_KFN uint64_t mam_slab_group_slots(uint64_t traits, uint32_t group)
{
	uint32_t shift = mam_traits_group_shift(traits);

	return mam_slots_all(traits) & mam_bits_span(0, 1u << shift) << (group << shift);
}

/* Some groups of a slab: bits of slots, and bits of units in the block's word. */
struct mam_kgroups {
	uint64_t slots;
	uint64_t units;
};

/* Those of the groups with slots in `slots` whose units are all free in `taken`. */
MAM_KFN struct mam_kgroups mam_slab_free(uint64_t traits, uint32_t word, uint64_t slots,
					 uint64_t taken)
{
	struct mam_kgroups free;
	uint64_t own, units;
	uint32_t group;

	free.slots = slots & mam_slots_all(traits);
	free.units = mam_slab_span(traits, word);
	if (free.slots == mam_slots_all(traits) && !(taken & free.units))
		return free;
	free.slots = 0;
	free.units = 0;
	MAM_ROLLED
	for (slots &= mam_slots_all(traits); slots; slots &= ~own) {
		group = (mam_ffs64(slots) - 1) >> mam_traits_group_shift(traits);
		own = mam_slab_group_slots(traits, group);
		units = mam_slab_group_units(traits, word, group);
		if (!(taken & units)) {
			free.slots |= own;
			free.units |= units;
		}
	}
	return free;
}

/*
 * Step 1 of opening: claims the units of those groups with slots in `slots` that are free; `taken`
 * is the block's word as last seen. Returns the groups; no slots: none is free.
 */
MAM_KFN struct mam_kgroups mam_slab_claim(const struct mam_kheap *heap, uint64_t traits,
					  uint32_t word, uint64_t slots, uint64_t taken)
{
	uint64_t *bits = mam_pages_bits(heap->units), won;
	uint32_t block = mam_slab_block(traits, word);
	struct mam_kgroups groups;
	uint32_t tries = 0;

	MAM_ROLLED
	for (;;) {
		groups = mam_slab_free(traits, word, slots, taken);
		if (!groups.slots || tries++ == MAM_SLAB_TRIES) {
			groups.slots = 0;
			return groups;
		}
		/* An OR, as other units of the block change while many slabs are opened there. */
		taken = mam_bitmap_claim(bits, block, groups.units);
		won = groups.units & ~taken;
		if (won == groups.units)
			return groups;
		if (won) {
			(void)mam_atomic_add32(&heap->closes[block], 1, MAM_RELEASE, MAM_AT_DEVICE);
			(void)mam_bitmap_release(bits, block, won);
		}
	}
}

/* Steps 2 to 4; the slots of `left` are free. */
MAM_KFN void mam_slab_publish(const struct mam_kheap *heap, uint32_t class_, uint64_t traits,
			      uint32_t word, uint64_t units, uint64_t left)
{
	uint32_t block = mam_slab_block(traits, word);
	uint64_t *hints = heap->hints + (class_ - 1) * mam_metadata_hint_words(heap->blocks);

	mam_owners_add(heap, block, units, class_ + MAM_OWNER_MOVING);
	(void)mam_global_or64(&hints[block / 64], (uint64_t)1 << block % 64, MAM_RELAXED,
			      MAM_AT_DEVICE);
	(void)mam_slots_release(mam_traits_words(heap, traits), word, left);
	mam_owners_remove(heap, block, units, MAM_OWNER_MOVING);
}

/*
 * Opens those of the groups with slots in `slots` whose units are free. Those of `mine` that they
 * have belong to the caller then, so no thread ever sees a group of these idle before its first use
 * and closes it. Returns them; 0: none was free, and nothing has changed. pre: each group with
 * slots in `slots` has one in `mine`, or another of them that is free does.
 */
MAM_KSLOW uint64_t mam_slab_open(const struct mam_kheap *heap, uint32_t class_, uint32_t word,
				 uint64_t slots, uint64_t mine)
{
	uint64_t traits = mam_traits_of(class_);
	struct mam_kgroups groups;

	groups = mam_slab_claim(
		heap, traits, word, slots,
		mam_bitmap_load(mam_pages_bits(heap->units), mam_slab_block(traits, word)));
	mine &= groups.slots;
	if (groups.slots)
		mam_slab_publish(heap, class_, traits, word, groups.units, groups.slots & ~mine);
	return mine;
}

/* The owner of the first unit of a slot's group, whatever it belongs to. */
MAM_KFN uint32_t mam_slab_owner(const struct mam_kheap *heap, uint64_t traits, uint32_t word,
				uint32_t slot)
{
	uint32_t group = slot >> mam_traits_group_shift(traits);

	return mam_owners_load(heap, mam_slab_unit(traits, word) +
					     group * mam_traits_group_units(traits));
}

/* Returns false if a slot is not free, or if another thread is closing the group. */
MAM_KSLOW bool mam_slab_close(const struct mam_kheap *heap, uint32_t class_, uint32_t word,
			      uint32_t group)
{
	uint64_t traits = mam_traits_of(class_), slots = mam_slab_group_slots(traits, group);
	uint64_t units = mam_slab_group_units(traits, word, group), seen, old;
	uint64_t *words = mam_traits_words(heap, traits);
	uint32_t block = mam_slab_block(traits, word);

	if (!mam_owners_change(heap, block * MAM_BLOCK_UNITS + mam_ffs64(units) - 1, class_,
			       class_ + MAM_OWNER_MOVING))
		return false;
	(void)mam_atomic_add32(&heap->closes[block], 1, MAM_RELEASE, MAM_AT_DEVICE);
	seen = mam_slots_load(words, word);
	MAM_ROLLED
	while (!(~seen & slots)) {
		old = mam_global_cas64(&words[word], seen, seen & ~slots, MAM_ACQ_REL,
				       MAM_AT_DEVICE);
		if (old == seen) {
			mam_owners_remove(heap, block, units, 255);
			(void)mam_bitmap_release(mam_pages_bits(heap->units), block, units);
			return true;
		}
		seen = old;
	}
	mam_owners_remove(heap, block, units & (~units + 1), MAM_OWNER_MOVING);
	return false;
}

#endif
