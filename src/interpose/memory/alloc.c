/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.c - cudaMalloc and cuMemAlloc: allocate from the pool of the current context.
 *
 *   1. Size 0 and a null output pointer go to the real function: the runtime and the driver API
 *      treat them differently.
 *   2. The context: the driver's current one. If there is none, cudaFree(0), with which every
 *      program initializes CUDA, makes the runtime's context current. A runtime before 12 may be
 *      set to another device than the current context's; the same call then makes the two agree.
 *   3. Whether the pool may serve the request (may_serve). It serves no size that would take most
 *      of the device, no thread that a capture restricts and no context with a sticky error. The
 *      real function handles those. Other threads are served during a capture; pools grow in
 *      relaxed mode, so that no capture is invalidated.
 *   4. The pool: free memory in the pool, quarantined memory whose fence has passed, a new chunk.
 *      Quarantined memory comes first for a large block on a device that is nearly full. Nothing
 *      here waits for the GPU: a kernel may be waiting for this thread.
 *   5. Out of memory, or over the limit: wait for the quarantine, release all completely free
 *      chunks of the device's pools, and retry. Then retry after the driver has released the memory
 *      that it retains (kept.h).
 *   6. The real function. It may find memory where a chunk did not fit; the block then belongs to
 *      the driver. Otherwise it returns the genuine error. Over the limit it is called with an
 *      impossible size instead, for the same error.
 *
 * cudaMalloc is only a shortcut around the runtime. The real cudaMalloc handles what it cannot
 * decide, and the runtime's call of cuMemAlloc then arrives here through the driver API.
 */
#include "interpose/memory/alloc.h"

#include <stdatomic.h>
#include <stdint.h>

#include <mam/mam.h>

#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/chunks.h"
#include "interpose/memory/dedicated.h"
#include "interpose/memory/kept.h"
#include "interpose/memory/pass.h"
#include "interpose/memory/pools.h"
#include "interpose/memory/quarantine.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/watch/nvtx.h"
#include "interpose/watch/watch.h"

#define LARGE_MIN ((size_t)1 << 20) /* larger blocks are never cached */
#define RUNTIME_SETS_CONTEXT 12000  /* since this version cudaSetDevice makes the context current */

/* One call in progress. */
struct request {
	enum mam_table_id function;
	enum mam_road road;
	size_t bytes;
	struct mam_pools_entry *entry; /* NULL: no pool */
	enum mam_why why;              /* why the pool does not serve it */
};

/* The cheapest driver call that fails in a context with a sticky error. */
static bool is_broken(void)
{
	const struct mam_real_driver *driver = mam_real_driver();
	int min, greatest;

	return driver->ctx_priorities != NULL &&
	       driver->ctx_priorities(&min, &greatest) != MAM_CUDA_SUCCESS;
}

static enum mam_why may_serve(const struct mam_pools_entry *entry, size_t bytes)
{
	if (mam_capture_restricts())
		return MAM_WHY_CAPTURE;
	if (entry == NULL)
		return MAM_WHY_NO_POOL;
	if (bytes > entry->pass_above)
		return MAM_WHY_LARGE;
	if (mam_dedicated_serves(bytes))
		return MAM_WHY_DEDICATED;
	if (mam_nvtx_wants_driver())
		return MAM_WHY_KIND;
	return is_broken() ? MAM_WHY_BROKEN : MAM_WHY_NONE;
}

/*
 * A large block in a free block between retired or cached ones separates these for as long as it is
 * live. On a device that is nearly full, the memory that remains may then be in pieces that are too
 * small for later requests. So all blocks that can be reclaimed without a wait are joined first.
 */
static void before_large(const struct mam_pools_entry *entry, size_t bytes)
{
	if (bytes > LARGE_MIN && mam_chunks_is_refused(entry->source))
		mam_quarantine_join(entry->quarantine);
}

/*
 * Allocates free memory of the pool, or quarantined memory that can be reclaimed without a wait;
 * otherwise a new chunk.
 */
