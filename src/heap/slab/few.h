/* SPDX-License-Identifier: Apache-2.0 */
/*
 * few.h - an object of at most 8 units as a run of its own, found by a single lane: ordinary code
 * without collectives. Lanes of a warp that want different sizes are served in this way first, as it
 * takes three round trips, and to open a group eight.
 *
 * 1. Look at a few random blocks before the frontier (find.h), and choose the fullest one of those
 *    with a stretch of exactly so many free units, or else of those with a longer one. So long
 *    stretches last.
 * 2. Claim the lowest such stretch by compare-and-swap, and again while the block has one. A size
 *    that is a power of two is aligned to itself.
 * 3. Set the owners (spans.h).
 * 4. If no block had room, move the frontier, so that the next attempt has more blocks to choose
 *    from.
 *
 * Such a warp uses a run where it wastes at most a quarter (mam_few_suits()), and otherwise if
 * nothing else was found. Its units are free as soon as the object is freed, for objects of any size.
 *
 * Bound: one look, with a claim for each change that other lanes make meanwhile.
 */
#ifndef MAM_HEAP_SLAB_FEW_H
#define MAM_HEAP_SLAB_FEW_H

#include "heap/slab/spans.h"

#define MAM_FEW_WASTE 4u /* a run that fits well wastes at most 1 / this of its units */

/* Returns whether a run fits an object of a class well. */
MAM_KFN bool mam_few_suits(uint64_t traits)
{
	return MAM_FEW_WASTE * mam_traits_quanta(traits) >=
	       (MAM_FEW_WASTE - 1) * MAM_BLOCK_UNITS * mam_pass_units(traits);
}

/* The lowest class whose objects are runs of `n` units: of 1, only those that it fits well. */
MAM_KFN uint32_t mam_few_first(uint32_t n)
{
	return mam_class_of(n > 1 ? ((n - 1) << MAM_UNIT_SHIFT) + 1
				  : ((MAM_FEW_WASTE - 1) << MAM_UNIT_SHIFT) / MAM_FEW_WASTE);
}

/* The multiples of 1, 2, 4 or 8, as bits. */
MAM_KFN uint64_t mam_few_multiples(uint32_t of)
{
	uint32_t byte = of == 1 ? 255 : of == 2 ? 0x55 : of == 4 ? 0x11 : 1;

	return byte * (uint64_t)0x0101010101010101;
}

/* Where a run of an object may start in a block of which these units are taken. */
MAM_KFN uint64_t mam_few_starts(uint64_t traits, uint64_t taken)
{
	uint32_t units = mam_pass_units(traits), quanta = mam_traits_quanta(traits);
	uint64_t starts = mam_bits_stretches(~taken, units);

	return quanta & (quanta - 1) ? starts : starts & mam_few_multiples(units);
}

/* Steps 1 and 2. Returns the first unit, or MAM_NO_PAGE. */
MAM_KFN uint32_t mam_few_claim(const struct mam_kheap *heap, uint64_t traits, uint32_t edge,
			       uint32_t random)
{
	uint64_t *bits = mam_pages_bits(heap->units), taken[MAM_FIND_WIDTH], seen, starts, exact,
		 old;
	uint32_t at[MAM_FIND_WIDTH], i, block = MAM_NO_PAGE, first, merit, most = 0;

	for (i = 0; i < MAM_FIND_WIDTH; i++) {
		at[i] = (uint32_t)((uint64_t)mam_walk_mix(random + i) * edge >> 32) /
			MAM_BLOCK_UNITS;
		taken[i] = mam_bitmap_load(bits, at[i]);
	}
	seen = MAM_WORD_FULL;
	for (i = 0; i < MAM_FIND_WIDTH; i++) {
		starts = mam_few_starts(traits, taken[i]);
		merit = mam_popc64(taken[i]) + 1;
		merit += mam_pass_exact(starts, taken[i], mam_pass_units(traits)) ? MAM_BLOCK_UNITS
										  : 0;
		if (starts && merit > most) {
			most = merit;
			block = at[i];
			seen = taken[i];
		}
	}
	MAM_ROLLED
	while ((starts = mam_few_starts(traits, seen)) != 0) {
		exact = mam_pass_exact(starts, seen, mam_pass_units(traits));
		first = mam_ffs64(exact ? exact : starts) - 1;
		old = mam_global_cas64(&bits[block], seen,
				       seen | mam_bits_span(first, mam_pass_units(traits)),
				       MAM_ACQUIRE, MAM_AT_DEVICE);
		if (old == seen)
			return block * MAM_BLOCK_UNITS + first;
		seen = old;
	}
	return MAM_NO_PAGE;
}

/* Allocates an object of a class as a run. Returns NULL if this attempt found no room. */
MAM_KSLOW void *mam_few_take(const struct mam_kheap *heap, uint32_t class_, uint32_t random)
{
	uint32_t *frontier = &mam_metadata_searches(heap)->frontier, edge, before, unit;
	uint32_t end = heap->blocks * MAM_BLOCK_UNITS;
	uint64_t traits = mam_traits_of(class_);

	before = mam_atomic_load32(frontier, MAM_RELAXED, MAM_AT_DEVICE);
	edge = before > MAM_FIND_EDGE ? before : MAM_FIND_EDGE;
	edge = edge < end ? edge : end;
	unit = mam_few_claim(heap, traits, edge, random);
	if (unit != MAM_NO_PAGE) {
		mam_spans_own(heap, unit, mam_pass_units(traits));
		return heap->space + ((uint64_t)unit << MAM_UNIT_SHIFT);
	}
	if (edge < end)
		(void)mam_atomic_cas32(frontier, before,
				       edge / 8 < end - edge ? edge + edge / 8 : end, MAM_RELAXED,
				       MAM_AT_DEVICE);
	return NULL;
}

#endif
