/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cut.h - objects of 2 to 8 units for lanes of a warp that want different sizes: the warp claims
 * stretches of whole blocks, one claim for each block, and each lane cuts its run from them.
 *
 * 1. Each lane whose object a run fits well (few.h) gets a place, counted in units: powers of two
 *    first, from the largest to the smallest, so that each is aligned to its size, then the others
 *    in the order of lanes. A lane whose place reaches from one block into the next has none.
 * 2. For each block, one lane looks at a few random blocks before the frontier (find.h). If most of
 *    these are empty, it claims its stretch in an empty one. If most are full, it claims it in the
 *    block at the frontier, which moves. Otherwise memory is fragmented, and there is no stretch:
 *    each lane chooses for itself (few.h), so that long stretches last.
 * 3. Each lane sets the owners of its run.
 *
 * Source: requests that are coalesced in a warp, as in XMalloc (Huang et al., CIT 2010).
 *
 * Bound: one look and one claim for each block, all of a warp at once: two round trips, or three at
 * the frontier; eight ballots, and at most four shuffles.
 */
#ifndef MAM_HEAP_SLAB_CUT_H
#define MAM_HEAP_SLAB_CUT_H

#include "heap/slab/few.h"

#define MAM_CUT_EMPTY 2u /* blocks of MAM_FIND_WIDTH: then most are */

/* Sums of `mask`'s lanes: units of those that need 2, 4 or 8, aligned, or any number. */
struct mam_kcut {
	uint32_t place; /* the lane's, in units */
	uint32_t end;   /* of all places */
};

/* Step 1 for lanes with a power of two; `units`: 8, 4, 2. */
MAM_KFN void mam_cut_aligned(struct mam_kcut *cut, uint32_t mask, uint32_t mine, uint32_t units)
{
	uint32_t lanes = mam_warp_ballot(mask, mine == units);

	if (mine == units)
		cut->place = cut->end + units * mam_popc32(lanes & ((1u << mam_lane()) - 1));
	cut->end += units * mam_popc32(lanes);
}

/* Step 1: the places of all lanes of `mask`; `units`: 0 for a lane that wants none. */
MAM_KFN struct mam_kcut mam_cut_places(uint32_t mask, uint32_t units, bool aligned)
{
	uint32_t below = (1u << mam_lane()) - 1, rest, bit, lanes, before = 0, sum = 0;
	struct mam_kcut cut = { 0, 0 };

	rest = aligned ? 0 : units;
	mam_cut_aligned(&cut, mask, units - rest, 8);
	mam_cut_aligned(&cut, mask, units - rest, 4);
	mam_cut_aligned(&cut, mask, units - rest, 2);
	for (bit = 1; bit <= MAM_FEW_UNITS; bit *= 2) {
		lanes = mam_warp_ballot(mask, (rest & bit) != 0);
		before += bit * mam_popc32(lanes & below);
		sum += bit * mam_popc32(lanes);
	}
	if (rest)
		cut.place = cut.end + before;
	cut.end += sum;
	return cut;
}

/* Step 2, by one lane: a block in which it has claimed the units of `span`, or MAM_NO_PAGE. */
MAM_KSLOW uint32_t mam_cut_claim(const struct mam_kheap *heap, uint64_t span, uint32_t random)
{
	uint32_t *frontier = &mam_metadata_searches(heap)->frontier, edge, empty = 0, full = 0, i;
	uint64_t *bits = mam_pages_bits(heap->units), taken[MAM_FIND_WIDTH];
	uint32_t at[MAM_FIND_WIDTH], block = MAM_NO_PAGE, end = heap->blocks * MAM_BLOCK_UNITS,
				     before;

	before = mam_atomic_load32(frontier, MAM_RELAXED, MAM_AT_DEVICE);
	edge = before > MAM_FIND_EDGE ? before : MAM_FIND_EDGE;
	edge = edge < end ? edge : end;
	for (i = 0; i < MAM_FIND_WIDTH; i++) {
		at[i] = (uint32_t)((uint64_t)mam_walk_mix(random + i) * edge >> 32) /
			MAM_BLOCK_UNITS;
		taken[i] = mam_bitmap_load(bits, at[i]);
	}
	for (i = 0; i < MAM_FIND_WIDTH; i++) {
		full += mam_popc64(taken[i]);
		empty += !taken[i];
		block = taken[i] ? block : at[i];
	}
	if (empty < MAM_CUT_EMPTY) {
		if (full < (MAM_FIND_WIDTH - 1) * MAM_BLOCK_UNITS || edge >= end)
			return MAM_NO_PAGE;
		if (before < edge)
			(void)mam_atomic_cas32(frontier, before, edge, MAM_RELAXED, MAM_AT_DEVICE);
		block = mam_atomic_add32(frontier, MAM_BLOCK_UNITS, MAM_RELAXED, MAM_AT_DEVICE) /
				MAM_BLOCK_UNITS +
			1;
		if (block >= heap->blocks)
			return MAM_NO_PAGE;
	}
	return mam_global_cas64(&bits[block], 0, span, MAM_ACQUIRE, MAM_AT_DEVICE) ? MAM_NO_PAGE
										   : block;
}

/*
 * Steps 1 to 3, for the lanes of `mask`, those that want different classes; `wants`: the caller has no
 * object yet. Returns the object or NULL.
 */
MAM_KFN void *mam_cut(const struct mam_kheap *heap, uint32_t mask, uint32_t class_, bool wants)
{
	uint64_t traits = mam_traits_of(class_);
	uint32_t rank = mam_popc32(mask & ((1u << mam_lane()) - 1)), units, rest, at, block, from,
		 to;
	struct mam_kcut cut;
	bool cross;

	units = wants && mam_few_suits(traits) ? mam_pass_units(traits) : 0;
	units = units > 1 ? units : 0;
	cut = mam_cut_places(mask, units, !mam_pass_runs(traits));
	block = cut.place / MAM_BLOCK_UNITS;
	/* The stretch of the lane with this rank, in the block of this number. */
	from = rank * MAM_BLOCK_UNITS;
	to = cut.end < from + MAM_BLOCK_UNITS ? cut.end : from + MAM_BLOCK_UNITS;
	cross = units && (cut.place + units - 1) / MAM_BLOCK_UNITS != block;
	MAM_ROLLED
	for (rest = mam_warp_ballot(mask, cross); rest; rest &= rest - 1) {
		at = mam_warp_shuffle32(mask, cut.place | units << 16, mam_ffs32(rest) - 1);
		if ((at & 65535) / MAM_BLOCK_UNITS == rank)
			to = at & 65535;
		if ((at & 65535) / MAM_BLOCK_UNITS + 1 == rank)
			from = (at & 65535) + (at >> 16);
	}
	at = MAM_NO_PAGE;
	if (from < to)
		at = mam_cut_claim(heap, mam_bits_span(from % MAM_BLOCK_UNITS, to - from),
				   mam_find_random(0));
	mam_warp_sync(mask);
	block = block < mam_popc32(mask) ? block : 0;
	at = mam_warp_shuffle32(mask, at, mam_bits_nth(mask, block));
	if (!units || cross || at == MAM_NO_PAGE)
		return NULL;
	at = at * MAM_BLOCK_UNITS + cut.place % MAM_BLOCK_UNITS;
	mam_spans_own(heap, at, units);
	return heap->space + ((uint64_t)at << MAM_UNIT_SHIFT);
}

#endif
