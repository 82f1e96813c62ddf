/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h - the stream captures of this process, and which calls they forbid.
 *
 * While a stream is in capture, the driver rejects two groups of calls with error 900, and then
 * invalidates the capture:
 *   unsafe   Allocations, frees and queries, by the modes of the capture and of the calling thread.
 *            mam_capture_restricts() predicts this for the calling thread. If it returns true, mam
 *            passes the program's request to the driver, which decides.
 *   context  Calls that synchronize a context or record an event over it, whatever the modes. A
 *            stream of any context can be part of a capture, so mam makes such calls only while
 *            there is no capture at all: mam_capture_hold() and mam_capture_wait().
 */
#ifndef MAM_INTERPOSE_CAPTURE_H
#define MAM_INTERPOSE_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A CUstreamCaptureMode. */
#define MAM_CAPTURE_GLOBAL 0
#define MAM_CAPTURE_RELAXED 2

extern _Atomic unsigned int mam_capture_count
	__attribute__((visibility("hidden"))); /* atomic; live captures */

static inline bool mam_capture_alive(void)
{
	return atomic_load_explicit(&mam_capture_count, memory_order_relaxed) != 0;
}

/*
 * mam_capture_restricts - whether a capture forbids unsafe calls to the calling thread. False with
 * --capture=allow. The guard is up.
 */
bool mam_capture_restricts_slow(void);

static inline bool mam_capture_restricts(void)
{
	return mam_capture_alive() && mam_capture_restricts_slow();
}

/*
 * mam_capture_has - whether a stream is in capture, whether it began the capture or joined it. Also
 * true if the driver does not report it. CU_STREAM_PER_THREAD means the calling thread's stream.
 */
bool mam_capture_has(void *stream);

/*
 * Returns the context of a stream. Returns the current context for default streams, and if the
 * driver does not report it.
 */
void *mam_capture_context_of(void *stream);

/*
 * mam_capture_hold - prevent captures from beginning during one short driver call. Returns false if
 * there is a capture; nothing is held then. Any number of threads can hold at once.
 */
bool mam_capture_hold(void);
void mam_capture_release(void);

/*
 * mam_capture_wait - wait until all work of the current context is done. Returns CUDA's code. If
 * there is no capture, it synchronizes the context. Otherwise it allocates and frees a block of the
 * driver: that free waits for the same work, and the driver accepts or rejects it as it would any
 * free of this thread. With --capture=allow the driver always accepts it. `runtime`: an error
 * becomes the runtime's last error.
 */
int mam_capture_wait(bool runtime);

/* Sets the calling thread's capture mode. Returns the previous mode. */
int mam_capture_mode(int mode);

/* Whether the driver rejected a call because of a capture. The context is not at fault then. */
static inline bool mam_capture_rejects(int code)
{
	return code >= 900 && code <= 908; /* CUDA_ERROR_STREAM_CAPTURE_... */
}

/*
 * Called before and after a driver call that may destroy a context (NULL: none) and its captures.
 * The first returns the serial that the second takes.
 */
uint64_t mam_capture_context_ending(void *context);
void mam_capture_context_ended(void *context, uint64_t serial, bool gone);

/* Called in the child of a fork, which has no captures. */
void mam_capture_restart(void);

#endif
