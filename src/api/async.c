/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async.c - stream-ordered requests (<mam/stream.h>): finds the pool or the block's owner, then
 * calls the stream layer (stream/stream.h).
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

static enum mam_status alloc_from(const struct mam_pool *handle, size_t bytes,
				  struct CUstream_st *stream, struct mam_stream_now *now,
				  void **block)
{
	struct mam_section section;
	struct mam_pool *pool = mam_handle_enter(handle, &section);
	enum mam_status status;

	if (!pool)
		return MAM_ERROR_DESTROYED;
	status = mam_cache_alloc_async(pool, bytes, stream, now, block);
	mam_epoch_leave(section);
	return status;
}

/* A default pool may be destroyed at any time; its next use creates another. */
static enum mam_status alloc_default(size_t bytes, struct CUstream_st *stream,
				     struct mam_pool **handle, void **block)
{
	struct mam_stream_now now;
	enum mam_status status;

	for (;;) {
		status = mam_pool_default(MAM_DEVICE_CURRENT, handle);
		if (status != MAM_OK)
			return status;
		*block = mam_cache_alloc_async_own(*handle, bytes, stream, &now);
		if (*block)
			return MAM_OK;
		status = alloc_from(*handle, bytes, stream, &now, block);
		if (status != MAM_ERROR_DESTROYED)
			return status;
		mam_registry_forget(*handle);
	}
}

/* The program passed `handle`, or it is the default pool found before. DESTROYED is final. */
static enum mam_status alloc_with_help(struct mam_pool *handle, size_t bytes,
				       struct CUstream_st *stream, void **block)
{
	enum mam_status status = MAM_ERROR_OUT_OF_MEMORY;
	struct mam_oom_walk walk = { 0 };
	struct mam_stream_now now;

	while (status == MAM_ERROR_OUT_OF_MEMORY && mam_oom_again(&walk, handle, bytes)) {
		now.is_known = false; /* a callback ran */
		status = alloc_from(handle, bytes, stream, &now, block);
	}
	return status;
}

/* As in malloc.c. */
static __attribute__((noinline)) enum mam_status report_alloc(const struct mam_pool *handle,
							      void *block, size_t bytes,
							      const struct CUstream_st *stream)
{
	mam_event_emit_on(MAM_EVENT_ALLOC, mam_handle_storage(handle), block, bytes, stream);
	return MAM_OK;
}

static __attribute__((noinline)) enum mam_status alloc_slowly(struct mam_pool *handle, size_t bytes,
							      struct CUstream_st *stream,
							      struct mam_stream_now *now,
							      void **block)
{
	enum mam_status status;

	if (handle && !mam_slots_know(handle))
		return MAM_ERROR_INVALID_VALUE;
	if (bytes == 0) {
		*block = NULL;
		return MAM_OK;
	}
	status = handle ? alloc_from(handle, bytes, stream, now, block)
			: alloc_default(bytes, stream, &handle, block);
	if (status == MAM_ERROR_OUT_OF_MEMORY && handle)
		status = alloc_with_help(handle, bytes, stream, block);
	if (status == MAM_OK) {
		mam_event_emit_on(MAM_EVENT_ALLOC, mam_handle_storage(handle), *block, bytes,
				  stream);
		return MAM_OK;
	}
	mam_event_emit(MAM_EVENT_FAIL, handle ? mam_handle_storage(handle) : NULL, NULL, bytes);
	if (status == MAM_ERROR_OUT_OF_MEMORY && handle)
		mam_report_no_memory(handle, bytes);
	return status;
}

enum mam_status mam_malloc_async(struct mam_pool *pool, size_t bytes, struct CUstream_st *stream,
				 void **block)
{
	struct mam_stream_now now;
	void *own = NULL;

	if (!block)
		return MAM_ERROR_INVALID_VALUE;
	now.is_known = false;
	if (bytes <= MAM_CACHE_MAX_BYTES)
		own = mam_cache_alloc_async_own(pool, bytes, stream, &now);
	if (!own)
		return alloc_slowly(pool, bytes, stream, &now, block);
	*block = own;
	return mam_event_is_wanted() ? report_alloc(pool, own, bytes, stream) : MAM_OK;
}

/* pre: inside a section. */
static enum mam_status give(struct mam_pool *pool, void *block, struct CUstream_st *stream,
			    struct mam_stream_now *now)
{
	enum mam_status status;

	mam_announce_free(pool, block, stream);
	status = mam_cache_free_async(pool, block, stream, now);
	if (status == MAM_ERROR_INTERIOR)
		status = mam_cache_judge(pool, block);
	if (status != MAM_OK)
		mam_report_free(status, block);
	return status;
}

static __attribute__((noinline)) enum mam_status free_slowly(struct mam_pool *handle, void *block,
							     struct CUstream_st *stream,
							     struct mam_stream_now *now)
{
	struct mam_section section;
	struct mam_segment_info segment;
	enum mam_status status = MAM_OK;
	struct mam_pool *pool;
	size_t bytes;

	if (handle && !mam_slots_know(handle))
		return MAM_ERROR_INVALID_VALUE;
	if (!block)
		return MAM_OK;
	if (handle) {
		pool = mam_handle_enter(handle, &section);
		if (!pool)
			return MAM_ERROR_DESTROYED;
	} else {
		section = mam_epoch_enter();
		pool = mam_registry_owner(block, &bytes);
		if (!pool)
			status = mam_registry_find(block, &pool, &segment);
	}
	if (status == MAM_OK)
		status = give(pool, block, stream, now);
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_free_async(struct mam_pool *pool, void *block, struct CUstream_st *stream)
{
	struct mam_stream_now now;

	now.is_known = false;
	if (block && !mam_event_is_wanted() && mam_cache_free_async_own(pool, block, stream, &now))
		return MAM_OK;
	return free_slowly(pool, block, stream, &now);
}

enum mam_status mam_stream_release(struct mam_pool *handle, struct CUstream_st *stream)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status = MAM_OK;

	if (!handle)
		status = mam_pool_default(MAM_DEVICE_CURRENT, &handle);
	if (status == MAM_OK)
		status = mam_slots_enter(handle, &pool, &section);
	if (status != MAM_OK)
		return status;
	mam_cache_release_async(pool, stream);
	status = mam_stream_let_go(pool, stream);
	mam_epoch_leave(section);
	return status;
}
