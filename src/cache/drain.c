/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.c - access to a thread's cache by other threads: read it, empty it, end it (cache.h).
 *
 *   1. Take the cache's lock: its list of thread caches does not change.
 *   2. Stop every owner (asymlock.h), with one fence for all.
 *   3. Now the caller owns all thread caches: flush tallies into the pool's counts, return the
 *      blocks of the bins to the pool.
 *   4. Let the owners go on.
 *
 * An owner that is refused waits for the lock of step 1. Inside its thread cache it takes only the
 * pool's lock, never the cache's: the stopping thread holds no lock that the owner could need.
 *
 * If the calling thread is inside its own thread cache (from a listener or a signal handler), that
 * thread cache is skipped.
 */
#include "cache/cache.h"

#include "base/log.h"

#define BATCH 64 /* blocks freed per acquisition of the pool's lock */
#define LOOK_NS UINT64_C(1000000000)

static bool is_ours(const struct mam_tcache *tcache)
{
	return tcache->owner == mam_tcache_self();
}

/* Inside its own thread cache a thread cannot wait for itself. */
static bool may_touch(const struct mam_tcache *tcache)
{
	return !is_ours(tcache) || !mam_asymlock_is_inside(&tcache->hand);
}

static void stop_all_locked(struct mam_cache *cache)
{
	bool any = false;

	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = tcache->next) {
		if (is_ours(tcache))
			continue;
		mam_asymlock_stop_begin(&tcache->hand);
		any = true;
	}
	if (any)
		mam_asymlock_fence();
	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = tcache->next)
		if (!is_ours(tcache))
			mam_asymlock_stop_end(&tcache->hand);
}

static void go_all_locked(struct mam_cache *cache)
{
	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = tcache->next)
		if (!is_ours(tcache))
			mam_asymlock_go(&tcache->hand);
}

/* Take the lock and stop all owners; NULL: the pool has no cache, or it was closed. */
static struct mam_cache *hold(struct mam_pool *pool)
{
	struct mam_cache *cache = pool->cache;

	if (!cache)
		return NULL;
	mam_lock_take(&cache->lock);
	if (!mam_cache_serves(cache, pool)) {
		mam_lock_release(&cache->lock);
		return NULL;
	}
	stop_all_locked(cache);
	return cache;
}

static void release(struct mam_cache *cache)
{
	go_all_locked(cache);
	mam_lock_release(&cache->lock);
}

struct mam_cache *mam_cache_count_pending(struct mam_pool *pool)
{
	struct mam_cache *cache = hold(pool);

	if (!cache)
		return NULL;
	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = tcache->next)
		if (may_touch(tcache))
			mam_pool_meet(pool, tcache->tally);
	return cache;
}

void mam_cache_go(struct mam_cache *held)
{
	if (held)
		release(held);
}

static bool empty_streams(struct mam_pool *pool, struct mam_tcache *tcache)
{
	bool any = false;

	for (unsigned i = 0; i < MAM_TCACHE_STREAMS; i++)
		while (tcache->streams[i] &&
		       mam_cache_evict_async(tcache, pool, tcache->streams[i]) != 0)
			any = true;
	return any;
}

static bool empty(struct mam_pool *pool, struct mam_tcache *tcache)
{
	bool any = empty_streams(pool, tcache);
	void *blocks[BATCH];
	size_t count;

	(void)mam_kept_absorb(tcache, pool);
	mam_kept_flush(tcache, pool);
	while ((count = mam_bins_evict(&tcache->bins, blocks, BATCH)) != 0) {
		mam_pool_free_batch(pool, blocks, count, tcache->tally);
		any = true;
	}
	mam_pool_meet(pool, tcache->tally);
	if (mam_pool_is_suspended(pool)) /* from now on, frees bypass the bins */
		mam_cache_limit(tcache);
	return any;
}

static bool empty_transfer(struct mam_pool *pool, struct mam_transfer *transfer)
{
	struct mam_tally none = { 0 };
	void *blocks[MAM_BATCH_BLOCKS];
	bool any = false;
	size_t count;

	while ((count = mam_transfer_evict(transfer, blocks)) != 0) {
		mam_pool_free_batch(pool, blocks, count, &none);
		any = true;
	}
	return any;
}

static uint64_t lost_in_streams(const struct mam_tcache *tcache)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < MAM_TCACHE_STREAMS; i++)
		lost += tcache->streams[i] ? tcache->streams[i]->bins.lost : 0;
	return lost;
}

