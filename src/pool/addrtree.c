/* SPDX-License-Identifier: Apache-2.0 */
/* addrtree.c - the tree by address; addrtree.h has the story. */
#include "pool/addrtree.h"

static char *nodes_of(const struct mam_records *segments)
{
	return segments->base + offsetof(struct mam_segment, by_address);
}

void mam_addrtree_insert(const struct mam_records *segments, uint32_t *root, uint32_t handle)
{
	char *nodes = nodes_of(segments);
	uint64_t base = mam_segment_at(segments, handle)->base;
	enum mam_rbside side = MAM_RB_LEFT;
	uint32_t parent = 0;
	uint32_t at = *root;

	while (at != 0) {
		parent = at;
		side = base < mam_segment_at(segments, at)->base ? MAM_RB_LEFT : MAM_RB_RIGHT;
		at = mam_rb_child(nodes, at, side);
	}
	mam_rb_link(nodes, root, parent, side, handle);
}

void mam_addrtree_insert_after(const struct mam_records *segments, uint32_t *root, uint32_t below,
			       uint32_t above, uint32_t handle)
{
	char *nodes = nodes_of(segments);
	uint32_t right = mam_rb_child(nodes, below, MAM_RB_RIGHT);

	if (right == 0) {
		mam_rb_link(nodes, root, below, MAM_RB_RIGHT, handle);
		return;
	}
	if (above == 0)
		above = mam_rb_extreme(nodes, right, MAM_RB_LEFT);
	mam_rb_link(nodes, root, above, MAM_RB_LEFT, handle);
}

uint32_t mam_addrtree_find(const struct mam_records *segments, uint32_t root, uint64_t address)
{
	char *nodes = nodes_of(segments);
	uint32_t at = root;

	while (at != 0) {
		const struct mam_segment *segment = mam_segment_at(segments, at);

		if (address < segment->base)
			at = mam_rb_child(nodes, at, MAM_RB_LEFT);
		else if (address - segment->base < segment->bytes)
			return at;
		else
			at = mam_rb_child(nodes, at, MAM_RB_RIGHT);
	}
	return 0;
}

uint32_t mam_addrtree_first(const struct mam_records *segments, uint32_t root)
{
	return mam_rb_extreme(nodes_of(segments), root, MAM_RB_LEFT);
}

uint32_t mam_addrtree_next(const struct mam_records *segments, uint32_t handle)
{
	return mam_rb_step(nodes_of(segments), handle, MAM_RB_RIGHT);
}

static bool in_order(const void *user, uint32_t a, uint32_t b)
{
	const struct mam_records *segments = user;

	return mam_segment_end(mam_segment_at(segments, a)) <= mam_segment_at(segments, b)->base;
}

const char *mam_addrtree_check(const struct mam_records *segments, uint32_t root, uint64_t *count)
{
	return mam_rb_check(nodes_of(segments), root, in_order, segments, count);
}
