/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key.h - which stream a handle means, and whether it is in capture.
 *
 * NULL and 1 are one stream, the legacy one of the pool's context, which is never in capture: no
 * question is asked. 2 is another stream in each thread: the thread's number, never given twice, is
 * part of the key. Any other handle stands for one stream at a time, and perhaps for another later:
 * the driver gives handles of destroyed streams to new ones. What tells those apart is the stream's
 * id (table.h).
 *
 * A capture is part of the key, since what is freed in one belongs to it alone.
 */
#ifndef MAM_STREAM_KEY_H
#define MAM_STREAM_KEY_H

#include "stream/fence.h"

#define MAM_STREAM_LEGACY ((struct CUstream_st *)1)
#define MAM_STREAM_PER_THREAD ((struct CUstream_st *)2)
#define MAM_CAPTURE_UNKNOWN UINT64_MAX /* some capture: the driver cannot say which */

struct mam_stream_key {
	struct CUstream_st *stream;
	uint64_t thread;  /* of a per-thread stream: whose; else 0 */
	uint64_t capture; /* 0: none */
};

static inline bool mam_key_is_default(const struct mam_stream_key *key)
{
	return key->stream == MAM_STREAM_LEGACY || key->stream == MAM_STREAM_PER_THREAD;
}

/* Whether the key alone says which stream it is: no id is needed. */
static inline bool mam_key_is_whole(const struct mam_stream_key *key)
{
	return mam_key_is_default(key) || key->capture != 0;
}

static inline bool mam_key_equal(const struct mam_stream_key *a, const struct mam_stream_key *b)
{
	return a->stream == b->stream && a->thread == b->thread && a->capture == b->capture;
}

/*
 * mam_key_of - one driver call for most handles. INVALID_VALUE: the driver knows no such stream.
 * DRIVER: it answers nothing more. pre: the fences are bound.
 */
enum mam_status mam_key_of(const struct mam_fences *fences, struct CUstream_st *stream,
			   struct mam_stream_key *key);

/*
 * mam_key_id - the id of a stream that is no default one; false: the driver does not tell, and the
 * handle means nothing from one call to the next. pre: the stream is not in capture. There the
 * driver answers 900 and ends the capture, relaxed or not (seen on an H100); the capture's own id,
 * part of the key, says as much.
 */
bool mam_key_id(const struct mam_fences *fences, const struct mam_stream_key *key,
		unsigned long long *id);

/*
 * mam_key_recordable - may an event be recorded in the stream? Not in the legacy one while a
 * blocking stream is in capture: it would end that.
 */
bool mam_key_recordable(const struct mam_fences *fences, const struct mam_stream_key *key);

#endif
