/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc.c - where a request enters mam, and its path through the host code.
 *
 *   mam_malloc            find the pool                    this file
 *     mam_pool_alloc      best fit, split, one lock        pool/pool.c
 *       mam_source_grow   a new chunk, if nothing fits     source/
 *
 *   mam_free              find the block's owner           this file
 *     mam_pool_quiesce    wait for the device, if strict   pool/pool.c
 *     mam_pool_free       find, mark free, coalesce        pool/pool.c
 *
 * This file takes no lock: a request takes its pool's lock and no other. If the caller names the
 * pool, the thread cache compares the handle with that of its pool (cache/tcache.h), and a request
 * that it serves ends there. Every other request checks the handle, or finds the current context or
 * the block's owner, and is a section (pool/handle.h).
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

static inline enum mam_status alloc_from(const struct mam_pool *handle, size_t bytes,
					 size_t alignment, void **block)
{
	struct mam_section section;
	struct mam_pool *pool = mam_handle_enter(handle, &section);
	enum mam_status status;

	if (!pool)
		return MAM_ERROR_DESTROYED;
	status = mam_cache_alloc(pool, bytes, alignment, block);
	mam_epoch_leave(section);
	return status;
}

static enum mam_status refuse(enum mam_status status, struct mam_pool *handle, size_t bytes)
{
	mam_event_emit(MAM_EVENT_FAIL, handle ? mam_handle_storage(handle) : NULL, NULL, bytes);
	if (status == MAM_ERROR_OUT_OF_MEMORY && handle)
		mam_report_no_memory(handle, bytes);
	return status;
}

/* The first attempt failed. The program passed `handle`, or it is a default pool, which may end. */
static __attribute__((noinline)) enum mam_status alloc_again(enum mam_status status,
							     struct mam_pool *handle,
							     bool by_default, size_t bytes,
							     size_t alignment, void **block)
{
	struct mam_oom_walk walk = { 0 };

	if (!by_default && !mam_slots_know(handle))
		return MAM_ERROR_INVALID_VALUE;
	while (status == MAM_ERROR_DESTROYED && by_default) {
		mam_registry_forget(handle);
		status = mam_pool_default(MAM_DEVICE_CURRENT, &handle);
		if (status == MAM_OK)
			status = alloc_from(handle, bytes, alignment, block);
	}
	while (status == MAM_ERROR_OUT_OF_MEMORY && mam_oom_again(&walk, handle, bytes))
		status = alloc_from(handle, bytes, alignment, block);
	if (status != MAM_OK)
		return refuse(status, handle, bytes);
	mam_event_emit(MAM_EVENT_ALLOC, mam_handle_storage(handle), *block, bytes);
	return MAM_OK;
}

static __attribute__((noinline)) enum mam_status alloc_slowly(struct mam_pool *handle, size_t bytes,
							      size_t alignment, void **block)
{
	const bool by_default = !handle;
	enum mam_status status;
	void *own = NULL;

	if (!block || (handle && !mam_slots_span(handle)))
		return MAM_ERROR_INVALID_VALUE;
	if (bytes == 0) {
		*block = NULL;
		return MAM_OK;
	}
	if (by_default) {
		status = mam_pool_default(MAM_DEVICE_CURRENT, &handle);
		if (status != MAM_OK)
			return refuse(status, NULL, bytes);
	}
	if (by_default && alignment == 0)
		own = mam_cache_alloc_own(handle, bytes);
	if (own) {
		*block = own;
	} else {
		status = alloc_from(handle, bytes, alignment, block);
		if (status != MAM_OK)
			return alloc_again(status, handle, by_default, bytes, alignment, block);
	}
	mam_event_emit(MAM_EVENT_ALLOC, mam_handle_storage(handle), *block, bytes);
	return MAM_OK;
}

/* Not inline: there is seldom a listener. */
static __attribute__((noinline)) enum mam_status report_alloc(const struct mam_pool *handle,
							      void *block, size_t bytes)
{
	mam_event_emit(MAM_EVENT_ALLOC, mam_handle_storage(handle), block, bytes);
	return MAM_OK;
}

enum mam_status mam_malloc(struct mam_pool *pool, size_t bytes, void **block)
{
	void *own = block ? mam_cache_alloc_own(pool, bytes) : NULL;

	if (!own)
		return alloc_slowly(pool, bytes, 0, block);
	*block = own;
	return mam_event_is_wanted() ? report_alloc(pool, own, bytes) : MAM_OK;
}

enum mam_status mam_malloc_aligned(struct mam_pool *pool, size_t bytes, size_t alignment,
				   void **block)
{
	if (!mam_is_power_of_two(alignment))
		return MAM_ERROR_INVALID_VALUE;
	return alloc_slowly(pool, bytes, alignment, block);
}

