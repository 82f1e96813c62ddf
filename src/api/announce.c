/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce.c - implements announce.h: listeners get the size that the caller requested.
 */
#include "api/announce.h"

#include "cache/cache.h"

void mam_announce_free_slowly(struct mam_pool *pool, const void *block, const void *stream)
{
	struct mam_segment_info segment;

	if (mam_pool_find(pool, block, &segment) != MAM_OK)
		return;
	mam_cache_correct(pool, &segment);
	if (segment.live && segment.base == block)
		mam_event_emit_on(MAM_EVENT_FREE, pool, block, segment.requested, stream);
}
