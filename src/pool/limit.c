/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit.c - the most a pool may hold, changed while it is in use.
 *
 * A limit bounds growth and nothing else: grow.c reads it under the grow lock before it asks the
 * source. Raising it is one store. Lowering it below what is held:
 *   1. store it, so that nothing grows from now on;
 *   2. give back free memory down to the limit, keeping what may stay; where pieces do not come out
 *      even, all that is free;
 *   3. what is still above it is in use, and stays until it is freed and trimmed, or until a later
 *      growth gives back what is idle.
 * Held is what the source gave: chunks, or the memory mapped where addresses and memory are apart.
 */
#include "pool/limit.h"

#include "pool/grow.h"
#include "pool/handle.h"

static uint64_t held_locked(const struct mam_pool *pool)
{
	return pool->range != NULL ? pool->counts.physical_bytes
					      : pool->counts.reserved_bytes;
}

/* Whether the pool holds more than its limit, noted for mam_pool_check(). */
static bool is_over_locked(struct mam_pool *pool)
{
	pool->over_limit =
		pool->config.limit_bytes != 0 && held_locked(pool) > pool->config.limit_bytes;
	return pool->over_limit;
}

/* Step 2. The caller holds no lock. True: the pool still holds more than its limit. */
static bool is_over_after_trim(struct mam_pool *pool, size_t keep_bytes)
{
	bool over;

	(void)mam_grow_trim(pool, keep_bytes, NULL);
	mam_lock_take(&pool->lock);
	over = is_over_locked(pool);
	mam_lock_release(&pool->lock);
	return over;
}

static enum mam_status set_limit(struct mam_pool *pool, size_t bytes)
{
	enum mam_status status = MAM_OK;
	bool over = false;

	mam_lock_take(&pool->grow_lock);
	mam_lock_take(&pool->lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY) {
		pool->config.limit_bytes = bytes;
		over = is_over_locked(pool);
	} else {
		status = MAM_ERROR_DESTROYED;
	}
	mam_lock_release(&pool->lock);
	mam_lock_release(&pool->grow_lock);
	if (over && is_over_after_trim(pool, bytes))
		(void)is_over_after_trim(pool, 0);
	return status;
}

enum mam_status mam_pool_set_limit(struct mam_pool *handle, size_t bytes)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status;

	if (handle == NULL)
		return MAM_ERROR_INVALID_VALUE;
	pool = mam_handle_enter(handle, &section);
	if (pool == NULL)
		return MAM_ERROR_DESTROYED;
	status = set_limit(pool, bytes);
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_pool_limit(struct mam_pool *handle, size_t *bytes)
{
	struct mam_section section;
	enum mam_status status = MAM_ERROR_DESTROYED;
	struct mam_pool *pool;

	if (handle == NULL || bytes == NULL)
		return MAM_ERROR_INVALID_VALUE;
	pool = mam_handle_enter(handle, &section);
	if (pool == NULL)
		return MAM_ERROR_DESTROYED;
	mam_lock_take(&pool->lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY) {
		*bytes = pool->config.limit_bytes;
		status = MAM_OK;
	}
	mam_lock_release(&pool->lock);
	mam_epoch_leave(section);
	return status;
}
