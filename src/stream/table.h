/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - the streams of a pool and the memory of each.
 *
 *   stream --+-- loose     freed last: blocks as they were, for requests of their size
 *            +-- open      freed since the last fence, joined: no event yet
 *            +-- batch 0   left together, under one fence
 *            +-- batch 1   ... later ones
 *
 * The stream may reuse all of it immediately (pool/streamlist.h). Another stream may use a batch once
 * its later work waits for the fence (borrow.c). When a batch's fence has passed, its memory
 * becomes free memory of the pool. The loose list counts as open. Its blocks are joined with the
 * open list when a request needs more than a loose block of its size.
 *
 * Two locks. The table, the lists and their segments: lock pool. Fences and the set of batches:
 * written under both stream and pool, so that either is enough to read. The stream lock is taken
 * first; it is held across short driver calls, never across a wait for the device.
 *
 * If a handle turns out to stand for another stream than before, the former stream is orphaned: no
 * handle leads to it any more, its batches pass as usual, and its open memory waits for a fence
 * over the whole context (drain.c).
 */
#ifndef MAM_STREAM_TABLE_H
#define MAM_STREAM_TABLE_H

#include "pool/streamlist.h"
#include "stream/key.h"

#define MAM_BATCHES 4     /* of one stream at the same time */
#define MAM_LOOSE_MAX 128 /* segments: joined under one acquisition of the lock, 50 ns each */
#define MAM_STREAM_BUCKETS 256
#define MAM_CAPTURES_NOTED 16

struct mam_fence_batch {
	uint32_t list;
	struct mam_fence fence; /* event NULL: could not be recorded yet */
};

struct mam_stream {
	struct mam_stream_key key; /* lock: none, set at creation */
	unsigned long long id;     /* lock: none, set at creation; 0: unknown, or default stream */
	struct CUctx_st *context;  /* lock: none, set at creation; NULL: unknown */
	uint32_t next;             /* lock: pool; next in its bucket */
	uint32_t open;             /* lock: pool; a stream free list */
	uint32_t loose;            /* lock: pool; a loose list of at most MAM_LOOSE_MAX */
	uint32_t batches;          /* lock: stream and pool; count */
	struct mam_fence_batch batch[MAM_BATCHES]; /* lock: stream and pool; oldest first */
	uint64_t frees;                            /* lock: pool; count since creation */
	uint64_t leave_at; /* lock: pool; number of frees at which memory may leave */
	uint64_t look_at;  /* lock: pool; number of frees at which a fence is queried */
	uint32_t put;      /* lock: pool; count of frees less reuses since the last fence */
	uint64_t given;    /* lock: pool; bytes freed since its last allocation burst */
	uint64_t taken;    /* lock: pool; bytes allocated since then */
	uint64_t swing;    /* lock: pool; bytes that it is expected to reuse (stream.c) */
	bool lasting;      /* lock: none; no other stream can get its handle unnoticed */
	uint32_t pins;     /* lock: pool; count of thread caches with bins of the stream (pin.c) */
	bool orphan;       /* lock: pool */
	bool in_use;       /* lock: pool; otherwise the record is not in use */
} __attribute__((aligned(16)));

/* Every call on a stream reads the first two lines, which are seldom written (pool/pool.h). */
struct mam_streams {
	struct mam_pool *pool; /* lock: none, set at creation */
	atomic_bool bound;     /* atomic; whether fences are bound */
	atomic_bool any;       /* atomic; a stream was ever in the table */
	atomic_bool faulty;    /* atomic; the driver reported an error: no memory is released */
	atomic_bool lends;     /* atomic; a stream needed the open memory of another (borrow.c) */
	_Atomic uint32_t captures; /* atomic; written under lock: pool; count of entries so far */
	struct mam_fences fences;  /* lock: stream */

	struct mam_lock lock; /* rank stream */
	bool ended;           /* lock: stream */

