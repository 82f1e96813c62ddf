/* SPDX-License-Identifier: Apache-2.0 */
/* depot.c - depot.h: bins, and a lock around them. */
#include "cache/depot.h"

void mam_depot_init(struct mam_depot *depot)
{
	mam_lock_init(&depot->lock, MAM_RANK_POOL, "depot");
	depot->bins.key = mam_tag_cached_key(0);
}

static void release(struct mam_depot *depot)
{
	atomic_store_explicit(&depot->blocks, depot->bins.blocks, memory_order_relaxed);
	mam_lock_release(&depot->lock);
}

static bool is_empty(const struct mam_depot *depot)
{
	return atomic_load_explicit(&depot->blocks, memory_order_relaxed) == 0;
}

size_t mam_depot_give(struct mam_depot *depot, struct mam_bins *from, size_t count, uint64_t most)
{
	size_t moved = 0;

	mam_lock_take(&depot->lock);
	if (depot->bins.granules < most)
		moved = mam_bins_shed(from, &depot->bins, count);
	release(depot);
	return moved;
}

size_t mam_depot_take(struct mam_depot *depot, struct mam_bins *to, uint64_t least, uint64_t most,
		      size_t count)
{
	size_t moved;

	if (is_empty(depot))
		return 0;
	mam_lock_take(&depot->lock);
	moved = mam_bins_move(&depot->bins, to, least, most, count);
	release(depot);
	return moved;
}

size_t mam_depot_evict(struct mam_depot *depot, void **blocks, size_t count)
{
	size_t got;

	mam_lock_take(&depot->lock);
	got = mam_bins_evict(&depot->bins, blocks, count);
	release(depot);
	return got;
}
