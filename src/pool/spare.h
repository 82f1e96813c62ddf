/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spare.h - memory that goes back to the source by itself (attr.spare_bytes).
 *
 * Others need the device too. A pool with a spare lets that much lie free for what comes next; a
 * free that makes it twice as much gives back what is wholly free, down to the spare. Twice, so
 * that one that comes and goes about the mark costs no call each time.
 */
#ifndef MAM_POOL_SPARE_H
#define MAM_POOL_SPARE_H

#include "pool/pool.h"

/* mam_spare_due_locked - O(1). What could not be given back lately is not asked for again. */
static inline bool mam_spare_due_locked(const struct mam_pool *pool)
{
	const struct mam_stats *counts = &pool->counts;
	uint64_t used = counts->live_rounded_bytes + counts->retired_bytes + counts->cached_bytes;
	uint64_t free_bytes = counts->reserved_bytes - used;

	return free_bytes / 2 >= pool->config.spare_bytes &&
	       free_bytes >= pool->stuck_bytes + 2 * pool->config.spare_bytes;
}

/*
 * mam_spare_look - where a free may have gone past mam_pool_free(), which looks by itself: is it due
 * now? Then gives. No lock held, and not inside a seat of the cache's.
 */
void mam_spare_look(struct mam_pool *pool);

/* mam_spare_give - no lock held; may wait for the device, and calls the source. */
void mam_spare_give(struct mam_pool *pool);

#endif
