/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - the invariants of pool.h, in C. One scan in address order adds up everything that the
 * pool counts.
 */
#include "pool/pool.h"

#include "index/addrtree.h"
#include "pool/streamlist.h"
#include "pool/range.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sums of the scan. */
struct totals {
	uint64_t segments;
	uint64_t live;
	uint64_t retired;
	uint64_t retired_bytes;
	uint64_t held; /* retired ones in stream free lists */
	uint64_t held_bytes;
	uint64_t listed;
	uint64_t unmapped;
	uint64_t live_bytes;
	uint64_t live_rounded;
	uint64_t chunks;
	uint64_t reserved;
	uint64_t high;
};

static const char *check_segment(const struct mam_pool *pool, const struct mam_chunk *chunk,
				 uint32_t chunk_handle, uint32_t handle, struct totals *totals,
				 uint64_t *live_here)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	uint64_t mask = pool->config.granule - 1;

	if (segment->state != MAM_SEGMENT_FREE && segment->state != MAM_SEGMENT_LIVE &&
	    segment->state != MAM_SEGMENT_RETIRED && !mam_streamlist_is(segment->state) &&
	    (pool->range == NULL ||
	     (segment->state != MAM_SEGMENT_UNMAPPED && segment->state != MAM_SEGMENT_MOVING &&
	      segment->state != MAM_SEGMENT_LOST && segment->state != MAM_SEGMENT_LEAVING)))
		return "a chunk's list contains an unused record";
	if (segment->chunk != chunk_handle)
		return "a segment names the wrong chunk";
	if (segment->bytes == 0 || (segment->bytes & mask) != 0 || (segment->base & mask) != 0)
		return "a segment does not consist of whole granules";
	totals->segments++;
	if (segment->state == MAM_SEGMENT_MOVING || segment->state == MAM_SEGMENT_LOST ||
	    segment->state == MAM_SEGMENT_LEAVING)
		return NULL;
	if (segment->state == MAM_SEGMENT_UNMAPPED) {
		totals->unmapped++;
		return segment->next != 0 &&
				       mam_segment_at(&pool->segments, segment->next)->state ==
					       MAM_SEGMENT_UNMAPPED
			       ? "two unmapped segments are neighbors"
			       : NULL;
	}
	if (segment->state == MAM_SEGMENT_FREE) {
		bool is_tail = segment->next == 0 && chunk_handle == pool->newest_chunk &&
			       pool->range == NULL;

		if (segment->next != 0 &&
		    mam_segment_at(&pool->segments, segment->next)->state == MAM_SEGMENT_FREE)
			return "two free segments are neighbors";
		if (is_tail != (pool->tail == handle))
			return "the tail is not the free end of the newest chunk";
		totals->listed += is_tail ? 0 : 1;
		return NULL;
	}
	if (mam_segment_end(segment) - chunk->base > chunk->high)
		return "a block is above its chunk's high mark";
	(*live_here)++;
	if (mam_streamlist_is(segment->state)) {
		totals->held++;
		totals->held_bytes += segment->bytes;
		if (segment->next != 0 &&
		    mam_segment_at(&pool->segments, segment->next)->state == segment->state &&
		    !mam_streamlist_at(pool, segment->state - MAM_SEGMENT_HELD)->loose)
			return "two segments of one stream free list are neighbors";
	}
	if (segment->state == MAM_SEGMENT_RETIRED || mam_streamlist_is(segment->state)) {
		totals->retired++;
		totals->retired_bytes += segment->bytes;
		return NULL;
	}
	if (segment->requested == 0 || segment->requested > segment->bytes)
		return "a block is smaller than the requested size";
	totals->live++;
	totals->live_bytes += segment->requested;
	totals->live_rounded += segment->bytes;
	return NULL;
}

