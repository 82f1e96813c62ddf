/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit.c - change the maximum size of a pool while it is in use, and compare it with its footprint.
 *
 * A limit bounds growth and nothing else: grow.c reads it under the grow lock before it calls the
 * source. Raising it is one store. Lowering it below the reserved bytes:
 *   1. Store it, so that the pool no longer grows.
 *   2. Release free memory down to the limit and keep the rest. If pieces do not add up exactly,
 *      release all free memory.
 *   3. Any remaining excess is in use. It stays until it is freed and trimmed, or until a later
 *      growth releases idle memory.
 * The limit applies to memory from the source: chunks, or mapped memory if addresses and memory are
 * separate.
 */
#include "pool/limit.h"

#include "pool/grow.h"
#include "pool/handle.h"

static uint64_t held_locked(const struct mam_pool *pool)
{
	return pool->range != NULL ? pool->counts.physical_bytes : pool->counts.reserved_bytes;
}

/* Whether the pool exceeds its limit; also stored for mam_pool_check(). */
static bool is_over_locked(struct mam_pool *pool)
{
	pool->over_limit =
		pool->config.limit_bytes != 0 && held_locked(pool) > pool->config.limit_bytes;
	return pool->over_limit;
}

/* Step 2. The caller holds no lock. True: the pool still exceeds its limit. */
static bool is_over_after_trim(struct mam_pool *pool, size_t keep_bytes)
{
	bool over;

	(void)mam_grow_trim(pool, keep_bytes, NULL);
	mam_lock_take(&pool->lock);
	over = is_over_locked(pool);
	mam_pool_unlock(pool);
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
	mam_pool_unlock(pool);
	mam_lock_release(&pool->grow_lock);
	if (over && is_over_after_trim(pool, bytes))
		(void)is_over_after_trim(pool, 0);
	return status;
}

enum mam_status mam_pool_set_limit(struct mam_pool *handle, size_t bytes)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status = mam_handle_begin(handle, &pool, &section);

	if (status != MAM_OK)
		return status;
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
	mam_pool_unlock(pool);
	mam_epoch_leave(section);
	return status;
}

bool mam_limit_exceeds_footprint(struct mam_pool *pool, uint64_t bytes)
{
	uint64_t held, max;

	mam_lock_take(&pool->lock);
	held = pool->counts.reserved_bytes;
	max = mam_pool_footprint_locked(pool, bytes);
	mam_pool_unlock(pool);
	return held > max || bytes > max - held;
}
