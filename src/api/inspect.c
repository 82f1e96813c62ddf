/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect.c - a pool as its callers see it: what the pool knows, put right by what the threads'
 * caches know (cache/cache.h).
 *
 * To the pool a cached block is live. So statistics and checks first take every thread's own counts
 * in, and read them while all threads still stand; a walk first has the caches emptied: it shows
 * what is free as it would be without them. What takes a block from its caller by another way than
 * mam_free() claims it from the cache first.
 */
#include <mam/mam.h>
#include <mam/stats.h>

#include <stdio.h>

#include "cache/cache.h"
#include "pool/pool.h"

enum mam_status mam_pool_alloc_nowait(struct mam_pool *pool, size_t bytes, size_t alignment,
				      void **block)
{
	return pool ? mam_cache_alloc_nowait(pool, bytes, alignment, block)
		    : MAM_ERROR_INVALID_VALUE;
}

enum mam_status mam_pool_retire(struct mam_pool *pool, void *block, uint64_t *ticket,
				size_t *bytes)
{
	enum mam_status status = pool ? mam_cache_claim(pool, block) : MAM_ERROR_INVALID_VALUE;

	if (status == MAM_OK)
		status = mam_pool_set_aside(pool, block, ticket, bytes);
	return status == MAM_ERROR_INTERIOR ? mam_cache_judge(pool, block) : status;
}

enum mam_status mam_pool_stats(struct mam_pool *pool, struct mam_stats *stats)
{
	struct mam_cache *held = pool && stats ? mam_cache_settle(pool) : NULL;
	enum mam_status status = mam_pool_count(pool, stats);

	mam_cache_go(held);
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

enum mam_status mam_pool_walk(struct mam_pool *pool,
			      bool (*visit)(const struct mam_segment_info *segment, void *user),
			      void *user)
{
	struct tour tour = { pool, visit, user };

	if (!pool || !visit)
		return MAM_ERROR_INVALID_VALUE;
	(void)mam_cache_drain(pool);
	return mam_pool_visit(pool, show, &tour);
}

enum mam_status mam_pool_check(struct mam_pool *pool, char *why, size_t why_bytes)
{
	struct mam_cache *held;
	const char *fault;
	enum mam_status status;

	if (!pool)
		return MAM_ERROR_INVALID_VALUE;
	mam_lock_take(&pool->grow_lock);
	held = mam_cache_settle(pool);
	fault = mam_cache_check(held);
	status = fault ? MAM_ERROR_CORRUPT : mam_pool_audit(pool, why, why_bytes);
	mam_cache_go(held);
	mam_lock_release(&pool->grow_lock);
	if (fault && why && why_bytes != 0)
		snprintf(why, why_bytes, "%s", fault);
	return status;
}
