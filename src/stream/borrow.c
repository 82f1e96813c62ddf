/* SPDX-License-Identifier: Apache-2.0 */
/*
 * borrow.c - a stream uses memory that another stream freed, while that stream's work may still use
 * it: the GPU waits, the host does not.
 *
 * Memory that left its stream is under a fence (reclaim.c). Once a stream waits for that fence on the
 * GPU, its later work runs after all work on the memory, so a request in its order may use
 * the memory at once.
 *
 *   borrow   Find the oldest batches with a segment that fits, let the stream wait, and place the
 *            block there. The rest stays with the stream that freed it.
 *   gather   Let the stream wait and move whole batches to its open memory, oldest first, until
 *            there are enough bytes: the pool joins them with free memory, or maps their pieces
 *            elsewhere (pool/alias.h). Then all of it is put under a fence of this stream, so that
 *            the rest returns to the pool.
 *
 * Open memory of other streams has no fence, and their handles may be invalid. The default streams'
 * handles are always valid: their open memory is put under a fence first.
 *
 * The stream lock is held from the wait until the memory is taken or moved: until then no fence is
 * recorded that covers it without covering the wait.
 *
 * A stream in capture neither waits nor has batches. If the driver refuses a wait, nothing was
 * taken.
 */
#include "stream/stream.h"

#include "pool/alias.h"

#define STEP 64

/* lock: stream */
static bool may_wait(struct mam_streams *streams, const struct mam_stream_key *key)
{
	return key->capture == 0 && !streams->ended &&
	       !atomic_load_explicit(&streams->faulty, memory_order_relaxed) &&
	       mam_key_recordable(&streams->fences, key);
}

static bool is_ready(const struct mam_pool *pool)
{
	return atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY;
}

/* The record of a stream, or 0 */
static uint32_t record_of(const struct mam_streams *streams, const struct mam_stream_key *key)
{
	uint32_t handle = 0;

	mam_lock_take(&streams->pool->lock);
	if (is_ready(streams->pool))
		handle = mam_stream_find_locked(streams, key);
	mam_lock_release(&streams->pool->lock);
	return handle;
}

/* Put the open memory of default streams under fences. lock: none */
static void close_default(struct mam_streams *streams, const struct mam_stream_key *key)
{
	const struct mam_stream_key legacy = { .stream = MAM_STREAM_LEGACY };
	struct mam_stream_key own = mam_key_of_thread();

	if (streams->fences.lag != NULL)
		return;
	if (key->stream != MAM_STREAM_LEGACY)
		mam_stream_reclaim(streams, &legacy, true);
	if (key->stream != MAM_STREAM_PER_THREAD && record_of(streams, &own) != 0 &&
	    mam_key_of(&streams->fences, MAM_STREAM_PER_THREAD, &own) == MAM_OK)
		mam_stream_reclaim(streams, &own, true);
}

/*
 * Without ids, a batch may have memory of an earlier stream with the same handle, which only the older
 * fences cover.
 */
static bool lends(const struct mam_stream *stream, uint32_t age)
{
	return stream->lasting && stream->batches > age && stream->batch[age].fence.event != NULL;
}

/* The batch of that age with the segment that fits best. lock: stream, pool */
static uint32_t fitting_locked(const struct mam_streams *streams, uint32_t own, uint32_t age,
			       const struct mam_request *request)
{
	uint64_t min = UINT64_MAX;
	uint32_t best = 0;

	for (uint32_t at = 0; (at = mam_stream_next_locked(streams, at)) != 0;) {
		const struct mam_stream *stream = mam_stream_at(streams, at);
		uint32_t found;

		if (at == own || !lends(stream, age))
			continue;
		found = mam_streamlist_best_locked(streams->pool, stream->batch[age].list, request);
		if (found != 0 && mam_segment_at(&streams->pool->segments, found)->bytes < min) {
			min = mam_segment_at(&streams->pool->segments, found)->bytes;
			best = at;
		}
	}
	return best;
}

/* The stream waited for the batch: allocate from it. WOULD_WAIT: another thread did. */
static enum mam_status take(struct mam_streams *streams, uint32_t from, uint32_t age,
			    const struct mam_request *request, void **block)
{
	struct mam_pool *pool = streams->pool;
	enum mam_status status = MAM_ERROR_WOULD_WAIT;
	uint32_t found;

	mam_lock_take(&pool->lock);
	if (!is_ready(pool)) {
		status = MAM_ERROR_DESTROYED;
	} else {
		found = mam_streamlist_best_locked(
			pool, mam_stream_at(streams, from)->batch[age].list, request);
		if (found != 0)
			status = mam_streamlist_take_locked(pool, found, request, block);
	}
	mam_pool_unlock(pool);
	return status;
}

