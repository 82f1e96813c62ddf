/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async.c - requests in the order of a stream (<mam/stream.h>): which pool, whose block, and on to
 * the stream stop (stream/stream.h).
 */
#include <mam/stream.h>

#include "api/announce.h"
#include "api/oom.h"
#include "api/registry.h"
#include "api/report.h"
#include "api/slots.h"
#include "base/event.h"
#include "cache/cache.h"
#include "pool/pool.h"
#include "stream/stream.h"

/* A default pool may end at any time; its next use makes another. */
static enum mam_status alloc_default(size_t bytes, struct CUstream_st *stream,
				     struct mam_pool **pool, void **block)
{
	enum mam_status status;

	for (;;) {
		status = mam_pool_default(MAM_DEVICE_CURRENT, pool);
		if (status != MAM_OK)
			return status;
		status = mam_stream_alloc(*pool, bytes, stream, block);
		if (status != MAM_ERROR_DESTROYED)
			return status;
		mam_registry_forget(*pool);
	}
}

/* The pool is the program's or the default it got: a default that ends meanwhile is ended. */
static enum mam_status alloc_with_help(struct mam_pool *pool, size_t bytes,
				       struct CUstream_st *stream, void **block)
{
	enum mam_status status = MAM_ERROR_OUT_OF_MEMORY;
	struct mam_oom_walk walk = { 0 };

	while (status == MAM_ERROR_OUT_OF_MEMORY && mam_oom_again(&walk, pool, bytes))
		status = mam_stream_alloc(pool, bytes, stream, block);
	return status;
}

enum mam_status mam_malloc_async(struct mam_pool *pool, size_t bytes, struct CUstream_st *stream,
				 void **block)
{
	enum mam_status status;

	if (!block || (pool && !mam_slots_know(pool)))
		return MAM_ERROR_INVALID_VALUE;
	if (bytes == 0) {
		*block = NULL;
		return MAM_OK;
	}
	status = pool ? mam_stream_alloc(pool, bytes, stream, block)
		      : alloc_default(bytes, stream, &pool, block);
	if (status == MAM_ERROR_OUT_OF_MEMORY && pool)
		status = alloc_with_help(pool, bytes, stream, block);
	if (status == MAM_OK) {
		mam_event_emit(MAM_EVENT_ALLOC, pool, *block, bytes);
		return MAM_OK;
	}
	mam_event_emit(MAM_EVENT_FAIL, pool, NULL, bytes);
	if (status == MAM_ERROR_OUT_OF_MEMORY && pool)
		mam_report_no_memory(pool, bytes);
	return status;
}

enum mam_status mam_free_async(struct mam_pool *pool, void *block, struct CUstream_st *stream)
{
	struct mam_segment_info segment;
	enum mam_status status = MAM_OK;

	if (pool && !mam_slots_know(pool))
		return MAM_ERROR_INVALID_VALUE;
	if (!block)
		return MAM_OK;
	if (!pool)
		status = mam_registry_find(block, &pool, &segment);
	if (status != MAM_OK)
		return status;
	mam_announce_free(pool, block);
	status = mam_cache_claim(pool, block);
	if (status == MAM_OK)
		status = mam_stream_free(pool, block, stream);
	if (status == MAM_ERROR_INTERIOR)
		status = mam_cache_judge(pool, block);
	if (status != MAM_OK)
		mam_report_free(status, block);
	return status;
}

enum mam_status mam_stream_release(struct mam_pool *pool, struct CUstream_st *stream)
{
	enum mam_status status = MAM_OK;

	if (!pool)
		status = mam_pool_default(MAM_DEVICE_CURRENT, &pool);
	else if (!mam_slots_know(pool))
		status = MAM_ERROR_INVALID_VALUE;
	return status == MAM_OK ? mam_stream_let_go(pool, stream) : status;
}
