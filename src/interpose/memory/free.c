/* SPDX-License-Identifier: Apache-2.0 */
/*
 * free.c - cudaFree and cuMemFree: free a block to the pool that it came from, whichever context is
 * current.
 *
 *   1. An address outside all pools goes to the real function unchanged: the driver's own blocks,
 *      and cudaFree(NULL), with which programs initialize CUDA.
 *   2. An address inside a pool at which no live block starts (a double free, or an interior
 *      pointer): the real function receives an address that it rejects in the same way, so that the
 *      runtime's last error is set as well. It is the address itself, unless a chunk starts there,
 *      which the driver would free; then it is the next byte.
 *   3. The policy.
 *      strict    The real functions return when all work of the block's context is done. Programs
 *                rely on that, and the pool must not reuse the block earlier. cudaFree waits
 *                through the runtime, so that an error of the wait becomes its last error. If the
 *                wait fails, its code is returned and the block stays allocated.
 *      deferred  Does not wait: the block goes into quarantine (quarantine.h).
 *      stream    Does not wait and frees immediately: the program orders all uses of a block.
 *   4. The pool.
 *
 * During a capture no context may be synchronized, and whether a thread may free memory at all
 * depends on modes and threads. A strict free then waits by allocating and freeing a small block of
 * the driver, which the driver rejects if it would reject the program's free (capture.h). The other
 * policies do the same, but only in threads that a capture restricts. A deferred free also waits
 * when much memory is in quarantine, because fences cannot be recorded until the capture ends. No
 * capture begins while a free waits, as with the driver's free.
 *
 * After the pool has grown, the first of these frees also releases idle chunks, because they were
 * too small (pool/grow.c: the growth itself must not release them). This calls cuMemFree, which
 * waits for the context. A strict free has just waited. The other frees release chunks only when
 * the context is idle; if another thread launches work between that query and cuMemFree, they wait
 * for it, as cudaFree may.
 *
 * Error codes of a driver that is shutting down count as success: no work runs any more, and
 * destructors that run last must not see an error that only mam's implementation returns.
 */
#include "interpose/memory/free.h"

#include <stdint.h>

#include <mam/mam.h>

#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/chunks.h"
#include "interpose/memory/pools.h"
#include "interpose/memory/quarantine.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/watch/watch.h"

#define LOOK_EVERY 16 /* how many frees pass between two checks whether the context is idle */

/* Waits until all work of `context` is done. */
static int wait_for(const struct mam_free_request *request, void *context)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *current = NULL;
	int code = driver->ctx_current(&current);

	if (code != MAM_CUDA_SUCCESS)
		return code;
	if (current == context)
		return mam_capture_wait(request->road == MAM_ROAD_RUNTIME);
	code = driver->ctx_push(context);
	if (code != MAM_CUDA_SUCCESS)
		return code;
	code = mam_capture_wait(false);
	driver->ctx_pop(&current);
	return code;
}

/*
 * Returns the driver's code if a capture forbids the free. The driver decides by a free of its own,
 * also for cuMemFreeAsync of such a block.
 */
static int judge(const struct mam_free_request *request, const struct mam_pools_entry *entry)
{
	if (!mam_capture_restricts())
		return MAM_CUDA_SUCCESS;
	return wait_for(request, entry->owner);
}

/* Returns an address that the driver rejects as it would reject an invalid one of its own. */
static void *refusable(void *block)
{
	struct mam_segment_info segment = { .size = sizeof(segment) };

	if (mam_owner(block, NULL, &segment) == MAM_OK && segment.chunk_base == block)
		return (char *)block + 1;
	return block;
}

/*
 * A double free, also by two threads at once, or an interior pointer, or the context and its pool
 * were destroyed in the meantime.
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

/* Not inline, as in alloc.c. */
static __attribute__((noinline)) void announce_slow(const struct mam_free_request *request,
						    const struct mam_pools_entry *entry)
{
	mam_watch_free(&(struct mam_watch_call){ .function = request->function,
						 .road = request->road,
						 .fate = MAM_FATE_SERVED,
						 .block = request->block,
						 .bytes = request->bytes,
						 .context = entry->owner,
						 .device = entry->device,
						 .stream = request->stream });
}

/* Called while the program still owns the block: see watch.h. */
static inline void announce(const struct mam_free_request *request,
			    const struct mam_pools_entry *entry)
{
	if (__builtin_expect(mam_watch_wants(~0u) != 0, 0))
		announce_slow(request, entry);
}

enum mam_free_outcome mam_free_refuse(struct mam_free_request *request, enum mam_why why)
{
	struct mam_pools_entry *entry;

	if (mam_pools_find(request->block, &entry, &request->bytes) == MAM_ERROR_NOT_OWNED)
		return not_owned(request);
	refuse(request);
	request->why = why;
	return MAM_FREE_REFUSE;
}

/* Releases idle chunks after growth. `waited`: all work of the context has just been done. */
static void release_outgrown(const struct mam_free_request *request,
			     const struct mam_pools_entry *entry, bool waited)
{
	unsigned int nth = request->is_ordered ? 0 : mam_chunks_count_free(entry->source);

	if (nth == 0 || mam_capture_alive())
		return;
	if (!waited && (nth % LOOK_EVERY != 1 || !mam_quarantine_is_idle(entry->quarantine)))
		return;
	mam_chunks_forget_growth(entry->source);
	mam_pool_trim(entry->pool, 0, NULL);
}

/* The quarantine is larger than it should be. The free may wait, as the driver's free may. */
static void catch_up(struct mam_quarantine *quarantine)
{
	if (!mam_capture_alive())
		mam_quarantine_catch_up(quarantine);
	else if (mam_quarantine_is_large(quarantine))
		mam_quarantine_wait(quarantine);
}

