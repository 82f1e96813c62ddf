/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h - objects in runs of units: those that are too large for a slab, and some of up to 8
 * units, which few.h or a scan (search.h) allocates.
 *
 * 1. Allocate as many consecutive units (runs_warp.h).
 * 2. If there are none: close every group with all slots free, and try again, until two such scans,
 *    before and after a try, saw nothing in transition, and between them no group was closed, and no
 *    claim of units undone (slab.h). Then the units that were in the way belong to live objects.
 * 3. The owner of the first unit has the number of units, or shows that `longs` of its block has
 *    it; the owners of the others show that they are inside. No two runs of more than 63 units
 *    start in one block.
 *
 * To free: the owners are cleared, that of the first unit by compare-and-swap, so of two concurrent
 * frees one fails; then the units.
 */
#ifndef MAM_HEAP_SLAB_SPANS_H
#define MAM_HEAP_SLAB_SPANS_H

#include "heap/pages/runs_warp.h"
#include "heap/slab/request.h"
#include "heap/slab/returns.h"

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

/*
 * Step 2, by a lane, for every `step`-th block, starting with this one: sets `doubt` if something
 * was in transition, or a group was closed, and `closes`.
 */
MAM_KSLOW void mam_spans_close(struct mam_krequest *request, uint32_t block, uint32_t step)
{
	struct mam_kwanted nothing = { { { 0, 0 } }, { { 0, 0 } }, MAM_PASS_SILENT };
	struct mam_klook look;

	request->doubt = 0;
	request->closes = 0;
	MAM_ROLLED
	for (; block < request->heap->blocks; block += step) {
		look = mam_pass_block(request->heap, &nothing, block);
		request->doubt |= look.doubt | look.closed;
		request->closes += look.closes;
	}
}

/*
 * Step 2. Returns whether the scan and the one before it saw the same: then the units in the way are
 * still there, and belong to live objects. The same in all lanes.
 */
MAM_KFN bool mam_spans_same(struct mam_krequest *request)
{
	uint32_t rest, closes = 0, doubt;

	mam_spans_close(request, mam_popc32(request->runs_mask & ((1u << mam_lane()) - 1)),
			mam_popc32(request->runs_mask));
	mam_warp_sync(request->runs_mask);
	doubt = mam_warp_ballot(request->runs_mask, request->doubt != 0);
	MAM_ROLLED
	for (rest = request->runs_mask; rest; rest &= rest - 1)
		closes += mam_warp_shuffle32(request->runs_mask, request->closes,
					     mam_ffs32(rest) - 1);
	rest = request->last_doubt | doubt | (closes != request->last_closes);
	request->last_doubt = doubt;
	request->last_closes = closes;
	return !rest;
}

/*
 * Allocates the units that each lane of `mask` wants, which must be the active lanes; `object` stays
 * NULL if there are none. Objects that the host frees are in the root's ring.
 */
MAM_KFN void mam_spans_take(struct mam_krequest *request)
{
	uint32_t needy = request->runs_mask, passes;
	struct mam_kfound found;

	request->unit = MAM_NO_PAGE;
	request->last_doubt = 1;
	request->last_closes = 0;
	mam_kwalk_start(&request->walk, request->heap->units);
	MAM_ROLLED
	for (passes = 0; passes < MAM_SPAN_PASSES_MAX; passes++) {
		if (needy >> mam_lane() & 1) {
			found = mam_runs_take_here(request->heap->units, request->walk, needy,
						   request->units, !request->all);
			request->walk = found.walk;
			request->unit = found.page;
		}
		mam_warp_sync(request->runs_mask);
		needy = mam_warp_ballot(request->runs_mask, request->unit == MAM_NO_PAGE);
		if (!needy || !request->all)
			break;
		if (!passes && !request->stage)
			mam_returns_drain_lone(request->root);
		if (mam_spans_same(request))
			break;
		if (passes)
			mam_scan_pause(passes);
	}
	if (request->unit == MAM_NO_PAGE) {
		if (!request->stage)
			mam_object_tally_add(request->heap,
					     passes < MAM_SPAN_PASSES_MAX ? MAM_OBJECT_FULL
									  : MAM_OBJECT_CONTENDED,
					     1);
		return;
	}
	mam_spans_own(request->heap, request->unit, request->units);
	request->object = request->heap->space + ((uint64_t)request->unit << MAM_UNIT_SHIFT);
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

	if (!mam_owners_take(heap, unit, n, owner))
		return false;
	(void)mam_runs_release(mam_pages_bits(heap->units), unit, unit + n);
	return true;
}

#endif
