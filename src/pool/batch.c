/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - several blocks per acquisition of the lock (batch.h).
 *
 * space.c counts every block that it allocates or frees as a caller's. For a block that a cache
 * receives or returns, these counts are restored and cached_* changed instead.
 *
 * Invariant: live_blocks + cached_blocks + kept_blocks is the number of live records, and the same
 * for the rounded bytes.
 */
#include "pool/batch.h"

#include "index/addrtree.h"
#include "pool/space.h"

static struct mam_callers note(const struct mam_stats *counts)
{
	return (struct mam_callers){
		counts->live_blocks,      counts->live_bytes,      counts->live_rounded_bytes,
		counts->peak_live_blocks, counts->peak_live_bytes, counts->peak_live_rounded_bytes,
		counts->allocs,           counts->frees,
	};
}

/*
 * Count the cached blocks as the callers' temporarily: freed ones are subtracted from that, and no
 * count falls below zero.
 */
static void lend(struct mam_stats *counts)
{
	counts->live_blocks += counts->cached_blocks;
	counts->live_rounded_bytes += counts->cached_bytes;
	counts->allocs += counts->cached_blocks;
	mam_pool_peak(&counts->peak_live_blocks, counts->live_blocks);
	mam_pool_peak(&counts->peak_live_rounded_bytes, counts->live_rounded_bytes);
	counts->cached_blocks = 0;
	counts->cached_bytes = 0;
}

/* Blocks that became live since `noted` are now cached; those freed since were cached before. */
static void count_as_cached(struct mam_stats *counts, const struct mam_callers *noted)
{
	counts->cached_blocks += counts->live_blocks - noted->live_blocks;
	counts->cached_bytes += counts->live_rounded_bytes - noted->live_rounded_bytes;
	counts->live_blocks = noted->live_blocks;
	counts->live_bytes = noted->live_bytes;
	counts->live_rounded_bytes = noted->live_rounded_bytes;
	counts->peak_live_blocks = noted->peak_live_blocks;
	counts->peak_live_bytes = noted->peak_live_bytes;
	counts->peak_live_rounded_bytes = noted->peak_live_rounded_bytes;
	counts->allocs = noted->allocs;
	counts->frees = noted->frees;
}

struct mam_callers mam_pool_lend_locked(struct mam_pool *pool)
{
	struct mam_callers noted = note(&pool->counts);

	lend(&pool->counts);
	return noted;
}

void mam_pool_lent_locked(struct mam_pool *pool, const struct mam_callers *noted)
{
	count_as_cached(&pool->counts, noted);
}

static void account_tally(const struct mam_pool *pool, struct mam_tally *tally)
{
	const struct mam_stats *counts = &pool->counts;
	int64_t live = (int64_t)counts->live_rounded_bytes;

	tally->reserved_bytes = counts->reserved_bytes;
	tally->live_bytes = live > 0 ? (uint64_t)live : 0;
	tally->high_bytes = pool->high_bytes;
}

/*
 * The stores are in this order even for other processes: the statistics page must never show less
 * than what was published, nor the old generation of a tally that is in use again. On x86 they are
 * plain stores.
 */
static void clear_tally(struct mam_tally *tally)
{
	int64_t *const words[] = {
		&tally->blocks,      &tally->peak_blocks, &tally->bytes,
		&tally->peak_bytes,  &tally->rounded,     &tally->peak_rounded,
		&tally->kept_blocks, &tally->kept_bytes,  &tally->peak_kept_bytes
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		__atomic_store_n(words[i], 0, __ATOMIC_RELEASE);
	__atomic_store_n(&tally->allocs, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&tally->frees, 0, __ATOMIC_RELEASE);
	atomic_store_explicit(&tally->generation,
			      atomic_load_explicit(&tally->generation, memory_order_relaxed) + 1,
			      memory_order_release);
}

void mam_pool_meet_locked(struct mam_pool *pool, struct mam_tally *tally)
{
	struct mam_stats *counts = &pool->counts;

	account_tally(pool, tally);
	if (tally->allocs == 0 && tally->frees == 0 && tally->kept_blocks == 0)
		return;
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY) {
		mam_pool_peak_live(counts, tally->peak_blocks, tally->peak_bytes,
				   tally->peak_rounded);
		counts->live_blocks += (uint64_t)tally->blocks;
		counts->live_bytes += (uint64_t)tally->bytes;
		counts->live_rounded_bytes += (uint64_t)tally->rounded;
		counts->cached_blocks -= (uint64_t)tally->blocks;
		counts->cached_bytes -= (uint64_t)tally->rounded;
		mam_pool_peak(&counts->peak_retired_bytes,
			      counts->retired_bytes + (uint64_t)tally->peak_kept_bytes);
		counts->retired_blocks += (uint64_t)tally->kept_blocks;
		counts->retired_bytes += (uint64_t)tally->kept_bytes;
		counts->cached_blocks -= (uint64_t)tally->kept_blocks;
		counts->cached_bytes -= (uint64_t)tally->kept_bytes;
		pool->kept_blocks += (uint64_t)tally->kept_blocks;
		pool->kept_bytes += (uint64_t)tally->kept_bytes;
		counts->allocs += tally->allocs;
		counts->frees += tally->frees;
	}
	if (atomic_load_explicit(&pool->page, memory_order_relaxed) != NULL)
		mam_pool_publish_locked(pool, tally);
	clear_tally(tally);
	account_tally(pool, tally);
}

void mam_pool_meet(struct mam_pool *pool, struct mam_tally *tally)
{
	mam_lock_take(&pool->lock);
	mam_pool_meet_locked(pool, tally);
	mam_pool_unlock(pool);
}