	/* lock: pool */
	struct mam_records records __attribute__((aligned(MAM_POOL_LINES)));
	uint32_t bucket[MAM_STREAM_BUCKETS]; /* lock: pool; heads of lists */
	uint32_t count;                      /* lock: pool; of records in use */
	uint32_t sweep_at;                   /* lock: pool; count at which empty ones are freed */
	uint32_t swept;                      /* lock: stream and pool; a list, or 0 (drain.c) */

	_Atomic uint32_t capturing;                         /* atomic; length of captured[] */
	struct mam_stream_key captured[MAM_CAPTURES_NOTED]; /* lock: pool; last seen in capture */
	atomic_bool lost_count;                             /* atomic; there were more captures */
};

_Static_assert(offsetof(struct mam_streams, fences.idle) == MAM_POOL_LINES,
	       "no lock and nothing that is written under one is in the first two lines");

static inline struct mam_stream *mam_stream_at(const struct mam_streams *streams, uint32_t handle)
{
	return (struct mam_stream *)mam_records_at(&streams->records, handle);
}

static inline unsigned mam_stream_bucket(const struct mam_stream_key *key)
{
	uint64_t mixed = ((uintptr_t)key->stream >> 4 ^ (uintptr_t)key->stream ^ key->thread) *
			 0x9e3779b97f4a7c15u;

	return (unsigned)(mixed >> 56);
}

_Static_assert(MAM_STREAM_BUCKETS == 256, "the hash has eight bits");
_Static_assert(MAM_BATCHES + 1 <= MAM_STREAMLIST_CHAIN_MAX,
	       "the open list and all batches are one chain");

/* mam_stream_find_locked - find a stream by key; 0: there is none. lock: pool */
static inline uint32_t mam_stream_find_locked(const struct mam_streams *streams,
					      const struct mam_stream_key *key)
{
	uint32_t at = streams->bucket[mam_stream_bucket(key)];

	while (at != 0 && !mam_key_equal(&mam_stream_at(streams, at)->key, key))
		at = mam_stream_at(streams, at)->next;
	return at;
}

/* Step from one record to the next: handles are multiples of it. lock: pool or stream */
static inline uint32_t mam_stream_step(const struct mam_streams *streams)
{
	return (uint32_t)(streams->records.record_bytes / MAM_RB_UNIT);
}

uint32_t mam_stream_next_locked(const struct mam_streams *streams, uint32_t after);

/*
 * mam_stream_add - add the key's stream to the table; queries its id and context from the driver.
 * Does nothing if the stream is known. lock: stream. OUT_OF_HOST_MEMORY, DESTROYED.
 */
enum mam_status mam_stream_add(struct mam_streams *streams, const struct mam_stream_key *key);

/* mam_stream_orphan_locked - no handle leads to it any more. lock: pool */
void mam_stream_orphan_locked(struct mam_streams *streams, uint32_t handle);

/* mam_stream_forget_locked - free the record; its lists are empty. lock: pool and stream */
void mam_stream_forget_locked(struct mam_streams *streams, uint32_t handle);

/* mam_stream_tidy_locked - join the loose list with the open list. lock: pool */
static inline void mam_stream_tidy_locked(struct mam_streams *streams,
					  const struct mam_stream *stream)
{
	if (mam_streamlist_at(streams->pool, stream->loose)->segments != 0)
		(void)mam_streamlist_move_locked(streams->pool, stream->loose, stream->open,
						 UINT32_MAX);
}

/* Whether the stream has open memory. lock: pool */
static inline bool mam_stream_has_open_locked(const struct mam_streams *streams,
					      const struct mam_stream *stream)
{
	return mam_streamlist_at(streams->pool, stream->open)->segments != 0 ||
	       mam_streamlist_at(streams->pool, stream->open)->moving != 0 ||
	       mam_streamlist_at(streams->pool, stream->loose)->segments != 0;
}

/*
 * mam_stream_seen_locked - update the list of streams in capture. mam_stream_captures: whether a
 * capture is known to be active.
 */
void mam_stream_seen_locked(struct mam_streams *streams, const struct mam_stream_key *key);
bool mam_stream_captures(const struct mam_streams *streams);

#endif
