/* SPDX-License-Identifier: Apache-2.0 */
/* sizetree.c - the tree by size and its lists of peers; sizetree.h has the story. */
#include "pool/sizetree.h"

#include "base/bits.h"

#define ALIGNED_TRIES 8 /* tight holes looked at before one that is sure to do */

static char *nodes_of(const struct mam_records *segments)
{
	return segments->base + offsetof(struct mam_segment, by_size);
}

/* `handle` goes directly behind `before` in its list. */
static void list_put_after(const struct mam_records *segments, uint32_t before, uint32_t handle)
{
	struct mam_segment *first = mam_segment_at(segments, before);
	struct mam_segment *segment = mam_segment_at(segments, handle);

	segment->peer_prev = before;
	segment->peer_next = first->peer_next;
	if (first->peer_next != 0)
		mam_segment_at(segments, first->peer_next)->peer_prev = handle;
	first->peer_next = handle;
}

/* `handle` goes before `first`, and into its place in the tree. */
static void list_put_first(const struct mam_records *segments, uint32_t *root, uint32_t first, uint32_t handle)
{
	struct mam_segment *segment = mam_segment_at(segments, handle);

	mam_rb_replace(nodes_of(segments), root, first, handle);
	segment->peer_prev = 0;
	segment->peer_next = first;
	mam_segment_at(segments, first)->peer_prev = handle;
}

void mam_sizetree_insert(const struct mam_records *segments, uint32_t *root, uint32_t handle)
{
	char *nodes = nodes_of(segments);
	struct mam_segment *segment = mam_segment_at(segments, handle);
	enum mam_rbside side = MAM_RB_LEFT;
	uint32_t parent = 0;
	uint32_t at = *root;

	while (at != 0) {
		const struct mam_segment *first = mam_segment_at(segments, at);

		if (first->bytes == segment->bytes) {
			if (segment->base < first->base)
				list_put_first(segments, root, at, handle);
			else
				list_put_after(segments, at, handle);
			return;
		}
		parent = at;
		side = segment->bytes < first->bytes ? MAM_RB_LEFT : MAM_RB_RIGHT;
		at = mam_rb_child(nodes, at, side);
	}
	segment->peer_prev = 0;
	segment->peer_next = 0;
	mam_rb_link(nodes, root, parent, side, handle);
}

void mam_sizetree_remove(const struct mam_records *segments, uint32_t *root, uint32_t handle)
{
	const struct mam_segment *segment = mam_segment_at(segments, handle);
	uint32_t prev = segment->peer_prev;
	uint32_t next = segment->peer_next;

	if (next != 0)
		mam_segment_at(segments, next)->peer_prev = prev;
	if (prev != 0)
		mam_segment_at(segments, prev)->peer_next = next;
	else if (next != 0)
		mam_rb_replace(nodes_of(segments), root, handle, next);
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

static bool holds(const struct mam_segment *segment, uint64_t bytes, uint64_t alignment)
{
	uint64_t skip = mam_round_up(segment->base, alignment) - segment->base;

	return segment->bytes >= bytes && segment->bytes - bytes >= skip;
}

/* The first that fits from the size of `first` upwards, giving up after `tries` holes. */
static uint32_t scan_aligned(const struct mam_records *segments, uint32_t first, uint64_t bytes, uint64_t alignment,
                             uint64_t tries)
{
	uint32_t at;

	for (; first != 0; first = mam_rb_step(nodes_of(segments), first, MAM_RB_RIGHT)) {
		for (at = first; at != 0; at = mam_segment_at(segments, at)->peer_next) {
			if (holds(mam_segment_at(segments, at), bytes, alignment))
				return at;
			if (--tries == 0)
				return 0;
		}
	}
	return 0;
}

uint32_t mam_sizetree_best_aligned(const struct mam_records *segments, uint32_t root, uint64_t bytes, uint64_t alignment)
{
	uint32_t first = mam_sizetree_best(segments, root, bytes);
	uint32_t found = scan_aligned(segments, first, bytes, alignment, ALIGNED_TRIES);

	if (found == 0)
		found = mam_sizetree_best(segments, root, bytes + alignment - 1);
	if (found == 0)
		found = scan_aligned(segments, first, bytes, alignment, UINT64_MAX);
	return found;
}

uint32_t mam_sizetree_largest(const struct mam_records *segments, uint32_t root)
{
	return mam_rb_extreme(nodes_of(segments), root, MAM_RB_RIGHT);
}

uint32_t mam_sizetree_largest_inner(const struct mam_records *segments, uint32_t root)
{
	uint32_t first = mam_sizetree_largest(segments, root);
	uint32_t at;

	for (; first != 0; first = mam_rb_step(nodes_of(segments), first, MAM_RB_LEFT)) {
		for (at = first; at != 0; at = mam_segment_at(segments, at)->peer_next) {
			if (mam_segment_at(segments, at)->next != 0)
				return at;
		}
	}
	return 0;
}

static bool in_order(const void *user, uint32_t a, uint32_t b)
{
	const struct mam_records *segments = user;

	return mam_segment_at(segments, a)->bytes < mam_segment_at(segments, b)->bytes;
}

/* The list behind `first`; adds its length to *count, which `most` bounds, so that a circle is reported. */
static const char *check_peers(const struct mam_records *segments, uint32_t first, uint64_t most, uint64_t *count)
{
	uint64_t bytes = mam_segment_at(segments, first)->bytes;
	uint32_t prev = 0;
	uint32_t at;

	for (at = first; at != 0; at = mam_segment_at(segments, at)->peer_next) {
		const struct mam_segment *segment = mam_segment_at(segments, at);

		if (segment->peer_prev != prev)
			return "a list of equal holes is damaged";
		if (segment->bytes != bytes)
			return "a hole is listed under another size";
		if (++*count > most)
			return "the tree by size holds more than the records there are";
		prev = at;
	}
	return NULL;
}

const char *mam_sizetree_check(const struct mam_records *segments, uint32_t root, uint64_t *count)
{
	char *nodes = nodes_of(segments);
	uint64_t sizes;
	uint64_t total = 0;
	const char *fault = mam_rb_check(nodes, root, in_order, segments, &sizes);
	uint32_t at = fault == NULL ? mam_rb_extreme(nodes, root, MAM_RB_LEFT) : 0;

	for (; fault == NULL && at != 0; at = mam_rb_step(nodes, at, MAM_RB_RIGHT))
		fault = check_peers(segments, at, segments->touched, &total);
	if (fault == NULL)
		*count = total;
	return fault;
}
