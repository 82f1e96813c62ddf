/* SPDX-License-Identifier: Apache-2.0 */
/*
 * free.c - cudaFree and cuMemFree: back to the pool that the block came from, whatever context is
 * current.
 *
 *   1. An address in no pool goes to the real function untouched: the driver's own blocks, and
 *      cudaFree(NULL), with which programs start CUDA.
 *   2. Ground of a pool where no live block starts (freed twice, or the middle of a block): the
 *      real function is given an address that it refuses in the same way, so that the runtime's
 *      last error is set as well. That is the address itself, unless a chunk begins there, which
 *      the driver would free; then it is the next byte.
 *   3. The policy.
 *      strict    The real functions return when all work of the block's context is done; programs
 *                count on it, and the pool must not hand the block out before. cudaFree waits by
 *                the runtime, so that an error of the wait becomes its last error. When the wait
 *                fails its own code is the answer, and the block stays alive.
 *      deferred  No wait: into quarantine (quarantine.h).
 *      stream    No wait, and free at once: the program's users of a block are in one order.
 *   4. The pool.
 *
 * While a capture is alive nothing may synchronise, and whether memory may be freed at all depends
 * on modes and threads. There a strict free lets the driver judge, and wait, in the allocation and
 * free of a small block of its own; the others let it judge by a query of an event, which a capture
 * forbids in the same cases. No capture begins while a free waits, as with the driver's.
 *
 * Codes of a driver that is shutting down count as success: nothing runs any more, and
 * destructors that run last must not see an error that only mam's road gives them.
 */
#include "interpose/memory/free.h"

#include <stdint.h>

#include <mam/mam.h>

#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/pools.h"
#include "interpose/memory/quarantine.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/watch/watch.h"

#define CAPTURE_RELAXED 2 /* the mode in which a thread's calls end no capture */

/* A small block of the driver's, allocated and freed; pinned host memory if the device is full. */
static int allocate_and_free(void)
{
	__typeof__(&cuMemAlloc_v2) real_alloc = MAM_TABLE_ORIGINAL(cuMemAlloc_v2);
	__typeof__(&cuMemFree_v2) real_free = MAM_TABLE_ORIGINAL(cuMemFree_v2);
	__typeof__(&cuMemHostAlloc) real_host_alloc = MAM_TABLE_ORIGINAL(cuMemHostAlloc);
	__typeof__(&cuMemFreeHost) real_host_free = MAM_TABLE_ORIGINAL(cuMemFreeHost);
	unsigned long long block;
	void *host;
	int code;

	if (real_alloc == NULL || real_free == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	code = real_alloc(&block, 1);
	if (code == MAM_CUDA_SUCCESS)
		return real_free(block);
	if (code != MAM_CUDA_OUT_OF_MEMORY || real_host_alloc == NULL || real_host_free == NULL)
		return code;
	code = real_host_alloc(&host, 1, 0);
	return code == MAM_CUDA_SUCCESS ? real_host_free(host) : code;
}

/* The driver's own verdict and wait; its code. With --capture=allow the verdict is always good. */
static int wait_as_driver(void)
{
	const struct mam_real_driver *driver = mam_real_driver();
	bool relaxed = mam_init_serves_captures() && driver->capture_mode != NULL;
	int mode = CAPTURE_RELAXED, code;

	if (relaxed)
		driver->capture_mode(&mode);
	code = allocate_and_free();
	if (relaxed)
		driver->capture_mode(&mode);
	return code;
}

/* The driver's verdict alone. The guard is up. */
static int judge(void)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *event = NULL;
	int code;

	if (!mam_capture_alive() || mam_init_serves_captures() || driver->event_create == NULL ||
	    driver->event_query == NULL || driver->event_destroy == NULL ||
	    driver->event_create(&event, 0) != MAM_CUDA_SUCCESS)
		return MAM_CUDA_SUCCESS;
	code = driver->event_query(event);
	driver->event_destroy(event);
	return code;
}

static int wait_here(int (*synchronize)(void))
{
	int code;

	if (!mam_capture_hold())
		return wait_as_driver();
	code = synchronize();
	mam_capture_release();
	return code;
}