/* Allocate up to `wanted` more of the same, as far as free memory fits. */
static size_t take_more_locked(struct mam_pool *pool, const struct mam_request *request,
			       size_t wanted, void **more)
{
	struct mam_callers noted = note(&pool->counts);
	size_t got = 0;

	while (got < wanted && mam_space_take_locked(pool, request, &more[got]) == MAM_OK)
		got++;
	count_as_cached(&pool->counts, &noted);
	return got;
}

enum mam_status mam_pool_alloc_batch(struct mam_pool *pool, size_t bytes, size_t alignment,
				     struct mam_tally *tally, void **block, size_t wanted,
				     void **more, size_t *got)
{
	struct mam_request request;
	enum mam_status status = mam_space_shape(pool, bytes, alignment, &request);

	if (status == MAM_ERROR_INVALID_VALUE)
		return status;
	mam_lock_take(&pool->lock);
	mam_pool_meet_locked(pool, tally);
	if (status == MAM_OK)
		status = mam_space_take_locked(pool, &request, block);
	else if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		status = MAM_ERROR_DESTROYED;
	if (status == MAM_OK && wanted != 0) {
		request.requested = request.bytes;
		*got = take_more_locked(pool, &request, wanted, more);
	} else if (status == MAM_OK) {
		*got = 0;
	} else if (status != MAM_ERROR_WOULD_WAIT) {
		pool->counts.failures++;
	}
	mam_pool_unlock(pool);
	return status;
}

enum mam_status mam_pool_alloc_below(struct mam_pool *pool, size_t bytes, size_t alignment,
				     struct mam_tally *tally, uint64_t high_max, void **block)
{
	struct mam_request request;
	enum mam_status status = mam_space_shape(pool, bytes, alignment, &request);

	if (status != MAM_OK)
		return MAM_ERROR_WOULD_WAIT;
	mam_lock_take(&pool->lock);
	mam_pool_meet_locked(pool, tally);
	status = mam_space_take_below_locked(pool, &request, high_max, block);
	mam_pool_unlock(pool);
	return status == MAM_OK ? MAM_OK : MAM_ERROR_WOULD_WAIT;
}

enum mam_status mam_pool_free_one(struct mam_pool *pool, void *block, size_t requested,
				  struct mam_tally *tally)
{
	enum mam_status status;
	uint32_t handle;

	mam_lock_take(&pool->lock);
	mam_pool_meet_locked(pool, tally);
	status = mam_space_end_locked(pool, (uintptr_t)block, &handle);
	if (status == MAM_OK) {
		if (requested != 0)
			pool->counts.live_bytes +=
				mam_segment_at(&pool->segments, handle)->requested - requested;
		mam_space_release_locked(pool, handle);
		mam_pool_unfence_locked(pool);
	}
	mam_pool_unlock(pool);
	return status;
}

void mam_pool_free_batch(struct mam_pool *pool, void *const *blocks, size_t count,
			 struct mam_tally *tally)
{
	struct mam_callers noted;
	uint32_t handle;

	mam_lock_take(&pool->lock);
	mam_pool_meet_locked(pool, tally);
	noted = mam_pool_lend_locked(pool);
	for (size_t i = 0; i < count; i++)
		if (mam_space_end_locked(pool, (uintptr_t)blocks[i], &handle) == MAM_OK)
			mam_space_release_locked(pool, handle);
	mam_pool_unfence_locked(pool);
	mam_pool_lent_locked(pool, &noted);
	mam_pool_unlock(pool);
}

void mam_pool_amend_locked(struct mam_pool *pool, void *block, size_t requested)
{
	uint32_t handle;

	if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		return;
	handle = mam_blockmap_find(&pool->blocks, &pool->segments, (uintptr_t)block);
	if (handle == 0)
		handle = mam_addrtree_find(&pool->segments, pool->by_address, (uintptr_t)block);
	if (handle != 0 && mam_segment_at(&pool->segments, handle)->state == MAM_SEGMENT_LIVE)
		mam_segment_at(&pool->segments, handle)->requested = requested;
}

void mam_pool_amend(struct mam_pool *pool, void *block, size_t requested, struct mam_tally *tally)
{
	mam_lock_take(&pool->lock);
	mam_pool_meet_locked(pool, tally);
	mam_pool_amend_locked(pool, block, requested);
	mam_pool_unlock(pool);
}

void mam_pool_recount(struct mam_pool *pool,
		      size_t (*asked)(const struct mam_pool *pool,
				      const struct mam_segment_info *segment))
{
	struct mam_stats *counts = &pool->counts;
	uint32_t at;

	mam_lock_take(&pool->lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY) {
		counts->live_blocks = counts->live_bytes = counts->live_rounded_bytes = 0;
		counts->cached_blocks = counts->cached_bytes = 0;
		counts->retired_blocks -= pool->kept_blocks;
		counts->retired_bytes -= pool->kept_bytes;
		pool->kept_blocks = pool->kept_bytes = 0;
		for (at = mam_addrtree_first(&pool->segments, pool->by_address); at != 0;
		     at = mam_addrtree_next(&pool->segments, at)) {
			struct mam_segment_info info;

			mam_segment_describe(pool, at, &info);
			if (!info.live)
				continue;
			counts->live_blocks++;
			counts->live_bytes += asked(pool, &info);
			counts->live_rounded_bytes += info.bytes;
		}
		counts->frees = counts->allocs - counts->live_blocks;
		mam_pool_peak_live(counts, 0, 0, 0);
	}
	mam_pool_unlock(pool);
}