enum mam_free_outcome mam_free_strictly(struct mam_free_request *request)
{
	struct mam_pools_entry *entry;
	enum mam_status status = mam_pools_find(request->block, &entry, &request->bytes);

	if (status == MAM_ERROR_NOT_OWNED)
		return not_owned(request);
	if (status != MAM_OK)
		return refuse(request);
	request->device = entry->device;
	request->code = wait_for(request, entry->owner);
	if (request->code == MAM_CUDA_DEINITIALIZED)
		request->code = MAM_CUDA_SUCCESS;
	if (request->code != MAM_CUDA_SUCCESS)
		return MAM_FREE_DONE;
	announce(request, entry);
	release_outgrown(request, entry, true);
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
	request->device = entry->device;
	request->code = judge(request, entry);
	if (request->code != MAM_CUDA_SUCCESS)
		return MAM_FREE_DONE;
	announce(request, entry);
	release_outgrown(request, entry, false);
	return mam_free(entry->pool, request->block) == MAM_OK ? MAM_FREE_DONE : refuse(request);
}

/*
 * Looks up the block first only if a watcher, a capture or a choice of pools needs it, because that
 * is a second lookup.
 */
enum mam_free_outcome mam_free_later(struct mam_free_request *request)
{
	struct mam_pools_entry *entry = mam_pools_only();
	bool watched = mam_watch_wants(~0u) != 0 || mam_capture_alive();
	enum mam_status status = MAM_OK;

	if (__builtin_expect(watched || entry == NULL, 0))
		status = mam_pools_find(request->block, &entry, &request->bytes);
	if (watched && status == MAM_OK) {
		request->device = entry->device;
		request->code = judge(request, entry);
		if (request->code != MAM_CUDA_SUCCESS)
			return MAM_FREE_DONE;
		announce(request, entry);
	}
	if (status == MAM_OK)
		status = mam_quarantine_put(entry->quarantine, request->block);
	if (status == MAM_ERROR_INTERIOR || status == MAM_ERROR_DOUBLE_FREE)
		return refuse(request);
	if (status != MAM_OK)
		return not_owned(request);
	if (!request->is_ordered)
		catch_up(entry->quarantine);
	release_outgrown(request, entry, false);
	return MAM_FREE_DONE;
}

static enum mam_free_outcome give_back(struct mam_free_request *request)
{
	switch (mam_init_policy()) {
	case MAM_INIT_DEFERRED: return mam_free_later(request);
	case MAM_INIT_STREAM: return mam_free_at_once(request);
	default: return mam_free_strictly(request);
	}
}

void mam_free_report(const struct mam_free_request *request, enum mam_free_outcome outcome)
{
	const int answer = request->code;
	struct mam_watch_call call = {
		.function = request->function,
		.road = request->road,
		.fate = answer == MAM_CUDA_SUCCESS ? MAM_FATE_FORWARDED : MAM_FATE_FAILED,
		.why = request->why,
		.code = answer,
		.block = outcome == MAM_FREE_FORWARD ? request->block : NULL,
		.bytes = request->bytes,
		.device = request->device,
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
		request->is_noted = mam_account_take((uintptr_t)request->block, kinds[i], noted);
	if (request->is_noted) {
		request->bytes = noted->bytes;
		request->device = noted->device;
	}
}

void mam_free_after(const struct mam_free_request *request, const struct mam_account_noted *noted)
{
	if (request->is_noted)
		mam_account_finish(noted, request->code == MAM_CUDA_SUCCESS);
}

/* The real function is looked up only for blocks that no pool has. */
static int real_runtime_free(void *block)
{
	MAM_GATE_PASS();
	__typeof__(&cudaFree) real = MAM_TABLE_ORIGINAL(cudaFree);

	return real == NULL ? MAM_CUDA_INSUFFICIENT_DRIVER : real(block);
}

int cudaFree(void *block)
{
	const struct mam_real_runtime *runtime = mam_real_runtime();
	struct mam_free_request request = { .function = MAM_TABLE_cudaFree,
					    .road = MAM_ROAD_RUNTIME,
					    .block = block,
					    .device = -1 };
	struct mam_account_noted noted;
	enum mam_free_outcome outcome;

	if (mam_init_passes() || block == NULL || runtime == NULL)
		return real_runtime_free(block);
	mam_init_depth++;
	outcome = give_back(&request);
	if (outcome != MAM_FREE_DONE) {
		mam_free_before(&request, &noted);
		request.code = real_runtime_free(request.block);
		mam_free_after(&request, &noted);
	}
	mam_free_watch(&request, outcome);
	mam_init_depth--;
	return request.code;
}

static int real_driver_free(unsigned long long block)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemFree_v2) real = MAM_TABLE_ORIGINAL(cuMemFree_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block);
}

static int driver_free(enum mam_road road, unsigned long long block)
{
	const struct mam_real_driver *driver = mam_real_driver();
	struct mam_free_request request = { .function = MAM_TABLE_cuMemFree_v2,
					    .road = road,
					    .block = (void *)(uintptr_t)block,
					    .device = -1 };
	struct mam_account_noted noted;
	enum mam_free_outcome outcome;

	if (mam_init_passes() || block == 0 || driver == NULL)
		return real_driver_free(block);
	mam_init_depth++;
	outcome = give_back(&request);
	if (outcome != MAM_FREE_DONE) {
		mam_free_before(&request, &noted);
		request.code = real_driver_free((uintptr_t)request.block);
		mam_free_after(&request, &noted);
	}
	mam_free_watch(&request, outcome);
	mam_init_depth--;
	return request.code;
}

int cuMemFree_v2(unsigned long long block)
{
	return driver_free(mam_road_taken(), block);
}
MAM_THUNK(cuMemFree_v2);
