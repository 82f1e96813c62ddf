/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - entry point of requests: round them to granules, take the lock, use free memory, and
 * grow if none fits.
 */
#include "pool/pool.h"

#include "pool/space.h"
#include "pool/grow.h"
#include "pool/spare.h"
#include "source/source.h"

/* Try once under the lock. WOULD_WAIT is not a failure: the caller may go on with a call that waits. */
static enum mam_status alloc_once(struct mam_pool *pool, size_t bytes, size_t alignment,
				  struct mam_request *request, void **block)
{
	enum mam_status status = mam_space_shape(pool, bytes, alignment, request);

	if (status == MAM_ERROR_INVALID_VALUE)
		return status;
	mam_lock_take(&pool->lock);
	if (status == MAM_OK)
		status = mam_space_take_locked(pool, request, block);
	else if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		status = MAM_ERROR_DESTROYED;
	if (status != MAM_OK && status != MAM_ERROR_WOULD_WAIT)
		pool->counts.failures++;
	mam_pool_unlock(pool);
	return status;
}

enum mam_status mam_pool_alloc(struct mam_pool *pool, size_t bytes, size_t alignment, void **block)
{
	struct mam_request request;
	enum mam_status status = alloc_once(pool, bytes, alignment, &request, block);

	return status == MAM_ERROR_WOULD_WAIT ? mam_grow_for(pool, &request, block) : status;
}

enum mam_status mam_pool_alloc_held(struct mam_pool *pool, size_t bytes, size_t alignment,
				    void **block)
{
	struct mam_request request;

	if (pool == NULL || block == NULL)
		return MAM_ERROR_INVALID_VALUE;
	if (bytes == 0) {
		*block = NULL;
		return MAM_OK;
	}
	return alloc_once(pool, bytes, alignment, &request, block);
}

enum mam_status mam_pool_free(struct mam_pool *pool, void *block)
{
	enum mam_status status;
	bool spare;

	mam_lock_take(&pool->lock);
	status = mam_space_give_locked(pool, (uintptr_t)block);
	mam_pool_unfence_locked(pool);
	spare = pool->config.spare_bytes != 0 && mam_spare_due_locked(pool);
	mam_pool_unlock(pool);
	if (spare)
		mam_spare_give(pool);
	return status;
}

/*
 * mam_pool_wait() increments `waiters` first and then reads the state; end() in life.c changes the
 * state first and then reads `waiters`. So one of the two sees the other.
 */
enum mam_status mam_pool_quiesce(struct mam_pool *pool)
{
	enum mam_status status = pool->strict ? mam_pool_wait(pool) : MAM_OK;

	if (pool->strict && status == MAM_OK &&
	    atomic_load_explicit(&pool->outgrown, memory_order_relaxed))
		mam_grow_release_outgrown(pool);
	return status;
}

enum mam_status mam_pool_wait(struct mam_pool *pool)
{
	enum mam_status status = MAM_ERROR_DESTROYED;

	atomic_fetch_add(&pool->waiters, 1);
	if (atomic_load(&pool->state) == MAM_POOL_READY)
		status = mam_source_quiesce(pool->source);
	atomic_fetch_sub(&pool->waiters, 1);
	return status;
}
