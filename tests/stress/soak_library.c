/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak_library.c - the library under soak.h: two pools of random kinds in each round, which share a
 * quota, are limited, trimmed, checked, and suspended and resumed while other threads use them.
 *
 * A thread that submits work on a block holds the lock of the block's pool for reading; suspending
 * and resuming hold it for writing. Allocations and frees hold no lock, as mam permits.
 */
#include <mam/mam.h>
#include <mam/pools.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"

#define POOLS 2u

static struct pool {
	struct mam_pool *pool;
	const char *source;
	bool stream_policy;
	pthread_rwlock_t lock;
	bool suspended; /* lock: lock */
	unsigned epoch; /* lock: lock; contents that were discarded */
} pools[POOLS];

static struct mam_quota *quota;
static struct fake_held before;
static _Thread_local struct soak_worker *running;

static bool is_refusal(enum mam_status status)
{
	return status == MAM_ERROR_OUT_OF_MEMORY ||
	       (soak_round.faults &&
		(status == MAM_ERROR_DRIVER || status == MAM_ERROR_OUT_OF_HOST_MEMORY));
}

/* A call that may lack memory, and in a round with faults may fail. */
static void allow(struct soak_worker *worker, enum mam_status status, const char *call)
{
	if (status != MAM_OK && !is_refusal(status))
		soak_fail(worker, "%s returns %s", call, mam_status_name(status));
}

