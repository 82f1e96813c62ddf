/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remap.c - the steps of remap.h.
 *
 * A step:
 *   1. Under the lock: reserve records, cut the piece and its destination out of free and unmapped
 *      segments and set them MOVING. After this, nothing can fail for lack of host memory.
 *   2. Without the lock: wait for the device if a block was freed without a wait since the last
 *      time (its work may still access a piece that will be unmapped); call the source. A caller
 *      that may not wait is refused in step 1.
 *   3. Under the lock: MOVING becomes VOID or FREE, depending on the source's result.
 *
 * If a mapping returns DRIVER, the addresses are LOST: the driver may have failed to undo the
 * mapping, and then every later mapping there fails as well. Growth skips them until no other
 * addresses are left.
 *
 * Bound: O(log n) per step and one source call; pick checks free pieces until none can be better.
 */
#include "pool/remap.h"

#include "base/clock.h"
#include "index/addrtree.h"
#include "source/source.h"

#define SPARE_RECORDS (4 * MAM_SEGMENT_RECORDS) /* two cuts, each with two */

void mam_remap_count_locked(struct mam_pool *pool, int64_t bytes)
{
	struct mam_stats *counts = &pool->counts;

	counts->physical_bytes += (uint64_t)bytes;
	counts->reserved_bytes = counts->physical_bytes;
	mam_pool_peak(&counts->peak_physical_bytes, counts->physical_bytes);
	mam_pool_peak(&counts->peak_reserved_bytes, counts->physical_bytes);
	if (bytes > 0)
		counts->grows++;
	else
		counts->shrinks++;
}

static bool has_ended_locked(const struct mam_pool *pool)
{
	return atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_ENDED;
}

/* The segment in state `state` that covers [from, to); 0: there is none. */
static uint32_t covering_locked(const struct mam_pool *pool, uint64_t from, uint64_t to,
				uint32_t state)
{
	uint32_t handle = mam_addrtree_find(&pool->segments, pool->by_address, from);
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);

	return handle != 0 && segment->state == state && mam_segment_end(segment) >= to ? handle
											: 0;
}

/* Set [from, to) of a segment in state `state` MOVING; 0: it is no longer in that state. */
static uint32_t seize_locked(struct mam_pool *pool, uint64_t from, uint64_t to, uint32_t state)
{
	uint32_t handle = covering_locked(pool, from, to, state);

	if (handle != 0) {
		handle = mam_space_carve_locked(pool, handle, from, to);
		mam_segment_at(&pool->segments, handle)->state = MAM_SEGMENT_MOVING;
	}
	return handle;
}

/* Check that the pool has not ended, and reserve records for two cuts. */
static enum mam_status begin_locked(struct mam_pool *pool)
{
	if (has_ended_locked(pool))
		return MAM_ERROR_DESTROYED;
	return mam_records_reserve(&pool->segments, SPARE_RECORDS);
}

struct mam_piece mam_edge_place(const struct mam_edge *edge, uint64_t bytes)
{
	return (struct mam_piece){ edge->down ? edge->at - bytes : edge->at, bytes };
}

void mam_edge_advance(struct mam_edge *edge, uint64_t bytes)
{
	edge->at = edge->down ? edge->at - bytes : edge->at + bytes;
	if (edge->down)
		edge->keep_from = edge->at;
	else
		edge->keep_to = edge->at;
}

/* Whether work on freed blocks may still be running; the caller must then wait for it. */
static bool take_unfenced_locked(struct mam_pool *pool)
{
	bool unfenced = pool->unfenced;

	pool->unfenced = false;
	return unfenced;
}

static bool would_wait_locked(const struct mam_pool *pool)
{
	return pool->unfenced && pool->source->ops->quiesce != NULL;
}

static enum mam_status fence(struct mam_pool *pool, bool unfenced)
{
	return unfenced ? mam_source_quiesce(pool->source) : MAM_OK;
}

/* No memory was mapped at this place. */
void mam_remap_leave_locked(struct mam_pool *pool, uint32_t handle, enum mam_status status)
{
	if (status == MAM_ERROR_DRIVER)
		mam_segment_at(&pool->segments, handle)->state = MAM_SEGMENT_LOST;
	else
		mam_space_become_locked(pool, handle, MAM_SEGMENT_UNMAPPED);
}

bool mam_remap_would_wait(struct mam_pool *pool)
{
	bool would_wait;

	mam_lock_take(&pool->lock);
	would_wait = would_wait_locked(pool);
	mam_pool_unlock(pool);
	return would_wait;
}

