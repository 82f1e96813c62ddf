/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settle.c - ground leaves its stream.
 *
 *   collect  Ask the oldest batch's fence. If it has passed, the batch's ground is the pool's, and
 *            the next one is asked. So memory waits for the fences of all batches up to its own.
 *   leave    What the stream has open becomes a batch, with an empty hold in its place, and then
 *            the fence is recorded: all that is in the batch was freed before that, and what is
 *            freed later goes to the new hold.
 *
 * A look costs more than a record. Who frees much at a time would find the same fence pending again
 * and again, so a look that found one puts off the next by LOOK_EVERY frees.
 *
 * With all places for batches taken, open ground stays open and nobody asks again before a few more
 * frees; or, if it must leave, it joins the newest batch, whose fence is recorded again.
 *
 * A block that is freed later draws its neighbors in earlier batches along (pool/hold.h): they are
 * joined with it, and wait for the later fence as well.
 *
 * What is loose is joined first: ground leaves in few pieces.
 *
 * Before the record the stream's id is asked: is this handle still the stream that had these frees?
 * (key.c) If not, the record is of a stream that is gone: an orphan (table.h). Where the driver has
 * no ids, ground that did not leave at once is an orphan's too.
 *
 * Bound: the pool's lock is let go after each STEP segments.
 */
#include "stream/stream.h"

#define STEP 64
#define OPEN_MOST 16 /* as in stream.c: frees until the next try */
#define LOOK_EVERY 4

void mam_stream_give(struct mam_streams *streams, uint32_t hold)
{
	struct mam_pool *pool = streams->pool;
	unsigned given;

	do {
		given = 0;
		mam_lock_take(&pool->lock);
		if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY)
			given = mam_hold_release_locked(pool, hold, STEP);
		mam_lock_release(&pool->lock);
	} while (given == STEP);
}

/* The oldest batch is empty, and the next one follows none. */
static void drop_oldest(struct mam_streams *streams, uint32_t handle)
{
	struct mam_pool *pool = streams->pool;
	struct mam_stream *stream;
	struct mam_batch oldest;

	mam_lock_take(&pool->lock);
	stream = mam_stream_at(streams, handle);
	oldest = stream->batch[0];
	stream->batches--;
	for (uint32_t i = 0; i < stream->batches; i++)
		stream->batch[i] = stream->batch[i + 1];
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY) {
		mam_hold_follow_locked(
			pool, stream->batches != 0 ? stream->batch[0].hold : stream->open, 0);
		mam_hold_end_locked(pool, oldest.hold);
	}
	mam_lock_release(&pool->lock);
	mam_fence_drop(&streams->fences, &oldest.fence);
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
		mam_stream_give(streams, stream->batch[0].hold);
		drop_oldest(streams, handle);
		any = true;
	}
	return any;
}

/* All that is loose is joined: it is open, or goes with what is. */
static uint32_t find(struct mam_streams *streams, const struct mam_stream_key *key, bool *open,
		     bool *look)
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
	}
	mam_lock_release(&streams->pool->lock);
	return handle;
}

/* A stream that lets ground go without coming back for it is believed half as much next time. */
static void count_from_here(struct mam_stream *stream)
{
	stream->put = 0;
	stream->swing /= 2;
}

/* Open ground joins the newest batch, which has no fence from now on: it is the caller's. */
static struct mam_fence join_newest(struct mam_streams *streams, uint32_t handle)
{
	struct mam_pool *pool = streams->pool;
	struct mam_batch *newest;
	struct mam_fence fence;
	unsigned moved;

	do {
		struct mam_stream *stream;

		mam_lock_take(&pool->lock);
		stream = mam_stream_at(streams, handle);
		newest = &stream->batch[stream->batches - 1];
		moved = mam_hold_move_locked(pool, stream->open, newest->hold, STEP);
		mam_lock_release(&pool->lock);
	} while (moved == STEP);
	mam_lock_take(&pool->lock);
	count_from_here(mam_stream_at(streams, handle));
	fence = newest->fence;
	newest->fence.event = NULL;
	mam_lock_release(&pool->lock);
	return fence;
}

/*
 * Open ground becomes the newest batch. The fresh list follows it, as fences are queried in order and
 * so the fresh one is released later. False: there is no room.
 */
static bool open_anew(struct mam_streams *streams, uint32_t handle)
{
	struct mam_pool *pool = streams->pool;
	struct mam_stream *stream;
	uint32_t fresh;
	bool good = false;

	mam_lock_take(&pool->lock);
	stream = mam_stream_at(streams, handle);
	if (stream->batches < MAM_BATCHES && mam_hold_begin_locked(pool, &fresh) == MAM_OK) {
		stream->batch[stream->batches++] = (struct mam_batch){ .hold = stream->open };
		mam_hold_follow_locked(pool, fresh, stream->open);
		stream->open = fresh;
		count_from_here(stream);
		good = true;
	}
	mam_lock_release(&pool->lock);
	return good;
}

static bool newest_is_bare(const struct mam_stream *stream)
{
	return stream->batches != 0 && stream->batch[stream->batches - 1].fence.event == NULL;
}

/* Nothing of a stream that may be another one each time joins what was there before. */
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
		mam_lock_release(&streams->pool->lock);
	}
	mam_fence_drop(&streams->fences, &earlier);
}

/* Is the stream behind the handle the one that the record is of? */
static bool is_same(const struct mam_streams *streams, const struct mam_stream *stream)
{
	unsigned long long id;

	if (mam_key_is_whole(&stream->key) || !stream->lasting)
		return true;
	return mam_key_id(&streams->fences, &stream->key, &id) && id == stream->id;
}

/* A fence was asked and has not passed. */
static void put_off(struct mam_streams *streams, uint32_t handle)
{
	mam_lock_take(&streams->pool->lock);
	mam_stream_at(streams, handle)->look_at =
		mam_stream_at(streams, handle)->frees + LOOK_EVERY;
	mam_lock_release(&streams->pool->lock);
}

/* Puts off the next try; makes an orphan of what should have left and did not. */
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
			stream->leave_at += wait < OPEN_MOST ? wait : OPEN_MOST;
		if (!stream->lasting && (newest_is_bare(stream) ||
					 mam_stream_has_open_locked(streams, stream)))
			same = false;
		if (!same && !stream->orphan)
			mam_stream_orphan_locked(streams, handle);
	}
	mam_lock_release(&streams->pool->lock);
}

void mam_stream_settle(struct mam_streams *streams, const struct mam_stream_key *key, bool all)
{
	const struct mam_stream *stream;
	uint32_t handle = 0;
	bool open = false, look = false;
	bool same;

	if (key->capture != 0 || atomic_load_explicit(&streams->faulty, memory_order_relaxed))
		return;
	mam_lock_take(&streams->lock);
	if (!streams->ended)
		handle = find(streams, key, &open, &look);
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
			leave(streams, handle, all);
		note(streams, handle, same);
	}
	mam_lock_release(&streams->lock);
}