/* A call that must succeed in the end. */
#define INSIST(worker, call)                                                                       \
	do {                                                                                       \
		enum mam_status insist_status;                                                     \
		int insist_tries = 100;                                                            \
		do                                                                                 \
			insist_status = (call);                                                    \
		while (insist_status != MAM_OK && soak_round.faults &&                             \
		       is_refusal(insist_status) && --insist_tries);                               \
		if (insist_status != MAM_OK)                                                       \
			soak_fail(worker, "%s returns %s", #call, mam_status_name(insist_status)); \
	} while (0)

/* Registered with each pool: frees blocks of the thread whose request found no memory. */
static bool help(struct mam_pool *pool, size_t bytes, void *user)
{
	(void)pool, (void)bytes, (void)user;
	return running && soak_draw(running, 2) && soak_drop(running);
}

static void make_pool(struct soak_worker *worker, struct pool *pool)
{
	static const char *const sources[] = { "vmm",        "vmm",        "vmm",
					       "cudamalloc", "cudamalloc", "managed" };
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	pool->source = sources[soak_draw(worker, sizeof(sources) / sizeof(sources[0]))];
	attr.source = pool->source;
	attr.free_policy = (enum mam_free_policy)soak_draw(worker, 4);
	attr.cache = soak_draw(worker, 3) ? MAM_CACHE_ON : MAM_CACHE_OFF;
	attr.limit_bytes = soak_draw(worker, 2) ? (16 + soak_draw(worker, 80)) * MIB : 0;
	attr.footprint = soak_draw(worker, 4) ? 0 : 1 + soak_draw(worker, 20);
	attr.spare_bytes = soak_draw(worker, 4) ? 0 : 8 * MIB;
	attr.growth_bytes = soak_draw(worker, 2) ? 8 * MIB : 0;
	attr.quota = quota;
	pool->stream_policy =
		attr.free_policy == MAM_FREE_STREAM ||
		(attr.free_policy == MAM_FREE_DEFAULT && strcmp(pool->source, "managed") == 0);
	pool->suspended = false;
	INSIST(worker, mam_pool_create(&attr, &pool->pool));
	if (soak_draw(worker, 2))
		INSIST(worker, mam_pool_on_oom(pool->pool, help, NULL));
}

static void begin(struct soak_worker *worker)
{
	if (soak_cuda.fake_holds)
		soak_cuda.fake_holds(&before);
	INSIST(worker, mam_quota_create(soak_draw(worker, 2) ? 0 : 128 * MIB, &quota));
	for (unsigned i = 0; i < POOLS; i++)
		make_pool(worker, &pools[i]);
}

static bool obtain(struct soak_worker *worker, struct soak_block *block)
{
	struct pool *pool;
	enum mam_status status;
	void *at = NULL;

	running = worker;
	block->from = (unsigned)soak_draw(worker, POOLS);
	block->stream = (unsigned)soak_draw(worker, SOAK_STREAMS);
	pool = &pools[block->from];
	switch (soak_draw(worker, 8)) {
	case 0: status = mam_malloc(pool->pool, block->bytes, &at); break;
	case 1:
		status = mam_malloc_aligned(pool->pool, block->bytes,
					    (size_t)1 << soak_draw(worker, 20), &at);
		break;
	case 2:
		status = mam_pool_alloc_nowait(pool->pool, block->bytes, 0, &at);
		if (status == MAM_ERROR_WOULD_WAIT)
			return false;
		break;
	default:
		status = mam_malloc_async(pool->pool, block->bytes,
					  soak_round.streams[block->stream], &at);
	}
	if (status == MAM_ERROR_SUSPENDED && strcmp(pool->source, "vmm") == 0)
		return false;
	allow(worker, status, "an allocation");
	block->at = (uintptr_t)at;
	return status == MAM_OK;
}

static void retire(struct soak_worker *worker, struct pool *pool, void *at)
{
	uint64_t ticket;

	INSIST(worker, mam_pool_retire(pool->pool, at, &ticket, NULL));
	SOAK_OWN(worker, soak_cuda.cuCtxSynchronize());
	INSIST(worker, mam_pool_reclaim(pool->pool, ticket, NULL));
}

static void dispose(struct soak_worker *worker, struct soak_block *block)
{
	struct CUstream_st *stream = soak_round.streams[block->stream];
	struct pool *pool = &pools[block->from];
	struct mam_pool *named = soak_draw(worker, 2) ? pool->pool : NULL;
	void *at = (void *)block->at; /* NOLINT: an address of the device */

	if (soak_draw(worker, 32) == 0) {
		retire(worker, pool, at);
	} else if (soak_draw(worker, 4)) {
		INSIST(worker, mam_free_async(named, at, stream));
	} else {
		if (pool->stream_policy)
			SOAK_OWN(worker, soak_cuda.cuStreamSynchronize(stream));
		INSIST(worker, mam_free(named, at));
	}
}

static bool enter(struct soak_block *block)
{
	struct pool *pool = &pools[block->from];

	pthread_rwlock_rdlock(&pool->lock);
	if (pool->suspended) {
		pthread_rwlock_unlock(&pool->lock);
		return false;
	}
	block->written = block->written && block->epoch == pool->epoch;
	block->epoch = pool->epoch;
	return true;
}

static void leave(struct soak_block *block)
{
	pthread_rwlock_unlock(&pools[block->from].lock);
}

static void suspend(struct soak_worker *worker, struct pool *pool)
{
	struct mam_suspend_attr attr = MAM_SUSPEND_ATTR_INIT;
	enum mam_status status;

	attr.discard = soak_draw(worker, 4) == 0;
	if (!attr.discard && soak_draw(worker, 3) == 0)
		attr.folder = "/tmp";
	status = mam_pool_suspend(pool->pool, &attr);
	if (strcmp(pool->source, "vmm") != 0) {
		if (status != MAM_ERROR_UNSUPPORTED)
			soak_fail(worker, "suspending a pool on %s returns %s", pool->source,
				  mam_status_name(status));
		return;
	}
	if (status != MAM_ERROR_OUT_OF_HOST_MEMORY)
		allow(worker, status, "mam_pool_suspend");
	if (status != MAM_OK)
		return;
	pool->suspended = true;
	pool->epoch += attr.discard;
}

static void suspend_or_resume(struct soak_worker *worker, struct pool *pool)
{
	enum mam_status status;

	pthread_rwlock_wrlock(&pool->lock);
	if (pool->suspended) {
		status = mam_pool_resume(pool->pool);
		allow(worker, status, "mam_pool_resume");
		pool->suspended = status != MAM_OK;
	} else {
		suspend(worker, pool);
	}
	pthread_rwlock_unlock(&pool->lock);
}

static void look(struct soak_worker *worker, struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	char why[256] = "";

	if (mam_pool_check(pool, why, sizeof(why)) != MAM_OK)
		soak_fail(worker, "mam_pool_check: %s", why);
	INSIST(worker, mam_pool_stats(pool, &stats));
	if (stats.allocs - stats.frees != stats.live_blocks ||
	    stats.live_bytes > stats.live_rounded_bytes)
		soak_fail(worker, "the statistics are inconsistent");
}

/* From its creation to its end, beside the others. */
static void short_pool(struct soak_worker *worker)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;
	enum mam_status status;
	void *at;

	attr.source = soak_draw(worker, 2) ? "vmm" : "cudamalloc";
	attr.quota = soak_draw(worker, 2) ? quota : NULL;
	attr.growth_bytes = MIB;
	status = mam_pool_create(&attr, &pool);
	if (soak_round.faults && (status == MAM_ERROR_UNSUPPORTED || status == MAM_ERROR_NO_DEVICE))
		return; /* a query failed */
	allow(worker, status, "mam_pool_create");
	if (status != MAM_OK)
		return;
	status = mam_malloc(pool, 1 + soak_draw(worker, MIB), &at);
	allow(worker, status, "mam_malloc");
	if (status == MAM_OK)
		INSIST(worker, mam_free(pool, at));
	INSIST(worker, mam_pool_destroy(pool));
}