/* Until all work of `context` is done. */
static int wait_for(void *context, int (*synchronize)(void))
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *current = NULL;
	int code = driver->ctx_current(&current);

	if (code != MAM_CUDA_SUCCESS)
		return code;
	if (current == context)
		return wait_here(synchronize);
	code = driver->ctx_push(context);
	if (code != MAM_CUDA_SUCCESS)
		return code;
	code = wait_here(driver->ctx_synchronize);
	driver->ctx_pop(&current);
	return code;
}

/* An address that the driver refuses as it would a wrong one of its own. */
static void *refusable(void *block)
{
	struct mam_segment_info segment;

	if (mam_owner(block, NULL, &segment) == MAM_OK && segment.chunk_base == block)
		return (char *)block + 1;
	return block;
}

/*
 * Freed twice, also by two threads at once, or not the start of a block; or the context and its
 * pool went away meanwhile.
 */
static enum mam_free_outcome refuse(struct mam_free_request *request)
{
	request->why = MAM_WHY_MISTAKE;
	request->block = refusable(request->block);
	return MAM_FREE_REFUSE;
}

static enum mam_free_outcome not_owned(struct mam_free_request *request)
{
	request->why = MAM_WHY_FOREIGN;
	return MAM_FREE_FORWARD;
}

/* While the block is still the program's: see watch.h. */
static void announce(const struct mam_free_request *request, const struct mam_pools_entry *entry)
{
	mam_watch_free(&(struct mam_watch_call){
		.function = request->function,
		.road = request->road,
		.fate = MAM_FATE_SERVED,
		.block = request->block,
		.bytes = request->bytes,
		.context = entry->owner,
		.stream = request->stream });
}

enum mam_free_outcome mam_free_strictly(struct mam_free_request *request,
					int (*synchronize)(void))
{
	struct mam_pools_entry *entry;
	enum mam_status status = mam_pools_find(request->block, &entry, &request->bytes);

	if (status == MAM_ERROR_NOT_OWNED)
		return not_owned(request);
	if (status != MAM_OK)
		return refuse(request);
	request->code = wait_for(entry->owner, synchronize);
	if (request->code == MAM_CUDA_DEINITIALIZED)
		request->code = MAM_CUDA_SUCCESS;
	if (request->code != MAM_CUDA_SUCCESS)
		return MAM_FREE_DONE;
	announce(request, entry);
	return mam_free(entry->pool, request->block) == MAM_OK ? MAM_FREE_DONE : refuse(request);
}

enum mam_free_outcome mam_free_at_once(struct mam_free_request *request)
{
	struct mam_pools_entry *entry;
	enum mam_status status = mam_pools_find(request->block, &entry, &request->bytes);

	if (status == MAM_ERROR_NOT_OWNED)
		return not_owned(request);
	if (status != MAM_OK)
		return refuse(request);
	request->code = judge();
	if (request->code != MAM_CUDA_SUCCESS)
		return MAM_FREE_DONE;
	announce(request, entry);
	return mam_free(entry->pool, request->block) == MAM_OK ? MAM_FREE_DONE : refuse(request);
}

/* Found first only where somebody watches: that is a second look into the pool's books. */
enum mam_free_outcome mam_free_later(struct mam_free_request *request)
{
	struct mam_pools_entry *entry;
	enum mam_status status;

	if (__builtin_expect(mam_watch_wants(~0u) != 0 || mam_capture_alive(), 0)) {
		status = mam_pools_find(request->block, &entry, &request->bytes);
		request->code = status == MAM_OK ? judge() : MAM_CUDA_SUCCESS;
		if (request->code != MAM_CUDA_SUCCESS)
			return MAM_FREE_DONE;
		if (status == MAM_OK)
			announce(request, entry);
	}
	for (unsigned int at = 0; (entry = mam_pools_next(&at)) != NULL;) {
		status = mam_quarantine_put(entry->quarantine, request->block);
		if (status == MAM_OK)
			return MAM_FREE_DONE;
		if (status == MAM_ERROR_INTERIOR || status == MAM_ERROR_DOUBLE_FREE)
			return refuse(request);
	}
	return not_owned(request);
}