static uint64_t count_lost_locked(struct mam_cache *cache)
{
	uint64_t lost = cache->transfer.lost + cache->lost;

	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = tcache->next)
		lost += tcache->bins.lost + tcache->kept.lost + lost_in_streams(tcache);
	return lost;
}

struct search {
	void *blocks[BATCH];
	size_t count;
};

static bool note_cached(const struct mam_segment_info *segment, void *user)
{
	struct search *search = user;

	if (mam_cache_has(segment))
		search->blocks[search->count++] = segment->base;
	return search->count < BATCH;
}

static size_t asked(const struct mam_pool *pool, const struct mam_segment_info *segment)
{
	struct mam_segment_info seen = *segment;

	mam_cache_correct(pool, &seen);
	return seen.requested;
}

/* The record of a stream whose bins lost blocks; 0: none did. */
static uint32_t loser_locked(const struct mam_cache *cache)
{
	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = tcache->next)
		for (unsigned i = 0; i < MAM_TCACHE_STREAMS; i++)
			if (tcache->streams[i] && tcache->streams[i]->bins.lost != 0)
				return tcache->streams[i]->record;
	return 0;
}

/* Empty bins have lost nothing any more. */
static void forgive(struct mam_pool *pool, struct mam_tcache *tcache)
{
	tcache->bins.lost = tcache->kept.lost = 0;
	for (unsigned i = 0; i < MAM_TCACHE_STREAMS; i++) {
		struct mam_stream_bins *bins = tcache->streams[i];

		if (!bins || bins->bins.lost == 0)
			continue;
		bins->bins.lost = 0;
		mam_cache_unbind(tcache, pool, bins);
	}
}

/*
 * A program freed a block from two threads at once, and a bin became unreadable (bins.h). All bins
 * are empty now: blocks that still have the tag of a cached block were in that one, and all other
 * live records belong to callers. Kept blocks (kept.h) must still wait for a ticket. If a stream's
 * bins lost blocks, any stream may still use what is found: it waits for the whole context.
 */
static void find_lost_locked(struct mam_cache *cache, struct mam_pool *pool)
{
	uint32_t loser = loser_locked(cache);
	struct mam_tally none = { 0 };
	struct search search;
	size_t found;

	mam_log(MAM_LOG_WARN,
		"pool %s: double free by two threads at the same time; the block was freed once",
		pool->config.name);
	do {
		search.count = 0;
		if (mam_pool_visit(pool, note_cached, &search) != MAM_OK)
			return;
		found = search.count;
		for (size_t i = found; i-- > 0;) {
			void *block = search.blocks[i];

			if (!mam_cache_forget(block))
				continue;
			(void)mam_pool_set_aside(pool, block, NULL, NULL);
			search.blocks[i] = search.blocks[--search.count];
		}
		if (loser != 0)
			mam_stream_put_orphans(pool, loser, search.blocks, search.count);
		else
			mam_pool_free_batch(pool, search.blocks, search.count, &none);
	} while (found != 0);
	mam_pool_recount(pool, asked);
	cache->transfer.lost = cache->lost = 0;
	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = tcache->next)
		forgive(pool, tcache);
}

bool mam_cache_drain(struct mam_pool *pool)
{
	struct mam_cache *cache = hold(pool);
	bool any = false;

	if (!cache)
		return false;
	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = tcache->next)
		if (may_touch(tcache) && empty(pool, tcache))
			any = true;
	if (empty_transfer(pool, &cache->transfer))
		any = true;
	if (count_lost_locked(cache) != 0)
		find_lost_locked(cache, pool);
	release(cache);
	return any;
}

void mam_cache_gather(struct mam_pool *pool)
{
	struct mam_cache *cache;

	if (atomic_load_explicit(&pool->refused, memory_order_relaxed)) {
		(void)mam_cache_drain(pool);
		return;
	}
	cache = hold(pool);
	if (!cache)
		return;
	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = tcache->next) {
		if (!may_touch(tcache))
			continue;
		(void)mam_kept_absorb(tcache, pool);
		mam_kept_flush(tcache, pool);
	}
	release(cache);
}

static void release_locked(struct mam_pool *pool, struct mam_tcache *tcache,
			   const struct CUstream_st *stream)
{
	for (unsigned i = 0; i < MAM_TCACHE_STREAMS; i++)
		if (tcache->streams[i] && tcache->streams[i]->stream == stream)
			mam_cache_unbind(tcache, pool, tcache->streams[i]);
}

