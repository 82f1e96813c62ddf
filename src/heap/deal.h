/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deal.h - slots for the lanes of a warp that have none yet, out of words that they look at, each
 * at one of its own; for several classes at a time, each in a group of lanes.
 *
 * 1. Share: each lane sees some free slots; by a prefix sum over its group it knows how many those
 *    before it see, and claims what of the group's need they leave, all by one atomic. The sum is
 *    taken bit by bit, by ballots, whatever lanes take part.
 * 2. Open: a lane that has taken the units of a new slab has all of its slots; it publishes the word
 *    without those that it shares out.
 * 3. Deal: another prefix sum over what was won. For one winner of each group after the other the
 *    lanes without pick by rank.
 *
 * All lanes of `mask` come together to each call; what they say is for their own group. Ballots and
 * shuffles are over `mask`, since groups of one warp that vote at the same time, each with a mask of
 * its own, are not kept apart by all compilers (port_cuda.h).
 *
 * Must hold: nothing is claimed that nobody in the group needs.
 */
#ifndef MAM_HEAP_DEAL_H
#define MAM_HEAP_DEAL_H

#include "heap/handle.h"
#include "heap/slab.h"

/* The sum of `n`, at most 63, of the lanes of `lower`. */
MAM_KFN uint32_t mam_deal_before(uint32_t mask, uint32_t lower, uint32_t n)
{
	uint32_t sum = 0, bit;

	MAM_ROLLED
	for (bit = 0; bit < 6; bit++)
		sum += mam_popc32(mam_warp_ballot(mask, n >> bit & 1) & lower) << bit;
	return sum;
}

/*
 * Steps 1 to 3. A lane looks at `word`, of which it has `seen`; `opened`: it has the units of that
 * slab, and `seen` is all of it. `group` has the lanes of its class, `needy` those of the warp
 * without a slot. Gives the caller's slot.
 */
MAM_KFN struct mam_kslot mam_deal(const struct mam_kheap *heap, uint32_t mask, uint32_t group,
				  uint32_t needy, uint32_t class_, uint64_t traits, uint32_t word,
				  uint64_t seen, bool opened, struct mam_kslot mine)
{
	uint32_t lower = group & ((1u << mam_lane()) - 1), need = mam_popc32(needy & group);
	uint32_t have = mam_popc64(seen), before = 0, share, winners, who;
	uint64_t won = 0, left;

	have = have < need ? have : need;
	winners = mam_warp_ballot(mask, have != 0) & group;
	/* Mostly the first that sees any sees enough. */
	if (mam_warp_ballot(mask, have && !(winners & lower) && have < need))
		before = mam_deal_before(mask, lower, have);
	else if (winners & lower)
		before = need;
	share = before < need ? need - before : 0;
	share = have < share ? have : share;
	if (share || opened) {
		won = mam_slots_lowest(seen, share);
		left = seen & ~won;
		if (opened) {
			mam_slab_publish(heap, class_, traits, word, left);
		} else {
			seen = mam_slots_claim(mam_traits_words(heap, traits), word, won);
			left = seen & ~won;
			won &= seen;
		}
		if (left)
			mam_handle_set(heap, class_, word);
	}
	have = mam_popc64(won);
	winners = mam_warp_ballot(mask, won != 0) & group;
	before = 0;
	if (mam_warp_ballot(mask, (winners & (winners - 1)) != 0))
		before = mam_deal_before(mask, lower, have);
	share = mam_popc32(needy & lower);
	MAM_ROLLED
	while (mam_warp_ballot(mask, winners != 0)) {
		who = winners ? mam_ffs32(winners) - 1 : mam_lane();
		winners &= winners - 1;
		left = mam_warp_shuffle64(mask, won, who);
		have = mam_warp_shuffle32(mask, word, who);
		need = share - mam_warp_shuffle32(mask, before, who);
		if (needy >> mam_lane() & 1 && mine.slot == MAM_NO_SLOT && need < mam_popc64(left)) {
			mine.slot = mam_slots_pick(left, need);
			mine.word = have;
		}
	}
	return mine;
}

#endif
