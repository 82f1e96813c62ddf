/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slab.h - opens a slab on free units, and closes it when all its slots are free and its units are
 * needed.
 *
 * To open the slab that has word w of its class:
 * 1. claim its units, all or none: one compare-and-swap on the block's word, or an OR for one unit;
 * 2. owners: the class, with MOVING in the first;
 * 3. publish: store w with the slots that stay free, as a release. Until then w is 0, and no claim
 *    wins anything;
 * 4. owners: clear MOVING.
 *
 * To close it:
 * 1. change the owner of its first unit from the class to the class and MOVING, by
 *    compare-and-swap. Of two threads that want to close the slab, one fails here;
 * 2. raise `closes` of the block, for threads that check whether there is room (pass.h);
 * 3. change w from "all free" to 0 by compare-and-swap. An earlier claim has cleared a bit, so this
 *    fails: MOVING is cleared, and nothing has changed. A later claim wins nothing;
 * 4. owners: clear to 0;
 * 5. free the units, as a release.
 *
 * A stale idea of where the slab is does no harm: w stays 0 from step 3 until a slab of the same
 * class opens there again, and a slot won from that slab is valid. A correct program never frees a
 * free slot. If a double free does so, then the owner is 0 or another class, or the bit is already
 * set. Only a double free between steps 3 and 4 goes undetected: the owner still has the class, and
 * the OR sets a bit of a w that belongs to no slab.
 *
 * A thread that sees a claimed unit whose owner is 0 or has MOVING knows that the unit is in
 * transition, and draws no conclusion from it yet (pass.h). A release of the last slot does not
 * close the slab: that is left to the thread that needs units.
 */
#ifndef MAM_HEAP_SLAB_SLAB_H
#define MAM_HEAP_SLAB_SLAB_H

#include "heap/slab/owners.h"

/* The first unit of the slab with this word. */
MAM_KFN uint32_t mam_slab_unit(uint64_t traits, uint32_t word)
{
	return word << mam_traits_span_shift(traits);
}

MAM_KFN uint32_t mam_slab_block(uint64_t traits, uint32_t word)
{
	return word >> mam_traits_words_shift(traits);
}

/* The bits of the slab's units in their block's word. */
MAM_KFN uint64_t mam_slab_span(uint64_t traits, uint32_t word)
{
	return mam_bits_span(mam_slab_unit(traits, word) % MAM_BLOCK_UNITS,
			     mam_traits_units(traits));
}

/* Step 1 of opening; `taken` is the block's word as last seen. */
MAM_KFN bool mam_slab_space(const struct mam_kheap *heap, uint64_t traits, uint32_t word,
			    uint64_t taken)
{
	uint64_t *bits = mam_pages_bits(heap->units), span = mam_slab_span(traits, word), old;
	uint32_t block = mam_slab_block(traits, word);

	if (!(span & (span - 1)))
		return !(mam_bitmap_claim(bits, block, span) & span);
	MAM_ROLLED
	while (!(taken & span)) {
		old = mam_bitmap_swap(bits, block, taken, taken | span);
		if (old == taken)
			return true;
		taken = old;
	}
	return false;
}

/* Steps 2 to 4; the slots of `left` are free. */
MAM_KFN void mam_slab_publish(const struct mam_kheap *heap, uint32_t class_, uint64_t traits,
			      uint32_t word, uint64_t left)
{
	uint32_t unit = mam_slab_unit(traits, word), block = unit / MAM_BLOCK_UNITS;
	uint64_t *hints = heap->hints + (class_ - 1) * mam_metadata_hint_words(heap->blocks);

	mam_owners_set(heap, unit, 1, class_ + MAM_OWNER_MOVING);
	mam_owners_set(heap, unit + 1, mam_traits_units(traits) - 1, class_);
	(void)mam_global_or64(&hints[block / 64], (uint64_t)1 << block % 64, MAM_RELAXED,
			      MAM_AT_DEVICE);
	mam_atomic_store64(&mam_traits_words(heap, traits)[word], left, MAM_RELEASE, MAM_AT_DEVICE);
	mam_owners_publish(heap, unit);
}

enum mam_opening {
	MAM_OPEN_NOT,   /* its units are claimed */
	MAM_OPEN_LATER, /* another thread is about to open it, or has opened it: look again */
	MAM_OPEN_DONE,
};

/*
 * Opens the slab if its units are free. The slots of `mine`, at least one, belong to the caller
 * then, so no thread ever sees the slab idle before its first use and closes it.
 */
MAM_KSLOW enum mam_opening mam_slab_open(const struct mam_kheap *heap, uint32_t class_,
					 uint32_t word, uint64_t mine)
{
	uint64_t traits = mam_traits_of(class_), *bits = mam_pages_bits(heap->units), taken;
	uint32_t owner;

	taken = mam_bitmap_load(bits, mam_slab_block(traits, word));
	if (!(taken & mam_slab_span(traits, word)) && mam_slab_space(heap, traits, word, taken)) {
		mam_slab_publish(heap, class_, traits, word, mam_slots_all(traits) & ~mine);
		return MAM_OPEN_DONE;
	}
	owner = mam_owners_load(heap, mam_slab_unit(traits, word));
	return !owner || owner == class_ + MAM_OWNER_MOVING ||
			       mam_slots_load(mam_traits_words(heap, traits), word)
		       ? MAM_OPEN_LATER
		       : MAM_OPEN_NOT;
}

/* Returns false if a slot is not free, or if another thread is closing the slab. */
MAM_KSLOW bool mam_slab_close(const struct mam_kheap *heap, uint32_t class_, uint32_t word)
{
	uint64_t traits = mam_traits_of(class_), all = mam_slots_all(traits);
	uint32_t unit = mam_slab_unit(traits, word);

	if (!mam_owners_change(heap, unit, class_, class_ + MAM_OWNER_MOVING))
		return false;
	(void)mam_atomic_add32(&heap->closes[unit / MAM_BLOCK_UNITS], 1, MAM_RELEASE,
			       MAM_AT_DEVICE);
	if (mam_global_cas64(&mam_traits_words(heap, traits)[word], all, 0, MAM_ACQ_REL,
			     MAM_AT_DEVICE) != all) {
		mam_owners_publish(heap, unit);
		return false;
	}
	mam_owners_clear(heap, unit, mam_traits_units(traits));
	(void)mam_bitmap_release(mam_pages_bits(heap->units), unit / MAM_BLOCK_UNITS,
				 mam_slab_span(traits, word));
	return true;
}

#endif
