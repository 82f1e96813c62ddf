/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h - objects in runs of units: those that are too large for a slab, and those of up to 8
 * units for which no slab had room (search.h).
 *
 * 1. Allocate as many consecutive units (runs_warp.h).
 * 2. If there are none: close every group with all slots free, and try again, until two such scans,
 *    before and after a try, saw nothing in transition, and no group was closed between them. Then
 *    the units that were in the way belong to live objects.
 * 3. The owner of the first unit has the number of units, or shows that `longs` of its block has
 *    it; the owners of the others show that they are inside. No two runs of more than 63 units
 *    start in one block.
 *
 * To free: the owner of the first unit is cleared by compare-and-swap, so of two concurrent frees
 * one fails; then the other owners; then the units.
 */
#ifndef MAM_HEAP_SLAB_SPANS_H
#define MAM_HEAP_SLAB_SPANS_H

#include "heap/pages/runs_warp.h"
#include "heap/slab/find.h"
#include "heap/slab/returns.h"

/* The slot of a lane that wants none, that found none, that failed, or that has its object. */
#define MAM_SLOT_OUT 65u
#define MAM_SLOT_NONE 66u
#define MAM_SLOT_REFUSED 67u
#define MAM_SLOT_DONE 68u

/* The effort of a search. */
struct mam_keffort {
	bool all; /* scan everything */
	/*
	 * Of a heap that grows, otherwise NULL. Then failed requests are not counted here, slots are
	 * found by looks or by a scan, and a search stops when `current` of the root no longer equals
	 * `was`, as other lanes have found room elsewhere, or when this shows that a fetch is in
	 * progress.
	 */
	uint64_t *stage;
	uint32_t was;
};

MAM_KSLOW void mam_object_tally_add(const struct mam_kheap *heap, enum mam_object_tally kind,
				    uint32_t n)
{
	(void)mam_atomic_add64(&heap->tallies->of[kind].value, n, MAM_RELAXED, MAM_AT_DEVICE);
}

#define MAM_SPAN_SHORT 63u
#define MAM_SPAN_PASSES_MAX 8

/* The number of units that `bytes` need; 0: more than the heap has. */
MAM_KFN uint32_t mam_spans_units(const struct mam_kheap *heap, size_t bytes)
{
	if (bytes > (uint64_t)heap->blocks << MAM_BLOCK_SHIFT)
		return 0;
	return (uint32_t)((bytes + (1u << MAM_UNIT_SHIFT) - 1) >> MAM_UNIT_SHIFT);
}

/* Step 3: sets the owners of a run. */
MAM_KFN void mam_spans_own(const struct mam_kheap *heap, uint32_t unit, uint32_t n)
{
	uint32_t first = n > MAM_FEW_UNITS ? MAM_OWNER_RUN + n : MAM_OWNER_FEW + n;

	if (n > MAM_SPAN_SHORT) {
		first = MAM_OWNER_LONG;
		mam_atomic_store32(&heap->longs[unit / MAM_BLOCK_UNITS], n, MAM_RELAXED,
				   MAM_AT_DEVICE);
	}
	mam_owners_set(heap, unit + 1, n - 1, MAM_OWNER_INSIDE);
	mam_owners_set(heap, unit, 1, first);
}

/* The result of a scan over all blocks. */
struct mam_kspans {
	uint32_t doubt;  /* something was in transition, or a group was closed */
	uint32_t closes; /* total of closed groups */
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
 * Allocates `n` units for each lane of `mask`, which must be the active lanes; returns NULL if
 * there are none. Objects that the host frees are in the root's ring.
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
		if (!passes && !effort.stage)
			mam_returns_drain_lone(root);
		all = mam_spans_close(heap, mask);
		/* The units in the way are still there, and belong to live objects. */
		if (!before.doubt && !all.doubt && all.closes == before.closes)
			break;
		before = all;
		if (passes)
			mam_scan_pause(passes);
	}
	if (page == MAM_NO_PAGE) {
		if (!effort.stage)
			mam_object_tally_add(heap,
					     passes < MAM_SPAN_PASSES_MAX ? MAM_OBJECT_FULL
									  : MAM_OBJECT_CONTENDED,
					     1);
		return NULL;
	}
	mam_spans_own(heap, page, n);
	return heap->space + ((uint64_t)page << MAM_UNIT_SHIFT);
}

/* Units of the run whose first unit has this owner; 0: not a run. */
MAM_KFN uint32_t mam_spans_length(const struct mam_kheap *heap, uint32_t unit, uint32_t owner)
{
	if (owner == MAM_OWNER_LONG)
		return mam_atomic_load32(&heap->longs[unit / MAM_BLOCK_UNITS], MAM_RELAXED,
					 MAM_AT_DEVICE);
	return mam_pass_run(owner);
}

/* Frees a run. Returns false if another thread has just freed it. */
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
