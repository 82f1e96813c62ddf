/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addrtree.h - all segments of a pool by address: MAM's pointer tree.
 *
 * It answers which segment an address lies in, also for interior and freed addresses, and gives the
 * walk in address order. Insertion beside a known neighbour needs no search: of two neighbours in
 * order, one has a free side towards the other.
 *
 * Bound: find and insert O(log n), insert_after O(1) on average. lock: pool.
 */
#ifndef MAM_POOL_ADDRTREE_H
#define MAM_POOL_ADDRTREE_H

#include "pool/segment.h"

/* mam_addrtree_insert - anywhere, by descent. */
void mam_addrtree_insert(const struct mam_records *segments, uint32_t *root, uint32_t handle);

/*
 * mam_addrtree_insert_after - directly above `below` in order; `above` is the next one in its
 * chunk, or 0 if that is unknown.
 */
void mam_addrtree_insert_after(const struct mam_records *segments, uint32_t *root, uint32_t below,
			       uint32_t above, uint32_t handle);

static inline void mam_addrtree_remove(const struct mam_records *segments, uint32_t *root,
				       uint32_t handle)
{
	mam_rb_unlink(segments->base + offsetof(struct mam_segment, by_address), root, handle);
}

/* mam_addrtree_find - the segment that contains `address`; 0 if none does. */
uint32_t mam_addrtree_find(const struct mam_records *segments, uint32_t root, uint64_t address);

uint32_t mam_addrtree_first(const struct mam_records *segments, uint32_t root);
uint32_t mam_addrtree_next(const struct mam_records *segments, uint32_t handle);

/* mam_addrtree_check - as mam_rb_check(): NULL or one sentence; order means no overlap. */
const char *mam_addrtree_check(const struct mam_records *segments, uint32_t root, uint64_t *count);

#endif
