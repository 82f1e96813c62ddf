/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - stream-ordered allocation, free and release.
 *
 * free:   1. Which stream is it, and is it in capture? (key.c)
 *         2. Keep the block as it is, in the stream's loose list (table.h). If that is full, or the
 *            stream has not reused freed memory, join the block with the open list.
 *         3. If the open memory is large, it leaves: one event for all of it (reclaim.c).
 * alloc:  1. Which stream is it, and is it the one that its handle stood for before?
 *         2. Use a loose block of the same size. This needs no cut, join or search: a stream that
 *            requests the sizes that it freed, in any order, costs one lookup and two lists.
 *            Otherwise join the loose blocks with the open list, and take the best fit over the
 *            stream's own memory and the pool's; of equal ones, its own. The stream's own memory
 *            may be in use by its earlier work, and all work on the new block runs after that.
 *         3. If nothing fits: join free memory beside the stream's own with it. So a stream that is
 *            alone in its pool finds any run of memory that it would find if its frees took effect
 *            at once.
 *         4. If still nothing fits: all of the stream's memory leaves, and the pool grows, in a
 *            range by as little as makes one of the stream's segments large enough.
 *
 * When memory leaves. A stream that reuses the memory it freed should never need an event; one that
 * does not, or that was destroyed, should not keep much memory from others. The memory that a
 * stream is expected to reuse is its swing. For each turn (a burst of frees followed by a burst of
 * allocations), take the bytes freed or the bytes allocated, whichever is less; the swing is the
 * maximum of recent turns. A turn with less reduces the swing by an eighth, and memory that leaves
 * halves it. Memory leaves
 *   - at OPEN_LIMIT frees more than reuses or, in a stream with few frees, at an eighth of them, so
 *     that the first one leaves at once. A small amount, up to 1 MiB or the swing, leaves at
 *     LITTLE_MAX: an event costs as much as three frees;
 *   - when it is more than 32 MiB, twice the swing, and 1/512 of the pool's live bytes; or an eighth
 *     of them if the pool has no other stream;
 *   - when it is more than 1/512 of them, once a stream has lacked the open memory of another one
 *     (borrow.c): only memory under a fence can be used by other streams.
 * A pool with several streams is short when these hold more than 32 MiB and a 64th of its live
 * bytes, under fences or not. Then the limit of 32 MiB does not apply: it is for each stream, and
 * there may be many. More than a 64th of the live bytes leaves whatever the swing is: no event has
 * less memory than that. A stream with few frees may be of a task that has ended, as the driver
 * does not report when streams are destroyed. So its memory leaves at each free.
 * When the pool runs out of memory all swings are set to 0 (drain.c): no stream is expected to
 * reuse memory any more. For a stream of another context than the pool's, which no fence of the
 * pool could cover later, memory leaves at every free. The same holds for every stream if the
 * driver has no ids.
 *
 * In a capture no memory leaves: the graph will use the blocks repeatedly. Memory that was freed
 * before the capture is not used in it: the graph may run on another stream.
 */
#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>

#include "pool/grow.h"
#include "source/source.h"

#define OPEN_LIMIT 16
#define OPEN_BYTES ((uint64_t)32 << 20)
#define ALONE_SHARE 8
#define OPEN_SHARE 512
#define HELD_SHARE 64
#define LITTLE_MAX 256
#define LITTLE_BYTES ((uint64_t)1 << 20)
#define SWING_WEAR 8

enum mam_status mam_streams_attach(struct mam_pool *pool, struct mam_source *source)
{
	struct mam_streams *streams;

	if (source->properties.device < 0 && mam_source_lag(source) == NULL)
		return MAM_OK;
	streams = aligned_alloc(MAM_POOL_LINES, sizeof(*streams));
	if (streams == NULL)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	memset(streams, 0, sizeof(*streams));
	streams->pool = pool;
	mam_lock_init(&streams->lock, MAM_RANK_STREAM, "stream");
	pool->stream = streams;
	pool->drain[MAM_DRAIN_STREAM] = mam_stream_drain;
	pool->fences = &mam_stream_fences;
	return MAM_OK;
}

void mam_streams_detach(struct mam_pool *pool, struct mam_streams *streams)
{
	if (streams != NULL && streams->records.base != NULL)
		mam_records_fini(&streams->records);
	free(streams);
	pool->stream = NULL;
	pool->drain[MAM_DRAIN_STREAM] = NULL;
	pool->fences = NULL;
}

enum mam_status mam_stream_bind(struct mam_streams *streams)
{
	enum mam_status status = MAM_OK;