bool mam_remap_revive_locked(struct mam_pool *pool)
{
	uint32_t at = mam_addrtree_first(&pool->segments, pool->by_address);
	bool any = false;

	while (at != 0) {
		uint64_t base = mam_segment_at(&pool->segments, at)->base;

		if (mam_segment_at(&pool->segments, at)->state == MAM_SEGMENT_LOST) {
			mam_space_become_locked(pool, at, MAM_SEGMENT_UNMAPPED);
			at = mam_addrtree_find(&pool->segments, pool->by_address, base);
			any = true;
		}
		at = mam_addrtree_next(&pool->segments, at);
	}
	return any;
}

void mam_remap_prefer(struct mam_free_piece *best, unsigned part, const struct mam_piece *piece,
		      uint64_t want, uint64_t max)
{
	uint64_t have = best->piece.bytes;

	if (piece->bytes > max)
		return;
	if (have < want ? piece->bytes > have : piece->bytes >= want && piece->bytes < have)
		*best = (struct mam_free_piece){ part, *piece };
}

/* A piece with a second address is not released, nor moved, until that one is unmapped. */
static void look_at_free_block(const struct mam_pieces *pieces,
			       const struct mam_segment *free_block, uint64_t want, uint64_t max,
			       unsigned part, struct mam_free_piece *best)
{
	uint64_t end = mam_segment_end(free_block);
	struct mam_piece piece;
	uint64_t from = free_block->base;

	for (; mam_pieces_first(pieces, from, end, &piece); from = piece.base + piece.bytes)
		if (!mam_pieces_has_twin(pieces, piece.base))
			mam_remap_prefer(best, part, &piece, want, max);
}

/* Ends early at a piece than which none can be better. */
static void look_at_part(const struct mam_pool *pool, unsigned part, const struct mam_edge *edge,
			 uint64_t want, uint64_t max, struct mam_free_piece *best)
{
	const struct mam_range_part *here = &pool->range->part[part];
	uint64_t most = pool->range->piece_max < max ? pool->range->piece_max : max;
	uint64_t ideal = want < most ? want : most;
	uint64_t unit = (uint64_t)1 << here->pieces.unit_shift;
	uint32_t first = mam_freelists_largest(&here->free_blocks, &pool->segments);
	uint32_t at;

	while (first != 0 && mam_segment_at(&pool->segments, first)->bytes >= unit) {
		for (at = first; at != 0; at = mam_segment_at(&pool->segments, at)->peer_next) {
			const struct mam_segment *free_block = mam_segment_at(&pool->segments, at);

			if (edge == NULL || free_block->base >= edge->keep_to ||
			    mam_segment_end(free_block) <= edge->keep_from)
				look_at_free_block(&here->pieces, free_block, want, max, part,
						   best);
			if (best->piece.bytes == ideal)
				return;
		}
		first = mam_freelists_below(&here->free_blocks, &pool->segments,
					    mam_segment_at(&pool->segments, first)->bytes);
	}
}

bool mam_remap_pick(struct mam_pool *pool, const struct mam_edge *edge, uint64_t want, uint64_t max,
		    struct mam_free_piece *found)
{
	struct mam_free_piece best = { 0 };

	mam_lock_take(&pool->lock);
	if (!has_ended_locked(pool))
		for (unsigned part = 0; part < MAM_RANGE_PARTS; part++)
			look_at_part(pool, part, edge, want, max, &best);
	mam_pool_unlock(pool);
	*found = best;
	return best.piece.bytes != 0;
}

enum mam_status mam_remap_fresh(struct mam_pool *pool, struct mam_edge *edge, uint64_t bytes)
{
	struct mam_piece place = mam_edge_place(edge, bytes);
	uint64_t began, ended;
	enum mam_status status;
	uint32_t handle = 0;

	mam_lock_take(&pool->lock);
	status = begin_locked(pool);
	if (status == MAM_OK) {
		handle = seize_locked(pool, place.base, place.base + bytes, MAM_SEGMENT_UNMAPPED);
		if (handle == 0)
			status = MAM_ERROR_WOULD_WAIT;
	}
	mam_pool_unlock(pool);
	if (status != MAM_OK)
		return status;

	began = mam_clock_ns();
	status = mam_source_map(pool->source, (void *)(uintptr_t)place.base, bytes);
	ended = mam_clock_ns();

	mam_lock_take(&pool->lock);
	mam_pool_called_locked(pool, ended - began);
	if (status == MAM_OK) {
		mam_pieces_put(&pool->range->part[edge->part].pieces, place.base, bytes);
		if (bytes > pool->range->piece_max)
			pool->range->piece_max = bytes;
		mam_remap_count_locked(pool, (int64_t)bytes);
		mam_edge_advance(edge, bytes);
	}
	if (status == MAM_OK)
		mam_space_become_locked(pool, handle, MAM_SEGMENT_FREE);
	else
		mam_remap_leave_locked(pool, handle, status);
	mam_pool_prove_locked(pool);
	mam_pool_unlock(pool);
	return status;
}

/* Source and destination of a move, MOVING. */
struct seized {
	uint32_t from;
	uint32_t to;
	bool unfenced;
};

