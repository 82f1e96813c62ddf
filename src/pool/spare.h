/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spare.h - memory that the pool releases to the source by itself (attr.spare_bytes).
 *
 * Other programs need the device too. A pool with a spare keeps that much free memory for later
 * requests. A free that leaves twice the spare or more releases idle chunks or pieces, down to the
 * spare. The factor of two avoids a call each time that free memory fluctuates around the spare.
 */
#ifndef MAM_POOL_SPARE_H
#define MAM_POOL_SPARE_H

#include "pool/pool.h"

/* mam_spare_due_locked - O(1). Memory that could not be released lately is not tried again. */
static inline bool mam_spare_due_locked(const struct mam_pool *pool)
{
	const struct mam_stats *counts = &pool->counts;
	uint64_t used = counts->live_rounded_bytes + counts->retired_bytes + counts->cached_bytes;
	uint64_t free_bytes = counts->reserved_bytes - used;

	if (mam_pool_is_suspended(pool)) /* all of it is released */
		return false;
	return free_bytes / 2 >= pool->config.spare_bytes &&
	       free_bytes >= pool->stuck_bytes + 2 * pool->config.spare_bytes;
}

/*
 * mam_spare_look - for frees that may have bypassed mam_pool_free(), which checks by itself: if a
 * release is due, do it. No lock is held, and the thread is not inside its thread cache.
 */
void mam_spare_look(struct mam_pool *pool);

/* mam_spare_give - no lock held; may wait for the device, and calls the source. */
void mam_spare_give(struct mam_pool *pool);

#endif
