/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retire.c - blocks that are freed and not to be handed out yet.
 *
 * Work that was submitted before a free may still touch the block. Who knows when that work is done
 * retires the block now and reclaims it then; meanwhile its ground stays out of the shelf and
 * unjoined, and costs nothing more than its record, in which the queue runs.
 *
 * retire:  the block leaves the map of blocks and the live counts; its record goes to the queue's
 *          end. Tickets count retirements, so a queue in their order needs no ticket in the record:
 *          its oldest has the number after the last one reclaimed.
 * reclaim: from the queue's front, release as a free would. The lock is let go after every BATCH, so
 *          that a long queue keeps nobody waiting long.
 *
 * Bound: O(1) to retire, O(log n) a block to reclaim.
 */
#include "pool/pool.h"

#include "pool/ground.h"
#include "pool/handle.h"

#define BATCH 64

enum mam_status mam_pool_set_aside(struct mam_pool *pool, void *block, uint64_t *ticket,
				   size_t *bytes)
{
	struct mam_segment *segment;
	enum mam_status status;
	uint32_t handle;

	if (pool == NULL)
		return MAM_ERROR_INVALID_VALUE;
	mam_lock_take(&pool->lock);
	status = mam_ground_end_locked(pool, (uintptr_t)block, &handle);
	if (status == MAM_OK) {
		segment = mam_segment_at(&pool->segments, handle);
		segment->state = MAM_SEGMENT_RETIRED;
		segment->retired_next = 0;
		if (pool->retired_first == 0)
			pool->retired_first = handle;
		else
			mam_segment_at(&pool->segments, pool->retired_last)->retired_next = handle;
		pool->retired_last = handle;
		pool->counts.retired_blocks++;
		pool->counts.retired_bytes += segment->bytes;
		mam_pool_peak(&pool->counts.peak_retired_bytes, pool->counts.retired_bytes);
		pool->retired_ticket++;
		if (ticket != NULL)
			*ticket = pool->retired_ticket;
		if (bytes != NULL)
			*bytes = segment->bytes;
		mam_pool_prove_locked(pool);
	}
	mam_lock_release(&pool->lock);
	return status;
}

/* The oldest one, if its ticket is not above; how many bytes, or 0. */
static uint64_t reclaim_one_locked(struct mam_pool *pool, uint64_t ticket)
{
	uint32_t handle = pool->retired_first;
	struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	uint64_t bytes = segment->bytes;

	if (handle == 0 || pool->reclaimed_ticket >= ticket)
		return 0;
	pool->retired_first = segment->retired_next;
	pool->reclaimed_ticket++;
	pool->counts.retired_blocks--;
	pool->counts.retired_bytes -= bytes;
	mam_ground_release_locked(pool, handle);
	return bytes;
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
		for (int i = 0; status == MAM_OK && i < BATCH; i++) {
			bytes = reclaim_one_locked(pool, ticket);
			if (bytes == 0)
				break;
			sum += bytes;
		}
		mam_lock_release(&pool->lock);
	} while (bytes != 0);
	if (status == MAM_OK && reclaimed != NULL)
		*reclaimed = sum;
	return status;
}

enum mam_status mam_pool_reclaim(struct mam_pool *handle, uint64_t ticket, size_t *reclaimed)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status;

	if (handle == NULL)
		return MAM_ERROR_INVALID_VALUE;
	pool = mam_handle_enter(handle, &section);
	if (pool == NULL)
		return MAM_ERROR_DESTROYED;
	status = reclaim(pool, ticket, reclaimed);
	mam_epoch_leave(section);
	return status;
}