static enum mam_status take(const struct mam_pools_entry *entry, size_t bytes, void **block)
{
	enum mam_status status;

	if (!mam_quarantine_is_used(entry->quarantine))
		return mam_malloc(entry->pool, bytes, block);
	before_large(entry, bytes);
	status = mam_pool_alloc_nowait(entry->pool, bytes, 0, block);
	if (status != MAM_ERROR_WOULD_WAIT)
		return status;
	while (mam_quarantine_reclaim(entry->quarantine)) {
		status = mam_pool_alloc_nowait(entry->pool, bytes, 0, block);
		if (status != MAM_ERROR_WOULD_WAIT)
			return status;
	}
	if (mam_quarantine_is_large(entry->quarantine))
		mam_quarantine_fall_behind(entry->quarantine);
	return mam_malloc(entry->pool, bytes, block);
}

static enum mam_status take_after_exhaustion(const struct mam_pools_entry *entry, size_t bytes,
					     void **block)
{
	enum mam_status status = MAM_ERROR_OUT_OF_MEMORY;

	if (mam_quarantine_wait(entry->quarantine))
		status = mam_malloc(entry->pool, bytes, block);
	if (status != MAM_ERROR_OUT_OF_MEMORY)
		return status;
	/*
	 * Making room returned all cached blocks to the pool. Also search it if no chunk was freed:
	 * another thread may have reclaimed what this one did not find in quarantine any more.
	 */
	if (mam_pools_make_room(entry->device, true) != 0)
		status = mam_malloc(entry->pool, bytes, block);
	else if (mam_pool_alloc_nowait(entry->pool, bytes, 0, block) == MAM_OK)
		status = MAM_OK;
	if (status == MAM_ERROR_OUT_OF_MEMORY &&
	    mam_kept_trim(entry->device, mam_account_room(entry->device) < bytes))
		status = mam_malloc(entry->pool, bytes, block);
	return status;
}

/* Not inline: most programs are not watched, and the record would be made before that is known. */
static __attribute__((noinline)) void announce(const struct request *request, void *block)
{
	mam_watch_alloc(&(struct mam_watch_call){ .function = request->function,
						  .road = request->road,
						  .fate = MAM_FATE_SERVED,
						  .block = block,
						  .bytes = request->bytes,
						  .context = request->entry->owner,
						  .device = request->entry->device });
}

/* Allocates from the pool. If it returns false, request->why is the reason. The guard is up. */
static bool serve(struct request *request, void **block)
{
	enum mam_status status;

	request->why = may_serve(request->entry, request->bytes);
	if (request->why != MAM_WHY_NONE)
		return false;
	status = take(request->entry, request->bytes, block);
	if (status == MAM_ERROR_OUT_OF_MEMORY)
		status = take_after_exhaustion(request->entry, request->bytes, block);
	if (status == MAM_OK) {
		if (__builtin_expect(mam_watch_wants(~0u) != 0, 0))
			announce(request, *block);
		return true;
	}
	request->why = status == MAM_ERROR_OUT_OF_MEMORY ? MAM_WHY_MEMORY : MAM_WHY_NO_POOL;
	return false;
}

/*
 * Calls the driver. `ask` calls the real function of either interface for `block`, which then holds
 * the genuine block or returns the genuine error.
 */
static int forward(const struct request *request,
		   int (*ask)(void *block, size_t bytes, uint64_t *key), void *block)
{
	struct mam_pass pass = { .function = request->function,
				 .road = request->road,
				 .kind = MAM_ACCOUNT_DIRECT,
				 .why = request->why,
				 .bytes = request->bytes,
				 .taken = mam_pass_rounded(request->bytes),
				 .ask = ask,
				 .arguments = block };

	return mam_pass_alloc(&pass);
}

