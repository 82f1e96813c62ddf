/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key.h - determine which stream a handle stands for, and whether it is in capture.
 *
 * NULL and 1 are the legacy stream of the pool's context, which is never in capture: no driver call
 * is needed. 2 is a different stream in each thread: the thread's number, which is never reused, is
 * part of the key. Any other handle stands for one stream at a time, and possibly for another one
 * later: the driver reuses the handles of destroyed streams. The stream's id distinguishes these
 * streams (table.h).
 *
 * A capture is part of the key, since memory freed in a capture belongs to it alone.
 */
#ifndef MAM_STREAM_KEY_H
#define MAM_STREAM_KEY_H

#include "stream/fence.h"

#define MAM_STREAM_LEGACY ((struct CUstream_st *)1)
#define MAM_STREAM_PER_THREAD ((struct CUstream_st *)2)
#define MAM_CAPTURE_UNKNOWN UINT64_MAX /* in capture, but the driver cannot identify it */

struct mam_stream_key {
	struct CUstream_st *stream;
	uint64_t thread;  /* of a per-thread stream: number of its thread; otherwise 0 */
	uint64_t capture; /* 0: none */
};

static inline bool mam_key_is_default(const struct mam_stream_key *key)
{
	return key->stream == MAM_STREAM_LEGACY || key->stream == MAM_STREAM_PER_THREAD;
}

/* Whether the key alone identifies the stream, without an id. */
static inline bool mam_key_is_whole(const struct mam_stream_key *key)
{
	return mam_key_is_default(key) || key->capture != 0;
}

static inline bool mam_key_equal(const struct mam_stream_key *a, const struct mam_stream_key *b)
{
	return a->stream == b->stream && a->thread == b->thread && a->capture == b->capture;
}

/*
 * mam_key_of - one driver call for most handles. INVALID_VALUE: the driver does not know the
 * stream. DRIVER: the driver's calls fail. pre: the fences are bound.
 */
enum mam_status mam_key_of(const struct mam_fences *fences, struct CUstream_st *stream,
			   struct mam_stream_key *key);

/* mam_key_of_thread - the key of the calling thread's default stream outside of captures. */
struct mam_stream_key mam_key_of_thread(void);

/*
 * mam_key_id - the id of a stream other than a default one; false: the driver has no ids, and the
 * handle may stand for another stream at each call. pre: the stream is not in capture. In capture,
 * the driver returns error 900 and ends the capture, relaxed or not (seen on an H100); there the
 * capture's own id, which is part of the key, serves the purpose.
 */
bool mam_key_id(const struct mam_fences *fences, const struct mam_stream_key *key,
		unsigned long long *id);

/*
 * mam_key_recordable - whether an event may be recorded in the stream. Not in the legacy stream
 * while a blocking stream is in capture: recording would end that capture.
 */
bool mam_key_recordable(const struct mam_fences *fences, const struct mam_stream_key *key);

#endif
