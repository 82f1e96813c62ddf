/* SPDX-License-Identifier: Apache-2.0 */
/*
 * free_async.c - cuMemFreeAsync: free a block once a stream reaches this point.
 *
 * Memory of cudaMallocAsync belongs to the driver, which also frees it. A program may also free a
 * block of cudaMalloc this way. Such a free does not wait: the block goes into quarantine, whose
 * fence covers the stream and all other work of its context. Without such a fence (before CUDA
 * 12.5) the block is freed as by cudaFree; during a capture it stays in quarantine until memory is
 * needed. Under the stream policy it is free immediately.
 *
 * Only memory of the graph can be freed in a stream under capture. The driver receives such a call
 * and returns its own error; the block stays allocated. In another stream, a thread that a capture
 * restricts may not free such a block at all: as with cudaFree, the driver decides (free.c).
 */
#include <stdint.h>

#include "interpose/memory/capture.h"
#include "interpose/memory/free.h"
#include "interpose/memory/peer_fence.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"

#define PER_THREAD ((void *)2) /* CU_STREAM_PER_THREAD: what NULL means to a _ptsz function */

typedef int free_function(unsigned long long block, void *stream);

static enum mam_free_outcome give_back(struct mam_free_request *request, void *true_stream)
{
	if (mam_capture_has(true_stream))
		return mam_free_refuse(request, MAM_WHY_CAPTURE);
	if (mam_init_policy() == MAM_INIT_STREAM)
		return mam_free_at_once(request);
	if (mam_peer_fence_is_possible() || mam_capture_alive())
		return mam_free_later(request);
	return mam_free_strictly(request);
}

/* `true_stream` means in every function the stream that `stream` means to `real`. */
static int free_async(free_function *real, enum mam_table_id function, enum mam_road road,
		      unsigned long long block, void *stream, void *true_stream)
{
	MAM_GATE_PASS();
	struct mam_free_request request = { .function = function,
					    .road = road,
					    .block = (void *)(uintptr_t)block,
					    .device = -1,
					    .stream = stream,
					    .is_ordered = true };
	struct mam_account_noted noted;
	enum mam_free_outcome outcome;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || block == 0 || mam_real_driver() == NULL)
		return real(block, stream);
	mam_init_depth++;
	outcome = give_back(&request, true_stream);
	if (outcome != MAM_FREE_DONE) {
		mam_free_before(&request, &noted);
		request.code = real((unsigned long long)(uintptr_t)request.block, stream);
		mam_free_after(&request, &noted);
	}
	mam_free_watch(&request, outcome);
	mam_init_depth--;
	return request.code;
}

int cuMemFreeAsync(unsigned long long block, void *stream)
{
	return free_async(MAM_TABLE_ORIGINAL(cuMemFreeAsync), MAM_TABLE_cuMemFreeAsync,
			  mam_road_taken(), block, stream, stream);
}
MAM_THUNK(cuMemFreeAsync);

int cuMemFreeAsync_ptsz(unsigned long long block, void *stream)
{
	return free_async(MAM_TABLE_ORIGINAL(cuMemFreeAsync_ptsz), MAM_TABLE_cuMemFreeAsync_ptsz,
			  mam_road_taken(), block, stream, stream == NULL ? PER_THREAD : stream);
}
MAM_THUNK(cuMemFreeAsync_ptsz);
