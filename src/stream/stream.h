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
 *   key.c      from a handle to a stream.
 *   fence.c    events.
 *
 * A stream-ordered free costs one driver query (is the stream in capture?) and one acquisition of
 * the pool's lock. An allocation that uses memory of its stream costs two queries. On an H100's
 * host, where a query takes 13 ns, that is 55 ns for a free and 80 ns for the allocation that
 * reuses the block. When blocks leave their stream, many share one event: a free costs 80 ns with
 * blocks of 4 KiB, 200 ns with 2 MiB, and 280 to 340 ns with 64 MiB, where each block leaves with
 * an event of its own.
 */
#ifndef MAM_STREAM_STREAM_H
#define MAM_STREAM_STREAM_H

#include "stream/table.h"

/*
 * mam_streams_attach - call before mam_pool_init(): the pool supports streams if its source does.
 * Sets pool->stream and the stream layer's function in pool->relief[]. OUT_OF_HOST_MEMORY.
 * mam_streams_detach - free what attach made, for a pool that no call uses.
 */
enum mam_status mam_streams_attach(struct mam_pool *pool, const struct mam_source *source);
void mam_streams_detach(struct mam_pool *pool, struct mam_streams *streams);

/* As in <mam/stream.h>. pre: bytes > 0, block not NULL. */
enum mam_status mam_stream_alloc(struct mam_pool *pool, size_t bytes, struct CUstream_st *stream,
				 void **block);
enum mam_status mam_stream_free(struct mam_pool *pool, void *block, struct CUstream_st *stream);
enum mam_status mam_stream_let_go(struct mam_pool *pool, struct CUstream_st *stream);

/* Inside the folder. */

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

/* mam_stream_give - return all of a stream free list to the pool, in small steps. lock: stream */
void mam_stream_give(struct mam_streams *streams, uint32_t list);

bool mam_stream_drain(struct mam_pool *pool, enum mam_drain_level level);

#endif
