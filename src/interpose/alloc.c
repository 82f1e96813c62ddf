/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.c - cudaMalloc and cuMemAlloc: from the pool of the current context.
 *
 *   1. Size 0 and a missing output are the real function's to answer: the two interfaces differ.
 *   2. The context: the driver's current one. The runtime may not have made it current yet, or
 *      may be set to another device; then cudaFree(0), which every program uses to start CUDA,
 *      brings both together.
 *   3. The pool. If it is out of memory, chunks that are wholly free in any pool go back to the
 *      driver, and once more.
 *   4. The real function: either it finds memory that a chunk could not, and the block is the
 *      driver's from then on, or it gives the genuine error. With MAM_LIMIT it is asked for an
 *      impossible size instead, for the same error.
 *
 * cudaMalloc is only a short cut past the runtime: whatever it cannot decide, the real one does,
 * and its call of cuMemAlloc arrives here by the other road.
 */
#include <stdint.h>

#include <mam/mam.h>
#include <mam/options.h>

#include "interpose/count.h"
#include "interpose/hooks.h"
#include "interpose/init.h"
#include "interpose/pools.h"
#include "interpose/real.h"
#include "interpose/table.h"

/*
 * A size that no device has: the real function answers out of memory, and sets the runtime's last
 * error.
 */
#define TOO_MUCH ((size_t)1 << 60)

enum outcome {
	OUTCOME_DONE,    /* the block is there */
	OUTCOME_FORWARD, /* the real function is to be asked */
	OUTCOME_REFUSE   /* the real function is to be asked for too much */
};

static enum outcome after_exhaustion(struct mam_pool *pool, size_t bytes, void **block)
{
	if (mam_pools_trim() != 0 && mam_malloc(pool, bytes, block) == MAM_OK)
		return OUTCOME_DONE;
	return mam_option_number("MAM_LIMIT") != 0 ? OUTCOME_REFUSE : OUTCOME_FORWARD;
}

/* From the pool of `context`, which is the current one. The guard is up. */
static enum outcome serve(void *context, size_t bytes, void **block)
{
	struct mam_pool *pool = mam_pools_of(context);
	enum mam_status status;

	if (pool == NULL)
		return OUTCOME_FORWARD;
	status = mam_malloc(pool, bytes, block);
	if (status == MAM_OK)
		return OUTCOME_DONE;
	if (status == MAM_ERROR_OUT_OF_MEMORY)
		return after_exhaustion(pool, bytes, block);
	return OUTCOME_FORWARD;
}

/*
 * The driver's current context, if it is of the device that the runtime is set to; NULL
 * otherwise. The guard is up.
 */
static void *runtime_context(void)
{
	const struct mam_real_driver *driver = mam_real_driver();
	const struct mam_real_runtime *runtime = mam_real_runtime();
	void *context = NULL;
	int wanted, device;

	if (driver == NULL || runtime == NULL || driver->ctx_current(&context) != 0 ||
	    context == NULL)
		return NULL;
	device = mam_pools_device(context);
	if (device < 0 && driver->ctx_device(&device) != 0)
		return NULL;
	return runtime->get_device(&wanted) == 0 && wanted == device ? context : NULL;
}

/* The same after CUDA was started, if it had not been. */
static void *start_runtime(void)
{
	__typeof__(&cudaFree) real_free = MAM_TABLE_ORIGINAL(cudaFree);
	void *context = runtime_context();

	if (context != NULL || real_free == NULL || real_free(NULL) != MAM_CUDA_SUCCESS)
		return context;
	return runtime_context();
}

static void *driver_context(void)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *context = NULL;

	return driver != NULL && driver->ctx_current(&context) == 0 ? context : NULL;
}

static void count(enum mam_road road, enum outcome outcome, int answer)
{
	mam_count(road, answer != MAM_CUDA_SUCCESS ? MAM_FATE_FAILED
			: outcome == OUTCOME_DONE  ? MAM_FATE_SERVED
						   : MAM_FATE_FORWARDED);
}

int cudaMalloc(void **block, size_t bytes)
{
	__typeof__(&cudaMalloc) real = MAM_TABLE_ORIGINAL(cudaMalloc);
	enum outcome outcome;
	void *context, *none;
	int answer = MAM_CUDA_SUCCESS;

	if (real == NULL)
		return MAM_CUDA_INSUFFICIENT_DRIVER;
	if (mam_init_passes() || block == NULL || bytes == 0)
		return real(block, bytes);
	mam_init_depth++;
	context = start_runtime();
	if (context == NULL) {
		mam_init_depth--;
		return real(block, bytes);
	}
	outcome = serve(context, bytes, block);
	if (outcome == OUTCOME_REFUSE)
		answer = real(&none, TOO_MUCH);
	else if (outcome == OUTCOME_FORWARD)
		answer = real(block, bytes);
	mam_init_depth--;
	count(MAM_ROAD_RUNTIME, outcome, answer);
	return answer;
}

static int driver_alloc(enum mam_road road, unsigned long long *block, size_t bytes)
{
	__typeof__(&cuMemAlloc_v2) real = MAM_TABLE_ORIGINAL(cuMemAlloc_v2);
	enum outcome outcome = OUTCOME_FORWARD;
	int answer = MAM_CUDA_SUCCESS;
	unsigned long long none;
	void *context, *served;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || block == NULL || bytes == 0)
		return real(block, bytes);
	mam_init_depth++;
	context = driver_context();
	if (context != NULL)
		outcome = serve(context, bytes, &served);
	if (outcome == OUTCOME_REFUSE)
		answer = real(&none, TOO_MUCH);
	else if (outcome == OUTCOME_FORWARD)
		answer = real(block, bytes);
	else
		*block = (unsigned long long)(uintptr_t)served;
	mam_init_depth--;
	count(road, outcome, answer);
	return answer;
}

int cuMemAlloc_v2(unsigned long long *block, size_t bytes)
{
	return driver_alloc(MAM_ROAD_SYMBOL, block, bytes);
}

int mam_by_lookup_cuMemAlloc_v2(unsigned long long *block, size_t bytes)
{
	return driver_alloc(MAM_ROAD_LOOKUP, block, bytes);
}
