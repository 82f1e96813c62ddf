/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect.c - read-only queries of a pool: statistics, enumeration of segments, the owner of an
 * address.
 *
 * Most numbers are updated on each event and copied here. Those that would slow down the hot path
 * are computed on demand: the number and bytes of free blocks from the totals, O(1); the largest
 * free block by descending the sizes and skipping free chunk ends, at most one per chunk.
 */
#include "pool/pool.h"

#include "base/sized.h"
#include "index/addrtree.h"
#include "pool/streamlist.h"
#include "pool/inspect.h"
#include "pool/range.h"
#include "pool/scope.h"

static bool ready_locked(const struct mam_pool *pool)
{
	return atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY;
}

/* The same where memory is mapped in pieces: every free segment counts as a free block. */
static void count_range_free_blocks(const struct mam_pool *pool, struct mam_stats *stats)
{
	uint64_t unmapped;

	(void)mam_range_unmapped_locked(pool, &unmapped);
	stats->segments -= unmapped + stats->cached_blocks;
	stats->free_blocks = stats->segments - stats->live_blocks - stats->retired_blocks;
	stats->free_block_bytes = stats->physical_bytes + stats->suspended_bytes -
				  stats->live_rounded_bytes - stats->cached_bytes -
				  stats->retired_bytes;
	for (int i = 0; i < MAM_RANGE_PARTS; i++) {
		uint32_t at =
			mam_freelists_largest(&pool->range->part[i].free_blocks, &pool->segments);

		if (at != 0)
			mam_pool_peak(&stats->largest_free_block_bytes,
				      mam_segment_at(&pool->segments, at)->bytes);
	}
	stats->largest_free_bytes = stats->largest_free_block_bytes;
	stats->high_water_bytes = stats->peak_physical_bytes;
}

/* Free chunk ends do not count as free blocks: no live block is above them. */
static void count_free_blocks(const struct mam_pool *pool, struct mam_stats *stats)
{
	uint64_t ends = 0;
	uint64_t end_bytes = 0;
	uint32_t at;

	for (at = pool->newest_chunk; at != 0; at = mam_chunk_at(&pool->chunks, at)->older) {
		const struct mam_segment *last =
			mam_segment_at(&pool->segments, mam_chunk_at(&pool->chunks, at)->last);

		if (last->state == MAM_SEGMENT_FREE) {
			ends++;
			end_bytes += last->bytes;
		}
	}
	stats->segments -= stats->cached_blocks;
	stats->free_blocks = stats->segments - stats->live_blocks - stats->retired_blocks - ends;
	stats->free_block_bytes = stats->reserved_bytes - stats->live_rounded_bytes -
				  stats->cached_bytes - stats->retired_bytes - end_bytes;

	at = mam_freelists_largest(&pool->freelists, &pool->segments);
	if (at != 0)
		stats->largest_free_bytes = mam_segment_at(&pool->segments, at)->bytes;
	if (pool->tail != 0 &&
	    mam_segment_at(&pool->segments, pool->tail)->bytes > stats->largest_free_bytes)
		stats->largest_free_bytes = mam_segment_at(&pool->segments, pool->tail)->bytes;
	at = mam_freelists_largest_inner(&pool->freelists, &pool->segments);
	if (at != 0)
		stats->largest_free_block_bytes = mam_segment_at(&pool->segments, at)->bytes;
}

void mam_inspect_complete_locked(const struct mam_pool *pool, struct mam_stats *full)
{
	full->largest_free_bytes = 0;
	full->largest_free_block_bytes = 0;
	if (pool->range != NULL) {
		count_range_free_blocks(pool, full);
	} else {
		count_free_blocks(pool, full);
		full->physical_bytes = full->reserved_bytes;
		full->peak_physical_bytes = full->peak_reserved_bytes;
	}
	full->host_bytes = sizeof(*pool) + mam_records_bytes(&pool->segments) +
			   mam_records_bytes(&pool->chunks) + mam_blockmap_bytes(&pool->blocks) +
			   mam_freelists_bytes(&pool->freelists) + mam_holds_bytes(pool);
	for (int i = 0; pool->range != NULL && i < MAM_RANGE_PARTS; i++)
		full->host_bytes += mam_freelists_bytes(&pool->range->part[i].free_blocks) +
				    mam_freelists_bytes(&pool->range->part[i].unmapped);
}

enum mam_status mam_pool_count(struct mam_pool *pool, struct mam_stats *stats)
{
	struct mam_stats full;
	enum mam_status status = MAM_OK;

	if (pool == NULL || !mam_sized_can_hold(stats, sizeof(*stats)))
		return MAM_ERROR_INVALID_VALUE;
	mam_lock_take(&pool->lock);
	if (ready_locked(pool)) {
		full = pool->counts;
		mam_scope_lifetime_locked(pool, &full);
		mam_inspect_complete_locked(pool, &full);
	} else {
		status = MAM_ERROR_DESTROYED;
	}
	mam_lock_release(&pool->lock);
	if (status == MAM_OK)
		mam_sized_write(stats, &full, sizeof(full));
	return status;
}

