/* SPDX-License-Identifier: Apache-2.0 */
/*
 * free_async.c - cuMemFreeAsync: freed once a stream has come so far.
 *
 * Memory of cudaMallocAsync is the driver's, and so is its free. A block of cudaMalloc's may be
 * freed this way too, and then nobody waits: it goes into quarantine, whose fence covers the
 * stream and everything else in its context. Without such a fence (before CUDA 12.5) it is freed as
 * cudaFree would. Under the stream policy it is free at once.
 *
 * While a stream is in capture the driver is given an address that it refuses, as it would refuse
 * memory that is no graph's.
 */
#include <stdint.h>

#include "interpose/memory/capture.h"
#include "interpose/memory/free.h"
#include "interpose/memory/quarantine.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"

typedef int free_function(unsigned long long block, void *stream);

static enum mam_free_outcome give_back(struct mam_free_request *request)
{
	if (mam_init_policy() == MAM_INIT_STREAM)
		return mam_free_at_once(request);
	if (mam_quarantine_has_fence())
		return mam_free_later(request);
	return mam_free_strictly(request, mam_real_driver()->ctx_synchronize);
}

static int free_async(free_function *real, enum mam_table_id function, enum mam_road road,
		      unsigned long long block, void *stream)
{
	struct mam_free_request request = { .function = function,
					    .road = road,
					    .block = (void *)(uintptr_t)block,
					    .stream = stream };
	struct mam_account_noted noted;
	enum mam_free_outcome outcome;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || block == 0 || mam_real_driver() == NULL)
		return real(block, stream);
	mam_init_depth++;
	outcome = give_back(&request);
	if (outcome != MAM_FREE_DONE) {
		mam_free_before(&request, &noted);
		request.code = real((unsigned long long)(uintptr_t)request.block, stream);
		mam_free_after(&request, &noted);
	}
	mam_free_watch(&request, outcome, request.code);
	mam_init_depth--;
	return request.code;
}

int cuMemFreeAsync(unsigned long long block, void *stream)
{
	return free_async(MAM_TABLE_ORIGINAL(cuMemFreeAsync), MAM_TABLE_cuMemFreeAsync,
			  MAM_ROAD_SYMBOL, block, stream);
}

int mam_by_lookup_cuMemFreeAsync(unsigned long long block, void *stream)
{
	return free_async(MAM_TABLE_ORIGINAL(cuMemFreeAsync), MAM_TABLE_cuMemFreeAsync,
			  MAM_ROAD_LOOKUP, block, stream);
}

int cuMemFreeAsync_ptsz(unsigned long long block, void *stream)
{
	return free_async(MAM_TABLE_ORIGINAL(cuMemFreeAsync_ptsz), MAM_TABLE_cuMemFreeAsync_ptsz,
			  MAM_ROAD_SYMBOL, block, stream);
}

int mam_by_lookup_cuMemFreeAsync_ptsz(unsigned long long block, void *stream)
{
	return free_async(MAM_TABLE_ORIGINAL(cuMemFreeAsync_ptsz), MAM_TABLE_cuMemFreeAsync_ptsz,
			  MAM_ROAD_LOOKUP, block, stream);
}