/* A per-thread default stream is a different one in each thread. */
void mam_cache_release_async(struct mam_pool *pool, struct CUstream_st *stream)
{
	struct mam_cache *cache = hold(pool);

	if (!cache)
		return;
	if (stream == NULL)
		stream = MAM_STREAM_LEGACY;
	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = tcache->next)
		if (may_touch(tcache) && (stream != MAM_STREAM_PER_THREAD || is_ours(tcache)))
			release_locked(pool, tcache, stream);
	release(cache);
}

static bool was_idle(struct mam_tcache *tcache)
{
	bool idle = tcache->tally->allocs == 0 && tcache->tally->frees == 0 &&
		    tcache->turns == tcache->seen;

	tcache->seen = tcache->turns;
	return idle;
}

static void look_locked(struct mam_cache *cache, struct mam_pool *pool)
{
	unsigned in_use = 0;

	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = tcache->next) {
		if (!may_touch(tcache))
			continue;
		if (!was_idle(tcache))
			in_use++;
		else
			(void)empty(pool, tcache);
		mam_pool_meet(pool, tcache->tally);
	}
	if (in_use < 2)
		(void)empty_transfer(pool, &cache->transfer);
}

void mam_cache_age(struct mam_pool *pool, uint64_t now)
{
	struct mam_cache *cache = pool->cache;

	if (!cache || now < atomic_load_explicit(&cache->next_look, memory_order_relaxed))
		return;
	cache = hold(pool);
	if (!cache)
		return;
	if (now >= atomic_load_explicit(&cache->next_look, memory_order_relaxed)) {
		atomic_store_explicit(&cache->next_look, now + LOOK_NS, memory_order_relaxed);
		look_locked(cache, pool);
	}
	release(cache);
}

/* Their blocks are gone. After the pool has ended there are no records. */
static void drop_streams(struct mam_pool *pool, struct mam_tcache *tcache)
{
	for (unsigned i = 0; i < MAM_TCACHE_STREAMS; i++) {
		struct mam_stream_bins *bins = tcache->streams[i];

		if (!bins)
			continue;
		if (bins->record != 0)
			mam_stream_unpin(pool, bins->record);
		mam_tcache_bins_free(bins);
		tcache->streams[i] = NULL;
	}
}

static void unlink_locked(struct mam_cache *cache, struct mam_tcache *tcache)
{
	if (may_touch(tcache))
		drop_streams(atomic_load_explicit(&tcache->pool, memory_order_relaxed), tcache);
	*(tcache->previous ? &tcache->previous->next : &cache->tcaches) = tcache->next;
	if (tcache->next)
		tcache->next->previous = tcache->previous;
	tcache->next = tcache->previous = NULL;
	if (tcache->tally != &tcache->unlisted)
		mam_statpage_return_tally(tcache->tally);
	tcache->tally = &tcache->unlisted;
	atomic_fetch_sub_explicit(&cache->tcache_count, 1, memory_order_relaxed);
	atomic_store_explicit(&tcache->handle, 0, memory_order_relaxed);
	/* The last access: from now on its thread may use it for another pool. */
	atomic_store_explicit(&tcache->pool, NULL, memory_order_release);
}

void mam_cache_leave_tcache(struct mam_tcache *tcache)
{
	struct mam_cache *cache = tcache->cache;
	struct mam_pool *pool;

	pool = atomic_load_explicit(&tcache->pool, memory_order_relaxed);
	if (pool == NULL)
		return;
	if (lost_in_streams(tcache) != 0) /* which streams these blocks belong to is known here */
		(void)mam_cache_drain(pool);
	mam_lock_take(&cache->lock);
	pool = atomic_load_explicit(&tcache->pool, memory_order_relaxed);
	if (pool) {
		(void)empty(pool, tcache);
		cache->lost += tcache->bins.lost + tcache->kept.lost;
		unlink_locked(cache, tcache);
	}
	mam_lock_release(&cache->lock);
}

/* Drop the blocks of the bins: remove their tags. */
static void forget(struct mam_tcache *tcache)
{
	void *blocks[BATCH];

	while (mam_bins_evict(&tcache->bins, blocks, BATCH) != 0)
		continue;
	for (unsigned i = 0; i < MAM_TCACHE_STREAMS; i++)
		while (tcache->streams[i] &&
		       mam_bins_evict(&tcache->streams[i]->bins, blocks, BATCH) != 0)
			continue;
	tcache->stream_granules = 0;
	mam_kept_forget(tcache);
}