static enum mam_free_outcome give_back(struct mam_free_request *request,
				       int (*synchronize)(void))
{
	switch (mam_init_policy()) {
	case MAM_INIT_DEFERRED: return mam_free_later(request);
	case MAM_INIT_STREAM: return mam_free_at_once(request);
	default: return mam_free_strictly(request, synchronize);
	}
}

void mam_free_watch(const struct mam_free_request *request, enum mam_free_outcome outcome,
		    int answer)
{
	struct mam_watch_call call = {
		.function = request->function,
		.road = request->road,
		.fate = answer == MAM_CUDA_SUCCESS ? MAM_FATE_FORWARDED : MAM_FATE_FAILED,
		.why = request->why,
		.code = answer,
		.block = outcome == MAM_FREE_FORWARD ? request->block : NULL,
		.bytes = request->bytes,
		.stream = request->stream,
	};

	if (answer != MAM_CUDA_SUCCESS)
		mam_watch_call(&call);
	else if (outcome == MAM_FREE_FORWARD)
		mam_watch_free(&call);
}

void mam_free_before(struct mam_free_request *request, struct mam_account_noted *noted)
{
	static const enum mam_account_kind kinds[] = { MAM_ACCOUNT_DIRECT, MAM_ACCOUNT_ASYNC,
						       MAM_ACCOUNT_MANAGED };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !request->is_noted; i++)
		request->is_noted =
			mam_account_take((uintptr_t)request->block, kinds[i], noted);
	if (request->is_noted)
		request->bytes = noted->bytes;
}

void mam_free_after(const struct mam_free_request *request,
		    const struct mam_account_noted *noted)
{
	if (request->is_noted)
		mam_account_settle(noted, request->code == MAM_CUDA_SUCCESS);
}

int cudaFree(void *block)
{
	__typeof__(&cudaFree) real = MAM_TABLE_ORIGINAL(cudaFree);
	const struct mam_real_runtime *runtime = mam_real_runtime();
	struct mam_free_request request = { .function = MAM_TABLE_cudaFree,
					    .road = MAM_ROAD_RUNTIME,
					    .block = block };
	struct mam_account_noted noted;
	enum mam_free_outcome outcome;

	if (real == NULL)
		return MAM_CUDA_INSUFFICIENT_DRIVER;
	if (mam_init_passes() || block == NULL || runtime == NULL)
		return real(block);
	mam_init_depth++;
	outcome = give_back(&request, runtime->device_synchronize);
	if (outcome != MAM_FREE_DONE) {
		mam_free_before(&request, &noted);
		request.code = real(request.block);
		mam_free_after(&request, &noted);
	}
	mam_free_watch(&request, outcome, request.code);
	mam_init_depth--;
	return request.code;
}

static int driver_free(enum mam_road road, unsigned long long block)
{
	__typeof__(&cuMemFree_v2) real = MAM_TABLE_ORIGINAL(cuMemFree_v2);
	const struct mam_real_driver *driver = mam_real_driver();
	struct mam_free_request request = { .function = MAM_TABLE_cuMemFree_v2,
					    .road = road,
					    .block = (void *)(uintptr_t)block };
	struct mam_account_noted noted;
	enum mam_free_outcome outcome;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || block == 0 || driver == NULL)
		return real(block);
	mam_init_depth++;
	outcome = give_back(&request, driver->ctx_synchronize);
	if (outcome != MAM_FREE_DONE) {
		mam_free_before(&request, &noted);
		request.code = real((unsigned long long)(uintptr_t)request.block);
		mam_free_after(&request, &noted);
	}
	mam_free_watch(&request, outcome, request.code);
	mam_init_depth--;
	return request.code;
}

int cuMemFree_v2(unsigned long long block)
{
	return driver_free(MAM_ROAD_SYMBOL, block);
}

int mam_by_lookup_cuMemFree_v2(unsigned long long block)
{
	return driver_free(MAM_ROAD_LOOKUP, block);
}
