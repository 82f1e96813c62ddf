/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reserve.c - reserve free memory before it is needed, and release it on request (trim).
 *
 * A request without a block: it takes the path of an allocation, including growth, and stops where
 * the block would be cut out (mam_space_take_locked() with requested 0). So reserved memory is
 * free like any other and is found by best fit, and a pool on a source that maps in pieces has the
 * memory mapped.
 */
#include <mam/pools.h>

#include "pool/space.h"
#include "pool/grow.h"
#include "pool/handle.h"

static enum mam_status reserve(struct mam_pool *pool, size_t bytes)
{
	struct mam_request request;
	enum mam_status status;
	void *none;

	status = mam_space_shape(pool, bytes, 0, &request);
	request.requested = 0;
	mam_lock_take(&pool->lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		status = MAM_ERROR_DESTROYED;
	else if (status == MAM_OK && bytes != 0)
		status = mam_space_take_locked(pool, &request, &none);
	mam_pool_unlock(pool);
	return status == MAM_ERROR_WOULD_WAIT ? mam_grow_for(pool, &request, &none) : status;
}

enum mam_status mam_pool_reserve(struct mam_pool *handle, size_t bytes)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status = mam_handle_begin(handle, &pool, &section);

	if (status != MAM_OK)
		return status;
	status = reserve(pool, bytes);
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_pool_trim(struct mam_pool *handle, size_t keep_bytes, size_t *released)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status = mam_handle_begin(handle, &pool, &section);

	if (status != MAM_OK)
		return status;
	status = mam_grow_trim(pool, keep_bytes, released);
	mam_epoch_leave(section);
	return status;
}