static void ask_about(struct soak_worker *worker, const struct soak_block *block)
{
	const void *at = (const void *)block->at; /* NOLINT: an address of the device */
	struct mam_segment_info segment = { .size = sizeof(segment) };
	struct mam_pool *owner;
	size_t bytes;

	INSIST(worker, mam_usable_size(NULL, at, &bytes));
	INSIST(worker, mam_owner(at, &owner, &segment));
	if (bytes < block->bytes || owner != pools[block->from].pool || !segment.live ||
	    segment.base != at)
		soak_fail(worker, "mam_owner() is wrong about %zu bytes at %p", block->bytes, at);
}

static void other(struct soak_worker *worker)
{
	struct pool *pool = &pools[soak_draw(worker, POOLS)];

	running = worker;
	for (unsigned i = 0; i < POOLS; i++) {
		bool suspended;

		pthread_rwlock_rdlock(&pools[i].lock);
		suspended = pools[i].suspended;
		pthread_rwlock_unlock(&pools[i].lock);
		if (suspended && soak_draw(worker, 2)) {
			suspend_or_resume(worker, &pools[i]);
			return;
		}
	}
	switch (soak_draw(worker, 16)) {
	case 0: suspend_or_resume(worker, pool); break;
	case 2:
		allow(worker,
		      mam_pool_set_limit(pool->pool, soak_draw(worker, 3)
							     ? 0
							     : (16 + soak_draw(worker, 80)) * MIB),
		      "mam_pool_set_limit");
		break;
	case 3:
	case 4:
		allow(worker, mam_pool_trim(pool->pool, soak_draw(worker, 16 * MIB), NULL),
		      "mam_pool_trim");
		break;
	case 5: {
		enum mam_status status = mam_pool_reserve(pool->pool, soak_draw(worker, 8 * MIB));

		if (status != MAM_ERROR_SUSPENDED)
			allow(worker, status, "mam_pool_reserve");
		break;
	}
	case 6: look(worker, pool->pool); break;
	case 7: INSIST(worker, mam_quota_set(quota, soak_draw(worker, 2) ? 0 : 96 * MIB)); break;
	case 8: short_pool(worker); break;
	case 9:
		if (worker->count)
			ask_about(worker, &worker->held[0]);
		break;
	default:
		allow(worker,
		      mam_stream_release(pool->pool,
					 soak_round.streams[soak_draw(worker, SOAK_STREAMS)]),
		      "mam_stream_release");
	}
}

/* CUDA does not survive a fork. */
static bool child(struct soak_worker *worker)
{
	void *at = worker;

	for (unsigned i = 0; i < POOLS; i++)
		if (mam_malloc(pools[i].pool, 1000, &at) != MAM_ERROR_DESTROYED)
			return false;
	return !worker->count || mam_free(NULL, (void *)worker->held[0].at) != MAM_OK;
}

/*
 * A pool gets its memory back when others have freed theirs. A driver that failed may have kept
 * some of it.
 */
static void settle(struct soak_worker *worker)
{
	running = NULL;
	INSIST(worker, mam_quota_set(quota, 0));
	for (unsigned i = 0; i < POOLS; i++) {
		enum mam_status status;

		allow(worker, mam_pool_set_limit(pools[i].pool, 0), "mam_pool_set_limit");
		status = mam_pool_resume(pools[i].pool);
		allow(worker, status, "mam_pool_resume");
		pools[i].suspended = status != MAM_OK;
	}
}

static void all_is_back(struct soak_worker *worker)
{
	struct fake_held now;

	if (!soak_cuda.fake_holds)
		return;
	soak_cuda.fake_holds(&now);
	/* The call that frees something may have failed. */
	if (!soak_round.faults && memcmp(&now, &before, sizeof(now)) != 0)
		soak_fail(worker,
			  "leaked %zd bytes, %d blocks, %d handles, %d mappings, %d ranges, %d "
			  "events",
			  now.device_bytes - before.device_bytes, now.blocks - before.blocks,
			  now.handles - before.handles, now.mappings - before.mappings,
			  now.reservations - before.reservations, now.events - before.events);
}

static void end(struct soak_worker *worker)
{
	for (unsigned i = 0; i < POOLS; i++) {
		struct mam_stats stats = { .size = sizeof(stats) };

		look(worker, pools[i].pool);
		INSIST(worker, mam_pool_stats(pools[i].pool, &stats));
		if (stats.live_blocks || stats.live_bytes)
			soak_fail(worker, "everything was freed, but %llu blocks are live",
				  (unsigned long long)stats.live_blocks);
		if (soak_draw(worker, 2))
			allow(worker, mam_pool_trim(pools[i].pool, 0, NULL), "mam_pool_trim");
		INSIST(worker, mam_pool_destroy(pools[i].pool));
	}
	mam_quota_destroy(quota);
	all_is_back(worker);
}

int main(int count, char **arguments)
{
	static const struct soak_backend backend = { begin, obtain, dispose, enter, leave,
						     other, child,  settle,  end };

	for (unsigned i = 0; i < POOLS; i++)
		pthread_rwlock_init(&pools[i].lock, NULL);
	return soak_main(count, arguments, &backend);
}
