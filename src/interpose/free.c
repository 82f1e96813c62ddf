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
 *   3. The wait. The real functions return when all work of the block's context is done; programs
 *      count on it, and the pool must not hand the block out before. cudaFree waits by the
 *      runtime, so that an error of the wait becomes its last error. When the wait fails its own
 *      code is the answer, and the block stays alive.
 *   4. The pool.
 *
 * A thread whose captures are in relaxed mode may free while a stream is in capture, but may not
 * synchronise: there the wait is the driver's own, in the free of a small block made for it.
 *
 * Codes of a driver that is shutting down count as success: nothing runs any more, and
 * destructors that run last must not see an error that only mam's road gives them.
 */
#include <mam/mam.h>

#include "interpose/count.h"
#include "interpose/hooks.h"
#include "interpose/init.h"
#include "interpose/pools.h"
#include "interpose/real.h"
#include "interpose/table.h"

enum capture_mode { CAPTURE_GLOBAL, CAPTURE_THREAD_LOCAL, CAPTURE_RELAXED };

enum outcome {
	OUTCOME_DONE,    /* the block is free, or the answer is a code of the driver's */
	OUTCOME_FORWARD, /* the real function is to be asked */
	OUTCOME_REFUSE   /* the real function is to be asked for an address that it refuses */
};

/* This thread's mode, left as it is. */
static enum capture_mode capture_mode(const struct mam_real_driver *driver)
{
	int mode = CAPTURE_GLOBAL, mine;

	if (driver->capture_mode == NULL || driver->capture_mode(&mode) != 0)
		return CAPTURE_GLOBAL;
	mine = mode;
	if (mine != CAPTURE_GLOBAL)
		driver->capture_mode(&mode);
	return (enum capture_mode)mine;
}

/*
 * The wait that the driver itself makes in a free. Without memory for the block there is only the
 * other one.
 */
static int wait_as_driver(const struct mam_real_driver *driver)
{
	__typeof__(&cuMemAlloc_v2) real_alloc = MAM_TABLE_ORIGINAL(cuMemAlloc_v2);
	__typeof__(&cuMemFree_v2) real_free = MAM_TABLE_ORIGINAL(cuMemFree_v2);
	unsigned long long block;

	if (real_alloc == NULL || real_free == NULL || real_alloc(&block, 1) != MAM_CUDA_SUCCESS)
		return driver->ctx_synchronize();
	return real_free(block);
}

/* Until all work of `context` is done. */
static int wait_for(void *context, int (*synchronize)(void))
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *current = NULL;
	int code;

	if (!mam_init_free_waits())
		return MAM_CUDA_SUCCESS;
	code = driver->ctx_current(&current);
	if (code == MAM_CUDA_SUCCESS && current != context)
		code = driver->ctx_push(context);
	if (code != MAM_CUDA_SUCCESS)
		return code;
	code = capture_mode(driver) == CAPTURE_RELAXED ? wait_as_driver(driver) : synchronize();
	if (current != context)
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
 * The guard is up. *code is the answer when the outcome is DONE, *block what to give the real
 * function otherwise.
 */
static enum outcome give_back(void **block, int (*synchronize)(void), int *code)
{
	struct mam_pool *pool;
	void *context;
	enum mam_status status = mam_pools_find(*block, &pool, &context);

	if (status == MAM_ERROR_NOT_OWNED)
		return OUTCOME_FORWARD;
	if (status == MAM_OK) {
		*code = wait_for(context, synchronize);
		if (*code != MAM_CUDA_SUCCESS && *code != MAM_CUDA_DEINITIALIZED)
			return OUTCOME_DONE;
		*code = MAM_CUDA_SUCCESS;
		status = mam_free(pool, *block);
	}
	if (status == MAM_OK)
		return OUTCOME_DONE;
	/*
	 * Freed twice, also by two threads at once; or the context and its pool went away
	 * meanwhile.
	 */
	*block = refusable(*block);
	return OUTCOME_REFUSE;
}

static void count(enum mam_road road, enum outcome outcome, int answer)
{
	if (answer != MAM_CUDA_SUCCESS)
		mam_count(road, MAM_FATE_FAILED);
	else
		mam_count(road, outcome == OUTCOME_DONE ? MAM_FATE_SERVED : MAM_FATE_FORWARDED);
}

int cudaFree(void *block)
{
	__typeof__(&cudaFree) real = MAM_TABLE_ORIGINAL(cudaFree);
	const struct mam_real_runtime *runtime = mam_real_runtime();
	enum outcome outcome;
	int answer;

	if (real == NULL)
		return MAM_CUDA_INSUFFICIENT_DRIVER;
	if (mam_init_passes() || block == NULL || runtime == NULL)
		return real(block);
	mam_init_depth++;
	outcome = give_back(&block, runtime->device_synchronize, &answer);
	if (outcome != OUTCOME_DONE)
		answer = real(block);
	mam_init_depth--;
	count(MAM_ROAD_RUNTIME, outcome, answer);
	return answer;
}

static int driver_free(enum mam_road road, unsigned long long block)
{
	__typeof__(&cuMemFree_v2) real = MAM_TABLE_ORIGINAL(cuMemFree_v2);
	const struct mam_real_driver *driver = mam_real_driver();
	void *address = (void *)(uintptr_t)block;
	enum outcome outcome;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || block == 0 || driver == NULL)
		return real(block);
	mam_init_depth++;
	outcome = give_back(&address, driver->ctx_synchronize, &answer);
	if (outcome != OUTCOME_DONE)
		answer = real((unsigned long long)(uintptr_t)address);
	mam_init_depth--;
	count(road, outcome, answer);
	return answer;
}

int cuMemFree_v2(unsigned long long block)
{
	return driver_free(MAM_ROAD_SYMBOL, block);
}

int mam_by_lookup_cuMemFree_v2(unsigned long long block)
{
	return driver_free(MAM_ROAD_LOOKUP, block);
}