/* Scan one chunk by the address tree, from its first segment; leaves *at after the chunk. */
static const char *check_chunk(const struct mam_pool *pool, uint32_t *at, struct totals *totals)
{
	uint32_t chunk_handle = mam_segment_at(&pool->segments, *at)->chunk;
	const struct mam_chunk *chunk = mam_chunk_at(&pool->chunks, chunk_handle);
	uint64_t expected = chunk->base;
	uint64_t live_here = 0;
	uint32_t previous = 0;
	const char *fault;

	for (;;) {
		const struct mam_segment *segment = mam_segment_at(&pool->segments, *at);
		uint32_t next = segment->next;

		if (segment->base != expected)
			return "a chunk's segments leave a gap or overlap";
		if (segment->prev != previous)
			return "a segment's link to the one below is wrong";
		fault = check_segment(pool, chunk, chunk_handle, *at, totals, &live_here);
		if (fault != NULL)
			return fault;
		expected = mam_segment_end(segment);
		previous = *at;
		*at = mam_addrtree_next(&pool->segments, *at);
		if (next == 0)
			break;
		if (next != *at)
			return "a segment's link to the one above is wrong";
	}
	if (expected != chunk->base + chunk->bytes)
		return "a chunk's segments do not reach its end";
	if (chunk->last != previous)
		return "a chunk's last segment is wrong";
	if (chunk->live_blocks != live_here)
		return "a chunk's count of live blocks is wrong";
	if (chunk->high > chunk->bytes)
		return "a chunk's high mark is above its end";
	totals->chunks++;
	totals->reserved += chunk->bytes;
	totals->high += chunk->high;
	return NULL;
}

/* Live counts may be below zero for a while: mam_pool_peak(). */
static bool is_below(uint64_t peak, uint64_t value)
{
	return (int64_t)peak < (int64_t)value;
}

static const char *check_counts(const struct mam_pool *pool, const struct totals *totals)
{
	const struct mam_stats *counts = &pool->counts;

	if (counts->segments != totals->segments)
		return "the count of segments is wrong";
	/* A cached block is live to the pool, and its record does not have the requested size. */
	if (counts->live_blocks + counts->cached_blocks + pool->kept_blocks != totals->live ||
	    counts->allocs - counts->frees != counts->live_blocks ||
	    pool->blocks.count != totals->live)
		return "the count of live or of cached blocks is wrong";
	if ((pool->cache == NULL && counts->cached_blocks == 0 &&
	     counts->live_bytes != totals->live_bytes) ||
	    counts->live_rounded_bytes + counts->cached_bytes + pool->kept_bytes !=
		    totals->live_rounded)
		return "the count of live or of cached bytes is wrong";
	if (counts->retired_blocks != totals->retired + pool->kept_blocks ||
	    counts->retired_bytes != totals->retired_bytes + pool->kept_bytes)
		return "the count of retired blocks is wrong";
	if (counts->chunks != totals->chunks || counts->reserved_bytes != totals->reserved)
		return "the count of chunks or reserved bytes is wrong";
	if (pool->high_bytes != totals->high)
		return "the high water is not the sum of the chunks'";
	/* With caches, some threads have not flushed their frees yet: see mam_pool_peak_live(). */
	if ((pool->cache == NULL &&
	     (is_below(counts->peak_live_blocks, counts->live_blocks) ||
	      is_below(counts->peak_live_bytes, counts->live_bytes) ||
	      is_below(counts->peak_live_rounded_bytes, counts->live_rounded_bytes))) ||
	    counts->peak_reserved_bytes < totals->reserved ||
	    counts->high_water_bytes < totals->high)
		return "a peak is below its present value";
	if (pool->config.limit_bytes != 0 && totals->reserved > pool->config.limit_bytes &&
	    !pool->over_limit)
		return "the pool holds more than its limit";
	return NULL;
}

static const char *check_chunk_list(const struct mam_pool *pool, uint64_t chunks)
{
	uint64_t count = 0;
	uint32_t newer = 0;
	uint32_t at;

	for (at = pool->newest_chunk; at != 0; at = mam_chunk_at(&pool->chunks, at)->older) {
		if (mam_chunk_at(&pool->chunks, at)->newer != newer || ++count > chunks)
			return "the list of chunks is damaged";
		newer = at;
	}
	return count == chunks ? NULL : "a chunk is missing from the list of chunks";
}

