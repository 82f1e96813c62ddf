/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retire.c - blocks that are freed and must not be reused yet.
 *
 * Work that was submitted before a free may still access the block. A caller that knows when that
 * work is done retires the block now and reclaims it then. Meanwhile the block is in no free list
 * and is not joined, and costs no more than its record, which is linked into the queue.
 *
 * retire:  the block is removed from the map of blocks and the live counts, and its record is
 * appended to the queue with its ticket. Tickets count retirements, and the queue is in their
 * order. Blocks that threads keep (cache/kept.h) also have tickets, but are not in the queue.
 * reclaim: from the front of the queue, release as a free would. The lock is released after every
 * BATCH, so that a long queue does not block other threads for long.
 *
 * Bound: O(1) to retire, O(log n) per block to reclaim.
 */
#include "pool/batch.h"

#include "pool/space.h"
#include "pool/handle.h"

#define BATCH 64

/* Append a block that no caller holds any more. Returns its bytes. */
static uint64_t append_locked(struct mam_pool *pool, uint32_t handle)
{
	struct mam_segment *segment = mam_segment_at(&pool->segments, handle);

	segment->state = MAM_SEGMENT_RETIRED;
	segment->retired_next = 0;
	segment->retired_ticket = ++pool->retired_ticket;
	if (pool->retired_first == 0)
		pool->retired_first = handle;
	else
		mam_segment_at(&pool->segments, pool->retired_last)->retired_next = handle;
	pool->retired_last = handle;
	return segment->bytes;
}

enum mam_status mam_pool_set_aside(struct mam_pool *pool, void *block, uint64_t *ticket,
				   size_t *bytes)
{
	enum mam_status status;
	uint64_t retired;
	uint32_t handle;

	if (pool == NULL)
		return MAM_ERROR_INVALID_VALUE;
	mam_lock_take(&pool->lock);
	status = mam_space_end_locked(pool, (uintptr_t)block, &handle);
	if (status == MAM_OK) {
		retired = append_locked(pool, handle);
		pool->counts.retired_blocks++;
		pool->counts.retired_bytes += retired;
		mam_pool_peak(&pool->counts.peak_retired_bytes, pool->counts.retired_bytes);
		if (ticket != NULL)
			*ticket = pool->retired_ticket;
		if (bytes != NULL)
			*bytes = retired;
		mam_pool_prove_locked(pool);
	}
	mam_pool_unlock(pool);
	return status;
}

uint64_t mam_pool_ticket(struct mam_pool *pool, uint64_t blocks, struct mam_tally *tally)
{
	uint64_t ticket;

	mam_lock_take(&pool->lock);
	mam_pool_meet_locked(pool, tally);
	pool->retired_ticket += blocks;
	ticket = pool->retired_ticket;
	mam_pool_unlock(pool);
	return ticket;
}

/* They are already counted as retired, and not as cached. */
void mam_pool_set_aside_batch(struct mam_pool *pool, void *const *blocks, size_t count,
			      struct mam_tally *tally)
{
	struct mam_callers noted;
	uint64_t joined = 0, bytes = 0;
	uint32_t handle;

	mam_lock_take(&pool->lock);
	mam_pool_meet_locked(pool, tally);
	noted = mam_pool_lend_locked(pool);
	for (size_t i = 0; i < count; i++) {
		if (mam_space_end_locked(pool, (uintptr_t)blocks[i], &handle) != MAM_OK)
			continue;
		bytes += append_locked(pool, handle);
		joined++;
	}
	pool->counts.live_blocks += joined;
	pool->counts.live_rounded_bytes += bytes;
	mam_pool_lent_locked(pool, &noted);
	pool->kept_blocks -= joined;
	pool->kept_bytes -= bytes;
	mam_pool_unlock(pool);
}

/* Reclaim the oldest block, if its ticket is not above `ticket`; returns its bytes, or 0. */
static uint64_t reclaim_one_locked(struct mam_pool *pool, uint64_t ticket)
{
	uint32_t handle = pool->retired_first;
	struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	uint64_t bytes = segment->bytes;

	if (handle == 0 || segment->retired_ticket > ticket)
		return 0;
	pool->retired_first = segment->retired_next;
	pool->counts.retired_blocks--;
	pool->counts.retired_bytes -= bytes;
	mam_space_release_locked(pool, handle);
	return bytes;
}

/* Threads that keep blocks with these tickets may reuse them. */
static void pass_locked(struct mam_pool *pool, uint64_t ticket)
{
	if (ticket > pool->retired_ticket)
		ticket = pool->retired_ticket;
	if (ticket > atomic_load_explicit(&pool->passed_ticket, memory_order_relaxed))
		atomic_store_explicit(&pool->passed_ticket, ticket, memory_order_release);
}

static enum mam_status reclaim(struct mam_pool *pool, uint64_t ticket, size_t *reclaimed)
{
	enum mam_status status = MAM_OK;
	size_t sum = 0;
	uint64_t bytes;

	do {
		bytes = 0;
		mam_lock_take(&pool->lock);
		if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
			status = MAM_ERROR_DESTROYED;
		else
			pass_locked(pool, ticket);
		for (int i = 0; status == MAM_OK && i < BATCH; i++) {
			bytes = reclaim_one_locked(pool, ticket);
			if (bytes == 0)
				break;
			sum += bytes;
		}
		mam_pool_unlock(pool);
	} while (bytes != 0);
	if (status == MAM_OK && reclaimed != NULL)
		*reclaimed = sum;
	return status;
}

enum mam_status mam_pool_reclaim(struct mam_pool *handle, uint64_t ticket, size_t *reclaimed)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status = mam_handle_begin(handle, &pool, &section);

	if (status != MAM_OK)
		return status;
	status = reclaim(pool, ticket, reclaimed);
	mam_epoch_leave(section);
	return status;
}
