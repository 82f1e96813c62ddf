/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reap.h - samples random units, and closes idle slabs there, so that a heap does not grow while
 * many of its units are free, or held by slabs without objects.
 *
 * Each lane samples one unit: its owner, and if that is a slab, its word. A slab with all slots
 * free is closed. So a share p of such units is missed by 32 lanes with probability (1 - p)^32, 3%
 * for a tenth, in two round trips. A scan over whole blocks (pass.h) costs one round trip for each
 * slab of a block.
 */
#ifndef MAM_HEAP_SLAB_REAP_H
#define MAM_HEAP_SLAB_REAP_H

#include "heap/slab/handle.h"
#include "heap/slab/slab.h"

#define MAM_REAP_UNITS 32u /* sampled in total, approximately, for any number of lanes */
#define MAM_REAP_ROUNDS 12u

/* One sample: returns whether the unit is free now. */
MAM_KFN bool mam_reap_unit(const struct mam_kheap *heap, uint32_t unit)
{
	uint32_t owner = mam_owners_load_acquire(heap, unit), word;
	uint64_t traits;

	if (owner - 1 >= MAM_CLASSES)
		return !owner;
	traits = mam_traits_of(owner);
	word = unit >> mam_traits_span_shift(traits);
	return mam_global_load64(&mam_traits_words(heap, traits)[word], MAM_ACQUIRE,
				 MAM_AT_DEVICE) == mam_slots_all(traits) &&
	       mam_slab_close(heap, owner, word);
}

/*
 * By the lanes of `mask`; the same in all: returns whether any of them has seen or made a free
 * unit.
 */
MAM_KFN bool mam_reap(const struct mam_kheap *heap, uint32_t mask)
{
	uint32_t units = heap->blocks * MAM_BLOCK_UNITS, rounds = 0, lanes = mam_popc32(mask), at;
	bool room = false;

	MAM_ROLLED
	do {
		at = mam_walk_mix((uint32_t)mam_clock() + mam_lane() * MAM_WALK_GOLDEN +
				  mam_handle_warp());
		room |= mam_reap_unit(heap, (uint32_t)((uint64_t)at * units >> 32));
		rounds++;
		mam_warp_sync(mask);
	} while (rounds * lanes < MAM_REAP_UNITS && rounds < MAM_REAP_ROUNDS);
	return mam_warp_ballot(mask, room) != 0;
}

#endif
