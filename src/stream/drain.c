/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.c - the pool needs memory and reclaims it from streams (pool/drain.h).
 *
 * PASSED  Release every batch whose fence has passed. From now on streams release memory sooner: no
 * stream is expected to reuse freed memory until it has done so again (stream.c).
 * ALL     The same, with a wait for each fence. The open memory of streams remains: their handles
 * may be invalid, so no event can be recorded in them. It is moved to one list, and then the whole
 * context is waited for: all work that any stream had before is complete after that, whether the
 * stream still exists or not.
 *         The wait takes a small allocation, which is made before anything is moved. If the device
 *         has no memory left for it, only a wait is possible that ends every capture of the
 *         context. If then a capture is known to be active, or a blocking stream is in one, open
 *         memory stays where it is.
 * END     Wait for all fences and destroy the events.
 *
 * The stream lock is not held while waiting: streams can continue to free.
 */
#include "stream/stream.h"

#include "base/log.h"
#include "pool/alias.h"

#define STEP 64

static bool collect_all(struct mam_streams *streams)
{
	uint32_t at = 0;
	bool any = false;

	for (;;) {
		mam_lock_take(&streams->pool->lock);
		at = mam_stream_next_locked(streams, at);
		if (at != 0)
			mam_stream_at(streams, at)->swing = 0;
		mam_pool_unlock(streams->pool);
		if (at == 0)
			return any;
		any |= mam_stream_collect(streams, at);
	}
}

/* The first fence that has not passed. One of the two locks is enough to read it. */
static bool first_pending(const struct mam_streams *streams, struct mam_fence *fence)
{
	for (uint32_t at = 0; (at = mam_stream_next_locked(streams, at)) != 0;) {
		const struct mam_stream *stream = mam_stream_at(streams, at);

		if (stream->batches != 0 && stream->batch[0].fence.event != NULL) {
			*fence = stream->batch[0].fence;
			return true;
		}
	}
	return false;
}

static uint32_t count_batches(const struct mam_streams *streams)
{
	uint32_t count = 0;

	for (uint32_t at = 0; (at = mam_stream_next_locked(streams, at)) != 0;)
		count += mam_stream_at(streams, at)->batches;
	return count;
}

static bool is_faulty(const struct mam_streams *streams)
{
	return atomic_load_explicit(&streams->faulty, memory_order_relaxed);
}

/* Waits for as many fences as there are now: streams that continue to free do not prolong it. */
static bool await_fences(struct mam_streams *streams)
{
	struct mam_fence fence;
	uint32_t left;
	bool any, more = true;

	mam_lock_take(&streams->lock);
	left = count_batches(streams);
	any = collect_all(streams);
	while (more && left-- != 0 && !is_faulty(streams) && first_pending(streams, &fence)) {
		mam_lock_release(&streams->lock);
		more = mam_fence_wait(&streams->fences, &fence);
		mam_lock_take(&streams->lock);
		any |= collect_all(streams);
	}
	mam_lock_release(&streams->lock);
	return any;
}

/* Move a list to the one that waits for the whole context. */
static void sweep_hold(struct mam_streams *streams, uint32_t list)
{
	struct mam_pool *pool = streams->pool;
	unsigned moved;

	do {
		mam_lock_take(&pool->lock);
		moved = mam_streamlist_move_locked(pool, list, streams->swept, STEP);
		mam_pool_unlock(pool);
	} while (moved == STEP);
}

/* A graph may run again; the pool's fences do not cover another context's work. */
static bool can_be_swept(const struct mam_streams *streams, const struct mam_stream *stream)
{
	return stream->key.capture == 0 && stream->context == streams->fences.device.context;
}

static void sweep_stream(struct mam_streams *streams, uint32_t at)
{
	const struct mam_stream *stream = mam_stream_at(streams, at);
	uint32_t open;

	if (!can_be_swept(streams, stream))
		return;
	mam_lock_take(&streams->pool->lock);
	mam_stream_tidy_locked(streams, stream);
	open = stream->open;
	mam_pool_unlock(streams->pool);
	sweep_hold(streams, open);
	for (uint32_t i = 0; i < stream->batches; i++)
		if (stream->batch[i].fence.event == NULL)
			sweep_hold(streams, stream->batch[i].list);
}

static void sweep(struct mam_streams *streams)
{
	struct mam_pool *pool = streams->pool;
	enum mam_status status = MAM_OK;
	uint32_t at = 0;

	mam_lock_take(&pool->lock);
	if (streams->swept == 0)
		status = mam_streamlist_begin_locked(pool, &streams->swept);
	mam_pool_unlock(pool);
	while (status == MAM_OK) {
		mam_lock_take(&pool->lock);
		at = mam_stream_next_locked(streams, at);
		mam_pool_unlock(pool);
		if (at == 0)
			break;
		sweep_stream(streams, at);
	}
}

