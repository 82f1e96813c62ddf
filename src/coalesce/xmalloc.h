/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc.h - XMalloc: requests of a warp's lanes become one block, and free blocks stay in buffers.
 *
 * 1. Of the lanes that come together those with small requests, if there are two or more, have one
 *    block, with a compartment each (compartments.h). One of them gets it.
 * 2. A lane that is alone with a small request, and each that has a large one, has a block for
 *    itself, so that large memory is free again as soon as it is given back. These ask at the same
 *    time as the one that asks for the others.
 * 3. If there is no block for all, each asks for itself: a room that is in pieces may have small ones.
 * 4. Blocks come from buffers (buffers.h) and, where these have none, from the base.
 * 5. Back: by the tag in front. The last one of a block gives it back.
 *
 * After Huang, Rodrigues, Jones, Buck, Hwu: Scalable SIMD-parallel memory allocation for many-core
 * machines, J. Supercomputing 64 (2013). It says nothing of lanes some of which ask for much, nor of
 * a base that has no room.
 *
 * Bound: two requests of a lane to buffers or base, one of which is seldom; one to give back.
 */
#ifndef MAM_COALESCE_XMALLOC_H
#define MAM_COALESCE_XMALLOC_H

#include "coalesce/buffers.h"
#include "coalesce/compartments.h"

/* `buffers` may be NULL: none. NULL: no room, or `bytes` is 0. At a multiple of 16. */
MAM_KFN void *mam_xmalloc_alloc(struct mam_kbase base, struct mam_buffers *buffers, size_t bytes)
{
	uint32_t mask = mam_warp_active();
	bool small = mam_compartments_fit(bytes);
	uint32_t group = mam_warp_ballot(mask, small);
	size_t asked = mam_compartments_alone(bytes);
	struct mam_kcompartment place;
	void *block, *object;

	if (!small || mam_popc32(group) < 2)
		group = 0;
	place.offset = place.total = 0;
	if (group) {
		place = mam_compartments_place(group, bytes);
		asked = mam_lane() == mam_lanes_leader(group) ? place.total : 0;
	}
	/* Once, or twice for those that get no block together; a loop, so that its code is here once. */
	MAM_ROLLED
	for (;;) {
		block = NULL;
		if (asked)
			block = mam_buffers_alloc(buffers, base, asked);
		if (!group)
			return block ? mam_compartments_put_alone(block, asked) : NULL;
		object = mam_compartments_deal(group, place, block);
		if (object)
			return object;
		group = 0;
		asked = mam_compartments_alone(bytes);
	}
}

/*
 * By any lane of any kernel. NULL: true, nothing done. False: it is not what mam_xmalloc_alloc()
 * gave, or was given back, as far as the 8 bytes in front show it; or the base saw a mistake.
 */
MAM_KFN bool mam_xmalloc_free(struct mam_kbase base, struct mam_buffers *buffers, void *object)
{
	struct mam_kcompartment_end end;
	uint32_t mask;
	size_t bytes;

	if (!object)
		return true;
	mask = mam_warp_active();
	end = mam_compartments_end(object);
	bytes = mam_compartments_leave(mask, end);
	if (bytes)
		return mam_buffers_free(buffers, base, (void *)(uintptr_t)end.block, bytes);
	return end.block != 0;
}

#endif
