/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - the streams of a pool and the ground each holds.
 *
 *   stream --+-- loose     what was freed last: blocks as they were, to be had by their size
 *            +-- open      what was freed since the last fence, joined: no event yet
 *            +-- batch 0   what left together, under one fence
 *            +-- batch 1   ... later ones
 *
 * All of it is the stream's to use again at once (hold.h). When a batch's fence has passed its
 * ground is the pool's. What is loose is open, and joins the rest of it where more is asked of it
 * than a block of a size that is there.
 *
 * Two locks. The table, the holds and what is in them: lock pool. Fences and which batches there
 * are: written under both stream and pool, so that either is enough to read. The stream lock comes
 * first; it is held across short driver calls, never across a wait for the device.
 *
 * A stream that is found to be another one than its handle meant before is orphaned: no handle
 * leads to it any more, its batches pass as they would have, and what it has open waits for a fence
 * over the whole context (relief.c).
 */
#ifndef MAM_STREAM_TABLE_H
#define MAM_STREAM_TABLE_H

#include "pool/hold.h"
#include "stream/key.h"

#define MAM_BATCHES 4 /* of one stream at a time */
#define MAM_LOOSE_MOST 128 /* segments: tidied, 50 ns each, under one hold of the lock */
#define MAM_STREAM_BUCKETS 256
#define MAM_CAPTURES_NOTED 16

struct mam_batch {
	uint32_t hold;
	struct mam_fence fence; /* event NULL: could not be recorded yet */
};

struct mam_stream {
	struct mam_stream_key key; /* lock: none, set at creation */
	unsigned long long id;     /* lock: none, set at creation; 0: unknown, or a default stream */
	struct CUctx_st *context;  /* lock: none, set at creation; NULL: unknown */
	uint32_t next;             /* lock: pool; in its bucket */
	uint32_t open;             /* lock: pool; a hold */
	uint32_t loose;            /* lock: pool; a loose hold of at most MAM_LOOSE_MOST */
	uint32_t batches;          /* lock: stream and pool; count */
	struct mam_batch batch[MAM_BATCHES]; /* lock: stream and pool; oldest first */
	uint64_t frees;            /* lock: pool; count, ever */
	uint64_t leave_at;         /* lock: pool; nothing leaves before so many frees */
	uint64_t look_at;          /* lock: pool; no look at a fence before so many frees */
	uint32_t put;              /* lock: pool; count of frees less reuses since the last fence */
	uint64_t given;            /* lock: pool; bytes freed since it last took any */
	uint64_t taken;            /* lock: pool; bytes taken since then */
	uint64_t swing;            /* lock: pool; bytes that it comes back for (stream.c) */
	bool lasting;              /* lock: none; its handle cannot come to mean another unnoticed */
	bool orphan;               /* lock: pool */
	bool in_use;               /* lock: pool; else the record is nobody's */
} __attribute__((aligned(16)));

struct mam_streams {
	struct mam_pool *pool;    /* lock: none, set at creation */
	struct mam_lock lock;     /* rank stream */
	struct mam_fences fences; /* lock: stream */
	atomic_bool bound;        /* atomic; fences are */
	atomic_bool any;          /* atomic; a stream was ever in the table */
	atomic_bool faulty;       /* atomic; the driver reported a fault: nothing is released */
	bool ended;               /* lock: stream */

	struct mam_records records;          /* lock: pool */
	uint32_t bucket[MAM_STREAM_BUCKETS]; /* lock: pool; heads of lists */
	uint32_t count;                      /* lock: pool; of records in use */
	uint32_t sweep_at;                   /* lock: pool; count at which to look for empty ones */
	uint32_t swept;                      /* lock: stream and pool; a hold, or 0 (relief.c) */

	_Atomic uint32_t capturing;                        /* atomic; count of the next */
	struct mam_stream_key captured[MAM_CAPTURES_NOTED]; /* lock: pool; last seen in capture */
	atomic_bool lost_count;                             /* atomic; there were more */
};

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
_Static_assert(MAM_BATCHES + 1 <= MAM_HOLD_CHAIN_MAX, "the open hold and all batches are one chain");

/* mam_stream_find_locked - by key; 0: there is none. lock: pool */
static inline uint32_t mam_stream_find_locked(const struct mam_streams *streams,
					      const struct mam_stream_key *key)
{
	uint32_t at = streams->bucket[mam_stream_bucket(key)];

	while (at != 0 && !mam_key_equal(&mam_stream_at(streams, at)->key, key))
		at = mam_stream_at(streams, at)->next;
	return at;
}

/* For all that are in use: handles go up in steps. lock: pool or stream */
static inline uint32_t mam_stream_step(const struct mam_streams *streams)
{
	return (uint32_t)(streams->records.record_bytes / MAM_RB_UNIT);
}

uint32_t mam_stream_next_locked(const struct mam_streams *streams, uint32_t after);

/*
 * mam_stream_add - make the key's stream known; asks the driver who it is. A known one: nothing.
 * lock: stream. OUT_OF_HOST_MEMORY, DESTROYED.
 */
enum mam_status mam_stream_add(struct mam_streams *streams, const struct mam_stream_key *key);

/* mam_stream_orphan_locked - no handle leads to it any more. lock: pool */
void mam_stream_orphan_locked(struct mam_streams *streams, uint32_t handle);

/* mam_stream_forget_locked - its holds are empty: the record is free. lock: pool and stream */
void mam_stream_forget_locked(struct mam_streams *streams, uint32_t handle);

/* mam_stream_tidy_locked - what is loose joins what is open. lock: pool */
static inline void mam_stream_tidy_locked(struct mam_streams *streams,
					  const struct mam_stream *stream)
{
	if (mam_hold_at(streams->pool, stream->loose)->segments != 0)
		(void)mam_hold_move_locked(streams->pool, stream->loose, stream->open, UINT32_MAX);
}

/* Whether ground is open. lock: pool */
static inline bool mam_stream_has_open_locked(const struct mam_streams *streams,
					      const struct mam_stream *stream)
{
	return mam_hold_at(streams->pool, stream->open)->segments != 0 ||
	       mam_hold_at(streams->pool, stream->loose)->segments != 0;
}

/*
 * mam_stream_seen_locked - keeps the list of streams in capture. mam_stream_captures: is a capture
 * known to be alive?
 */
void mam_stream_seen_locked(struct mam_streams *streams, const struct mam_stream_key *key);
bool mam_stream_captures(const struct mam_streams *streams);

#endif
