/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce.h - a free, told to who listens before it happens: afterwards the address may be another
 * caller's already. Nothing is told of what will be refused.
 */
#ifndef MAM_API_ANNOUNCE_H
#define MAM_API_ANNOUNCE_H

#include "base/event.h"
#include "pool/pool.h"

void mam_announce_free_slowly(struct mam_pool *pool, const void *block);

static inline bool mam_announce_wanted(void)
{
	return atomic_load_explicit(&mam_event_listeners, memory_order_relaxed) != 0;
}

static inline void mam_announce_free(struct mam_pool *pool, const void *block)
{
	if (mam_announce_wanted())
		mam_announce_free_slowly(pool, block);
}

#endif
