/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life.c - make a pool and end it: destroy, abandon, fork.
 *
 * The storage of a pool is not freed here, and its locks are not destroyed: a late call finds the
 * state ENDED and returns DESTROYED instead of crashing (handle.h). Everything else is freed.
 */
#include "pool/pool.h"

#include "base/bits.h"
#include "base/log.h"
#include "pool/grow.h"
#include "pool/streamlist.h"
#include "pool/range.h"
#include "pool/scope.h"
#include "pool/suspend.h"
#include "source/source.h"

#include <string.h>
#include <time.h>

static bool config_is_sound(const struct mam_source *source, const struct mam_pool_config *config)
{
	if (!mam_is_power_of_two(config->granule) || config->granule < MAM_POOL_GRANULE_MIN ||
	    config->granule > MAM_POOL_GRANULE_MAX ||
	    config->granule > source->properties.alignment)
		return false;
	if (config->growth_bytes != MAM_GROWTH_NONE && config->growth_bytes > (size_t)1 << 55)
		return false;
	if (config->growth_bytes == MAM_GROWTH_NONE && config->chunk_bytes == 0)
		return false;
	return config->free_policy >= MAM_FREE_DEFAULT && config->free_policy <= MAM_FREE_DEFERRED;
}

static enum mam_status init_metadata(struct mam_pool *pool)
{
	enum mam_status status = mam_segments_init(&pool->segments);

	if (status == MAM_OK)
		status = mam_records_init(&pool->chunks, sizeof(struct mam_chunk));
	if (status == MAM_OK)
		status = mam_blockmap_init(&pool->blocks);
	if (status == MAM_OK)
		status = mam_freelists_init(&pool->freelists, pool->config.granule);
	return status;
}

static void fini_metadata(struct mam_pool *pool)
{
	mam_range_fini(pool);
	mam_holds_fini(pool);
	mam_scope_fini(pool);
	mam_freelists_fini(&pool->freelists);
	mam_blockmap_fini(&pool->blocks);
	mam_records_fini(&pool->chunks);
	mam_records_fini(&pool->segments);
	pool->by_address = 0;
	pool->tail = 0;
	pool->newest_chunk = 0;
	pool->retired_first = 0;
	pool->retired_last = 0;
}

enum mam_status mam_pool_init(struct mam_pool *pool, struct mam_source *source, bool owns_source,
			      const struct mam_pool_config *config)
{
	enum mam_status status;

	pool->source = source;
	pool->owns_source = owns_source;
	pool->config = *config;
	if (pool->config.granule == 0)
		pool->config.granule = MAM_POOL_GRANULE;
	pool->strict = source->ops->quiesce != NULL && config->free_policy != MAM_FREE_STREAM;
	mam_lock_init(&pool->grow_lock, MAM_RANK_GROW, "grow");
	mam_lock_init(&pool->lock, MAM_RANK_POOL, "pool");

	status = config_is_sound(source, &pool->config) ? init_metadata(pool)
							: MAM_ERROR_INVALID_VALUE;
	if (status == MAM_OK)
		status = mam_range_init(pool);
	if (status == MAM_OK) {
		status = mam_grow_first(pool);
		if (status != MAM_OK && pool->range != NULL)
			mam_range_give_back(pool);
	}
	if (status != MAM_OK) {
		uint32_t generation = pool->generation;

		fini_metadata(pool);
		mam_lock_fini(&pool->lock);
		mam_lock_fini(&pool->grow_lock);
		if (owns_source)
			mam_source_destroy(source);
		memset(pool, 0, sizeof(*pool));
		pool->generation = generation;
		return status;
	}
	atomic_store_explicit(&pool->state, MAM_POOL_READY, memory_order_release);
	return MAM_OK;
}

