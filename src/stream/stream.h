/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - the stream layer: stream-ordered allocation and free (<mam/stream.h>).
 *
 * The parts of this folder:
 *   stream.c   allocate, free, release: use the stream's own memory, then the pool's.
 *   reclaim.c   memory leaves its stream: under a fence, then to the pool.
 *   drain.c   the pool needs memory: release batches whose fence has passed; wait if the
 *              alternative is worse.
 *   table.c    which streams there are, and the memory of each.
 *   pin.c      for thread caches: keep a stream's record, and add many blocks at once.
 *   key.c      from a handle to a stream.
 *   fence.c    events.
 *   alias.c    fences for memory that is mapped at a second address.
 *   borrow.c   memory that another stream freed: the GPU waits for that stream.
 *
 * A stream-ordered free costs one driver query (is the stream in capture?) and one acquisition of
 * the pool's lock, unless a thread cache serves it (cache/async.c). An allocation that uses memory
 * of its stream costs two queries. On an H100's host, where a query takes 13 ns, that is 55 ns for
 * a free and 80 ns for the allocation that reuses the block, without caches. When blocks leave
 * their stream, many share one event: a free costs 80 ns with blocks of 4 KiB, 200 ns with 2 MiB,
 * and 280 to 340 ns with 64 MiB, where each block leaves with an event of its own.
 */
#ifndef MAM_STREAM_STREAM_H
#define MAM_STREAM_STREAM_H

#include "pool/batch.h"
#include "pool/space.h"
#include "stream/table.h"

/*
 * mam_streams_attach - call before mam_pool_init(): the pool supports streams if its source does.
 * Sets pool->stream and the stream layer's function in pool->relief[]. OUT_OF_HOST_MEMORY.
 * mam_streams_detach - free what attach made, for a pool that no call uses.
 */
enum mam_status mam_streams_attach(struct mam_pool *pool, struct mam_source *source);
void mam_streams_detach(struct mam_pool *pool, struct mam_streams *streams);

/* As in <mam/stream.h>. pre: bytes > 0, block not NULL. */
enum mam_status mam_stream_alloc(struct mam_pool *pool, size_t bytes, struct CUstream_st *stream,
				 void **block);
enum mam_status mam_stream_free(struct mam_pool *pool, void *block, struct CUstream_st *stream);
enum mam_status mam_stream_let_go(struct mam_pool *pool, struct CUstream_st *stream);

/*
 * The steps of these calls, for thread caches.
 *
 * mam_stream_query - what the driver reports of a stream now; the only step with driver calls
 * before memory leaves a stream. Errors as mam_key_of(); DESTROYED. pre: pool->stream is not NULL.
 */
struct mam_stream_now {
	struct mam_stream_key key;
	unsigned long long id;
	bool has_id;   /* false: not queried, the key alone identifies the stream, or unknown */
	bool is_known; /* false: the driver was not queried yet */
};
enum mam_status mam_stream_query_slowly(struct mam_pool *pool, struct CUstream_st *stream,
					bool with_id, struct mam_stream_now *now);

/* mam_stream_is_any - whether a block was ever freed on a stream of this pool. */
static inline bool mam_stream_is_any(const struct mam_pool *pool)
{
	const struct mam_streams *streams = (const struct mam_streams *)pool->stream;

	return streams != NULL && atomic_load_explicit(&streams->any, memory_order_acquire);
}

/*
 * The common cases inline: the driver's streams, if it is the legacy stream or one that is not in
 * capture.
 */
static inline enum mam_status mam_stream_query(struct mam_pool *pool, struct CUstream_st *stream,
					       bool with_id, struct mam_stream_now *now)
{
	const struct mam_streams *streams = (const struct mam_streams *)pool->stream;
	const struct mam_driver *driver;
	unsigned int status = 0;

	*now = (struct mam_stream_now){ .key = { .stream = stream }, .is_known = true };
	if (stream == MAM_STREAM_PER_THREAD || !mam_stream_is_any(pool) ||
	    streams->fences.lag != NULL)
		return mam_stream_query_slowly(pool, stream, with_id, now);
	if (stream == NULL || stream == MAM_STREAM_LEGACY) {
		now->key.stream = MAM_STREAM_LEGACY;
		return MAM_OK;
	}
	driver = streams->fences.device.driver;
	if (driver->stream_is_capturing(stream, &status) != MAM_DRIVER_SUCCESS || status != 0)
		return mam_stream_query_slowly(pool, stream, with_id, now);
	now->has_id = with_id && driver->stream_get_id != NULL &&
		      driver->stream_get_id(stream, &now->id) == MAM_DRIVER_SUCCESS;
	return MAM_OK;
}

/*
 * mam_stream_put - a caller frees a block on a stream. `requested`: as in mam_pool_free_one().
 * WOULD_WAIT: the stream is not in the table, and nothing changed; call mam_stream_meet(). `due`:
 * call mam_stream_reclaim(). Other errors as mam_free().
 */
enum mam_status mam_stream_put(struct mam_pool *pool, void *block, size_t requested,
			       const struct mam_stream_key *key, struct mam_tally *tally,
			       bool *due);
