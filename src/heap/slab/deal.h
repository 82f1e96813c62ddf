/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deal.h - slots for lanes that want the same class, from words that they and other lanes of their
 * warp look at, one word per lane.
 *
 * 1. Share: each lane sees some free slots. From a prefix sum it knows how many the lanes before it
 *    see, and claims its share of the remaining need by one atomic. The sum is computed bit by bit
 *    with ballots, for any set of lanes.
 * 2. Deal: another prefix sum counts the slots won. Winner by winner, the lanes without a slot pick
 *    by rank.
 *
 * Must hold: no lane claims a slot that is not needed.
 */
#ifndef MAM_HEAP_SLAB_DEAL_H
#define MAM_HEAP_SLAB_DEAL_H

#include "heap/slab/handle.h"
#include "heap/slab/slab.h"

/* The sum of `n`, at most 63, over the lanes of `lower`. */
MAM_KFN uint32_t mam_deal_before(uint32_t mask, uint32_t lower, uint32_t n)
{
	uint32_t sum = 0, bit;

	MAM_ROLLED
	for (bit = 0; bit < 6; bit++)
		sum += mam_popc32(mam_warp_ballot(mask, n >> bit & 1) & lower) << bit;
	return sum;
}

/* Step 2: a lane of `mask` has won `won` of `word`. Returns the caller's slot. */
MAM_KFN struct mam_kslot mam_deal_out(uint32_t mask, uint32_t needy, uint32_t word, uint64_t won,
				      struct mam_kslot mine)
{
	uint32_t lower = (1u << mam_lane()) - 1, rank = mam_popc32(needy & lower), from, who, of;
	uint32_t before = mam_deal_before(mask, mask & lower, mam_popc64(won));
	uint32_t winners = mam_warp_ballot(mask, won != 0);
	uint64_t those;

	MAM_ROLLED
	for (; winners; winners &= winners - 1) {
		who = mam_ffs32(winners) - 1;
		those = mam_warp_shuffle64(mask, won, who);
		of = mam_warp_shuffle32(mask, word, who);
		from = rank - mam_warp_shuffle32(mask, before, who);
		if (needy >> mam_lane() & 1 && from < mam_popc64(those)) {
			mine.slot = mam_slots_pick(those, from);
			mine.word = of;
		}
	}
	return mine;
}

/*
 * Steps 1 and 2, by the lanes of `mask`, for the lanes of `needy`. A lane looks at `word`, in which
 * it has seen the free slots `seen`. Returns the caller's slot.
 */
MAM_KFN struct mam_kslot mam_deal(const struct mam_kheap *heap, uint32_t mask, uint32_t needy,
				  uint64_t traits, uint32_t word, uint64_t seen,
				  struct mam_kslot mine)
{
	uint32_t lower = mask & ((1u << mam_lane()) - 1), need = mam_popc32(needy), before;
	uint32_t have = mam_popc64(seen), share;
	uint64_t won = 0;

	have = have < need ? have : need;
	before = mam_deal_before(mask, lower, have);
	share = before < need ? need - before : 0;
	share = have < share ? have : share;
	if (share) {
		won = mam_slots_lowest(seen, share);
		won &= mam_slots_claim(mam_traits_words(heap, traits), word, won);
	}
	return mam_deal_out(mask, needy, word, won, mine);
}

#endif
