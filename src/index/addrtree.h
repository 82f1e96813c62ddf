/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addrtree.h - all segments of a pool by address: MAM's pointer tree, over groups of neighbors.
 *
 *   tree of groups             [ group ]              [ group ]           [ group ]
 *                                |                      |                   |
 *   segments of a chunk        s - s - s - s - s - s  - s - s - s - s     - s - s - s
 *
 *  1. Up to 16 neighboring segments of one chunk form a group. Each segment names its group. The
 *     tree contains the groups, ordered by the base of their first segment.
 *  2. insert_after: add one to the group's count. A full group is split in two first, and the
 *     segments of its upper half get the new group. This happens at most once in 8 insertions.
 *  3. remove: subtract one from the group's count. An empty group leaves the tree.
 *  4. find: descend to the last group that begins at or below the address, then scan its segments.
 *
 * The tree returns the segment that contains an address, also for interior and freed addresses, and
 * enumerates segments in address order. The fast path needs neither and only keeps the tree up to
 * date. With one tree node per segment, that update took a sixth of the fast path's time.
 *
 * Source: leaves of several entries come from the B-tree, R. Bayer and E. McCreight, "Organization
 * and maintenance of large ordered indexes", Acta Informatica 1, 1972. We differ in not joining
 * groups that are nearly empty, and in the red-black tree above them.
 *
 * Bound: find O(log n) and 16 steps; insert O(log n); insert_after and remove O(1) on average.
 * Memory: one record per group, from the segments' own array. lock: pool.
 *
 * Invariants between calls: each segment is in one group. A group is a run of 1 to 16 neighboring
 * segments. Its base is that of its first segment, and its count is the number of its segments.
 */
#ifndef MAM_INDEX_ADDRTREE_H
#define MAM_INDEX_ADDRTREE_H

#include "index/segment.h"

#define MAM_GROUP_MAX 16u /* segments */

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

/* mam_addrtree_insert - insert anywhere, by descent, in a new group. pre: a record is reserved. */
void mam_addrtree_insert(struct mam_records *segments, uint32_t *root, uint32_t handle);

/*
 * mam_addrtree_detach - remove a segment that is alone in its group, together with the group, from
 * the tree. The segment keeps its group.
 * mam_addrtree_reattach - insert it into the tree again. mam_addrtree_forget - free its group.
 */
void mam_addrtree_detach(const struct mam_records *segments, uint32_t *root, uint32_t handle);
void mam_addrtree_reattach(const struct mam_records *segments, uint32_t *root, uint32_t handle);
void mam_addrtree_forget(struct mam_records *segments, uint32_t handle);

/* Slow paths: cut a full group in two, drop an empty one. */
void mam_addrtree_cut(struct mam_records *segments, uint32_t *root, uint32_t group);
void mam_addrtree_drop(struct mam_records *segments, uint32_t *root, uint32_t group);

/*
 * mam_addrtree_insert_after - insert directly above `below` in its chunk. The caller links both in
 * the chunk's list before the next call. pre: a record is reserved.
 */
static inline void mam_addrtree_insert_after(struct mam_records *segments, uint32_t *root,
					     uint32_t below, uint32_t handle)
{
	uint32_t group = mam_segment_at(segments, below)->group;

	if (mam_group_at(segments, group)->count == MAM_GROUP_MAX) {
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

/* mam_addrtree_find - return the segment that contains `address`, or 0. */
uint32_t mam_addrtree_find(const struct mam_records *segments, uint32_t root, uint64_t address);

uint32_t mam_addrtree_first(const struct mam_records *segments, uint32_t root);
uint32_t mam_addrtree_next(const struct mam_records *segments, uint32_t handle);

/* mam_addrtree_check - return NULL and count segments and groups, or return one sentence. */
const char *mam_addrtree_check(const struct mam_records *segments, uint32_t root, uint64_t *count,
			       uint64_t *groups);

#endif
