/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suspend.c - the steps of suspend.h.
 *
 * Bound: one source call for each piece; list reads each word of the tables of pieces.
 */
#include "pool/suspend.h"

#include <stdlib.h>

#include "base/clock.h"
#include "index/addrtree.h"
#include "pool/alias.h"
#include "pool/grow.h"
#include "pool/remap.h"
#include "source/source.h"

enum mam_status mam_suspend_set(struct mam_pool *pool, bool suspended)
{
	enum mam_status status = MAM_OK;

	mam_lock_take(&pool->lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		status = MAM_ERROR_DESTROYED;
	else
		atomic_store_explicit(&pool->suspended, suspended, memory_order_relaxed);
	mam_pool_unlock(pool);
	return status;
}

enum mam_status mam_suspend_settle(struct mam_pool *pool)
{
	enum mam_status status;
	uint64_t released;
	bool unfenced;

	(void)mam_grow_drain(pool, MAM_DRAIN_ALL);
	mam_lock_take(&pool->lock);
	unfenced = pool->unfenced;
	pool->unfenced = false;
	mam_pool_unlock(pool);
	status = mam_source_quiesce(pool->source);
	if (status != MAM_OK) {
		mam_lock_take(&pool->lock);
		pool->unfenced |= unfenced;
		mam_pool_unlock(pool);
		return status;
	}
	mam_alias_collect(pool, true);
	/* A free piece that stays is suspended like the others. */
	(void)mam_range_trim(pool, 0, &released);
	return MAM_OK;
}

/* Call for each piece with one address. `list` NULL: only count. */
static size_t list_part(const struct mam_pool *pool, unsigned part, struct mam_suspended *list,
			uint64_t *bytes)
{
	const struct mam_pieces *pieces = &pool->range->part[part].pieces;
	uint64_t from = pieces->base, end = from + (pieces->units << pieces->unit_shift);
	struct mam_piece piece;
	size_t count = 0;

	for (; mam_pieces_first(pieces, from, end, &piece); from = piece.base + piece.bytes) {
		if (mam_pieces_has_twin(pieces, piece.base))
			continue;
		if (list != NULL)
			list[count] =
				(struct mam_suspended){ piece, *bytes, part, MAM_SUSPENDED_LOADED };
		*bytes += piece.bytes;
		count++;
	}
	return count;
}

enum mam_status mam_suspend_list(const struct mam_pool *pool, struct mam_suspension *suspension)
{
	uint64_t bytes = 0;
	size_t count = 0;

	for (unsigned part = 0; part < MAM_RANGE_PARTS; part++)
		count += list_part(pool, part, NULL, &bytes);
	suspension->pieces = calloc(count + 1, sizeof(*suspension->pieces));
	if (suspension->pieces == NULL)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	suspension->bytes = 0;
	suspension->count = 0;
	for (unsigned part = 0; part < MAM_RANGE_PARTS; part++)
		suspension->count += list_part(pool, part, &suspension->pieces[suspension->count],
					       &suspension->bytes);
	return MAM_OK;
}

/* After a source call for a piece that began at `began`. */
static void note(struct mam_pool *pool, struct mam_suspended *suspended, enum mam_status status,
		 enum mam_suspended_state state, uint64_t began)
{
	int64_t bytes = (int64_t)suspended->piece.bytes;
	uint64_t ended = mam_clock_ns();

	mam_lock_take(&pool->lock);
	mam_pool_called_locked(pool, ended - began);
	if (status == MAM_OK) {
		mam_remap_count_locked(pool, state == MAM_SUSPENDED_OUT ? -bytes : bytes);
		pool->counts.suspended_bytes +=
			(uint64_t)(state == MAM_SUSPENDED_OUT ? bytes : -bytes);
		suspended->state = state;
	}
	mam_pool_prove_locked(pool);
	mam_pool_unlock(pool);
}

enum mam_status mam_suspend_release(struct mam_pool *pool, struct mam_suspended *suspended)
{
	uint64_t began = mam_clock_ns();
	enum mam_status status = mam_source_unmap(
		pool->source, (void *)(uintptr_t)suspended->piece.base, suspended->piece.bytes);

