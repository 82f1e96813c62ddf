/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - the stream stop: blocks in the order of a stream (<mam/stream.h>).
 *
 * Where a request stands in this folder:
 *   stream.c   allocate, free, release: the stream's own ground, then the pool.
 *   settle.c   ground leaves its stream: under a fence, and behind it.
 *   relief.c   the pool asks for ground: what has passed; waiting, where the alternative is worse.
 *   table.c    which streams there are, and what each holds.
 *   key.c      from a handle to a stream.
 *   fence.c    events.
 *
 * A free in the order of a stream costs one question to the driver (is the stream in capture?) and
 * one hold of the pool's lock. An allocation that finds ground of its stream costs two questions.
 * On an H100's host, where a question takes 13 ns, that is 55 ns for a free and 80 for the
 * allocation that takes the block again. Where blocks leave their stream an event is shared by many:
 * a free costs 80 ns with blocks of 4 KiB, 200 with 2 MiB, and 280 to 340 with 64 MiB, each of which
 * leaves by itself.
 */
#ifndef MAM_STREAM_STREAM_H
#define MAM_STREAM_STREAM_H

#include "stream/table.h"

/*
 * mam_streams_attach - before mam_pool_init(): the pool will know streams if its source does. Sets
 * pool->stream and the relief. OUT_OF_HOST_MEMORY.
 * mam_streams_detach - frees what attach made, of a pool that no call uses.
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
 * mam_stream_settle - ground of this stream, whose handle is alive, leaves it. `all`: whatever it
 * has open is under a fence afterwards, else only if there is room. lock: none is held.
 */
void mam_stream_settle(struct mam_streams *streams, const struct mam_stream_key *key, bool all);

/* mam_stream_collect - ground of batches whose fence has passed is the pool's. lock: stream */
bool mam_stream_collect(struct mam_streams *streams, uint32_t handle);

/* mam_stream_give - all of a hold to the pool, in small steps. lock: stream */
void mam_stream_give(struct mam_streams *streams, uint32_t hold);

bool mam_stream_relieve(struct mam_pool *pool, enum mam_relief_level level);

#endif
