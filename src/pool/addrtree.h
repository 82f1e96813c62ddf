/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addrtree.h - all segments of a pool by address: MAM's pointer tree, over groups of neighbours.
 *
 *   tree of groups             [ group ]              [ group ]           [ group ]
 *                                |                      |                   |
 *   segments of a chunk        s - s - s - s - s - s  - s - s - s - s     - s - s - s
 *
 *  1. Up to 16 neighbours of one chunk are a group; each segment names its own. The tree holds the
 *     groups, by the base of their first segment.
 *  2. insert_after: the group counts one more. One that is full is cut in two first, and the upper
 *     half named anew, which happens at most once in 8 insertions.
 *  3. remove: the group counts one less; when nothing is left it leaves the tree.
 *  4. find: to the last group that begins at the address or below it, then along its segments.
 *
 * It answers which segment an address lies in, also for interior and freed addresses, and gives the
 * walk in address order. The fast path asks neither: it only keeps the tree right, and with each
 * segment a node of its own that was a sixth of its time.
 *
 * Source: leaves of several entries are the B-tree's, R. Bayer and E. McCreight, "Organization and
 * maintenance of large ordered indexes", Acta Informatica 1, 1972. We differ in not joining groups
 * that are nearly empty, and in the red-black tree above them.
 *
 * Bound: find O(log n) and 16 steps; insert O(log n); insert_after and remove O(1) on average.
 * Memory: a record a group, out of the segments' own array. lock: pool.
 *
 * What holds between calls: each segment is in one group; a group is a run of neighbours, at least
 * one and at most 16, begins where its first one does, and counts them.
 */
#ifndef MAM_POOL_ADDRTREE_H
#define MAM_POOL_ADDRTREE_H

#include "pool/segment.h"

#define MAM_GROUP_MOST 16u /* segments */

/* lock: pool, all fields */
struct mam_group {
	uint64_t base; /* of its first segment */
	struct mam_rbnode node;
	uint32_t first; /* segment */
	uint32_t count; /* count: of segments */
	uint32_t unused[9];
};

_Static_assert(sizeof(struct mam_group) == sizeof(struct mam_segment),
	       "groups are records among the segments'");

static inline struct mam_group *mam_group_at(const struct mam_records *segments, uint32_t handle)
{
	return (struct mam_group *)mam_records_at(segments, handle);
}

/* mam_addrtree_insert - anywhere, by descent; a group of its own. pre: a record is reserved. */
void mam_addrtree_insert(struct mam_records *segments, uint32_t *root, uint32_t handle);

/*
 * mam_addrtree_detach - out of the tree, with a group that holds nothing else, which it keeps.
 * mam_addrtree_reattach - into the tree again. mam_addrtree_forget - never again.
 */
void mam_addrtree_detach(const struct mam_records *segments, uint32_t *root, uint32_t handle);
void mam_addrtree_reattach(const struct mam_records *segments, uint32_t *root, uint32_t handle);
void mam_addrtree_forget(struct mam_records *segments, uint32_t handle);

/* Where a group is full, or empty. */
void mam_addrtree_cut(struct mam_records *segments, uint32_t *root, uint32_t group);
void mam_addrtree_drop(struct mam_records *segments, uint32_t *root, uint32_t group);

/*
 * mam_addrtree_insert_after - directly above `below` in its chunk. Both are linked in the list of
 * the chunk before the next call. pre: a record is reserved.
 */
static inline void mam_addrtree_insert_after(struct mam_records *segments, uint32_t *root,
					     uint32_t below, uint32_t handle)
{
	uint32_t group = mam_segment_at(segments, below)->group;

	if (mam_group_at(segments, group)->count == MAM_GROUP_MOST) {
		mam_addrtree_cut(segments, root, group);
		group = mam_segment_at(segments, below)->group;
	}
	mam_segment_at(segments, handle)->group = group;
	mam_group_at(segments, group)->count++;
}

/* mam_addrtree_remove - pre: the segment is still linked to the one above it. */
static inline void mam_addrtree_remove(struct mam_records *segments, uint32_t *root,
				       uint32_t handle)
{
	const struct mam_segment *segment = mam_segment_at(segments, handle);
	struct mam_group *group = mam_group_at(segments, segment->group);

	if (--group->count == 0) {
		mam_addrtree_drop(segments, root, segment->group);
	} else if (group->first == handle) {
		group->first = segment->next;
		group->base = mam_segment_at(segments, segment->next)->base;
	}
}

/* mam_addrtree_find - the segment that contains `address`; 0 if none does. */
uint32_t mam_addrtree_find(const struct mam_records *segments, uint32_t root, uint64_t address);

uint32_t mam_addrtree_first(const struct mam_records *segments, uint32_t root);
uint32_t mam_addrtree_next(const struct mam_records *segments, uint32_t handle);

/* mam_addrtree_check - NULL and the number of segments and of groups, or one sentence. */
const char *mam_addrtree_check(const struct mam_records *segments, uint32_t root, uint64_t *count,
			       uint64_t *groups);

#endif
