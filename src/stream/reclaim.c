/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reclaim.c - memory leaves its stream.
 *
 *   collect  Query the oldest batch's fence. If it has passed, the batch's memory is returned to
 *            the pool, and the next one is queried. So memory waits for the fences of all batches
 *            up to its own.
 *   leave    The stream's open list becomes a batch, and an empty list replaces it. Then the fence
 *            is recorded: all memory in the batch was freed before that, and memory freed later is
 *            put into the new list.
 *
 * A query costs more than a record. A stream with a burst of frees would find the same fence
 * pending again and again, so a query that found one delays the next one by LOOK_EVERY frees.
 *
 * If all batches are in use, open memory stays open and the next attempt comes after a few more
 * frees; or, if it must leave, it joins the newest batch, whose fence is recorded again. It must
 * leave a stream with few frees in a pool that is short (stream.c): there may be no more frees.
 *
 * A block that is freed later draws its neighbors in earlier batches along (pool/streamlist.h): they are
 * joined with it, and wait for the later fence as well.
 *
 * Loose blocks are joined first, so that memory leaves in few segments.
 *
 * Before the record the stream's id is queried: is this handle still the stream that had these
 * frees? (key.c) If not, the record belongs to a stream that was destroyed: an orphan (table.h). If
 * the driver has no ids, memory that did not leave at once is treated as an orphan's too.
 *
 * Bound: the pool's lock is released after each STEP segments.
 */
#include "stream/stream.h"

#define STEP 64
#define OPEN_LIMIT 16 /* as in stream.c: frees until the next try */
#define LOOK_EVERY 4

void mam_stream_give(struct mam_streams *streams, uint32_t list)
{
	struct mam_pool *pool = streams->pool;
	unsigned given;

	do {
		given = 0;
		mam_lock_take(&pool->lock);
		if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY)
			given = mam_streamlist_release_locked(pool, list, STEP);
		mam_pool_unlock(pool);
	} while (given == STEP);
}

/* Remove the oldest batch, which is empty; then the next list follows no other. */
static void drop_oldest(struct mam_streams *streams, uint32_t handle)
{
	struct mam_pool *pool = streams->pool;
	struct mam_stream *stream;
	struct mam_fence_batch oldest;

	mam_lock_take(&pool->lock);
	stream = mam_stream_at(streams, handle);
	oldest = stream->batch[0];
	stream->batches--;
	for (uint32_t i = 0; i < stream->batches; i++)
		stream->batch[i] = stream->batch[i + 1];
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY) {
		mam_streamlist_follow_locked(
			pool, stream->batches != 0 ? stream->batch[0].list : stream->open, 0);
		mam_streamlist_end_locked(pool, oldest.list);
	}
	mam_pool_unlock(pool);
	mam_fence_drop(&streams->fences, &oldest.fence);
}

/* Whether the oldest batch is under a fence, and has no memory left. */
static bool is_used_up(const struct mam_streams *streams, uint32_t handle)
{
	const struct mam_streamlist *list;
	const struct mam_stream *stream;
	bool used_up = false;

	mam_lock_take(&streams->pool->lock);
	stream = mam_stream_at(streams, handle);
	if (atomic_load_explicit(&streams->pool->state, memory_order_relaxed) == MAM_POOL_READY &&
	    stream->batches != 0 && stream->batch[0].fence.event != NULL) {
		list = mam_streamlist_at(streams->pool, stream->batch[0].list);
		used_up = list->segments == 0 && list->moving == 0;
	}
	mam_pool_unlock(streams->pool);
	return used_up;
}

void mam_stream_drop_empty(struct mam_streams *streams, uint32_t handle)
{
	while (is_used_up(streams, handle))
		drop_oldest(streams, handle);
}

bool mam_stream_collect(struct mam_streams *streams, uint32_t handle)
{
	const struct mam_stream *stream = mam_stream_at(streams, handle);
	bool any = false;

	while (stream->batches != 0 && stream->batch[0].fence.event != NULL) {
		enum mam_fence_state state =
			mam_fence_look(&streams->fences, &stream->batch[0].fence);

		if (state == MAM_FENCE_FAULTY)
			atomic_store_explicit(&streams->faulty, true, memory_order_relaxed);
		if (state != MAM_FENCE_PASSED)
			break;
		mam_stream_give(streams, stream->batch[0].list);
		drop_oldest(streams, handle);
		any = true;
	}
	return any;
}

/* Find the stream and join its loose blocks with the open list. */
static uint32_t find(struct mam_streams *streams, const struct mam_stream_key *key, bool *open,
		     bool *look, bool *is_short)
{
	const struct mam_stream *stream;
	uint32_t handle = 0;

	mam_lock_take(&streams->pool->lock);
	if (atomic_load_explicit(&streams->pool->state, memory_order_relaxed) == MAM_POOL_READY)
		handle = mam_stream_find_locked(streams, key);
	if (handle != 0) {
		stream = mam_stream_at(streams, handle);
		mam_stream_tidy_locked(streams, stream);
		*open = mam_stream_has_open_locked(streams, stream);
		*look = stream->frees >= stream->look_at || stream->batches == MAM_BATCHES;
		*is_short =
			stream->frees < MAM_STREAM_FREES_MIN && mam_stream_is_short_locked(streams);
	}
	mam_pool_unlock(streams->pool);
	return handle;
}

/* Memory left without being reused: halve the bytes that the stream is expected to reuse. */
static void count_from_here(struct mam_stream *stream)
{
	stream->put = 0;
	stream->swing /= 2;
}