	if (atomic_load_explicit(&streams->bound, memory_order_acquire))
		return MAM_OK;
	mam_lock_take(&streams->lock);
	if (streams->ended)
		status = MAM_ERROR_DESTROYED;
	else if (!atomic_load_explicit(&streams->bound, memory_order_relaxed))
		status = mam_fences_bind(&streams->fences, streams->pool->source);
	if (status == MAM_OK)
		atomic_store_explicit(&streams->bound, true, memory_order_release);
	mam_lock_release(&streams->lock);
	return status;
}

static bool is_ready(const struct mam_pool *pool)
{
	return atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY;
}

static bool is_little(const struct mam_stream *stream, uint64_t bytes)
{
	return bytes <= LITTLE_BYTES || bytes <= stream->swing;
}

/* Callers' bytes; the count may be below zero (pool.h). */
static uint64_t live_locked(const struct mam_pool *pool)
{
	int64_t rounded = (int64_t)pool->counts.live_rounded_bytes;

	return rounded > 0 ? (uint64_t)rounded : 0;
}

bool mam_stream_is_short_locked(const struct mam_streams *streams)
{
	uint64_t held = streams->pool->counts.retired_bytes;

	return streams->count > 1 && held > OPEN_BYTES &&
	       held > live_locked(streams->pool) / HELD_SHARE;
}

bool mam_stream_is_due_locked(const struct mam_streams *streams, uint32_t handle)
{
	const struct mam_pool *pool = streams->pool;
	const struct mam_stream *stream = mam_stream_at(streams, handle);
	uint64_t few = 1 + stream->frees / 8;
	uint64_t live = live_locked(pool), most = OPEN_BYTES, bytes;

	if (stream->key.capture != 0)
		return false;
	if (mam_stream_leaves_at_once(streams, stream))
		return true;
	bytes = mam_streamlist_at(pool, stream->open)->bytes +
		mam_streamlist_at(pool, stream->loose)->bytes;
	if (mam_stream_is_short_locked(streams)) {
		if (stream->frees < MAM_STREAM_FREES_MIN)
			return bytes != 0;
		if (bytes > live / HELD_SHARE)
			return true;
		most = 0;
	}
	if (atomic_load_explicit(&streams->lends, memory_order_relaxed))
		return bytes > live / OPEN_SHARE;
	if (stream->frees < stream->leave_at)
		return false;
	if (stream->put >= (few < OPEN_LIMIT ? few : OPEN_LIMIT) &&
	    (few < OPEN_LIMIT || stream->put >= LITTLE_MAX || !is_little(stream, bytes)))
		return true;
	return bytes > most && bytes / 2 >= stream->swing &&
	       bytes > live / (streams->count > 1 ? OPEN_SHARE : ALONE_SHARE);
}

/* A burst of allocations has followed the last burst of frees, and now the stream frees again. */
static void end_turn(struct mam_stream *stream)
{
	uint64_t worn = stream->swing - (stream->swing + SWING_WEAR - 1) / SWING_WEAR;
	uint64_t back = stream->taken < stream->given ? stream->taken : stream->given;

	stream->swing = back > worn ? back : worn;
	stream->given = 0;
	stream->taken = 0;
}

enum mam_status mam_stream_put_locked(struct mam_streams *streams, uint32_t handle, void *block)
{
	struct mam_pool *pool = streams->pool;
	struct mam_stream *stream = mam_stream_at(streams, handle);
	uint64_t before = pool->counts.retired_bytes;
	enum mam_status status;

	if (mam_stream_leaves_at_once(streams, stream) || stream->swing == 0 ||
	    mam_streamlist_at(pool, stream->loose)->segments == MAM_LOOSE_MAX)
		status = mam_streamlist_put_locked(pool, stream->open, (uintptr_t)block);
	else
		status = mam_streamlist_keep_locked(pool, stream->loose, (uintptr_t)block);
	if (status == MAM_OK) {
		if (stream->taken != 0)
			end_turn(stream);
		stream->given += pool->counts.retired_bytes - before;
		stream->frees++;
		stream->put++;
	}
	return status;
}

static enum mam_status add(struct mam_streams *streams, const struct mam_stream_key *key)
{
	enum mam_status status;

	mam_lock_take(&streams->lock);
	status = streams->ended ? MAM_ERROR_DESTROYED : mam_stream_add(streams, key);
	mam_lock_release(&streams->lock);
	return status;
}

enum mam_status mam_stream_query_slowly(struct mam_pool *pool, struct CUstream_st *stream,
					bool with_id, struct mam_stream_now *now)
{
	struct mam_streams *streams = pool->stream;
	enum mam_status status;

	if (!is_ready(pool))
		return MAM_ERROR_DESTROYED;
	status = mam_stream_bind(streams);
	if (status == MAM_OK)
		status = mam_key_of(&streams->fences, stream, &now->key);
	if (status != MAM_OK)
		return status;
	now->id = 0;
	now->has_id = with_id && !mam_key_is_whole(&now->key) &&
		      mam_key_id(&streams->fences, &now->key, &now->id);
	return MAM_OK;
}

