/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc.c - the first stop of a request, and all of its way through the host.
 *
 *   mam_malloc            which pool                       this file
 *     mam_pool_alloc      best fit, split, one lock        pool/pool.c
 *       mam_source_grow   a new chunk, when nothing fits   source/
 *
 *   mam_free              whose block                      this file
 *     mam_pool_quiesce    wait for the device, if strict   pool/pool.c
 *     mam_pool_free       find, mark free, join            pool/pool.c
 *
 * Nothing here locks: a request takes its pool's lock and no other. A caller that names the pool
 * pays two compares for the handle; one that names none pays for finding out which device is
 * current, or whose block it is.
 */
#include <stdbool.h>
#include <stddef.h>

#include <mam/mam.h>

#include "api/announce.h"
#include "api/oom.h"
#include "api/registry.h"
#include "api/report.h"
#include "api/slots.h"
#include "base/bits.h"
#include "base/event.h"
#include "base/sized.h"
#include "cache/cache.h"
#include "pool/pool.h"

static inline enum mam_status alloc_from(struct mam_pool *pool, size_t bytes, size_t alignment,
					 void **block)
{
	return alignment == 0 ? mam_cache_alloc(pool, bytes, block)
			      : mam_cache_alloc_slowly(pool, bytes, alignment, block);
}

/* A default pool may end at any time; its next use makes another. */
static enum mam_status alloc_default(size_t bytes, size_t alignment, struct mam_pool **pool,
				     void **block)
{
	enum mam_status status;

	for (;;) {
		status = mam_pool_default(MAM_DEVICE_CURRENT, pool);
		if (status != MAM_OK)
			return status;
		status = alloc_from(*pool, bytes, alignment, block);
		if (status != MAM_ERROR_DESTROYED)
			return status;
		mam_registry_forget(*pool);
	}
}

static void refused(struct mam_pool *pool, size_t bytes, enum mam_status status)
{
	mam_event_emit(MAM_EVENT_FAIL, pool, NULL, bytes);
	if (status == MAM_ERROR_OUT_OF_MEMORY && pool)
		mam_report_no_memory(pool, bytes);
}

/* The pool is the program's or the default it got: a default that ends meanwhile is ended. */
static __attribute__((noinline)) enum mam_status
alloc_with_help(struct mam_pool *pool, size_t bytes, size_t alignment, void **block)
{
	enum mam_status status = MAM_ERROR_OUT_OF_MEMORY;
	struct mam_oom_walk walk = { 0 };

	while (status == MAM_ERROR_OUT_OF_MEMORY && mam_oom_again(&walk, pool, bytes))
		status = alloc_from(pool, bytes, alignment, block);
	return status;
}

static inline enum mam_status alloc(struct mam_pool *pool, size_t bytes, size_t alignment,
				    void **block)
{
	enum mam_status status;

	if (!block || (pool && !mam_slots_know(pool)))
		return MAM_ERROR_INVALID_VALUE;
	if (bytes == 0) {
		*block = NULL;
		return MAM_OK;
	}
	status = pool ? alloc_from(pool, bytes, alignment, block)
		      : alloc_default(bytes, alignment, &pool, block);
	if (status == MAM_ERROR_OUT_OF_MEMORY && pool)
		status = alloc_with_help(pool, bytes, alignment, block);
	if (status == MAM_OK)
		mam_event_emit(MAM_EVENT_ALLOC, pool, *block, bytes);
	else
		refused(pool, bytes, status);
	return status;
}

enum mam_status mam_malloc(struct mam_pool *pool, size_t bytes, void **block)
{
	return alloc(pool, bytes, 0, block);
}

enum mam_status mam_malloc_aligned(struct mam_pool *pool, size_t bytes, size_t alignment,
				   void **block)
{
	if (!mam_is_power_of_two(alignment))
		return MAM_ERROR_INVALID_VALUE;
	return alloc(pool, bytes, alignment, block);
}

static inline enum mam_status give(struct mam_pool *pool, void *block)
{
	enum mam_status status = pool->strict ? mam_pool_quiesce(pool) : MAM_OK;

	if (status == MAM_OK) {
		mam_announce_free(pool, block);
		status = mam_cache_free(pool, block);
	}
	if (status != MAM_OK)
		mam_report_free(status, block);
	return status;
}

static enum mam_status give_to_owner(void *block)
{
	struct mam_segment_info segment;
	struct mam_pool *pool = mam_registry_owner(block);
	enum mam_status status = MAM_OK;

	if (!pool)
		status = mam_registry_find(block, &pool, &segment);
	return status == MAM_OK ? give(pool, block) : status;
}

enum mam_status mam_free(struct mam_pool *pool, void *block)
{
	if (pool && !mam_slots_know(pool))
		return MAM_ERROR_INVALID_VALUE;
	if (!block)
		return MAM_OK;
	return pool ? give(pool, block) : give_to_owner(block);
}

enum mam_status mam_usable_size(struct mam_pool *pool, const void *block, size_t *bytes)
{
	struct mam_segment_info segment;
	enum mam_status status;

	if (!bytes || (pool && !mam_slots_know(pool)))
		return MAM_ERROR_INVALID_VALUE;
	if (!block) {
		*bytes = 0;
		return MAM_OK;
	}
	status = pool ? mam_pool_find(pool, block, &segment)
		      : mam_registry_find(block, &pool, &segment);
	if (status != MAM_OK)
		return status;
	mam_cache_correct(pool, &segment);
	if (!segment.live)
		return MAM_ERROR_DOUBLE_FREE;
	if (segment.base != block)
		return MAM_ERROR_INTERIOR;
	*bytes = segment.bytes;
	return MAM_OK;
}

enum mam_status mam_owner(const void *address, struct mam_pool **pool,
			  struct mam_segment_info *segment)
{
	struct mam_segment_info found;
	struct mam_pool *owner;
	enum mam_status status;

	if (segment && !mam_sized_can_hold(segment))
		return MAM_ERROR_INVALID_VALUE;
	status = mam_registry_find(address, &owner, &found);
	if (status != MAM_OK)
		return status;
	mam_cache_correct(owner, &found);
	if (pool)
		*pool = owner;
	if (segment)
		mam_sized_write(segment, &found, sizeof(found));
	return MAM_OK;
}
