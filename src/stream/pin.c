/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pin.c - what a thread cache needs of a stream (cache/async.c): its record, and a way to add
 * blocks.
 *
 * A thread cache holds blocks that were freed on one stream. It keeps the stream's record by a pin,
 * so that the blocks can join the stream's memory at any time, from any thread, without the
 * stream's handle, whose stream may be destroyed by then. If the handle stands for another stream
 * by now, the record is an orphan, and its memory waits for a fence over the whole context
 * (drain.c). That is right for blocks of either stream.
 *
 * Invariant: a record with pins is in use. lock: each function takes the pool's lock, once.
 */
#include "stream/stream.h"

static bool is_ready(const struct mam_pool *pool)
{
	return atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY;
}

uint32_t mam_stream_pin(struct mam_pool *pool, const struct mam_stream_key *key,
			unsigned long long *id)
{
	struct mam_streams *streams = pool->stream;
	struct mam_stream *stream;
	uint32_t record = 0;

	mam_lock_take(&pool->lock);
	if (is_ready(pool))
		record = mam_stream_find_locked(streams, key);
	if (record != 0) {
		stream = mam_stream_at(streams, record);
		/* The stream of one task needs no bins. */
		if (mam_stream_leaves_at_once(streams, stream) ||
		    stream->frees < MAM_STREAM_FREES_MIN) {
			record = 0;
		} else {
			stream->pins++;
			*id = stream->id;
		}
	}
	mam_pool_unlock(pool);
	return record;
}

/* After the pool has ended there are no records. */
void mam_stream_unpin(struct mam_pool *pool, uint32_t record)
{
	mam_lock_take(&pool->lock);
	if (is_ready(pool))
		mam_stream_at(pool->stream, record)->pins--;
	mam_pool_unlock(pool);
}

uint32_t mam_stream_note(struct mam_pool *pool, const struct mam_stream_key *key)
{
	struct mam_streams *streams = pool->stream;
	uint32_t captures = atomic_load_explicit(&streams->captures, memory_order_relaxed);

	mam_lock_take(&pool->lock);
	mam_stream_seen_locked(streams, key);
	mam_pool_unlock(pool);
	return captures;
}

static void put_locked(struct mam_pool *pool, uint32_t record, void *const *blocks, size_t count)
{
	struct mam_callers noted = mam_pool_lend_locked(pool);

	for (size_t i = 0; i < count; i++)
		(void)mam_stream_put_locked(pool->stream, record, blocks[i]);
	mam_pool_lent_locked(pool, &noted);
}

bool mam_stream_put_batch(struct mam_pool *pool, uint32_t record, void *const *blocks, size_t count,
			  struct mam_tally *tally, bool *due)
{
	bool same = true;

	mam_lock_take(&pool->lock);
	mam_pool_meet_locked(pool, tally);
	if (is_ready(pool)) {
		put_locked(pool, record, blocks, count);
		*due = mam_stream_is_due_locked(pool->stream, record);
		same = !mam_stream_at(pool->stream, record)->orphan;
	}
	mam_pool_unlock(pool);
	return same;
}

void mam_stream_put_orphans(struct mam_pool *pool, uint32_t record, void *const *blocks,
			    size_t count)
{
	mam_lock_take(&pool->lock);
	if (is_ready(pool)) {
		if (!mam_stream_at(pool->stream, record)->orphan)
			mam_stream_orphan_locked(pool->stream, record);
		put_locked(pool, record, blocks, count);
	}
	mam_pool_unlock(pool);
}
