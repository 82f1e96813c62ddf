/* SPDX-License-Identifier: Apache-2.0 */
/* sizetree.c - the tree by size; see sizetree.h. */
#include "index/sizetree.h"

#include "index/peers.h"

static char *nodes_of(const struct mam_records *segments)
{
	return segments->base + offsetof(struct mam_segment, by_size);
}

void mam_sizetree_insert(const struct mam_records *segments, uint32_t *root, uint32_t handle)
{
	char *nodes = nodes_of(segments);
	uint64_t bytes = mam_segment_at(segments, handle)->bytes;
	enum mam_rbside side = MAM_RB_LEFT;
	uint32_t parent = 0;
	uint32_t at = *root;

	while (at != 0) {
		uint64_t size = mam_segment_at(segments, at)->bytes;

		if (size == bytes) {
			uint32_t first = mam_peers_put(segments, at, handle);

			if (first != at)
				mam_rb_replace(nodes, root, at, first);
			return;
		}
		parent = at;
		side = bytes < size ? MAM_RB_LEFT : MAM_RB_RIGHT;
		at = mam_rb_child(nodes, at, side);
	}
	(void)mam_peers_put(segments, 0, handle);
	mam_rb_link(nodes, root, parent, side, handle);
}

void mam_sizetree_remove(const struct mam_records *segments, uint32_t *root, uint32_t handle)
{
	bool stood_in_tree = mam_segment_at(segments, handle)->peer_prev == 0;
	uint32_t first = mam_peers_take(segments, handle, handle);

	if (!stood_in_tree)
		return;
	if (first != 0)
		mam_rb_replace(nodes_of(segments), root, handle, first);
	else
		mam_rb_unlink(nodes_of(segments), root, handle);
}

uint32_t mam_sizetree_best(const struct mam_records *segments, uint32_t root, uint64_t bytes)
{
	char *nodes = nodes_of(segments);
	uint32_t best = 0;
	uint32_t at = root;

	while (at != 0) {
		uint64_t size = mam_segment_at(segments, at)->bytes;

		if (size == bytes)
			return at;
		if (size > bytes)
			best = at;
		at = mam_rb_child(nodes, at, bytes < size ? MAM_RB_LEFT : MAM_RB_RIGHT);
	}
	return best;
}

uint32_t mam_sizetree_below(const struct mam_records *segments, uint32_t root, uint64_t bytes)
{
	char *nodes = nodes_of(segments);
	uint32_t below = 0;
	uint32_t at = root;

	while (at != 0) {
		if (mam_segment_at(segments, at)->bytes < bytes) {
			below = at;
			at = mam_rb_child(nodes, at, MAM_RB_RIGHT);
		} else {
			at = mam_rb_child(nodes, at, MAM_RB_LEFT);
		}
	}
	return below;
}

static bool in_order(const void *user, uint32_t a, uint32_t b)
{
	const struct mam_records *segments = user;

	return mam_segment_at(segments, a)->bytes < mam_segment_at(segments, b)->bytes;
}

const char *mam_sizetree_check(const struct mam_records *segments, uint32_t root, uint64_t max,
			       uint64_t *count)
{
	char *nodes = nodes_of(segments);
	uint64_t sizes;
	const char *fault = mam_rb_check(nodes, root, in_order, segments, &sizes);
	uint32_t at = fault == NULL ? mam_rb_extreme(nodes, root, MAM_RB_LEFT) : 0;

	for (; fault == NULL && at != 0; at = mam_rb_step(nodes, at, MAM_RB_RIGHT))
		fault = mam_peers_check(segments, at, mam_segment_at(segments, at)->bytes, max,
					count);
	return fault;
}