	note(pool, suspended, status, MAM_SUSPENDED_OUT, began);
	return status;
}

/* The free segment that contains all of the piece; 0: some of the piece is in use. */
static uint32_t free_around_locked(const struct mam_pool *pool, const struct mam_piece *piece)
{
	uint32_t handle = mam_addrtree_find(&pool->segments, pool->by_address, piece->base);
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);

	return handle != 0 && segment->state == MAM_SEGMENT_FREE &&
			       mam_segment_end(segment) >= piece->base + piece->bytes
		       ? handle
		       : 0;
}

bool mam_suspend_is_free(struct mam_pool *pool, const struct mam_suspended *suspended)
{
	bool is_free;

	mam_lock_take(&pool->lock);
	is_free = free_around_locked(pool, &suspended->piece) != 0;
	mam_pool_unlock(pool);
	return is_free;
}

/* If all of the piece is free, its addresses become unmapped ones. */
static bool vacate(struct mam_pool *pool, struct mam_suspended *suspended)
{
	const struct mam_piece *piece = &suspended->piece;
	bool done = false;
	uint32_t handle;

	mam_lock_take(&pool->lock);
	handle = free_around_locked(pool, piece);
	if (handle != 0 &&
	    mam_records_reserve(&pool->segments, 2 * MAM_SEGMENT_RECORDS) == MAM_OK) {
		handle = mam_space_carve_locked(pool, handle, piece->base,
						piece->base + piece->bytes);
		mam_pieces_take(&pool->range->part[suspended->part].pieces, piece->base);
		mam_space_become_locked(pool, handle, MAM_SEGMENT_UNMAPPED);
		pool->counts.suspended_bytes -= piece->bytes;
		suspended->state = MAM_SUSPENDED_GONE;
		done = true;
	}
	mam_pool_prove_locked(pool);
	mam_pool_unlock(pool);
	return done;
}

/* Both are changed by the holder of grow_lock only. */
static bool exceeds_limit(const struct mam_pool *pool, uint64_t bytes)
{
	uint64_t limit = pool->config.limit_bytes, held = pool->counts.physical_bytes;

	return limit != 0 && (held > limit || bytes > limit - held);
}

enum mam_status mam_suspend_map(struct mam_pool *pool, struct mam_suspended *suspended)
{
	enum mam_status status;
	uint64_t began;

	if (vacate(pool, suspended))
		return MAM_OK;
	if (exceeds_limit(pool, suspended->piece.bytes))
		return MAM_ERROR_OUT_OF_MEMORY;
	began = mam_clock_ns();
	status = mam_source_map(pool->source, (void *)(uintptr_t)suspended->piece.base,
				suspended->piece.bytes);
	note(pool, suspended, status, MAM_SUSPENDED_MAPPED, began);
	return status;
}

void mam_suspend_keep(struct mam_pool *pool, struct mam_suspension *suspension)
{
	mam_lock_take(&pool->lock);
	pool->suspension = suspension;
	if (suspension == NULL)
		atomic_store_explicit(&pool->suspended, false, memory_order_relaxed);
	mam_pool_unlock(pool);
}

/* Pieces that are OUT leave the table: the pool unmaps the others, unless it is abandoned. */
void mam_suspend_end(struct mam_pool *pool, bool abandoned)
{
	struct mam_suspension *suspension = pool->suspension;

	if (pool->kept != NULL)
		pool->kept->end(pool->kept, abandoned);
	pool->kept = NULL;
	if (suspension == NULL)
		return;
	for (size_t i = 0; i < suspension->count; i++)
		if (suspension->pieces[i].state == MAM_SUSPENDED_OUT)
			mam_pieces_take(&pool->range->part[suspension->pieces[i].part].pieces,
					suspension->pieces[i].piece.base);
	mam_suspend_keep(pool, NULL);
	suspension->end(suspension, abandoned);
}