enum mam_status mam_stream_put(struct mam_pool *pool, void *block, size_t requested,
			       const struct mam_stream_key *key, struct mam_tally *tally, bool *due)
{
	struct mam_streams *streams = pool->stream;
	enum mam_status status = MAM_ERROR_WOULD_WAIT;
	uint32_t handle = 0;

	mam_lock_take(&pool->lock);
	mam_pool_meet_locked(pool, tally);
	if (!is_ready(pool))
		status = MAM_ERROR_DESTROYED;
	else
		handle = mam_stream_find_locked(streams, key);
	if (handle != 0) {
		mam_stream_seen_locked(streams, key);
		if (requested != 0)
			mam_pool_amend_locked(pool, block, requested);
		status = mam_stream_put_locked(streams, handle, block);
		*due = status == MAM_OK && mam_stream_is_due_locked(streams, handle);
	}
	mam_pool_unlock(pool);
	return status;
}

enum mam_status mam_stream_meet(struct mam_pool *pool, const struct mam_stream_key *key)
{
	return add(pool->stream, key);
}

enum mam_status mam_stream_free(struct mam_pool *pool, void *block, struct CUstream_st *stream)
{
	struct mam_tally none = { 0 };
	struct mam_stream_now now;
	enum mam_status status;
	bool due = false;

	if (pool->stream == NULL)
		return mam_pool_free(pool, block);
	status = mam_stream_query(pool, stream, false, &now);
	if (status != MAM_OK)
		return status;
	while ((status = mam_stream_put(pool, block, 0, &now.key, &none, &due)) ==
	       MAM_ERROR_WOULD_WAIT) {
		status = mam_stream_meet(pool, &now.key);
		if (status != MAM_OK)
			return status;
	}
	if (due)
		mam_stream_reclaim(pool->stream, &now.key, false);
	return status;
}

/* The key's stream, if its memory may be used on it; the record of another stream is orphaned. */
static uint32_t owner_locked(struct mam_streams *streams, const struct mam_stream_key *key,
			     bool has_id, unsigned long long id)
{
	uint32_t handle = mam_stream_find_locked(streams, key);
	const struct mam_stream *stream;

	if (handle == 0 || key->capture == MAM_CAPTURE_UNKNOWN)
		return 0;
	stream = mam_stream_at(streams, handle);
	if (mam_key_is_whole(key))
		return handle;
	if (!stream->lasting || !has_id)
		return 0;
	if (stream->id == id)
		return handle;
	mam_stream_orphan_locked(streams, handle);
	return 0;
}

/* The best fit in the stream's own memory, preferably an exact loose block; 0: nothing fits. */
static uint32_t find_own_locked(struct mam_streams *streams, const struct mam_stream *stream,
				const struct mam_request *request)
{
	struct mam_pool *pool = streams->pool;
	uint32_t own = mam_streamlist_best_locked(pool, stream->loose, request);

	if (own != 0 && mam_segment_at(&pool->segments, own)->bytes == request->bytes)
		return own;
	mam_stream_tidy_locked(streams, stream);
	return mam_streamlist_best_locked(pool, stream->open, request);
}

/* Allocate from the stream's own memory, if that fits at least as well as the pool's. */
static bool take_own_locked(struct mam_streams *streams, struct mam_stream *stream,
			    const struct mam_request *request, enum mam_status *status,
			    void **block)
{
	struct mam_pool *pool = streams->pool;
	uint32_t own = find_own_locked(streams, stream, request);
	uint64_t own_bytes = mam_segment_at(&pool->segments, own)->bytes;
	uint32_t other = 0;

	if (own != 0 && own_bytes != request->bytes)
		other = mam_space_find_locked(pool, request);
	if (own == 0 || (other != 0 && mam_segment_at(&pool->segments, other)->bytes < own_bytes))
		return false;
	*status = mam_streamlist_take_locked(pool, own, request, block);
	stream->put -= stream->put != 0;
	return true;
}

static enum mam_status alloc_locked(struct mam_streams *streams, const struct mam_stream_now *now,
				    struct mam_request *request, void **block, bool *own)
{
	struct mam_pool *pool = streams->pool;
	enum mam_status status = MAM_OK;
	struct mam_stream *stream;
	uint32_t handle;

