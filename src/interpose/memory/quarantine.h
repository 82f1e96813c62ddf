/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quarantine.h - freed blocks of one context that work may still touch.
 *
 * A block is retired when the program frees it, and reclaimed when a fence that was recorded after
 * the free has passed. The fence is cuCtxRecordEvent: it covers all work of the context on every
 * stream, holds nobody up, and is shared by all blocks freed since the one before. Contexts that
 * have peer access to this one's memory have their part in the fence.
 *
 * It relies on no order of streams: programmatic dependent launch overlaps kernels of one stream,
 * and copies from other threads' default streams are in no stream that mam could list.
 *
 * Where the driver has no such fence (before CUDA 12.5) blocks stay until somebody needs them:
 * then one synchronisation of the context frees all of them.
 *
 * Threads: any. The guard is up in all calls.
 */
#ifndef MAM_INTERPOSE_QUARANTINE_H
#define MAM_INTERPOSE_QUARANTINE_H

#include <stdbool.h>

#include <mam/mam.h>

struct mam_quarantine;
struct mam_source;

/* For the pool of a context; `source` tells how much the pool holds. NULL: no memory. */
struct mam_quarantine *mam_quarantine_create(struct mam_pool *pool, struct mam_source *source,
					     void *context);

/* Only before anybody used it. One whose context is gone is left behind: a thread may be in it. */
void mam_quarantine_destroy(struct mam_quarantine *quarantine);

/* mam_quarantine_put - free the block at this address. Errors as mam_pool_retire(). */
enum mam_status mam_quarantine_put(struct mam_quarantine *quarantine, void *block);

/* Whether blocks are in it. */
bool mam_quarantine_holds(const struct mam_quarantine *quarantine);

/*
 * Whether it holds so much, compared with what is in use, that the program runs far ahead of the GPU
 * and the pool would grow for as long as it does. A wait then costs the GPU nothing.
 */
bool mam_quarantine_is_large(const struct mam_quarantine *quarantine);

/*
 * mam_quarantine_settle - reclaim what can be without a wait. True: something was.
 */
bool mam_quarantine_settle(struct mam_quarantine *quarantine);

/*
 * mam_quarantine_fall_behind - the pool grows although much is in quarantine: the next free is to
 * catch up. mam_quarantine_catch_up - if so, wait until the next fence passes, 0.1 s at most. The GPU
 * has the work that was submitted later, and does not run dry. For frees: an allocation may not wait.
 */
void mam_quarantine_fall_behind(struct mam_quarantine *quarantine);
void mam_quarantine_catch_up(struct mam_quarantine *quarantine);

/*
 * mam_quarantine_is_idle - whether all work of the context is done, without a wait. False also if
 * that cannot be found out: a capture is alive, or the driver has no fence over a context.
 */
bool mam_quarantine_is_idle(struct mam_quarantine *quarantine);

/*
 * mam_quarantine_wait - wait until all that is in it now can be reclaimed, and do so. False:
 * nothing was, because nothing was in it, a capture forbids the calling thread to wait, or the driver
 * reports a fault.
 */
bool mam_quarantine_wait(struct mam_quarantine *quarantine);

#endif
