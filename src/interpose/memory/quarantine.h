/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quarantine.h - freed blocks of one context that running work may still access.
 *
 * A block is retired when the program frees it, and reclaimed when a fence that was recorded after
 * the free has passed. The fence is cuCtxRecordEvent: it covers all work of the context on every
 * stream, blocks no work, and is shared by all blocks freed since the previous fence. Contexts that
 * have peer access to this context's memory have their part in the fence.
 *
 * It does not rely on stream order: programmatic dependent launch overlaps kernels of one stream,
 * and copies from other threads' default streams are in no stream that mam could list.
 *
 * If the driver has no such fence (before CUDA 12.5), blocks stay until a thread needs memory. Then
 * one synchronization of the context reclaims all of them.
 *
 * Threads: any. The guard is up in all calls.
 */
#ifndef MAM_INTERPOSE_QUARANTINE_H
#define MAM_INTERPOSE_QUARANTINE_H

#include <stdbool.h>

#include <mam/mam.h>

struct mam_quarantine;
struct mam_source;

/*
 * Creates the quarantine for the pool of a context; `source` reports how much the pool holds.
 * Returns NULL if there is no memory.
 */
struct mam_quarantine *mam_quarantine_create(struct mam_pool *pool, struct mam_source *source,
					     void *context);

/*
 * mam_quarantine_end - no call of the driver is made for this quarantine any more, and none is being
 * made: its context is about to be destroyed. May wait for the work of that context.
 */
void mam_quarantine_end(struct mam_quarantine *quarantine);

/*
 * Call it only before the first use. The quarantine of a destroyed context is never freed, because
 * a thread may be inside it.
 */
void mam_quarantine_destroy(struct mam_quarantine *quarantine);

/*
 * mam_quarantine_put - free the block at this address. Takes no lock for most blocks of up to 1 MiB:
 * the thread keeps them. Errors as mam_pool_retire().
 */
enum mam_status mam_quarantine_put(struct mam_quarantine *quarantine, void *block);

/* Whether a block was ever put into it. */
bool mam_quarantine_is_used(const struct mam_quarantine *quarantine);

/*
 * Whether it holds so much, compared with the bytes in use, that the program runs far ahead of the
 * GPU and the pool would grow for as long as it does. A wait then does not make the GPU idle.
 */
bool mam_quarantine_is_large(const struct mam_quarantine *quarantine);

/* mam_quarantine_reclaim - reclaim what can be reclaimed without a wait. Returns true if any was. */
bool mam_quarantine_reclaim(struct mam_quarantine *quarantine);

/*
 * mam_quarantine_join - the same, and all blocks in caches that are free return to the pool, if it
 * could not grow as it wished. Does nothing until 64 more blocks were retired. Free blocks are then
 * as large as they can be without a wait.
 */
void mam_quarantine_join(struct mam_quarantine *quarantine);

/*
 * mam_quarantine_fall_behind - the pool grows although much is in quarantine, so the next free must
 * catch up. mam_quarantine_catch_up - if so, wait until the next fence passes, for at most 0.1 s.
 * The GPU has the work that was submitted later, and does not become idle. For frees only: an
 * allocation must not wait.
 */
void mam_quarantine_fall_behind(struct mam_quarantine *quarantine);
void mam_quarantine_catch_up(struct mam_quarantine *quarantine);

/*
 * mam_quarantine_is_idle - whether all work of the context is done, without a wait. Also false if
 * that is unknown: a capture is alive, or the driver has no fence over a context.
 */
bool mam_quarantine_is_idle(struct mam_quarantine *quarantine);

/*
 * mam_quarantine_wait - wait until everything in it now can be reclaimed, and reclaim it. Returns
 * false if nothing was reclaimed: it was empty, a capture forbids the calling thread to wait, or
 * the driver reports an error.
 */
bool mam_quarantine_wait(struct mam_quarantine *quarantine);

#endif
