/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect.c - the caller's view of a pool: the pool's state, corrected by the thread caches
 * (cache/cache.h).
 *
 * To the pool a cached block is live. So statistics and checks first collect the counts of every
 * thread, and read them while all threads are stopped. A scan first drains the caches: it shows as
 * free what would be free without them. A function other than mam_free() that takes a block from
 * its caller first claims it from the cache.
 */
#include <mam/mam.h>
#include <mam/stats.h>

#include <stdio.h>

#include "api/announce.h"
#include "base/event.h"
#include "base/sized.h"
#include "cache/cache.h"
#include "pool/handle.h"

enum mam_status mam_pool_alloc_nowait(struct mam_pool *handle, size_t bytes, size_t alignment,
				      void **block)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status;
	void *own = NULL;

	if (block && alignment == 0)
		own = mam_cache_alloc_own(handle, bytes);
	if (own) {
		*block = own;
		mam_event_emit(MAM_EVENT_ALLOC, mam_handle_storage(handle), own, bytes);
		return MAM_OK;
	}
	status = mam_handle_begin(handle, &pool, &section);
	if (status != MAM_OK)
		return status;
	status = pool->redzone ? mam_redzone_alloc(pool, bytes, alignment, true, block)
			       : mam_cache_alloc_nowait(pool, bytes, alignment, block);
	if (status == MAM_OK && *block)
		mam_event_emit(MAM_EVENT_ALLOC, pool, *block, bytes);
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_pool_retire(struct mam_pool *handle, void *block, uint64_t *ticket,
				size_t *bytes)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status = mam_handle_begin(handle, &pool, &section);

	if (status != MAM_OK)
		return status;
	mam_announce_free(pool, block, NULL);
	status = pool->redzone ? mam_redzone_forget(pool, &block) : mam_cache_claim(pool, block);
	if (status == MAM_OK)
		status = mam_pool_set_aside(pool, block, ticket, bytes);
	if (status == MAM_ERROR_INTERIOR)
		status = mam_cache_judge(pool, block);
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_pool_retire_shared(struct mam_pool *handle, void *block, uint64_t *ticket,
				       size_t *bytes)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status;

	if (!ticket || !bytes)
		return MAM_ERROR_INVALID_VALUE;
	if (!mam_event_is_wanted() && mam_cache_retire_own(handle, block, ticket, bytes))
		return MAM_OK;
	status = mam_handle_begin(handle, &pool, &section);
	if (status != MAM_OK)
		return status;
	mam_announce_free(pool, block, NULL);
	if (pool->redzone)
		status = mam_redzone_forget(pool, &block);
	if (status == MAM_OK)
		status = mam_cache_retire_shared(pool, block, ticket, bytes);
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_pool_retired(struct mam_pool *handle, uint64_t *ticket)
{
	struct mam_tally none = { 0 };
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status =
		ticket ? mam_handle_begin(handle, &pool, &section) : MAM_ERROR_INVALID_VALUE;

	if (status != MAM_OK)
		return status;
	mam_cache_gather(pool);
	*ticket = mam_pool_ticket(pool, 0, &none);
	mam_epoch_leave(section);
	return MAM_OK;
}

static enum mam_status count(struct mam_pool *pool, struct mam_stats *stats)
{
	struct mam_stats full = { .size = sizeof(full) };
	enum mam_status status;

	if (!pool->redzone)
		return mam_pool_count(pool, stats);
	if (!mam_sized_can_hold(stats, sizeof(*stats)))
		return MAM_ERROR_INVALID_VALUE;
	status = mam_pool_count(pool, &full);
	if (status != MAM_OK)
		return status;
	mam_redzone_count(pool, &full);
	mam_sized_write(stats, &full, sizeof(full));
	return MAM_OK;
}

enum mam_status mam_pool_stats(struct mam_pool *handle, struct mam_stats *stats)
{
	struct mam_section section;
	struct mam_cache *held;
	struct mam_pool *pool;
	enum mam_status status =
		stats ? mam_handle_begin(handle, &pool, &section) : MAM_ERROR_INVALID_VALUE;

	if (status != MAM_OK)
		return status;
	held = mam_cache_count_pending(pool);
	status = count(pool, stats);
	mam_cache_go(held);
	mam_epoch_leave(section);
	return status;
}

struct tour {
	const struct mam_pool *pool;
	bool (*visit)(const struct mam_segment_info *segment, void *user);
	void *user;
};

static bool show(const struct mam_segment_info *segment, void *user)
{
	const struct tour *tour = user;
	struct mam_segment_info seen = *segment;

	mam_cache_correct(tour->pool, &seen);
	return tour->visit(&seen, tour->user);
}

enum mam_status mam_pool_walk(struct mam_pool *handle,
			      bool (*visit)(const struct mam_segment_info *segment, void *user),
			      void *user)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status =
		visit ? mam_handle_begin(handle, &pool, &section) : MAM_ERROR_INVALID_VALUE;
	struct tour tour = { .visit = visit, .user = user };

	if (status != MAM_OK)
		return status;
	tour.pool = pool;
	(void)mam_cache_drain(pool);
	status = mam_pool_visit(pool, show, &tour);
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_pool_check(struct mam_pool *handle, char *why, size_t why_bytes)
{
	struct mam_section section;
	struct mam_cache *held;
	struct mam_pool *pool;
	const char *fault;
	enum mam_status status = mam_handle_begin(handle, &pool, &section);

	if (status != MAM_OK)
		return status;
	mam_lock_take(&pool->grow_lock);
	held = mam_cache_count_pending(pool);
	fault = mam_cache_check(held);
	status = fault ? MAM_ERROR_CORRUPT : mam_pool_audit(pool, why, why_bytes);
	mam_cache_go(held);
	mam_lock_release(&pool->grow_lock);
	mam_epoch_leave(section);
	if (fault && why && why_bytes != 0)
		snprintf(why, why_bytes, "%s", fault);
	return status;
}