static enum mam_status seize_both(struct mam_pool *pool, const struct mam_piece *from,
				  const struct mam_piece *to, bool may_wait, struct seized *seized)
{
	enum mam_status status;

	mam_lock_take(&pool->lock);
	status = begin_locked(pool);
	if (status == MAM_OK && !may_wait && would_wait_locked(pool))
		status = MAM_ERROR_WOULD_WAIT;
	if (status == MAM_OK) {
		uint64_t end = from->base + from->bytes;

		seized->from = seize_locked(pool, from->base, end, MAM_SEGMENT_FREE);
		seized->to = to == NULL || seized->from == 0
				     ? 0
				     : seize_locked(pool, to->base, to->base + to->bytes,
						    MAM_SEGMENT_UNMAPPED);
		if (seized->from == 0 || (to != NULL && seized->to == 0))
			status = MAM_ERROR_WOULD_WAIT;
		if (status != MAM_OK && seized->from != 0)
			mam_space_become_locked(pool, seized->from, MAM_SEGMENT_FREE);
		seized->unfenced = status == MAM_OK && take_unfenced_locked(pool);
	}
	mam_pool_unlock(pool);
	return status;
}

/* The wait for the device failed: nothing moves. */
static void put_back(struct mam_pool *pool, const struct seized *seized)
{
	mam_lock_take(&pool->lock);
	pool->unfenced = true;
	mam_space_become_locked(pool, seized->from, MAM_SEGMENT_FREE);
	if (seized->to != 0)
		mam_space_become_locked(pool, seized->to, MAM_SEGMENT_UNMAPPED);
	mam_pool_unlock(pool);
}

enum mam_status mam_remap_move(struct mam_pool *pool, struct mam_edge *edge,
			       const struct mam_free_piece *from, bool may_wait)
{
	struct mam_piece to = mam_edge_place(edge, from->piece.bytes);
	struct seized seized = { 0 };
	enum mam_status status = seize_both(pool, &from->piece, &to, may_wait, &seized);
	uint64_t began, ended;
	bool lost = false;

	if (status != MAM_OK)
		return status;
	status = fence(pool, seized.unfenced);
	if (status != MAM_OK) {
		put_back(pool, &seized);
		return status;
	}
	began = mam_clock_ns();
	status = mam_source_move(pool->source, (void *)(uintptr_t)from->piece.base, to.bytes,
				 (void *)(uintptr_t)to.base, &lost);
	ended = mam_clock_ns();

	mam_lock_take(&pool->lock);
	mam_pool_called_locked(pool, ended - began);
	if (status == MAM_OK || lost)
		mam_pieces_take(&pool->range->part[from->part].pieces, from->piece.base);
	if (status == MAM_OK) {
		mam_pieces_put(&pool->range->part[edge->part].pieces, to.base, to.bytes);
		pool->counts.remaps++;
		mam_edge_advance(edge, to.bytes);
	} else if (lost) {
		mam_remap_count_locked(pool, -(int64_t)to.bytes);
	}
	if (lost)
		mam_remap_leave_locked(pool, seized.from, status);
	else
		mam_space_become_locked(pool, seized.from,
					status == MAM_OK ? MAM_SEGMENT_UNMAPPED : MAM_SEGMENT_FREE);
	if (status == MAM_OK)
		mam_space_become_locked(pool, seized.to, MAM_SEGMENT_FREE);
	else
		mam_remap_leave_locked(pool, seized.to, status);
	mam_pool_prove_locked(pool);
	mam_pool_unlock(pool);
	return status;
}

enum mam_status mam_remap_release(struct mam_pool *pool, const struct mam_free_piece *from,
				  bool may_wait)
{
	struct seized seized = { 0 };
	enum mam_status status = seize_both(pool, &from->piece, NULL, may_wait, &seized);
	uint64_t began, ended;

	if (status != MAM_OK)
		return status;
	status = fence(pool, seized.unfenced);
	if (status != MAM_OK) {
		put_back(pool, &seized);
		return status;
	}
	began = mam_clock_ns();
	status = mam_source_unmap(pool->source, (void *)(uintptr_t)from->piece.base,
				  from->piece.bytes);
	ended = mam_clock_ns();

	mam_lock_take(&pool->lock);
	mam_pool_called_locked(pool, ended - began);
	if (status == MAM_OK) {
		mam_pieces_take(&pool->range->part[from->part].pieces, from->piece.base);
		mam_remap_count_locked(pool, -(int64_t)from->piece.bytes);
	}
	mam_space_become_locked(pool, seized.from,
				status == MAM_OK ? MAM_SEGMENT_UNMAPPED : MAM_SEGMENT_FREE);
	mam_pool_prove_locked(pool);
	mam_pool_unlock(pool);
	return status;
}