/* Oldest to newest, as many as the scan found. */
static const char *check_retired(const struct mam_pool *pool, uint64_t retired)
{
	uint64_t count = 0;
	uint32_t last = 0;
	uint32_t at;

	for (at = pool->retired_first; at != 0;
	     at = mam_segment_at(&pool->segments, at)->retired_next) {
		if (mam_segment_at(&pool->segments, at)->state != MAM_SEGMENT_RETIRED ||
		    ++count > retired)
			return "the queue of retired blocks is damaged";
		last = at;
	}
	return count == retired && (last == pool->retired_last || retired == 0)
		       ? NULL
		       : "a block is missing from the queue of retired blocks";
}

static const char *check_records(const struct mam_records *records, uint64_t in_use)
{
	return records->touched - 1u - records->idle_count == in_use ? NULL : "a record was lost";
}

/* Segments and the groups they are in. */
static const char *check_segment_records(const struct mam_pool *pool)
{
	uint64_t segments;
	uint64_t groups;
	const char *fault =
		mam_addrtree_check(&pool->segments, pool->by_address, &segments, &groups);

	return fault != NULL ? fault : check_records(&pool->segments, segments + groups);
}

static const char *check_freelists(const struct mam_pool *pool, uint64_t listed)
{
	uint64_t count;
	const char *fault = mam_freelists_check(&pool->freelists, &pool->segments, &count);

	if (fault == NULL && count != listed)
		fault = "the free lists do not contain exactly the free segments";
	return fault;
}

const char *mam_pool_fault_locked(struct mam_pool *pool)
{
	struct totals totals = { 0 };
	uint64_t in_tree;
	uint64_t groups;
	const char *fault =
		mam_addrtree_check(&pool->segments, pool->by_address, &in_tree, &groups);
	uint32_t at = fault == NULL ? mam_addrtree_first(&pool->segments, pool->by_address) : 0;

	while (fault == NULL && at != 0)
		fault = check_chunk(pool, &at, &totals);
	if (fault == NULL && in_tree != totals.segments)
		fault = "the tree by address and the chunks' lists differ";
	if (fault == NULL && pool->range != NULL)
		totals.reserved = pool->counts.physical_bytes;
	if (fault == NULL)
		fault = pool->range != NULL
				? mam_range_fault_locked(pool, totals.listed, totals.unmapped)
				: check_freelists(pool, totals.listed);
	if (fault == NULL)
		fault = check_counts(pool, &totals);
	if (fault == NULL)
		fault = check_chunk_list(pool, totals.chunks);
	if (fault == NULL)
		fault = check_retired(pool, totals.retired - totals.held);
	if (fault == NULL)
		fault = mam_holds_check(pool, totals.held, totals.held_bytes);
	if (fault == NULL)
		fault = mam_blockmap_check(&pool->blocks, &pool->segments);
	return fault;
}

enum mam_status mam_pool_audit(struct mam_pool *pool, char *why, size_t why_bytes)
{
	const char *fault = NULL;
	enum mam_status status = MAM_OK;

	if (pool == NULL)
		return MAM_ERROR_INVALID_VALUE;
	mam_lock_take(&pool->lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		status = MAM_ERROR_DESTROYED;
	else
		fault = mam_pool_fault_locked(pool);
	if (status == MAM_OK && fault == NULL)
		fault = check_segment_records(pool);
	if (status == MAM_OK && fault == NULL)
		fault = check_records(&pool->chunks, pool->counts.chunks);
	mam_lock_release(&pool->lock);
	if (fault == NULL)
		return status;
	if (why != NULL && why_bytes != 0)
		snprintf(why, why_bytes, "%s", fault);
	return MAM_ERROR_CORRUPT;
}

#if MAM_DEBUG >= 2
void mam_pool_prove_locked(struct mam_pool *pool)
{
	const char *fault = mam_pool_fault_locked(pool);

	if (fault != NULL) {
		fprintf(stderr, "mam: pool %s: %s\n", pool->config.name, fault);
		abort();
	}
}
#endif
