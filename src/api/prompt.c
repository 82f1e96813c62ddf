/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.c - implements prompt.h: the corresponding calls of the pool and the cache, reported to
 * listeners. No request is retried, since the program's out-of-memory callbacks may wait.
 */
#include "api/prompt.h"

#include "api/announce.h"
#include "base/event.h"
#include "cache/cache.h"

static enum mam_status emit_event(enum mam_status status, const struct mam_pool *pool, size_t bytes,
				  void *const *block)
{
	if (status == MAM_OK)
		mam_event_emit(MAM_EVENT_ALLOC, pool, *block, bytes);
	else
		mam_event_emit(MAM_EVENT_FAIL, pool, NULL, bytes);
	return status;
}

enum mam_status mam_prompt_alloc(struct mam_pool *pool, size_t bytes, size_t alignment,
				 uint64_t patience_ns, void **block)
{
	return emit_event(mam_pool_alloc_new(pool, bytes, alignment, patience_ns, block), pool,
			  bytes, block);
}

enum mam_status mam_prompt_alloc_here(struct mam_pool *pool, size_t bytes, size_t alignment,
				      void **block)
{
	enum mam_status status = mam_pool_alloc_here(pool, bytes, alignment, block);

	return status == MAM_ERROR_WOULD_WAIT ? status : emit_event(status, pool, bytes, block);
}

enum mam_status mam_prompt_free(struct mam_pool *pool, void *block)
{
	mam_announce_free(pool, block, NULL);
	return mam_cache_free_now(pool, block);
}
