/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug.c - the plugs of CuPy and RMM, and what all plugs share (<mam/plug.h>).
 */
#include "api/plug.h"

#include <mam/stream.h>

#include "api/registry.h"
#include "base/log.h"
#include "pool/pool.h"

static void report_alloc(const char *name, size_t bytes, enum mam_status status)
{
	mam_log(MAM_LOG_WARN, "%s: no block of %zu bytes: %s", name, bytes, mam_strerror(status));
}

static enum mam_status report_free(const char *name, const void *block, enum mam_status status)
{
	/* What mam_free_async() says of a block by itself is not said twice. */
	if (status != MAM_OK && status != MAM_ERROR_INTERIOR && status != MAM_ERROR_DOUBLE_FREE)
		mam_log(MAM_LOG_WARN, "%s: %p was not freed: %s", name, block,
			mam_strerror(status));
	return status;
}

enum mam_status mam_plug_alloc(const char *name, size_t bytes, int device,
			       struct CUstream_st *stream, void **block)
{
	struct mam_pool *pool;
	enum mam_status status;

	/* A default pool may end at any time; its next use makes another. */
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

void mam_plug_free_waiting(const char *name, void *block, int device)
{
	struct mam_pool *pool;
	enum mam_status status = block ? mam_pool_default(device, &pool) : MAM_ERROR_NOT_OWNED;

	if (!block)
		return;
	if (status == MAM_OK)
		status = mam_pool_wait(pool);
	if (status == MAM_OK)
		status = mam_free(pool, block);
	report_free(name, block, status);
}

enum mam_status mam_plug_free(const char *name, void *block, int device,
			      struct CUstream_st *stream)
{
	struct mam_pool *pool;
	enum mam_status status;

	if (!block)
		return MAM_OK;
	status = mam_pool_default(device, &pool);
	if (status == MAM_OK)
		status = mam_free_async(pool, block, stream);
	return report_free(name, block, status);
}

void *mam_cupy_alloc(void *stream, size_t bytes, int device)
{
	void *block = NULL;

	if (mam_plug_alloc("mam_cupy_alloc", bytes, device, stream, &block) != MAM_OK)
		return NULL;
	return block;
}

void mam_cupy_free(void *stream, void *block, int device)
{
	mam_plug_free("mam_cupy_free", block, device, stream);
}

void *mam_rmm_alloc(size_t bytes, struct CUstream_st *stream, void *pool)
{
	enum mam_status status;
	void *block = NULL;

	status = mam_malloc_async(pool, bytes, stream, &block);
	if (status == MAM_OK)
		return block;
	report_alloc("mam_rmm_alloc", bytes, status);
	return NULL;
}

void mam_rmm_free(void *block, size_t bytes, struct CUstream_st *stream, void *pool)
{
	(void)bytes; /* mam knows */
	report_free("mam_rmm_free", block, mam_free_async(pool, block, stream));
}
