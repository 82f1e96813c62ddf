/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - the host's access to a heap's memory: fills, copies and a wait, in the order of a
 * stream.
 *
 * A visit has a begin and an end. The calls in between do nothing once one of them has failed; the
 * end returns the first failure. Inside, the memory's context is current and the thread's stream
 * captures are relaxed (source/device.h): no capture is disturbed. A wait for a stream in capture
 * would invalidate it, and so would work in the legacy stream while a blocking stream is in
 * capture: the begin queries the driver first and fails.
 */
#ifndef MAM_HEAP_SERVICE_COPY_H
#define MAM_HEAP_SERVICE_COPY_H

#include "source/device.h"
#include "source/source.h"

struct mam_copy {
	struct mam_device device; /* lock: none, set at bind */
};

struct mam_copy_visit {
	const struct mam_copy *reach;
	struct CUstream_st *stream;
	bool own;                /* the stream was made for the visit */
	struct CUevent_st *mark; /* NULL: none */
	struct mam_device_visit inside;
	struct mam_device_answer answer; /* the first that was not a success */
};

/*
 * mam_copy_bind - to the context of the source, or, if the source does not provide one, as
 * mam_device_bind() does. Returns UNSUPPORTED if its memory is not device memory, or if the driver
 * lacks a function.
 */
enum mam_status mam_copy_bind(struct mam_copy *reach, struct mam_source *source);
void mam_copy_unbind(struct mam_copy *reach);

/*
 * mam_copy_knows - returns whether `address` is memory of the driver. For sources that are not
 * mam's.
 */
enum mam_status mam_copy_knows(const struct mam_copy *reach, const void *address);

/*
 * mam_copy_begin - in the order of `stream`; `waits`: mam_copy_wait() will be called. After
 * MAM_OK an end must follow. Otherwise returns INVALID_VALUE (no such stream), WOULD_WAIT (see
 * above) or DRIVER.
 */
enum mam_status mam_copy_begin(const struct mam_copy *reach, struct CUstream_st *stream, bool waits,
			       struct mam_copy_visit *visit);
/* mam_copy_begin_apart - in a stream of the visit's own, which waits for no other. */
enum mam_status mam_copy_begin_apart(const struct mam_copy *reach, struct mam_copy_visit *visit);

void mam_copy_fill(struct mam_copy_visit *visit, uintptr_t at, unsigned char value, size_t bytes);
/* mam_copy_write - `from` may be reused after the call. Not in a capture. */
void mam_copy_write(struct mam_copy_visit *visit, uintptr_t at, const void *from, size_t bytes);
/* mam_copy_read - `to` is valid after mam_copy_wait(). */
void mam_copy_read(struct mam_copy_visit *visit, void *to, uintptr_t at, size_t bytes);
void mam_copy_wait(struct mam_copy_visit *visit);

/*
 * mam_copy_mark - once in a visit: mark what was submitted so far. mam_copy_wait_mark - wait for that
 * alone.
 */
void mam_copy_mark(struct mam_copy_visit *visit);
void mam_copy_wait_mark(struct mam_copy_visit *visit);

/* mam_copy_good - returns whether nothing has failed so far. */
bool mam_copy_good(const struct mam_copy_visit *visit);

/* mam_copy_end - after a failure, work in a stream of the visit's own has ended. */
enum mam_status mam_copy_end(struct mam_copy_visit *visit);

#endif