/* The pool ended under both locks: only this thread still reads its chunks. */
static void give_back_chunks(struct mam_pool *pool)
{
	uint32_t at;

	if (pool->range != NULL) {
		mam_range_give_back(pool);
		return;
	}
	for (at = pool->newest_chunk; at != 0; at = mam_chunk_at(&pool->chunks, at)->older) {
		const struct mam_chunk *chunk = mam_chunk_at(&pool->chunks, at);

		if (mam_source_shrink(pool->source, (void *)(uintptr_t)chunk->base, chunk->bytes) !=
		    MAM_OK)
			mam_log(MAM_LOG_WARN,
				"pool %s: the source refused to release a chunk of %llu bytes; "
				"the chunk is leaked",
				pool->config.name, (unsigned long long)chunk->bytes);
	}
}

/*
 * Late frees may still wait for the device in the source that is about to be destroyed. No new ones
 * start: the pool has ended.
 */
static void await_waiters(struct mam_pool *pool)
{
	const struct timespec a_moment = { 0, 20000 };

	while (atomic_load(&pool->waiters) != 0)
		nanosleep(&a_moment, NULL);
}

static void let_go_above(struct mam_pool *pool)
{
	for (int stop = 0; stop < MAM_DRAIN_STOPS; stop++)
		if (pool->drain[stop] != NULL)
			(void)pool->drain[stop](pool, MAM_DRAIN_END);
}

/* The last counts stay there. Late calls publish nothing. */
static void end_page_locked(struct mam_pool *pool)
{
	struct mam_statpage_pool *page = atomic_load_explicit(&pool->page, memory_order_relaxed);

	if (page == NULL)
		return;
	mam_pool_publish_locked(pool, NULL);
	mam_statpage_end_pool(page);
	atomic_store_explicit(&pool->page, NULL, memory_order_relaxed);
}

void mam_pool_show(struct mam_pool *pool, const char *source, int device)
{
	struct mam_statpage_pool *page = mam_statpage_take_pool(pool->config.name, source, device);

	mam_lock_take(&pool->lock);
	atomic_store_explicit(&pool->page, page, memory_order_relaxed);
	mam_pool_unlock(pool);
}

static enum mam_status end(struct mam_pool *pool, bool abandon)
{
	enum mam_status status = MAM_OK;

	mam_lock_take(&pool->grow_lock);
	mam_lock_take(&pool->lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		status = MAM_ERROR_DESTROYED;
	else if (!abandon && (pool->counts.live_blocks != 0 || pool->counts.cached_blocks != 0))
		status = MAM_ERROR_LIVE_BLOCKS;
	else
		atomic_store(&pool->state, MAM_POOL_ENDED);
	mam_pool_unlock(pool);

	if (status == MAM_OK) {
		mam_suspend_end(pool, abandon);
		if (!abandon) {
			let_go_above(pool);
			give_back_chunks(pool);
			if (pool->owns_source) {
				await_waiters(pool);
				mam_source_destroy(pool->source);
				pool->owns_source = false;
			}
		}
		mam_lock_take(&pool->lock);
		fini_metadata(pool);
		end_page_locked(pool);
		mam_pool_unlock(pool);
	}
	mam_lock_release(&pool->grow_lock);
	return status;
}

enum mam_status mam_pool_fini(struct mam_pool *pool)
{
	return end(pool, false);
}

enum mam_status mam_pool_drop(struct mam_pool *pool)
{
	return end(pool, true);
}

void mam_pool_fork_prepare(struct mam_pool *pool)
{
	mam_lock_take_for_fork(&pool->grow_lock);
	mam_lock_take_for_fork(&pool->lock);
}

void mam_pool_fork_parent(struct mam_pool *pool)
{
	mam_lock_release_for_fork(&pool->lock);
	mam_lock_release_for_fork(&pool->grow_lock);
}

void mam_pool_fork_child(struct mam_pool *pool)
{
	mam_lock_reinit(&pool->grow_lock);
	mam_lock_reinit(&pool->lock);
	atomic_store_explicit(&pool->waiting, 0, memory_order_relaxed);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY &&
	    !pool->source->properties.survives_fork)
		(void)mam_pool_drop(pool);
}
