/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc.h - XMalloc: requests of a warp's lanes become one block, and buffers cache free blocks.
 *
 * 1. Of the converged lanes, those with small requests, if there are two or more, share one block,
 *    with a compartment each (compartments.h). One of them allocates it.
 * 2. A lane that is alone with a small request, and each lane with a large one, gets a block of its
 *    own, so that large memory is reusable as soon as it is freed. These lanes allocate at the same
 *    time as the one that allocates for the others.
 * 3. If there is no block for all, each allocates for itself: fragmented memory may have small
 *    blocks.
 * 4. Blocks come from buffers (buffers.h) and, if these have none, from the base.
 * 5. A free reads the tag before the memory. The last free of a block frees the block.
 *
 * After Huang, Rodrigues, Jones, Buck, Hwu: Scalable SIMD-parallel memory allocation for many-core
 * machines, J. Supercomputing 64 (2013). The paper does not discuss lanes with mixed request sizes,
 * or a base without space.
 *
 * Bound: two requests per lane to buffers or base, the second of which is rare; one to free.
 */
#ifndef MAM_COALESCE_XMALLOC_H
#define MAM_COALESCE_XMALLOC_H

#include "coalesce/buffers.h"
#include "coalesce/compartments.h"

/* `buffers` may be NULL. Returns NULL: no space, or `bytes` is 0. Aligned to a multiple of 16. */
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
	/* Once, or twice if there is no shared block; a loop, so that its code is here once. */
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
 * By any lane of any kernel. NULL: true, no effect. False: mam_xmalloc_alloc() did not return it,
 * or it was already freed, as far as the 8 bytes before it show; or the base detected an invalid
 * free.
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