/* pre: inside a section. */
static enum mam_status give(struct mam_pool *pool, void *block)
{
	enum mam_status status = pool->strict ? mam_pool_quiesce(pool) : MAM_OK;

	if (status == MAM_OK) {
		mam_announce_free(pool, block, NULL);
		/* Otherwise give_own() tried the thread cache before. */
		if ((pool->strict || mam_event_is_wanted()) &&
		    mam_cache_free_own(mam_handle_of(pool), block))
			return MAM_OK;
		status = mam_cache_free(pool, block);
	}
	if (status != MAM_OK)
		mam_report_free(status, block);
	return status;
}

static __attribute__((noinline)) enum mam_status give_to_owner(void *block)
{
	struct mam_segment_info segment;
	struct mam_section section = mam_epoch_enter();
	size_t bytes;
	struct mam_pool *pool = mam_registry_owner(block, &bytes), *handle = NULL;
	enum mam_status status = MAM_OK;

	if (!pool)
		status = mam_registry_find(block, &pool, &segment);
	if (status == MAM_OK) {
		handle = mam_handle_of(pool);
		status = give(pool, block);
	}
	mam_epoch_leave(section);
	/* Waiting for a context that ended fails. */
	if (status == MAM_ERROR_DRIVER && handle) {
		mam_registry_abandon_ended();
		if (!mam_handle_is(handle, pool))
			status = MAM_ERROR_NOT_OWNED;
	}
	return status;
}

/* Free to the thread cache, unless the device must be waited for or listeners must be called. */
static inline bool give_own(const struct mam_pool *handle, void *block)
{
	return !mam_tcache_last->waits && !mam_event_is_wanted() &&
	       mam_cache_free_own(handle, block);
}

static __attribute__((noinline)) enum mam_status free_slowly(struct mam_pool *handle, void *block)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status;
	size_t bytes;

	if (handle && !mam_slots_span(handle))
		return MAM_ERROR_INVALID_VALUE;
	if (!block)
		return MAM_OK;
	if (!handle) {
		pool = mam_registry_owner(block, &bytes);
		return pool && give_own(mam_handle_of(pool), block) ? MAM_OK : give_to_owner(block);
	}
	pool = mam_handle_enter(handle, &section);
	if (!pool)
		return mam_slots_know(handle) ? MAM_ERROR_DESTROYED : MAM_ERROR_INVALID_VALUE;
	status = give(pool, block);
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_free(struct mam_pool *pool, void *block)
{
	return give_own(pool, block) ? MAM_OK : free_slowly(pool, block);
}

/* The tag of a block that went through a cache shows its pool and its size without a lock. */
static enum mam_status size_of(struct mam_pool *pool, const void *block, size_t *bytes)
{
	struct mam_segment_info segment;
	enum mam_status status;
	size_t tagged;
	const struct mam_pool *owner = mam_registry_owner(block, &tagged);

	if (owner && pool && owner != pool)
		return MAM_ERROR_NOT_OWNED;
	if (owner) {
		*bytes = tagged;
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

enum mam_status mam_usable_size(struct mam_pool *handle, const void *block, size_t *bytes)
{
	struct mam_section section;
	struct mam_pool *pool = NULL;
	enum mam_status status;

	if (bytes && block && mam_cache_size_own(handle, block, bytes))
		return MAM_OK;
	if (!bytes || (handle && !mam_slots_know(handle)))
		return MAM_ERROR_INVALID_VALUE;
	if (!block) {
		*bytes = 0;
		return MAM_OK;
	}
	if (handle) {
		pool = mam_handle_enter(handle, &section);
		if (!pool)
			return MAM_ERROR_DESTROYED;
	} else {
		section = mam_epoch_enter();
	}
	status = size_of(pool, block, bytes);
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_owner(const void *address, struct mam_pool **pool,
			  struct mam_segment_info *segment)
{
	struct mam_section section;
	struct mam_segment_info found;
	struct mam_pool *owner, *handle;
	enum mam_status status;

	if (segment && !mam_sized_can_hold(segment, sizeof(*segment)))
		return MAM_ERROR_INVALID_VALUE;
	section = mam_epoch_enter();
	status = mam_registry_find(address, &owner, &found);
	if (status == MAM_OK) {
		handle = mam_handle_of(owner);
		/* If the pool is still ready, the handle is valid. */
		if (atomic_load(&owner->state) != MAM_POOL_READY)
			status = MAM_ERROR_NOT_OWNED;
	}
	if (status == MAM_OK) {
		mam_cache_correct(owner, &found);
		if (pool)
			*pool = handle;
		if (segment)
			mam_sized_write(segment, &found, sizeof(found));
	}
	mam_epoch_leave(section);
	return status;
}