/* Move open memory to the newest batch. Returns its former fence, which the caller must drop. */
static struct mam_fence join_newest(struct mam_streams *streams, uint32_t handle)
{
	struct mam_pool *pool = streams->pool;
	struct mam_fence_batch *newest;
	struct mam_fence fence;
	unsigned moved;

	do {
		struct mam_stream *stream;

		mam_lock_take(&pool->lock);
		stream = mam_stream_at(streams, handle);
		newest = &stream->batch[stream->batches - 1];
		moved = mam_streamlist_move_locked(pool, stream->open, newest->list, STEP);
		mam_pool_unlock(pool);
	} while (moved == STEP);
	mam_lock_take(&pool->lock);
	count_from_here(mam_stream_at(streams, handle));
	fence = newest->fence;
	newest->fence.event = NULL;
	mam_pool_unlock(pool);
	return fence;
}

/*
 * The open list becomes the newest batch. The new open list follows it: fences are queried in
 * order, so the new list is released later. False: there is no room.
 */
static bool open_anew(struct mam_streams *streams, uint32_t handle)
{
	struct mam_pool *pool = streams->pool;
	struct mam_stream *stream;
	uint32_t fresh;
	bool good = false;

	mam_lock_take(&pool->lock);
	stream = mam_stream_at(streams, handle);
	if (stream->batches < MAM_BATCHES && mam_streamlist_begin_locked(pool, &fresh) == MAM_OK) {
		stream->batch[stream->batches++] = (struct mam_fence_batch){ .list = stream->open };
		mam_streamlist_follow_locked(pool, fresh, stream->open);
		stream->open = fresh;
		count_from_here(stream);
		good = true;
	}
	mam_pool_unlock(pool);
	return good;
}

static bool newest_is_bare(const struct mam_stream *stream)
{
	return stream->batches != 0 && stream->batch[stream->batches - 1].fence.event == NULL;
}

/* If each call may be another stream (no ids), memory never joins an existing batch. */
static void leave(struct mam_streams *streams, uint32_t handle, bool all)
{
	const struct mam_stream *stream = mam_stream_at(streams, handle);
	bool foreign = stream->context != streams->fences.device.context;
	struct mam_fence fence, earlier = { .event = NULL };

	if (newest_is_bare(stream) || !open_anew(streams, handle)) {
		if (!stream->lasting || stream->batches == 0 ||
		    !(newest_is_bare(stream) || all || foreign))
			return;
		earlier = join_newest(streams, handle);
	}
	if (mam_fence_record(&streams->fences, stream->context, stream->key.stream, &fence)) {
		mam_lock_take(&streams->pool->lock);
		mam_stream_at(streams, handle)->batch[stream->batches - 1].fence = fence;
		mam_pool_unlock(streams->pool);
	}
	mam_fence_drop(&streams->fences, &earlier);
}

/* Whether the handle still stands for the stream of the record. */
static bool is_same(const struct mam_streams *streams, const struct mam_stream *stream)
{
	unsigned long long id;

	if (mam_key_is_whole(&stream->key) || !stream->lasting)
		return true;
	return mam_key_id(&streams->fences, &stream->key, &id) && id == stream->id;
}

/* A fence was queried and has not passed. */
static void put_off(struct mam_streams *streams, uint32_t handle)
{
	mam_lock_take(&streams->pool->lock);
	mam_stream_at(streams, handle)->look_at =
		mam_stream_at(streams, handle)->frees + LOOK_EVERY;
	mam_pool_unlock(streams->pool);
}

/* Delay the next attempt; orphan the record if memory should have left and did not. */
static void note(struct mam_streams *streams, uint32_t handle, bool same)
{
	struct mam_stream *stream;
	uint64_t wait;

	mam_lock_take(&streams->pool->lock);
	if (atomic_load_explicit(&streams->pool->state, memory_order_relaxed) == MAM_POOL_READY) {
		stream = mam_stream_at(streams, handle);
		wait = 1 + stream->frees / 8;
		stream->leave_at = stream->frees;
		if (stream->batches == MAM_BATCHES)
			stream->leave_at += wait < OPEN_LIMIT ? wait : OPEN_LIMIT;
		if (!stream->lasting &&
		    (newest_is_bare(stream) || mam_stream_has_open_locked(streams, stream)))
			same = false;
		if (!same && !stream->orphan)
			mam_stream_orphan_locked(streams, handle);
	}
	mam_pool_unlock(streams->pool);
}

void mam_stream_reclaim(struct mam_streams *streams, const struct mam_stream_key *key, bool all)
{
	const struct mam_stream *stream;
	uint32_t handle = 0;
	bool open = false, look = false, is_short = false;
	bool same;

	if (key->capture != 0 || atomic_load_explicit(&streams->faulty, memory_order_relaxed))
		return;
	mam_lock_take(&streams->lock);
	if (!streams->ended)
		handle = find(streams, key, &open, &look, &is_short);
	if (handle != 0) {
		stream = mam_stream_at(streams, handle);
		if (look || all) {
			mam_stream_collect(streams, handle);
			if (stream->batches != 0)
				put_off(streams, handle);
		}
		same = is_same(streams, stream);
		if (open && same && stream->context != NULL &&
		    mam_key_recordable(&streams->fences, key))
			leave(streams, handle,
			      all || is_short ||
				      atomic_load_explicit(&streams->lends, memory_order_relaxed));
		note(streams, handle, same);
	}
	mam_lock_release(&streams->lock);
}