enum mam_status mam_stream_meet(struct mam_pool *pool, const struct mam_stream_key *key);

/*
 * mam_stream_take - allocate a block of the stream's memory or the pool's. WOULD_WAIT: neither
 * fits, and the request is not counted; mam_stream_grow() takes the same arguments. `own`: the
 * stream has memory. mam_stream_refuse: count a failure.
 */
enum mam_status mam_stream_take(struct mam_pool *pool, const struct mam_stream_now *now,
				struct mam_request *request, struct mam_tally *tally, void **block,
				bool *own);
enum mam_status mam_stream_grow(struct mam_pool *pool, const struct mam_stream_key *key,
				const struct mam_request *request, bool own, void **block);
enum mam_status mam_stream_refuse(struct mam_pool *pool, enum mam_status status);

/*
 * mam_stream_pin - keep the stream's record for a thread cache until mam_stream_unpin(). Returns
 * the record, and the stream's id; 0: the stream is not in the table, or its memory must leave at
 * each free, or it is too new.
 * mam_stream_note: the stream is not in capture. Calls without a lock are allowed until
 * mam_stream_captures_noted() differs from the result.
 */
uint32_t mam_stream_pin(struct mam_pool *pool, const struct mam_stream_key *key,
			unsigned long long *id);
void mam_stream_unpin(struct mam_pool *pool, uint32_t record);
uint32_t mam_stream_note(struct mam_pool *pool, const struct mam_stream_key *key);

static inline uint32_t mam_stream_captures_noted(const struct mam_pool *pool)
{
	const struct mam_streams *streams = (const struct mam_streams *)pool->stream;

	return atomic_load_explicit(&streams->captures, memory_order_relaxed);
}

/*
 * mam_stream_put_batch - blocks of a thread cache, which no caller holds, become memory of a pinned
 * stream. False: its handle stands for another stream by now, and all of its memory waits for the
 * whole context. `due`: as in mam_stream_put().
 * mam_stream_put_orphans - the same for blocks of unknown streams: the record is orphaned.
 */
bool mam_stream_put_batch(struct mam_pool *pool, uint32_t record, void *const *blocks, size_t count,
			  struct mam_tally *tally, bool *due);
void mam_stream_put_orphans(struct mam_pool *pool, uint32_t record, void *const *blocks,
			    size_t count);

/* Inside the folder. */

/* Frees from which on a stream probably lives long: a program may make a stream for each task. */
#define MAM_STREAM_FREES_MIN 64

/* mam_stream_leaves_at_once - whether memory leaves at each free: no fence could cover it later. */
static inline bool mam_stream_leaves_at_once(const struct mam_streams *streams,
					     const struct mam_stream *stream)
{
	return !stream->lasting || stream->context != streams->fences.device.context;
}

/*
 * mam_stream_put_locked - a block joins the memory of a stream. Errors as mam_free().
 * mam_stream_is_due_locked: whether memory should leave. lock: pool
 * mam_stream_is_short_locked: whether the streams of a pool with several hold so much freed memory
 * that none should keep what it does not reuse. lock: pool
 */
enum mam_status mam_stream_put_locked(struct mam_streams *streams, uint32_t handle, void *block);
bool mam_stream_is_due_locked(const struct mam_streams *streams, uint32_t handle);
bool mam_stream_is_short_locked(const struct mam_streams *streams);

/* mam_stream_bind - before any other call on streams->fences. */
enum mam_status mam_stream_bind(struct mam_streams *streams);

/*
 * mam_stream_reclaim - move memory of this stream, whose handle is valid, to the pool or under a
 * fence. `all`: all of its open memory is under a fence afterwards, otherwise only if there is
 * room. lock: none is held.
 */
void mam_stream_reclaim(struct mam_streams *streams, const struct mam_stream_key *key, bool all);

/* mam_stream_collect - return batches whose fence has passed to the pool. lock: stream */
bool mam_stream_collect(struct mam_streams *streams, uint32_t handle);

/*
 * mam_stream_drop_empty - drop the oldest batches without memory: others used it (borrow.c). pre: the
 * stream is lasting. lock: stream
 */
void mam_stream_drop_empty(struct mam_streams *streams, uint32_t handle);

/* mam_stream_give - return all of a stream free list to the pool, in small steps. lock: stream */
void mam_stream_give(struct mam_streams *streams, uint32_t list);

/* alias.c, for the pool. */
extern const struct mam_stream_ops mam_stream_fences;

/* mam_stream_identify - the stream's id; false: no fence can be recorded in it. lock: stream */
bool mam_stream_identify(struct mam_streams *streams, const struct mam_stream_key *key,
			 unsigned long long *id);

/* borrow.c, as in struct mam_stream_ops. */
enum mam_status mam_stream_borrow(struct mam_pool *pool, const struct mam_request *request,
				  void **block);
uint64_t mam_stream_gather(struct mam_pool *pool, struct mam_request *request, uint64_t bytes);

bool mam_stream_drain(struct mam_pool *pool, enum mam_drain_level level);

#endif
