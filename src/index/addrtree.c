/* SPDX-License-Identifier: Apache-2.0 */
/* addrtree.c - cut and drop groups, and search by address; see addrtree.h. */
#include "index/addrtree.h"

static char *nodes_of(const struct mam_records *segments)
{
	return segments->base + offsetof(struct mam_group, node);
}

/* The last group that begins at or below `address`; 0 if there is none. */
static uint32_t group_from(const struct mam_records *segments, uint32_t root, uint64_t address)
{
	char *nodes = nodes_of(segments);
	uint32_t found = 0;
	uint32_t at = root;

	while (at != 0) {
		bool above = address < mam_group_at(segments, at)->base;

		if (!above)
			found = at;
		at = mam_rb_child(nodes, at, above ? MAM_RB_LEFT : MAM_RB_RIGHT);
	}
	return found;
}

/* Directly above `below` in order: one of two neighbors has no child on the side of the other. */
static void link_after(const struct mam_records *segments, uint32_t *root, uint32_t below,
		       uint32_t handle)
{
	char *nodes = nodes_of(segments);
	uint32_t above;

	if (below == 0) {
		above = mam_rb_extreme(nodes, *root, MAM_RB_LEFT);
		mam_rb_link(nodes, root, above, MAM_RB_LEFT, handle);
		return;
	}
	above = mam_rb_child(nodes, below, MAM_RB_RIGHT);
	if (above == 0)
		mam_rb_link(nodes, root, below, MAM_RB_RIGHT, handle);
	else
		mam_rb_link(nodes, root, mam_rb_extreme(nodes, above, MAM_RB_LEFT), MAM_RB_LEFT,
			    handle);
}

void mam_addrtree_reattach(const struct mam_records *segments, uint32_t *root, uint32_t handle)
{
	const struct mam_segment *segment = mam_segment_at(segments, handle);

	link_after(segments, root, group_from(segments, *root, segment->base), segment->group);
}

void mam_addrtree_insert(struct mam_records *segments, uint32_t *root, uint32_t handle)
{
	struct mam_segment *segment = mam_segment_at(segments, handle);

	segment->group = mam_records_take(segments);
	*mam_group_at(segments, segment->group) =
		(struct mam_group){ .base = segment->base, .first = handle, .count = 1 };
	mam_addrtree_reattach(segments, root, handle);
}

void mam_addrtree_detach(const struct mam_records *segments, uint32_t *root, uint32_t handle)
{
	mam_rb_unlink(nodes_of(segments), root, mam_segment_at(segments, handle)->group);
}

void mam_addrtree_forget(struct mam_records *segments, uint32_t handle)
{
	mam_records_put(segments, mam_segment_at(segments, handle)->group);
}

void mam_addrtree_drop(struct mam_records *segments, uint32_t *root, uint32_t group)
{
	mam_rb_unlink(nodes_of(segments), root, group);
	mam_records_put(segments, group);
}

void mam_addrtree_cut(struct mam_records *segments, uint32_t *root, uint32_t group)
{
	struct mam_group *lower = mam_group_at(segments, group);
	uint32_t fresh = mam_records_take(segments);
	struct mam_group *upper = mam_group_at(segments, fresh);
	uint32_t at = lower->first;
	uint32_t i;

	for (i = 0; i < lower->count / 2; i++)
		at = mam_segment_at(segments, at)->next;
	*upper = (struct mam_group){ .base = mam_segment_at(segments, at)->base,
				     .first = at,
				     .count = lower->count - i };
	lower->count = i;
	for (i = 0; i < upper->count; i++) {
		mam_segment_at(segments, at)->group = fresh;
		at = mam_segment_at(segments, at)->next;
	}
	link_after(segments, root, group, fresh);
}

uint32_t mam_addrtree_find(const struct mam_records *segments, uint32_t root, uint64_t address)
{
	uint32_t group = group_from(segments, root, address);
	uint32_t left;
	uint32_t at;

	if (group == 0)
		return 0;
	at = mam_group_at(segments, group)->first;
	for (left = mam_group_at(segments, group)->count; left != 0; left--) {
		const struct mam_segment *segment = mam_segment_at(segments, at);

		if (address - segment->base < segment->bytes)
			return at;
		at = segment->next;
	}
	return 0;
}

static uint32_t first_of(const struct mam_records *segments, uint32_t group)
{
	return group == 0 ? 0 : mam_group_at(segments, group)->first;
}

uint32_t mam_addrtree_first(const struct mam_records *segments, uint32_t root)
{
	return first_of(segments, mam_rb_extreme(nodes_of(segments), root, MAM_RB_LEFT));
}

/* Next segment of the chunk; after its last segment, the first of the next chunk. */
uint32_t mam_addrtree_next(const struct mam_records *segments, uint32_t handle)
{
	const struct mam_segment *segment = mam_segment_at(segments, handle);

	if (segment->next != 0)
		return segment->next;
	return first_of(segments, mam_rb_step(nodes_of(segments), segment->group, MAM_RB_RIGHT));
}

static bool in_order(const void *user, uint32_t a, uint32_t b)
{
	const struct mam_records *segments = user;

	return mam_group_at(segments, a)->base < mam_group_at(segments, b)->base;
}

/* Check one group; its segments must end at or before the base of the next one. */
static const char *check_group(const struct mam_records *segments, uint32_t handle, uint64_t end)
{
	const struct mam_group *group = mam_group_at(segments, handle);
	uint64_t from = group->base;
	uint32_t at = group->first;
	uint32_t i;

	if (group->count > MAM_GROUP_MAX)
		return "a group of neighbors is too large";
	if (mam_segment_at(segments, at)->base != group->base)
		return "a group of neighbors has a wrong base";
	for (i = 0; i < group->count; i++) {
		const struct mam_segment *segment = mam_segment_at(segments, at);

		if (at == 0 || segment->group != handle)
			return "a segment is not in the group of its neighbors";
		if (segment->base < from || end - segment->base < segment->bytes)
			return "two neighbors are out of order";
		from = mam_segment_end(segment);
		at = segment->next;
	}
	return at != 0 && mam_segment_at(segments, at)->group == handle
		       ? "a group does not count all its segments"
		       : NULL;
}

const char *mam_addrtree_check(const struct mam_records *segments, uint32_t root, uint64_t *count,
			       uint64_t *groups)
{
	char *nodes = nodes_of(segments);
	const char *fault = mam_rb_check(nodes, root, in_order, segments, groups);
	uint32_t at = fault == NULL ? mam_rb_extreme(nodes, root, MAM_RB_LEFT) : 0;

	*count = 0;
	while (fault == NULL && at != 0) {
		uint32_t next = mam_rb_step(nodes, at, MAM_RB_RIGHT);

		fault = check_group(segments, at,
				    next == 0 ? UINT64_MAX : mam_group_at(segments, next)->base);
		*count += mam_group_at(segments, at)->count;
		at = next;
	}
	return fault;
}
