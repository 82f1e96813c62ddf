/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spare.c - see spare.h.
 *
 * Free bytes that share their chunk or piece with live ones cannot be released. Their number is
 * stored, and the next time only free bytes beyond it count. Otherwise each free in a fragmented
 * pool would search for idle memory in vain.
 *
 * Bound: one scan over the chunks or pieces, after frees of at least the spare.
 */
#include "pool/spare.h"

#include "pool/grow.h"

static uint64_t used_locked(const struct mam_pool *pool)
{
	return pool->counts.live_rounded_bytes + pool->counts.retired_bytes +
	       pool->counts.cached_bytes;
}

void mam_spare_give(struct mam_pool *pool)
{
	uint64_t keep, released;

	mam_lock_take(&pool->lock);
	keep = used_locked(pool) + pool->config.spare_bytes;
	mam_pool_unlock(pool);
	/* A refusal changes nothing: the next attempt is soon enough. */
	(void)mam_grow_release_idle(pool, keep, &released);
	mam_lock_take(&pool->lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY) {
		uint64_t left = pool->counts.reserved_bytes - used_locked(pool);

		pool->stuck_bytes =
			left > pool->config.spare_bytes ? left - pool->config.spare_bytes : 0;
	}
	mam_pool_unlock(pool);
}

void mam_spare_look(struct mam_pool *pool)
{
	bool due;

	mam_lock_take(&pool->lock);
	due = atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY &&
	      mam_spare_due_locked(pool);
	mam_pool_unlock(pool);
	if (due)
		mam_spare_give(pool);
}
