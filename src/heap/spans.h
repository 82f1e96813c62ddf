/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h - objects that are too large for a slab: runs of units, from 9 to all.
 *
 * 1. Take as many units in a row (runs_warp.h).
 * 2. If there are none: close every slab all of whose slots are free, and try again, until at
 *    two such looks, before and after a try, nothing was in motion, and none was closed since: then
 *    what was in the way when the units were looked at is somebody's.
 * 3. The owner of the first unit says how many they are, or that `longs` of its block does; those
 *    of the others, that they are inside. No two runs of more than 63 units begin in one block.
 *
 * Given back: the owner goes from what it said to nothing, by compare-and-swap, so of two that give
 * the same back one is refused; then the others' owners; then the units.
 */
#ifndef MAM_HEAP_SPANS_H
#define MAM_HEAP_SPANS_H

#include "heap/runs_warp.h"
#include "heap/seek.h"

#define MAM_SPAN_SHORT 63u
#define MAM_SPAN_PASSES_MAX 8

/* How many units `bytes` need; 0: more than there are. */
MAM_KFN uint32_t mam_spans_units(const struct mam_kheap *heap, size_t bytes)
{
	if (bytes > (uint64_t)heap->blocks << MAM_BLOCK_SHIFT)
		return 0;
	return (uint32_t)((bytes + (1u << MAM_UNIT_SHIFT) - 1) >> MAM_UNIT_SHIFT);
}

/* What a look at all blocks says. */
struct mam_kspans {
	uint32_t doubt;  /* something was in motion, or a slab was closed */
	uint32_t closes; /* slabs that were closed ever */
};

/* Step 2, by the lanes of `mask`; the same in all. */
MAM_KFN struct mam_kspans mam_spans_close(const struct mam_kheap *heap, uint32_t mask)
{
	uint32_t block = mam_popc32(mask & ((1u << mam_lane()) - 1)), rest, sum = 0;
	struct mam_kspans all;
	struct mam_klook look;

	all.doubt = 0;
	all.closes = 0;
	MAM_ROLLED
	for (; block < heap->blocks; block += mam_popc32(mask)) {
		look = mam_pass_block(heap, 0, block);
		all.doubt |= look.doubt | look.closed;
		sum += look.closes;
	}
	mam_warp_sync(mask);
	all.doubt = mam_warp_ballot(mask, all.doubt != 0);
	MAM_ROLLED
	for (rest = mask; rest; rest &= rest - 1)
		all.closes += mam_warp_shuffle32(mask, sum, mam_ffs32(rest) - 1);
	return all;
}

/*
 * `n` units for each lane of `mask`, which are those that are here; NULL: there are none. What the
 * host gives back, it gives the root.
 */
MAM_KFN void *mam_spans_take(struct mam_kheap *root, struct mam_kheap *heap, uint32_t mask,
			     uint32_t n, struct mam_keffort effort)
{
	uint32_t needy = mask, passes, page = MAM_NO_PAGE;
	struct mam_kspans all, before;
	struct mam_kfound found;

	before.doubt = 1;
	before.closes = 0;
	mam_kwalk_start(&found.walk, heap->units);
	MAM_ROLLED
	for (passes = 0; passes < MAM_SPAN_PASSES_MAX; passes++) {
		if (needy >> mam_lane() & 1) {
			found = mam_runs_take_here(heap->units, found.walk, needy, n, !effort.all);
			page = found.page;
		}
		mam_warp_sync(mask);
		needy = mam_warp_ballot(mask, page == MAM_NO_PAGE);
		if (!needy || !effort.all)
			break;
		if (!passes && effort.counts)
			mam_returns_drain_lone(root);
		all = mam_spans_close(heap, mask);
		/* What was in the way is still there, and nobody may close it. */
		if (!before.doubt && !all.doubt && all.closes == before.closes)
			break;
		before = all;
		if (passes)
			mam_scan_pause(passes);
	}
	if (page == MAM_NO_PAGE) {
		if (effort.counts)
			mam_object_tally_add(heap,
					     passes < MAM_SPAN_PASSES_MAX ? MAM_OBJECT_FULL
									  : MAM_OBJECT_CONTENDED,
					     1);
		return NULL;
	}
	if (n > MAM_SPAN_SHORT)
		mam_atomic_store32(&heap->longs[page / MAM_BLOCK_UNITS], n, MAM_RELAXED,
				   MAM_AT_DEVICE);
	mam_owners_set(heap, page + 1, n - 1, MAM_OWNER_INSIDE);
	mam_owners_set(heap, page, 1, n > MAM_SPAN_SHORT ? MAM_OWNER_LONG : MAM_OWNER_RUN + n);
	return heap->ground + ((uint64_t)page << MAM_UNIT_SHIFT);
}

/* Units of the run whose first unit has this owner; 0: it is none. */
MAM_KFN uint32_t mam_spans_length(const struct mam_kheap *heap, uint32_t unit, uint32_t owner)
{
	if (owner == MAM_OWNER_LONG)
		return mam_atomic_load32(&heap->longs[unit / MAM_BLOCK_UNITS], MAM_RELAXED,
					 MAM_AT_DEVICE);
	return owner > MAM_CLASSES && owner < MAM_OWNER_MOVING ? owner - MAM_OWNER_RUN : 0;
}

/* False: somebody else has just given it back. */
MAM_KFN bool mam_spans_give(const struct mam_kheap *heap, uint32_t unit, uint32_t owner)
{
	uint32_t n = mam_spans_length(heap, unit, owner);

	if (!mam_owners_change(heap, unit, owner, 0))
		return false;
	mam_owners_clear(heap, unit + 1, n - 1);
	(void)mam_runs_release(mam_pages_bits(heap->units), unit, unit + n);
	return true;
}

#endif