/* Owners stay stopped: no thread cache is used for this pool again. */
static void close_locked(struct mam_cache *cache)
{
	void *blocks[MAM_BATCH_BLOCKS];

	while (cache->tcaches) {
		struct mam_tcache *tcache = cache->tcaches;

		if (may_touch(tcache))
			forget(tcache);
		unlink_locked(cache, tcache);
	}
	while (mam_transfer_evict(&cache->transfer, blocks) != 0)
		continue;
	atomic_store_explicit(&cache->pool, NULL, memory_order_release);
}

/* Skip the block if another pool has the address by now and tagged its own block there. */
static bool forget_live(const struct mam_segment_info *segment, void *user)
{
	const uint64_t *number = user;
	uint64_t value;
	mam_blocktag_word *tag;

	if (!segment->live)
		return true;
	tag = mam_blocktag_live_at((uintptr_t)segment->base, mam_blocktag_live_key(*number),
				   &value);
	if (tag)
		atomic_compare_exchange_strong(tag, &value, MAM_BLOCKTAG_NONE);
	return true;
}

void mam_cache_close(struct mam_pool *pool)
{
	struct mam_cache *cache = hold(pool);
	uint64_t number;

	if (!cache)
		return;
	number = atomic_load_explicit(&cache->number, memory_order_relaxed);
	close_locked(cache);
	mam_lock_release(&cache->lock);
	/*
	 * Live blocks of an abandoned pool: the next pool with its number must not find their tags.
	 */
	(void)mam_pool_visit(pool, forget_live, &number);
	mam_cache_end(cache);
}

static const char *check(const struct mam_tcache *tcache)
{
	const char *why = mam_bins_check(&tcache->bins);
	uint64_t granules = 0;

	for (unsigned i = 0; i < MAM_TCACHE_STREAMS && !why; i++) {
		if (!tcache->streams[i])
			continue;
		why = mam_bins_check(&tcache->streams[i]->bins);
		granules += tcache->streams[i]->bins.granules;
	}
	if (!why)
		why = mam_kept_check(&tcache->kept, tcache->bins.key);
	if (!why && granules != tcache->stream_granules)
		why = "a thread cache's count of blocks of streams does not match their bins";
	return why;
}

const char *mam_cache_check(const struct mam_cache *held)
{
	const char *why = NULL;

	if (!held)
		return NULL;
	for (struct mam_tcache *tcache = held->tcaches; tcache && !why; tcache = tcache->next)
		if (may_touch(tcache))
			why = check(tcache);
	return why ? why : mam_transfer_check(&held->transfer);
}

void mam_cache_fork_prepare(struct mam_pool *pool)
{
	struct mam_cache *cache = pool->cache;

	/* Two pools never share a cache that serves one of them: no lock is taken twice. */
	if (!cache || !mam_cache_serves(cache, pool))
		return;
	mam_lock_take_for_fork(&cache->lock);
	if (mam_cache_serves(cache, pool))
		stop_all_locked(cache);
	else
		mam_lock_release_for_fork(&cache->lock);
}

void mam_cache_fork_parent(struct mam_pool *pool)
{
	struct mam_cache *cache = pool->cache;

	if (!cache || !mam_cache_serves(cache, pool))
		return;
	go_all_locked(cache);
	mam_lock_release_for_fork(&cache->lock);
}

/*
 * Thread caches of threads that the child does not have: free their blocks, if the pool still
 * exists.
 */
static void drop_strangers_locked(struct mam_cache *cache, struct mam_pool *pool)
{
	struct mam_tcache *next;

	for (struct mam_tcache *tcache = cache->tcaches; tcache; tcache = next) {
		next = tcache->next;
		if (is_ours(tcache))
			continue;
		(void)empty(pool, tcache);
		unlink_locked(cache, tcache);
		mam_tcache_drop(tcache);
	}
}

void mam_cache_fork_child(struct mam_pool *pool)
{
	struct mam_cache *cache = pool->cache;
	bool ended = atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY;

	if (!cache || !mam_cache_serves(cache, pool))
		return;
	mam_lock_reinit(&cache->lock);
	mam_lock_take(&cache->lock);
	drop_strangers_locked(cache, pool);
	if (ended)
		close_locked(cache);
	mam_lock_release(&cache->lock);
	if (ended)
		mam_cache_end(cache);
}