/*
 * Returns the driver's current context if it belongs to the runtime's current device; otherwise
 * NULL. The guard is up.
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
	if (runtime->version >= RUNTIME_SETS_CONTEXT)
		return context;
	device = mam_pools_device(context);
	if (device < 0 && driver->ctx_device(&device) != 0)
		return NULL;
	return runtime->get_device(&wanted) == 0 && wanted == device ? context : NULL;
}

/* Returns the same. Initializes CUDA first if necessary. */
static void *start_runtime(void)
{
	__typeof__(&cudaFree) real_free;
	void *context = runtime_context();

	if (context != NULL)
		return context;
	real_free = MAM_TABLE_ORIGINAL(cudaFree);
	return real_free == NULL || real_free(NULL) != MAM_CUDA_SUCCESS ? NULL : runtime_context();
}

/* The real function is looked up only for calls that the pool does not serve. */
static int real_malloc(void **block, size_t bytes)
{
	__typeof__(&cudaMalloc) real = MAM_TABLE_ORIGINAL(cudaMalloc);

	return real == NULL ? MAM_CUDA_INSUFFICIENT_DRIVER : real(block, bytes);
}

static int ask_runtime(void *block, size_t bytes, uint64_t *key)
{
	int answer = real_malloc(block, bytes);

	if (answer == MAM_CUDA_SUCCESS)
		*key = (uintptr_t) * (void **)block;
	return answer;
}

int cudaMalloc(void **block, size_t bytes)
{
	MAM_GATE_PASS();
	struct request request = { MAM_TABLE_cudaMalloc, MAM_ROAD_RUNTIME, bytes, NULL,
				   MAM_WHY_NONE };
	int answer = MAM_CUDA_SUCCESS;
	void *context, *served;

	if (mam_init_passes() || block == NULL || bytes == 0)
		return real_malloc(block, bytes);
	mam_init_depth++;
	context = start_runtime();
	if (context == NULL) {
		mam_init_depth--;
		return real_malloc(block, bytes);
	}
	request.entry = mam_pools_of(context);
	if (serve(&request, &served))
		*block = served;
	else
		answer = forward(&request, ask_runtime, block);
	mam_init_depth--;
	return answer;
}

static void *driver_context(void)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *context = NULL;

	return driver != NULL && driver->ctx_current(&context) == 0 ? context : NULL;
}

static int real_alloc(unsigned long long *block, size_t bytes)
{
	__typeof__(&cuMemAlloc_v2) real = MAM_TABLE_ORIGINAL(cuMemAlloc_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes);
}

static int ask_driver(void *block, size_t bytes, uint64_t *key)
{
	int answer = real_alloc(block, bytes);

	if (answer == MAM_CUDA_SUCCESS)
		*key = *(unsigned long long *)block;
	return answer;
}

static int driver_alloc(enum mam_road road, unsigned long long *block, size_t bytes)
{
	MAM_GATE_PASS();
	struct request request = { MAM_TABLE_cuMemAlloc_v2, road, bytes, NULL, MAM_WHY_ASLEEP };
	int answer = MAM_CUDA_SUCCESS;
	void *context, *served;

	if (mam_init_passes() || block == NULL || bytes == 0)
		return real_alloc(block, bytes);
	mam_init_depth++;
	context = driver_context();
	if (context != NULL)
		request.entry = mam_pools_of(context);
	if (context != NULL && serve(&request, &served))
		*block = (unsigned long long)(uintptr_t)served;
	else
		answer = forward(&request, ask_driver, block);
	mam_init_depth--;
	return answer;
}

int cuMemAlloc_v2(unsigned long long *block, size_t bytes)
{
	return driver_alloc(mam_road_taken(), block, bytes);
}
MAM_THUNK(cuMemAlloc_v2);

int mam_alloc_pooled(enum mam_table_id function, enum mam_road road, size_t bytes, void **block,
		     enum mam_why *why)
{
	struct request request = { function, road, bytes, NULL, MAM_WHY_ASLEEP };
	void *context = driver_context();

	if (context != NULL) {
		request.entry = mam_pools_of(context);
		if (serve(&request, block))
			return MAM_CUDA_SUCCESS;
	}
	*why = request.why;
	return MAM_ALLOC_FORWARD;
}
