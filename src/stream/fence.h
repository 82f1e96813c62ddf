/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fence.h - query whether the work that was in a stream at some moment is complete.
 *
 * A fence is an event that is recorded once. An event is created if there is no idle one, and is
 * kept for later fences. Each call here uses relaxed capture mode and the right context, and
 * restores the thread's state. No capture is disturbed, except by a wait for all work without a
 * ticket (below).
 *
 * A fence ends with its context: the id of the context shows that, so no call uses its event then. If
 * that is another context than the pool's, the fence has passed.
 *
 * Costs on an H100: record 200 ns, query 200 to 270 ns.
 *
 * lock: stream, except for wait and functions with another annotation.
 */
#ifndef MAM_STREAM_FENCE_H
#define MAM_STREAM_FENCE_H

#include "source/device.h"
#include "source/lag.h"

#define MAM_FENCES_IDLE 32

struct mam_fence {
	struct CUevent_st *event; /* NULL: not recorded; of simulated streams the time (lag.h) */
	struct CUctx_st *context; /* in which it was made */
	unsigned long long id;    /* of the context; 0: as in the pool's device */
};

/* Every call on a stream reads the first fields; the others are in lines of their own. */
struct mam_fences {
	struct mam_device device; /* lock: none, set at bind */
	struct mam_lag *lag;      /* lock: none, set at bind; NULL: the driver's streams */

	struct mam_fence idle[MAM_FENCES_IDLE] __attribute__((aligned(64))); /* lock: stream */
	unsigned int idle_count;                                             /* lock: stream */
	uint64_t created; /* lock: stream; count of events ever made */
};

enum mam_fence_state {
	MAM_FENCE_PENDING,
	MAM_FENCE_PASSED,
	MAM_FENCE_FAULTY /* the driver reported an error: the state is unknown for good */
};

/*
 * mam_fences_bind - bind to the context of the pool's source or, if the source has none, as
 * mam_device_bind() does.
 */
enum mam_status mam_fences_bind(struct mam_fences *fences, struct mam_source *source);

/* mam_fences_end - destroy the events and release the context. No fence is in use. */
void mam_fences_end(struct mam_fences *fences);

/*
 * mam_fence_record - record after all work submitted to `stream` of `context` so far. pre: the
 * stream exists and is not in capture.
 */
bool mam_fence_record(struct mam_fences *fences, struct CUctx_st *context,
		      struct CUstream_st *stream, struct mam_fence *fence);

enum mam_fence_state mam_fence_look(const struct mam_fences *fences, const struct mam_fence *fence);

/*
 * mam_fence_wait - lock: none. If the fence is dropped and reused meanwhile, the wait takes longer.
 */
bool mam_fence_wait(const struct mam_fences *fences, const struct mam_fence *fence);

/*
 * mam_fence_order - let work that is submitted to `stream` from now on wait for the fence, on the
 * GPU. False: the driver cannot, and nothing changed. pre: the stream exists and is not in capture.
 */
bool mam_fence_order(const struct mam_fences *fences, const struct mam_fence *fence,
		     struct CUstream_st *stream);

/* mam_fence_drop - make its event idle. */
void mam_fence_drop(struct mam_fences *fences, struct mam_fence *fence);

/*
 * mam_fences_may_wait - call before mam_fences_wait_all(), which must follow. Obtains a ticket,
 * with which the wait ends no capture (mam_device_quiesce_begin). Without memory for a ticket the
 * wait goes ahead without one if no capture is known to be active. False: the caller must not wait.
 */
bool mam_fences_may_wait(const struct mam_fences *fences, bool captures,
			 unsigned long long *ticket);

/*
 * mam_fences_wait_all - wait until all work of the pool's context is complete. Without a ticket (0)
 * it ends every capture of the context. If the driver has cuCtxRecordEvent, it waits only for work
 * that was submitted before. lock: none.
 */
bool mam_fences_wait_all(struct mam_fences *fences, unsigned long long ticket);

#endif
