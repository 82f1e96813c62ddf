/* SPDX-License-Identifier: Apache-2.0 */
/* sizetree.c - the tree by size and its trees of peers; sizetree.h has the story. */
#include "pool/sizetree.h"

#include "base/bits.h"

#define ALIGNED_TRIES 8 /* tight holes looked at before one that is sure to do */

static char *sizes_of(const struct mam_records *segments)
{
	return segments->base + offsetof(struct mam_segment, by_size);
}

static char *peers_of(const struct mam_records *segments)
{
	return segments->base + offsetof(struct mam_segment, by_peer);
}

/* Where a size stands, or would: its record or 0, and the parent and side to hang a new one. */
struct place {
	uint32_t found;
	uint32_t parent;
	enum mam_rbside side;
};

static struct place find_size(const struct mam_records *segments, uint32_t root, uint64_t bytes)
{
	char *sizes = sizes_of(segments);
	struct place place = { 0, 0, MAM_RB_LEFT };
	uint32_t at = root;

	while (at != 0) {
		uint64_t size = mam_segment_at(segments, at)->bytes;

		if (size == bytes) {
			place.found = at;
			break;
		}
		place.parent = at;
		place.side = bytes < size ? MAM_RB_LEFT : MAM_RB_RIGHT;
		at = mam_rb_child(sizes, at, place.side);
	}
	return place;
}

static uint32_t peer_root(const struct mam_records *segments, uint32_t handle)
{
	char *peers = peers_of(segments);
	uint32_t parent;

	while ((parent = mam_rb_parent(peers, handle)) != 0)
		handle = parent;
	return handle;
}

/* The root of the peers moved from `old` to `fresh`: so must the record that stands for the size. */
static void move_stand_in(const struct mam_records *segments, uint32_t *root, uint32_t old, uint32_t fresh)
{
	if (old != fresh)
		mam_rb_replace(sizes_of(segments), root, old, fresh);
}

void mam_sizetree_insert(const struct mam_records *segments, uint32_t *root, uint32_t handle)
{
	const struct mam_segment *segment = mam_segment_at(segments, handle);
	struct place place = find_size(segments, *root, segment->bytes);
	char *peers = peers_of(segments);
	uint32_t peer_top = place.found;
	uint32_t parent = 0;
	uint32_t at = place.found;
	enum mam_rbside side = MAM_RB_LEFT;

	while (at != 0) {
		parent = at;
		side = segment->base < mam_segment_at(segments, at)->base ? MAM_RB_LEFT : MAM_RB_RIGHT;
		at = mam_rb_child(peers, at, side);
	}
	mam_rb_link(peers, &peer_top, parent, side, handle);
	if (place.found == 0)
		mam_rb_link(sizes_of(segments), root, place.parent, place.side, handle);
	else
		move_stand_in(segments, root, place.found, peer_top);
}

void mam_sizetree_remove(const struct mam_records *segments, uint32_t *root, uint32_t handle)
{
	uint32_t stand_in = peer_root(segments, handle);
	uint32_t peer_top = stand_in;

	mam_rb_unlink(peers_of(segments), &peer_top, handle);
	if (peer_top == 0)
		mam_rb_unlink(sizes_of(segments), root, handle);
	else
		move_stand_in(segments, root, stand_in, peer_top);
}

uint32_t mam_sizetree_best(const struct mam_records *segments, uint32_t root, uint64_t bytes)
{
	char *sizes = sizes_of(segments);
	uint32_t best = 0;
	uint32_t at = root;

	while (at != 0) {
		uint64_t size = mam_segment_at(segments, at)->bytes;

		if (size >= bytes)
			best = at;
		if (size == bytes)
			break;
		at = mam_rb_child(sizes, at, bytes < size ? MAM_RB_LEFT : MAM_RB_RIGHT);
	}
	return mam_rb_extreme(peers_of(segments), best, MAM_RB_LEFT);
}

static bool holds(const struct mam_segment *segment, uint64_t bytes, uint64_t alignment)
{
	uint64_t skip = mam_round_up(segment->base, alignment) - segment->base;

	return segment->bytes >= bytes && segment->bytes - bytes >= skip;
}

uint32_t mam_sizetree_best_aligned(const struct mam_records *segments, uint32_t root, uint64_t bytes, uint64_t alignment)
{
	uint32_t at = mam_sizetree_best(segments, root, bytes);
	uint32_t sure;
	int tries;

	for (tries = 0; at != 0 && tries < ALIGNED_TRIES; tries++) {
		if (holds(mam_segment_at(segments, at), bytes, alignment))
			return at;
		at = mam_sizetree_next(segments, at);
	}
	if (at == 0)
		return 0;
	sure = mam_round_up_overflows(bytes, alignment) ? 0 : mam_sizetree_best(segments, root, bytes + alignment - 1);
	if (sure != 0)
		return sure;
	for (; at != 0; at = mam_sizetree_next(segments, at)) {
		if (holds(mam_segment_at(segments, at), bytes, alignment))
			return at;
	}
	return 0;
}

uint32_t mam_sizetree_next(const struct mam_records *segments, uint32_t handle)
{
	char *peers = peers_of(segments);
	uint32_t at = mam_rb_step(peers, handle, MAM_RB_RIGHT);

	if (at != 0)
		return at;
	at = mam_rb_step(sizes_of(segments), peer_root(segments, handle), MAM_RB_RIGHT);
	return mam_rb_extreme(peers, at, MAM_RB_LEFT);
}

uint32_t mam_sizetree_prev(const struct mam_records *segments, uint32_t handle)
{
	char *peers = peers_of(segments);
	uint32_t at = mam_rb_step(peers, handle, MAM_RB_LEFT);

	if (at != 0)
		return at;
	at = mam_rb_step(sizes_of(segments), peer_root(segments, handle), MAM_RB_LEFT);
	return mam_rb_extreme(peers, at, MAM_RB_RIGHT);
}

uint32_t mam_sizetree_last(const struct mam_records *segments, uint32_t root)
{
	uint32_t largest = mam_rb_extreme(sizes_of(segments), root, MAM_RB_RIGHT);

	return mam_rb_extreme(peers_of(segments), largest, MAM_RB_RIGHT);
}

static bool sizes_in_order(const void *user, uint32_t a, uint32_t b)
{
	const struct mam_records *segments = user;

	return mam_segment_at(segments, a)->bytes < mam_segment_at(segments, b)->bytes;
}

static bool peers_in_order(const void *user, uint32_t a, uint32_t b)
{
	const struct mam_records *segments = user;

	return mam_segment_at(segments, a)->bytes == mam_segment_at(segments, b)->bytes &&
	       mam_segment_at(segments, a)->base < mam_segment_at(segments, b)->base;
}

const char *mam_sizetree_check(const struct mam_records *segments, uint32_t root, uint64_t *count)
{
	char *sizes = sizes_of(segments);
	const char *fault = mam_rb_check(sizes, root, sizes_in_order, segments, count);
	uint64_t total = 0;
	uint64_t peers;
	uint32_t at;

	if (fault != NULL)
		return fault;
	for (at = mam_rb_extreme(sizes, root, MAM_RB_LEFT); at != 0; at = mam_rb_step(sizes, at, MAM_RB_RIGHT)) {
		fault = mam_rb_check(peers_of(segments), at, peers_in_order, segments, &peers);
		if (fault != NULL)
			return fault;
		total += peers;
	}
	*count = total;
	return NULL;
}