static bool await_batch(struct mam_streams *streams, const struct mam_stream_key *key,
			uint32_t from, uint32_t age)
{
	return mam_fence_order(&streams->fences, &mam_stream_at(streams, from)->batch[age].fence,
			       key->stream);
}

/* Whether other streams have memory without a fence. lock: stream */
static bool others_have_open(const struct mam_streams *streams, uint32_t own)
{
	bool any = false;

	mam_lock_take(&streams->pool->lock);
	for (uint32_t at = 0;
	     is_ready(streams->pool) && !any && (at = mam_stream_next_locked(streams, at)) != 0;)
		any = at != own && mam_stream_at(streams, at)->key.capture == 0 &&
		      mam_stream_has_open_locked(streams, mam_stream_at(streams, at));
	mam_lock_release(&streams->pool->lock);
	return any;
}

enum mam_status mam_stream_borrow(struct mam_pool *pool, const struct mam_request *request,
				  void **block)
{
	struct mam_streams *streams = pool->stream;
	const struct mam_stream_key *key = request->order;
	enum mam_status status = MAM_ERROR_WOULD_WAIT;
	uint32_t own, from = 0;

	close_default(streams, key);
	mam_lock_take(&streams->lock);
	own = record_of(streams, key);
	for (uint32_t age = 0; age < MAM_BATCHES && status == MAM_ERROR_WOULD_WAIT; age++) {
		mam_lock_take(&pool->lock);
		from = is_ready(pool) ? fitting_locked(streams, own, age, request) : 0;
		mam_pool_unlock(pool);
		if (from == 0)
			continue;
		if (!may_wait(streams, key) || !await_batch(streams, key, from, age))
			break;
		status = take(streams, from, age, request, block);
		mam_stream_drop_empty(streams, from);
	}
	if (status == MAM_ERROR_WOULD_WAIT && others_have_open(streams, own))
		atomic_store_explicit(&streams->lends, true, memory_order_relaxed);
	mam_lock_release(&streams->lock);
	return status;
}

/* lock: stream */
static uint64_t move(struct mam_streams *streams, uint32_t from, uint32_t age, uint32_t to)
{
	struct mam_pool *pool = streams->pool;
	uint64_t bytes = 0;
	unsigned moved;

	do {
		uint32_t list;

		moved = 0;
		mam_lock_take(&pool->lock);
		if (is_ready(pool)) {
			list = mam_stream_at(streams, from)->batch[age].list;
			bytes += mam_streamlist_at(pool, list)->bytes;
			moved = mam_streamlist_move_locked(pool, list,
							   mam_stream_at(streams, to)->open, STEP);
			bytes -= mam_streamlist_at(pool, list)->bytes;
		}
		mam_pool_unlock(pool);
	} while (moved == STEP);
	return bytes;
}

/* Move batches of that age to the stream. lock: stream */
static uint64_t move_aged(struct mam_streams *streams, const struct mam_stream_key *key,
			  uint32_t own, uint32_t age, uint64_t bytes)
{
	uint64_t moved = 0;

	for (uint32_t at = 0; moved < bytes;) {
		uint64_t size = 0;

		mam_lock_take(&streams->pool->lock);
		at = is_ready(streams->pool) ? mam_stream_next_locked(streams, at) : 0;
		if (at != 0 && at != own && lends(mam_stream_at(streams, at), age))
			size = mam_streamlist_at(streams->pool,
						 mam_stream_at(streams, at)->batch[age].list)
				       ->bytes;
		mam_lock_release(&streams->pool->lock);
		if (at == 0)
			break;
		if (size != 0 && await_batch(streams, key, at, age)) {
			moved += move(streams, at, age, own);
			mam_stream_drop_empty(streams, at);
		}
	}
	return moved;
}

uint64_t mam_stream_gather(struct mam_pool *pool, struct mam_request *request, uint64_t bytes)
{
	struct mam_streams *streams = pool->stream;
	const struct mam_stream_key *key = request->order;
	unsigned long long id;
	uint64_t moved = 0;
	uint32_t own = 0;

	close_default(streams, key);
	mam_lock_take(&streams->lock);
	if (may_wait(streams, key) && mam_stream_add(streams, key) == MAM_OK &&
	    mam_stream_identify(streams, key, &id))
		own = record_of(streams, key);
	for (uint32_t age = 0; own != 0 && age < MAM_BATCHES && moved < bytes; age++)
		moved += move_aged(streams, key, own, age, bytes - moved);
	if (moved != 0) {
		mam_lock_take(&pool->lock);
		if (is_ready(pool))
			mam_streamlist_offer_locked(pool, mam_stream_at(streams, own)->open,
						    request);
		mam_pool_unlock(pool);
	}
	mam_lock_release(&streams->lock);
	if (moved != 0)
		mam_stream_reclaim(streams, key, true);
	return moved;
}
