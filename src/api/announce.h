/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce.h - reports a free to listeners before it happens: afterwards the address may already
 * belong to another caller. Frees that will fail are not reported.
 */
#ifndef MAM_API_ANNOUNCE_H
#define MAM_API_ANNOUNCE_H

#include "base/event.h"
#include "pool/pool.h"

void mam_announce_free_slowly(struct mam_pool *pool, const void *block, const void *stream);

/* stream: of a stream-ordered free, or NULL */
static inline void mam_announce_free(struct mam_pool *pool, const void *block, const void *stream)
{
	if (mam_event_is_wanted())
		mam_announce_free_slowly(pool, block, stream);
}

#endif