/* Free the records of orphans without memory. */
static void bury(struct mam_streams *streams)
{
	mam_lock_take(&streams->pool->lock);
	for (uint32_t at = 0; (at = mam_stream_next_locked(streams, at)) != 0;) {
		const struct mam_stream *stream = mam_stream_at(streams, at);

		if (stream->orphan && stream->batches == 0 && stream->pins == 0 &&
		    !mam_stream_has_open_locked(streams, stream))
			mam_stream_forget_locked(streams, at);
	}
	mam_pool_unlock(streams->pool);
}

static bool may_wait(const struct mam_streams *streams, unsigned long long *ticket)
{
	const struct mam_stream_key legacy = { .stream = MAM_STREAM_LEGACY };
	bool captures =
		mam_stream_captures(streams) || !mam_key_recordable(&streams->fences, &legacy);

	return !is_faulty(streams) && mam_fences_may_wait(&streams->fences, captures, ticket);
}

/* Is there memory that a wait for all would free, or memory left from one that failed? */
static bool is_any_open(const struct mam_streams *streams)
{
	const struct mam_pool *pool = streams->pool;
	uint32_t at = 0;
	bool any;

	mam_lock_take(&streams->pool->lock);
	any = streams->swept != 0 && mam_streamlist_at(pool, streams->swept)->segments != 0;
	while (!any && (at = mam_stream_next_locked(streams, at)) != 0) {
		const struct mam_stream *stream = mam_stream_at(streams, at);

		if (!can_be_swept(streams, stream))
			continue;
		any = mam_stream_has_open_locked(streams, stream);
		for (uint32_t i = 0; i < stream->batches; i++)
			any |= stream->batch[i].fence.event == NULL;
	}
	mam_pool_unlock(streams->pool);
	return any;
}

/* Only the holder of grow_lock calls this, so no other call uses the swept list. */
static bool await_open(struct mam_streams *streams)
{
	unsigned long long ticket = 0;
	bool any;

	mam_lock_take(&streams->lock);
	any = is_any_open(streams) && may_wait(streams, &ticket);
	if (any)
		sweep(streams);
	mam_lock_release(&streams->lock);
	if (any && !mam_fences_wait_all(&streams->fences, ticket)) {
		mam_log(MAM_LOG_WARN,
			"pool %s: cannot wait for the device's work; memory freed on streams is "
			"not reclaimed",
			streams->pool->config.name);
		return false;
	}
	mam_lock_take(&streams->lock);
	if (any)
		mam_stream_give(streams, streams->swept);
	bury(streams);
	mam_lock_release(&streams->lock);
	return any;
}

/* The pool has ended: lists no longer matter, only work that may still use the memory. */
static void end(struct mam_streams *streams)
{
	unsigned long long ticket = 0;
	bool open = false;

	if (streams->pool->range != NULL)
		mam_alias_end(streams->pool);
	mam_lock_take(&streams->lock);
	streams->ended = true;
	for (uint32_t at = 0; (at = mam_stream_next_locked(streams, at)) != 0;) {
		struct mam_stream *stream = mam_stream_at(streams, at);

		open |= mam_stream_has_open_locked(streams, stream);
		for (uint32_t i = 0; i < stream->batches; i++) {
			struct mam_fence *fence = &stream->batch[i].fence;

			if (fence->event == NULL || !mam_fence_wait(&streams->fences, fence))
				open = true;
			mam_fence_drop(&streams->fences, fence);
		}
	}
	if (atomic_load_explicit(&streams->bound, memory_order_relaxed)) {
		if (open && may_wait(streams, &ticket) &&
		    mam_fences_wait_all(&streams->fences, ticket))
			open = false;
		mam_fences_end(&streams->fences);
	}
	mam_lock_take(&streams->pool->lock);
	if (open) /* the pool must wait before it unmaps memory */
		streams->pool->unfenced = true;
	if (streams->records.base != NULL)
		mam_records_fini(&streams->records);
	mam_pool_unlock(streams->pool);
	mam_lock_release(&streams->lock);
}

bool mam_stream_drain(struct mam_pool *pool, enum mam_drain_level level)
{
	struct mam_streams *streams = pool->stream;
	bool any = false;

	if (level == MAM_DRAIN_END) {
		end(streams);
		return false;
	}
	if (!atomic_load_explicit(&streams->any, memory_order_acquire) ||
	    atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		return false;
	/* After an error the driver is tried again if the request would fail otherwise. */
	if (level == MAM_DRAIN_ALL)
		atomic_store_explicit(&streams->faulty, false, memory_order_relaxed);
	if (is_faulty(streams))
		return false;
	if (level == MAM_DRAIN_PASSED) {
		mam_lock_take(&streams->lock);
		any = collect_all(streams);
		mam_lock_release(&streams->lock);
		return any;
	}
	any = await_fences(streams);
	return await_open(streams) || any;
}