	if (!is_ready(pool))
		return MAM_ERROR_DESTROYED;
	if (mam_pool_is_suspended(pool)) { /* the stream's own memory, too */
		pool->counts.failures++;
		return MAM_ERROR_SUSPENDED;
	}
	mam_stream_seen_locked(streams, &now->key);
	handle = owner_locked(streams, &now->key, now->has_id, now->id);
	*own = handle != 0;
	stream = mam_stream_at(streams, handle);
	if (handle == 0 || !take_own_locked(streams, stream, request, &status, block))
		status = mam_space_take_locked(pool, request, block);
	if (handle != 0 && status == MAM_ERROR_WOULD_WAIT) {
		mam_streamlist_offer_locked(pool, stream->open, request);
		status = mam_streamlist_serve_locked(pool, request, block);
		stream->put -= status == MAM_OK && stream->put != 0;
	}
	if (handle != 0 && status == MAM_OK)
		stream->taken += request->bytes;
	if (status != MAM_OK && status != MAM_ERROR_WOULD_WAIT)
		pool->counts.failures++;
	return status;
}

enum mam_status mam_stream_take(struct mam_pool *pool, const struct mam_stream_now *now,
				struct mam_request *request, struct mam_tally *tally, void **block,
				bool *own)
{
	enum mam_status status;

	mam_lock_take(&pool->lock);
	mam_pool_meet_locked(pool, tally);
	status = alloc_locked(pool->stream, now, request, block, own);
	mam_pool_unlock(pool);
	return status;
}

enum mam_status mam_stream_grow(struct mam_pool *pool, const struct mam_stream_key *key,
				const struct mam_request *request, bool own, void **block)
{
	struct mam_request ordered = *request;

	if (own)
		mam_stream_reclaim(pool->stream, key, true);
	ordered.order = key;
	return mam_grow_for(pool, &ordered, block);
}

/* A failed request is counted, whatever the reason. */
enum mam_status mam_stream_refuse(struct mam_pool *pool, enum mam_status status)
{
	mam_lock_take(&pool->lock);
	pool->counts.failures++;
	mam_pool_unlock(pool);
	return status;
}

enum mam_status mam_stream_alloc(struct mam_pool *pool, size_t bytes, struct CUstream_st *stream,
				 void **block)
{
	struct mam_tally none = { 0 };
	struct mam_request request;
	struct mam_stream_now now;
	enum mam_status status;
	bool own = false;

	if (!mam_stream_is_any(pool) || mam_space_shape(pool, bytes, 0, &request) != MAM_OK)
		return mam_pool_alloc(pool, bytes, 0, block);
	status = mam_stream_query(pool, stream, true, &now);
	if (status == MAM_ERROR_DESTROYED)
		return status;
	if (status != MAM_OK)
		return mam_stream_refuse(pool, status);
	status = mam_stream_take(pool, &now, &request, &none, block, &own);
	return status == MAM_ERROR_WOULD_WAIT
		       ? mam_stream_grow(pool, &now.key, &request, own, block)
		       : status;
}

/* Memory freed in captures of this stream becomes normal open memory of the stream. */
static void free_captured(struct mam_streams *streams, const struct mam_stream_key *key,
			  unsigned long long id)
{
	struct mam_pool *pool = streams->pool;

	mam_lock_take(&pool->lock);
	mam_stream_seen_locked(streams, key);
	for (uint32_t at = 0; is_ready(pool) && (at = mam_stream_next_locked(streams, at)) != 0;) {
		const struct mam_stream *stream = mam_stream_at(streams, at);
		uint32_t base = mam_stream_find_locked(streams, key);

		if (base == 0 || stream->key.capture == 0 || stream->key.stream != key->stream ||
		    stream->key.thread != key->thread)
			continue;
		if (stream->id != 0 && id != 0 && stream->id != id) /* of a destroyed stream */
			continue;
		mam_stream_tidy_locked(streams, stream);
		(void)mam_streamlist_move_locked(pool, stream->open,
						 mam_stream_at(streams, base)->open, UINT32_MAX);
		mam_stream_forget_locked(streams, at);
	}
	mam_pool_unlock(pool);
}

enum mam_status mam_stream_let_go(struct mam_pool *pool, struct CUstream_st *stream)
{
	struct mam_streams *streams = pool->stream;
	struct mam_stream_now now;
	enum mam_status status;

	if (!is_ready(pool))
		return MAM_ERROR_DESTROYED;
	if (!mam_stream_is_any(pool))
		return MAM_OK;
	status = mam_stream_query(pool, stream, true, &now);
	if (status != MAM_OK || now.key.capture != 0)
		return status;
	mam_lock_take(&pool->lock);
	if (is_ready(pool))
		(void)owner_locked(streams, &now.key, now.has_id, now.id);
	mam_pool_unlock(pool);
	status = add(streams, &now.key);
	if (status != MAM_OK)
		return status;
	mam_lock_take(&streams->lock);
	free_captured(streams, &now.key, now.id);
	mam_lock_release(&streams->lock);
	mam_stream_reclaim(streams, &now.key, true);
	return MAM_OK;
}