void mam_segment_describe(const struct mam_pool *pool, uint32_t handle,
			  struct mam_segment_info *info)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	const struct mam_chunk *chunk = mam_chunk_at(&pool->chunks, segment->chunk);

	info->size = sizeof(*info);
	info->base = (void *)(uintptr_t)segment->base;
	info->bytes = segment->bytes;
	info->live = segment->state == MAM_SEGMENT_LIVE;
	info->retired = segment->state == MAM_SEGMENT_RETIRED || mam_streamlist_is(segment->state);
	info->requested = info->live ? segment->requested : 0;
	info->chunk_base = (void *)(uintptr_t)chunk->base;
	info->chunk_bytes = chunk->bytes;
}

enum mam_status mam_pool_visit(struct mam_pool *pool,
			       bool (*visit)(const struct mam_segment_info *segment, void *user),
			       void *user)
{
	enum mam_status status = MAM_OK;
	uint32_t at;

	if (pool == NULL || visit == NULL)
		return MAM_ERROR_INVALID_VALUE;
	mam_lock_take(&pool->lock);
	if (!ready_locked(pool))
		status = MAM_ERROR_DESTROYED;
	for (at = status == MAM_OK ? mam_addrtree_first(&pool->segments, pool->by_address) : 0;
	     at != 0; at = mam_addrtree_next(&pool->segments, at)) {
		uint32_t state = mam_segment_at(&pool->segments, at)->state;
		struct mam_segment_info info;

		if (state == MAM_SEGMENT_UNMAPPED || state == MAM_SEGMENT_MOVING ||
		    state == MAM_SEGMENT_LOST || state == MAM_SEGMENT_LEAVING)
			continue;
		mam_segment_describe(pool, at, &info);
		if (!visit(&info, user))
			break;
	}
	mam_lock_release(&pool->lock);
	return status;
}

enum mam_status mam_pool_find(struct mam_pool *pool, const void *address,
			      struct mam_segment_info *info)
{
	enum mam_status status = MAM_OK;
	uint32_t handle = 0;

	mam_lock_take(&pool->lock);
	if (!ready_locked(pool)) {
		status = MAM_ERROR_DESTROYED;
	} else {
		handle = mam_blockmap_find(&pool->blocks, &pool->segments, (uintptr_t)address);
		if (handle == 0)
			handle = mam_addrtree_find(&pool->segments, pool->by_address,
						   (uintptr_t)address);
		if (handle == 0)
			status = MAM_ERROR_NOT_OWNED;
		else
			mam_segment_describe(pool, handle, info);
	}
	mam_lock_release(&pool->lock);
	return status;
}

/* While scopes are open, `counts` has only the peaks since the last push or pop (scope.c). */
static uint64_t peak_of(const struct mam_pool *pool, uint64_t peak, const mam_statpage_word *before)
{
	uint64_t published;

	if (pool->scopes == NULL)
		return peak;
	published = atomic_load_explicit(before, memory_order_relaxed);
	return (int64_t)published > (int64_t)peak ? published : peak;
}

void mam_pool_publish_locked(struct mam_pool *pool, const struct mam_tally *flushed)
{
	const struct mam_stats *from = &pool->counts;
	struct mam_statpage_pool *page = atomic_load_explicit(&pool->page, memory_order_relaxed);
	uint64_t sequence = atomic_load_explicit(&page->sequence, memory_order_relaxed) + 1;
	struct mam_statpage_counts *to = &page->counts[sequence & 1];
	const struct mam_statpage_counts *last = &page->counts[~sequence & 1];

#define PUT(name, value) atomic_store_explicit(&to->name, (value), memory_order_release)
	PUT(live_blocks, from->live_blocks);
	PUT(live_bytes, from->live_bytes);
	PUT(live_rounded_bytes, from->live_rounded_bytes);
	PUT(peak_live_bytes, peak_of(pool, from->peak_live_bytes, &last->peak_live_bytes));
	PUT(cached_bytes, from->cached_bytes);
	PUT(retired_bytes, from->retired_bytes);
	PUT(peak_retired_bytes, peak_of(pool, from->peak_retired_bytes, &last->peak_retired_bytes));
	PUT(reserved_bytes, from->reserved_bytes);
	PUT(peak_reserved_bytes,
	    peak_of(pool, from->peak_reserved_bytes, &last->peak_reserved_bytes));
	PUT(allocs, from->allocs);
	PUT(frees, from->frees);
	PUT(failures, from->failures);
	PUT(driver_calls, from->driver_calls);
	PUT(driver_ns, from->driver_ns);
	PUT(flushed, flushed == NULL ? 0 : flushed->number);
	if (flushed != NULL)
		PUT(flushed_generation,
		    atomic_load_explicit(&flushed->generation, memory_order_relaxed));
#undef PUT
	atomic_store_explicit(&page->sequence, sequence, memory_order_release);
}
