/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug.c - the plugs of CuPy and RMM, and code shared by all plugs (<mam/plug.h>).
 *
 * Handles of default streams. A handle may mean the calling thread's own stream: 2 always does, and
 * 0 does in a program compiled with per-thread default streams, which mam cannot detect.
 *   - RMM passes the stream in whose order the calling thread allocates or frees. So 2 is that
 *     thread's own stream, and 0 is treated as 2. That is also correct if 0 is the legacy stream: a
 *     fence in a thread's own stream waits for earlier work of the legacy stream, and the calls of
 *     one thread keep their order either way.
 *   - PyTorch and CuPy pass the stream on which the block was allocated, and any thread may free
 *     it. Then 2 does not identify the thread whose stream used the block. The block is freed in
 *     the order of the legacy stream, which follows the work of every thread's own stream.
 *   - For PyTorch 0 is the legacy stream, and for CuPy too, unless its own setting differs.
 */
#include "api/plug.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <mam/stream.h>

#include "api/registry.h"
#include "base/log.h"
#include "pool/pool.h"
#include "source/driver.h"
#include "stream/key.h"

/* CuPy's setting: any number but 0 makes its default stream the calling thread's own. */
#define CUPY_SETTING "CUPY_CUDA_PER_THREAD_DEFAULT_STREAM"

static void report_alloc(const char *name, size_t bytes, enum mam_status status)
{
	mam_log(MAM_LOG_WARN, "%s: cannot allocate %zu bytes: %s", name, bytes,
		mam_strerror(status));
}

static enum mam_status report_free(const char *name, const void *block, enum mam_status status)
{
	/* Do not repeat the errors that mam_free_async() itself reports. */
	if (status != MAM_OK && status != MAM_ERROR_INTERIOR && status != MAM_ERROR_DOUBLE_FREE)
		mam_log(MAM_LOG_WARN, "%s: cannot free %p: %s", name, block, mam_strerror(status));
	return status;
}

enum mam_status mam_plug_alloc(const char *name, size_t bytes, int device,
			       struct CUstream_st *stream, void **block)
{
	struct mam_pool *pool;
	enum mam_status status;

	/* A default pool may be destroyed at any time; its next use creates another. */
	do {
		status = mam_pool_default(device, &pool);
		if (status != MAM_OK)
			break;
		status = mam_malloc_async(pool, bytes, stream, block);
		if (status == MAM_ERROR_DESTROYED)
			mam_registry_forget(pool);
	} while (status == MAM_ERROR_DESTROYED);
	if (status != MAM_OK)
		report_alloc(name, bytes, status);
	return status;
}

enum mam_status mam_plug_alloc_from(const char *name, struct mam_pool *pool, size_t bytes,
				    struct CUstream_st *stream, void **block)
{
	enum mam_status status = mam_malloc_async(pool, bytes, stream, block);

	if (status != MAM_OK)
		report_alloc(name, bytes, status);
	return status;
}

enum mam_status mam_plug_pool_of(const void *block, int device, struct mam_pool **pool)
{
	enum mam_status status = mam_owner(block, pool, NULL);

	return status == MAM_OK ? MAM_OK : mam_pool_default(device, pool);
}

void mam_plug_free_waiting(const char *name, void *block, int device)
{
	struct mam_pool *pool;
	enum mam_status status;

	if (!block)
		return;
	status = mam_plug_pool_of(block, device, &pool);
	if (status == MAM_OK)
		status = mam_pool_wait(pool);
	if (status == MAM_OK)
		status = mam_free(pool, block);
	report_free(name, block, status);
}

enum mam_status mam_plug_free(const char *name, void *block, int device, struct CUstream_st *stream)
{
	struct mam_pool *pool;
	enum mam_status status;

	if (!block)
		return MAM_OK;
	status = mam_pool_default(device, &pool);
	if (status == MAM_OK)
		status = mam_free_async(pool, block, stream);
	/*
	 * The thread's context may be another one of the device than when it was allocated, or the
	 * driver does not return it any more, as the process exits.
	 */
	if (status == MAM_ERROR_NOT_OWNED || status == MAM_ERROR_DRIVER)
		status = mam_free_async(NULL, block, stream);
	return report_free(name, block, status);
}

enum mam_status mam_plug_free_to_owner(const char *name, void *block, struct CUstream_st *stream)
{
	return report_free(name, block, block ? mam_free_async(NULL, block, stream) : MAM_OK);
}

/* A block that a thread frees while its own stream is being captured belongs to that capture. */
static bool is_own_stream_captured(void)
{
	const struct mam_driver *driver;
	unsigned int status = 0;

	return mam_driver_get(&driver) == MAM_OK && driver->stream_is_capturing &&
	       driver->stream_is_capturing(MAM_STREAM_PER_THREAD, &status) == MAM_DRIVER_SUCCESS &&
	       status != 0;
}

struct CUstream_st *mam_plug_free_order(struct CUstream_st *stream)
{
	if (stream != MAM_STREAM_PER_THREAD || is_own_stream_captured())
		return stream;
	return MAM_STREAM_LEGACY;
}

/* CuPy reads its setting once, when it is imported. */
static bool cupy_is_per_thread(void)
{
	static _Atomic int known; /* atomic; 0: not read yet, 1: legacy, 2: per thread */
	int now = atomic_load_explicit(&known, memory_order_relaxed);
	const char *text;

	if (now == 0) {
		text = getenv(CUPY_SETTING);
		now = text && strtol(text, NULL, 10) != 0 ? 2 : 1;
		atomic_store_explicit(&known, now, memory_order_relaxed);
	}
	return now == 2;
}

static struct CUstream_st *cupy_stream(void *stream)
{
	return !stream && cupy_is_per_thread() ? MAM_STREAM_PER_THREAD : stream;
}

enum mam_status mam_plug_source(const char *source)
{
	return mam_registry_select_source(source);
}

void *mam_cupy_alloc(void *stream, size_t bytes, int device)
{
	void *block = NULL;

	if (mam_plug_alloc("mam_cupy_alloc", bytes, device, cupy_stream(stream), &block) != MAM_OK)
		return NULL;
	return block;
}

void mam_cupy_free(void *stream, void *block, int device)
{
	mam_plug_free("mam_cupy_free", block, device, mam_plug_free_order(cupy_stream(stream)));
}

static struct CUstream_st *rmm_stream(struct CUstream_st *stream)
{
	return stream ? stream : MAM_STREAM_PER_THREAD;
}

void *mam_rmm_alloc(size_t bytes, struct CUstream_st *stream, void *pool)
{
	enum mam_status status;
	void *block = NULL;

	status = mam_malloc_async(pool, bytes, rmm_stream(stream), &block);
	if (status == MAM_OK)
		return block;
	report_alloc("mam_rmm_alloc", bytes, status);
	return NULL;
}

void mam_rmm_free(void *block, size_t bytes, struct CUstream_st *stream, void *pool)
{
	(void)bytes; /* mam knows */
	report_free("mam_rmm_free", block, mam_free_async(pool, block, rmm_stream(stream)));
}
