/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.c - the slow paths of cache.h.
 *
 * alloc:
 *   1. Find the thread's cache at the pool, or make one.
 *   2. Search the bins once more: the thread may have been stopped a moment ago. Then search the
 *      transfer cache.
 *   3. Allocate from the pool, flushing the thread's tally, inside the thread cache, so that no
 *      other thread sees a partial update. A small size allocates extra blocks of the same size:
 *      twice as many each time the bins have none, up to 16 blocks and 64 KiB.
 *   4. If the pool would have to grow: leave the thread cache first, since growing empties all
 *      caches.
 *   5. Tag the block, so that its free finds the thread cache.
 * free:
 *   1. A block with a tag is pushed into the bins. Blocks that the bins evict for it go to the
 *      transfer cache. If that is full, or no other thread uses the pool, they go to the pool, a
 *      batch per acquisition of the lock, until the bins are a quarter below their limit.
 *   2. A block without a tag is freed to the pool, which also flushes the thread's tally.
 *   3. A block that is cached was freed before: double free. The same holds for an address inside a
 *      cached block.
 *
 * Source: J. Bonwick and J. Adams, "Magazines and Vmem", USENIX 2001. We differ in stacks linked
 * through the blocks' tags in place of magazines of one size: sizes of GPU memory seldom repeat,
 * and a magazine for each would be mostly empty.
 *
 * Limit of a thread cache: all of them together may contain a quarter of the pool's reserved bytes.
 * One may contain at most 16 MiB, or 32 if there are several, or, if that is more, its share of a
 * 512th of the live bytes. Cached blocks never make a pool of chunks grow: growth empties the
 * caches first (drain.c). On mapped pieces they do, by up to an eighth of the live bytes or a 256th
 * of the device's memory, in thread caches of 12 MiB: with 16 MiB the replay of gnn
 * (pool/growth_policy.h) costs 45 ms of driver calls, with 12 MiB 38, without caches 31.
 *
 * In the workload of bins.c, share of operations that find no block, by MiB per thread and by how
 * much larger than the request a block may be:
 *               8      16     32    mean excess at 16
 *   an eighth   8.1%   3.9%   1.0%   2.8%
 *   a quarter   5.2%   1.8%   0.2%   5.5%
 *   a half      3.2%   0.8%   0.0%   8.3%
 * A lock contended by 16 threads is acquired some 1.2 million times per second (on an H100's host).
 * So at 80 million operations no more than 1.5% may need it: more threads need more excess and more
 * bytes. (16 threads there did 49 million with 16 MiB each, and 472 million with 32.) A single
 * thread never waits for the lock, and uses at most an eighth.
 */
#include "cache/cache.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"
#include "pool/spare.h"

#define CACHE_BYTES mam_round_up(sizeof(struct mam_cache), 4096)

#define TCACHE_MAX ((uint64_t)16 << 20)        /* bytes, if there is one thread */
#define TCACHE_MAX_SHARED ((uint64_t)32 << 20) /* if there are several */
#define TCACHE_MAX_PIECES ((uint64_t)12 << 20) /* if memory is mapped in pieces */
#define SHARE_OF_LIVE 512
#define SHARE_OF_RESERVED 4
#define SHARE_OF_PIECES 8   /* of live bytes, if memory is mapped for cached blocks */
#define SHARE_OF_MEMORY 256 /* of device memory: the minimum of that share */
#define SLACK_ALONE 3       /* of a request: an eighth */
#define SLACK_FEW 2         /* a quarter */
#define SLACK_MANY 1
#define TCACHES_FEW 4
#define TURNS_A_LOOK 256 /* slow paths per check of the clock */
#define SHARE_OF_HIGH 256
#define HIGH_MIN ((uint64_t)16 << 20)
#define MORE_BLOCKS 16 /* extra blocks per request */
#define MORE_GRANULES 128
#define BATCH 32           /* blocks evicted per acquisition of a lock */
#define TRANSFER_TCACHES 4 /* maximum of the transfer cache, in limits of a thread cache */

static struct mam_lock idle_lock = MAM_LOCK_INIT(MAM_RANK_LOG, "idle caches");
static struct mam_cache *idle; /* lock: idle */

static void start(struct mam_cache *cache)
{
	mam_lock_init(&cache->lock, MAM_RANK_CACHE, "cache");
	mam_transfer_init(&cache->transfer);
}

static struct mam_cache *take_idle(void)
{
	struct mam_cache *cache;

	mam_lock_take(&idle_lock);
	cache = idle;
	if (cache)
		idle = cache->next;
	mam_lock_release(&idle_lock);
	if (!cache) {
		cache = mam_pages_map(CACHE_BYTES);
		if (cache)
			start(cache);
	}
	return cache;
}

void mam_cache_end(struct mam_cache *cache)
{
	mam_lock_take(&idle_lock);
	cache->next = idle;
	idle = cache;
	mam_lock_release(&idle_lock);
}

static bool drain(struct mam_pool *pool, enum mam_drain_level level)
{
	/* Emptying a cache never waits for the device. A pool that ends has emptied its caches. */
	if (level == MAM_DRAIN_END)
		return false;
	/*
	 * New chunks are rare, so each is worth emptying all caches. New pieces are frequent and
	 * small: 16 threads did 1.7 million operations per second when their caches were emptied
	 * before each piece, and 35 million on chunks.
	 */
	if (level == MAM_DRAIN_PASSED && pool->range != NULL)
		return false;
	return mam_cache_drain(pool);
}

void mam_cache_open(struct mam_pool *pool, uint64_t number)
{
	struct mam_cache *cache;

	if (pool->config.granule < MAM_BLOCKTAG_GRANULE ||
	    pool->config.granule > MAM_CACHE_MAX_BYTES || number >= MAM_BLOCKTAG_POOLS)
		return;
	cache = take_idle();
	if (!cache)
		return;
	mam_tcache_prepare(mam_cache_leave_tcache);
	mam_lock_take(&cache->lock);
	cache->lost = cache->transfer.lost = 0;
	cache->in_pieces = pool->range != NULL;
	cache->pieces_min = pool->source->properties.total_bytes / SHARE_OF_MEMORY;
	atomic_store_explicit(&cache->high_max, 0, memory_order_relaxed);
	atomic_store_explicit(&cache->next_look, 0, memory_order_relaxed);
	atomic_store_explicit(&cache->number, number, memory_order_relaxed);
	atomic_store_explicit(&cache->pool, pool, memory_order_release);
	mam_lock_release(&cache->lock);
	pool->drain[MAM_DRAIN_CACHE] = drain;
	pool->cache = cache;
}

void mam_cache_limit(struct mam_tcache *tcache)
{
	const struct mam_cache *cache = tcache->cache;
	uint64_t tcaches = atomic_load_explicit(&cache->tcache_count, memory_order_relaxed);
	const struct mam_pool *pool = atomic_load_explicit(&cache->pool, memory_order_relaxed);
	uint64_t tcache_max = tcaches <= 1 ? TCACHE_MAX : TCACHE_MAX_SHARED;
	uint64_t max, space = tcache->tally->reserved_bytes / SHARE_OF_RESERVED;

	if (pool != NULL && mam_pool_is_suspended(pool)) { /* no block may be allocated */
		tcache->max = 0;
		return;
	}
	if (tcaches == 0)
		tcaches = 1;
	if (cache->in_pieces) {
		space = tcache->tally->live_bytes / SHARE_OF_PIECES;
		if (space < cache->pieces_min)
			space = cache->pieces_min;
		tcache_max = TCACHE_MAX_PIECES;
	}
	space /= tcaches;
	max = tcache->tally->live_bytes / SHARE_OF_LIVE / tcaches;
	if (max < tcache_max)
		max = tcache_max;
	tcache->max = (max < space ? max : space) >> MAM_BLOCKTAG_SHIFT;
	tcache->slack = tcaches == 1             ? SLACK_ALONE
			: tcaches <= TCACHES_FEW ? SLACK_FEW
						 : SLACK_MANY;
}

static void sit_locked(struct mam_cache *cache, struct mam_tcache *tcache, struct mam_pool *pool)
{
	cache->next_tcache = cache->next_tcache % (MAM_BLOCKTAG_TCACHES - 1) + 1;
	tcache->cache = cache;
	tcache->live_key = mam_blocktag_live_key(atomic_load(&cache->number));
	tcache->waits = pool->strict;
	tcache->round_up = pool->config.granule - 1;
	tcache->unit_mask = ~(tcache->round_up >> MAM_BLOCKTAG_SHIFT);
	tcache->bins.key = mam_blocktag_cached_key(cache->next_tcache);
	tcache->tally =
		mam_statpage_take_tally(atomic_load_explicit(&pool->page, memory_order_relaxed));
	if (!tcache->tally)
		tcache->tally = &tcache->unlisted;
	tcache->next = cache->tcaches;
	if (tcache->next)
		tcache->next->previous = tcache;
	cache->tcaches = tcache;
	atomic_fetch_add_explicit(&cache->tcache_count, 1, memory_order_relaxed);
	atomic_store(&tcache->handle, (uintptr_t)mam_handle_of(pool));
	atomic_store_explicit(&tcache->pool, pool, memory_order_relaxed);
}

/* The thread's cache at the pool; NULL: the pool ended, or there is no host memory. */
static struct mam_tcache *tcache_at(struct mam_pool *pool)
{
	struct mam_cache *cache = pool->cache;
	struct mam_tcache *tcache = mam_tcache_last;

	if (atomic_load_explicit(&tcache->pool, memory_order_relaxed) == pool)
		return tcache;
	tcache = mam_tcache_find(pool);
	if (tcache)
		return tcache;
	tcache = mam_tcache_take();
	if (!tcache)
		return NULL;
	mam_lock_take(&cache->lock);
	if (mam_cache_serves(cache, pool))
		sit_locked(cache, tcache, pool);
	mam_lock_release(&cache->lock);
	if (atomic_load_explicit(&tcache->pool, memory_order_relaxed) != pool)
		return NULL;
	mam_tcache_last = tcache;
	return tcache;
}

/*
 * Enter the thread's cache; NULL: there is none. The thread that stopped this one holds the cache's
 * lock until it may continue.
 */
struct mam_tcache *mam_cache_enter(struct mam_pool *pool)
{
	for (;;) {
		struct mam_tcache *tcache = tcache_at(pool);

		if (!tcache || mam_asymlock_is_inside(&tcache->hand))
			return NULL;
		if (mam_asymlock_enter(&tcache->hand)) {
			if (atomic_load_explicit(&tcache->pool, memory_order_relaxed) == pool)
				return tcache;
			mam_asymlock_leave(&tcache->hand);
			continue;
		}
		mam_lock_take(&tcache->cache->lock);
		mam_lock_release(&tcache->cache->lock);
	}
}

/* How many extra blocks a request for that many granules allocates. */
static size_t appetite_for(struct mam_tcache *tcache, uint64_t granules)
{
	size_t more;

	if (granules > MAM_TCACHE_SMALL)
		return 0;
	more = tcache->appetite[granules];
	tcache->appetite[granules] = (uint8_t)(more == 0            ? 1
					       : more < MORE_BLOCKS ? 2 * more
								    : more);
	return more * granules > MORE_GRANULES ? MORE_GRANULES / granules : more;
}

/* Extra blocks from the pool; those that cannot be tagged are freed. */
static void keep(struct mam_tcache *tcache, struct mam_pool *pool, void **more, size_t count,
		 uint64_t granules)
{
	size_t left = 0;

	for (size_t i = count; i-- > 0;) {
		mam_blocktag_word *tag = mam_blocktag_make((uintptr_t)more[i], granules);

		if (tag)
			mam_bins_push(&tcache->bins, (uintptr_t)more[i], tag, granules);
		else
			more[left++] = more[i];
	}
	if (left != 0)
		mam_pool_free_batch(pool, more, left, tcache->tally);
}

void mam_cache_tag_live(struct mam_tcache *tcache, void *block, size_t bytes)
{
	uint64_t granules = mam_cache_granules(tcache, bytes);
	mam_blocktag_word *tag = mam_blocktag_make((uintptr_t)block, granules);

	if (tag)
		mam_blocktag_write(tag, mam_blocktag_live(tcache->live_key, (uintptr_t)block,
							  granules, bytes));
}

/* Whether a cached block may serve the request, and its block may be cached. */
static bool is_small(const struct mam_tcache *tcache, size_t bytes, size_t alignment)
{
	return bytes <= MAM_CACHE_MAX_BYTES && alignment <= tcache->round_up + 1 &&
	       (alignment == 0 || mam_is_power_of_two(alignment));
}

static bool is_alone(const struct mam_tcache *tcache)
{
	return atomic_load_explicit(&tcache->cache->tcache_count, memory_order_relaxed) == 1;
}

static bool take_from_transfer(struct mam_tcache *tcache, uint64_t granules)
{
	return mam_transfer_take(&tcache->cache->transfer, &tcache->bins, granules,
				 granules + (granules >> tcache->slack));
}

/* Kept blocks that are available move into the bins, which then evict those that are too many. */
static bool absorb(struct mam_tcache *tcache, struct mam_pool *pool)
{
	if (tcache->kept.count == 0 || !mam_kept_absorb(tcache, pool))
		return false;
	if (mam_tcache_held(tcache) > tcache->max)
		mam_cache_make_room(tcache, pool, 0);
	return true;
}

/* pre: inside. WOULD_WAIT: the pool must grow for it. */
static enum mam_status alloc_inside(struct mam_tcache *tcache, struct mam_pool *pool, size_t bytes,
				    size_t alignment, void **block)
{
	bool small = is_small(tcache, bytes, alignment);
	uint64_t granules = small ? mam_cache_granules(tcache, bytes) : 0;
	void *more[MORE_BLOCKS];
	enum mam_status status;
	size_t got;

	if (small) {
		void *found = mam_cache_take_inside(tcache, &tcache->bins, bytes);

		if (!found && absorb(tcache, pool))
			found = mam_cache_take_inside(tcache, &tcache->bins, bytes);
		if (!found && take_from_transfer(tcache, granules))
			found = mam_cache_take_inside(tcache, &tcache->bins, bytes);
		if (found) {
			*block = found;
			return MAM_OK;
		}
	}
	status = mam_pool_alloc_batch(pool, bytes, alignment, tcache->tally, block,
				      small ? appetite_for(tcache, granules) : 0, more, &got);
	if (status != MAM_OK)
		return status;
	mam_cache_limit(tcache);
	if (small) {
		keep(tcache, pool, more, got, granules);
		mam_cache_tag_live(tcache, *block, bytes);
	}
	return MAM_OK;
}

/*
 * A large block is about to use memory above all other blocks. Cached blocks may separate free
 * blocks that together would fit: caches are emptied first, once each time that blocks reach higher
 * by a 256th.
 */
static void before_rising(struct mam_pool *pool, uint64_t high_bytes)
{
	struct mam_cache *cache = pool->cache;
	uint64_t step = high_bytes / SHARE_OF_HIGH;

	if (high_bytes <= atomic_load_explicit(&cache->high_max, memory_order_relaxed))
		return;
	(void)mam_cache_drain(pool);
	atomic_store_explicit(&cache->high_max, high_bytes + (step > HIGH_MIN ? step : HIGH_MIN),
			      memory_order_relaxed);
}

/* Larger than the bins allow, or aligned: from the pool, which may have to grow. */
static enum mam_status alloc_large(struct mam_pool *pool, struct mam_tcache *tcache, size_t bytes,
				   size_t alignment, void **block)
{
	uint64_t high_max = atomic_load_explicit(&tcache->cache->high_max, memory_order_relaxed);
	enum mam_status status =
		mam_pool_alloc_below(pool, bytes, alignment, tcache->tally, high_max, block);
	uint64_t high_bytes = tcache->tally->high_bytes;

	mam_asymlock_leave(&tcache->hand);
	if (status == MAM_OK)
		return status;
	before_rising(pool, high_bytes);
	return mam_pool_alloc(pool, bytes, alignment, block);
}

/* Inside the thread cache: after those of a pool are closed, no tag is written for it. */
static void tag_fresh(struct mam_pool *pool, void *block, size_t bytes)
{
	struct mam_tcache *tcache = mam_cache_enter(pool);

	if (!tcache)
		return;
	mam_cache_tag_live(tcache, block, bytes);
	mam_asymlock_leave(&tcache->hand);
}

enum mam_status mam_cache_alloc_slowly(struct mam_pool *pool, size_t bytes, size_t alignment,
				       void **block)
{
	struct mam_tcache *tcache = pool->cache ? mam_cache_enter(pool) : NULL;
	enum mam_status status = MAM_ERROR_WOULD_WAIT;
	bool look = false;

	if (tcache && !is_small(tcache, bytes, alignment))
		return alloc_large(pool, tcache, bytes, alignment, block);
	if (tcache) {
		status = alloc_inside(tcache, pool, bytes, alignment, block);
		look = ++tcache->turns % TURNS_A_LOOK == 0;
		mam_asymlock_leave(&tcache->hand);
	}
	if (look)
		mam_cache_age(pool, mam_clock_ns());
	if (status != MAM_ERROR_WOULD_WAIT)
		return status;
	status = mam_pool_alloc(pool, bytes, alignment, block);
	if (status == MAM_OK && tcache)
		tag_fresh(pool, *block, bytes);
	return status;
}

enum mam_status mam_cache_alloc_nowait(struct mam_pool *pool, size_t bytes, size_t alignment,
				       void **block)
{
	struct mam_tcache *tcache =
		pool->cache && bytes != 0 && block ? mam_cache_enter(pool) : NULL;
	enum mam_status status;

	if (!tcache)
		return mam_pool_alloc_held(pool, bytes, alignment, block);
	status = alloc_inside(tcache, pool, bytes, alignment, block);
	mam_asymlock_leave(&tcache->hand);
	return status;
}

static size_t evict_plain(struct mam_tcache *tcache, struct mam_pool *pool)
{
	void *blocks[BATCH];
	size_t count = 0;

	if (!is_alone(tcache))
		count = mam_transfer_give(&tcache->cache->transfer, &tcache->bins,
					  TRANSFER_TCACHES * tcache->max);
	if (count != 0)
		return count;
	count = mam_bins_evict(&tcache->bins, blocks, BATCH);
	if (count != 0)
		mam_pool_free_batch(pool, blocks, count, tcache->tally);
	return count;
}

/* Evict a batch of the bins that contain most bytes. */
static size_t evict(struct mam_tcache *tcache, struct mam_pool *pool)
{
	struct mam_stream_bins *fullest = NULL;

	if (tcache->stream_granules == 0)
		return evict_plain(tcache, pool);
	for (unsigned i = 0; i < MAM_TCACHE_STREAMS; i++) {
		struct mam_stream_bins *bins = tcache->streams[i];

		if (bins && (!fullest || bins->bins.granules > fullest->bins.granules))
			fullest = bins;
	}
	return fullest && fullest->bins.granules > tcache->bins.granules
		       ? mam_cache_evict_async(tcache, pool, fullest)
		       : evict_plain(tcache, pool);
}

/* Evicts down to three quarters of the limit. */
void mam_cache_make_room(struct mam_tcache *tcache, struct mam_pool *pool, uint64_t granules)
{
	uint64_t goal = tcache->max / 4 * 3;

	goal = goal > granules ? goal - granules : 0;
	while (mam_tcache_held(tcache) > goal && evict(tcache, pool) != 0)
		continue;
	mam_cache_limit(tcache);
}

mam_blocktag_word *mam_cache_live_here(const struct mam_pool *pool, const void *block,
				       uint64_t *value)
{
	const struct mam_cache *cache = pool->cache;

	if (!mam_cache_serves(cache, pool))
		return NULL;
	return mam_blocktag_live_at(
		(uintptr_t)block,
		mam_blocktag_live_key(atomic_load_explicit(&cache->number, memory_order_relaxed)),
		value);
}

bool mam_cache_has(const struct mam_segment_info *segment)
{
	return segment->live &&
	       mam_blocktag_state(mam_blocktag_of((uintptr_t)segment->base,
						  segment->bytes >> MAM_BLOCKTAG_SHIFT)) ==
		       MAM_BLOCKTAG_CACHED;
}

/* Usually both tags show that it is not cached, and the record need not be read. */
bool mam_cache_is_cached(struct mam_pool *pool, const void *block)
{
	struct mam_segment_info segment;

	return mam_blocktag_may_be_cached((uintptr_t)block) &&
	       mam_pool_find(pool, block, &segment) == MAM_OK && mam_cache_has(&segment);
}

enum mam_status mam_cache_judge(struct mam_pool *pool, const void *address)
{
	struct mam_segment_info segment;

	return mam_pool_find(pool, address, &segment) == MAM_OK && mam_cache_has(&segment)
		       ? MAM_ERROR_DOUBLE_FREE
		       : MAM_ERROR_INTERIOR;
}

/* A block without a live tag: either it bypassed the cache, or the free is an error. */
static enum mam_status free_untagged(struct mam_pool *pool, void *block, struct mam_tally *tally)
{
	enum mam_status status;

	if (mam_cache_is_cached(pool, block))
		return MAM_ERROR_DOUBLE_FREE;
	status = mam_pool_free_one(pool, block, 0, tally);
	return status == MAM_ERROR_INTERIOR ? mam_cache_judge(pool, block) : status;
}

/* pre: inside the thread cache, if there is one. */
static enum mam_status free_tagged(struct mam_pool *pool, struct mam_tcache *tcache, void *block,
				   mam_blocktag_word *tag, uint64_t value)
{
	struct mam_tally none = { 0 };
	uint64_t granules = mam_blocktag_granules(value);

	if (tcache && mam_tcache_held(tcache) + granules > tcache->max)
		mam_cache_make_room(tcache, pool, granules);
	if (tcache && mam_cache_give_inside(tcache, &tcache->bins, (uintptr_t)block))
		return MAM_OK;
	mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
	return mam_pool_free_one(pool, block, mam_blocktag_requested(value),
				 tcache ? tcache->tally : &none);
}

enum mam_status mam_cache_free_slowly(struct mam_pool *pool, void *block)
{
	struct mam_tally none = { 0 };
	struct mam_tcache *tcache;
	enum mam_status status;
	mam_blocktag_word *tag;
	uint64_t value;

	if (!pool->cache)
		return mam_pool_free(pool, block);
	tcache = mam_cache_enter(pool);
	if (tcache)
		tcache->turns++;
	tag = mam_cache_live_here(pool, block, &value);
	status = tag ? free_tagged(pool, tcache, block, tag, value)
		     : free_untagged(pool, block, tcache ? tcache->tally : &none);
	if (tcache)
		mam_asymlock_leave(&tcache->hand);
	if (pool->config.spare_bytes != 0)
		mam_spare_look(pool);
	return status;
}

/* pre: inside the thread cache, if there is one. */
static enum mam_status claim(struct mam_pool *pool, struct mam_tcache *tcache, void *block)
{
	struct mam_tally none = { 0 };
	enum mam_status status = MAM_OK;
	struct mam_tally *tally = tcache ? tcache->tally : &none;
	uint64_t value;
	mam_blocktag_word *tag = mam_cache_live_here(pool, block, &value);

	if (tag) {
		mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
		mam_pool_amend(pool, block, mam_blocktag_requested(value), tally);
	} else {
		if (tally->allocs != 0 || tally->frees != 0)
			mam_pool_meet(pool, tally);
		if (mam_cache_is_cached(pool, block))
			status = MAM_ERROR_DOUBLE_FREE;
	}
	return status;
}

enum mam_status mam_cache_claim_slowly(struct mam_pool *pool, void *block)
{
	struct mam_tcache *tcache = mam_cache_enter(pool);
	enum mam_status status = claim(pool, tcache, block);

	if (tcache)
		mam_asymlock_leave(&tcache->hand);
	return status;
}

static enum mam_status retire_alone(struct mam_pool *pool, void *block, uint64_t *ticket,
				    size_t *bytes)
{
	enum mam_status status = mam_cache_claim(pool, block);

	if (status == MAM_OK)
		status = mam_pool_set_aside(pool, block, ticket, bytes);
	return status == MAM_ERROR_INTERIOR ? mam_cache_judge(pool, block) : status;
}

enum mam_status mam_cache_retire_shared(struct mam_pool *pool, void *block, uint64_t *ticket,
					size_t *bytes)
{
	struct mam_tcache *tcache = pool->cache ? mam_cache_enter(pool) : NULL;
	mam_blocktag_word *tag = NULL;
	uint64_t value;

	if (tcache) {
		tag = mam_blocktag_live_at((uintptr_t)block, tcache->live_key, &value);
		if (tag)
			mam_cache_keep_inside(tcache, pool, block, tag, value, ticket, bytes);
		mam_asymlock_leave(&tcache->hand);
	}
	return tag ? MAM_OK : retire_alone(pool, block, ticket, bytes);
}

enum mam_status mam_cache_free_now(struct mam_pool *pool, void *block)
{
	enum mam_status status = pool->cache ? claim(pool, NULL, block) : MAM_OK;

	if (status == MAM_OK)
		status = mam_pool_free_now(pool, block);
	return status == MAM_ERROR_INTERIOR && pool->cache ? mam_cache_judge(pool, block) : status;
}

void mam_cache_correct_cached(const struct mam_pool *pool, struct mam_segment_info *segment)
{
	uint64_t value;

	if (mam_cache_has(segment)) {
		segment->live = false;
		segment->retired = (mam_blocktag_of((uintptr_t)segment->base,
						    segment->bytes >> MAM_BLOCKTAG_SHIFT) &
				    MAM_BLOCKTAG_KEPT) != 0;
		segment->requested = 0;
	} else if (mam_cache_live_here(pool, segment->base, &value)) {
		segment->requested = mam_blocktag_requested(value);
	}
}

bool mam_cache_forget(const void *block)
{
	bool kept = false;

	for (uint64_t granules = 1; granules <= MAM_BLOCKTAG_LARGE;
	     granules += MAM_BLOCKTAG_LARGE - 1) {
		mam_blocktag_word *tag = mam_blocktag_find((uintptr_t)block, granules);

		if (!tag || mam_blocktag_state(mam_blocktag_read(tag)) != MAM_BLOCKTAG_CACHED)
			continue;
		kept = (mam_blocktag_read(tag) & MAM_BLOCKTAG_KEPT) != 0;
		mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
	}
	return kept;
}

bool mam_cache_number_of(const void *block, uint64_t *number, size_t *bytes)
{
	struct mam_blocktag_table *table = mam_blocktag_table_of((uintptr_t)block);
	uint64_t value, key;

	if (!table)
		return false;
	for (int large = 1; large >= 0; large--) {
		value = mam_blocktag_of((uintptr_t)block, large ? MAM_BLOCKTAG_LARGE : 1);
		key = mam_blocktag_live_key(mam_blocktag_pool(value));
		if (mam_blocktag_state(value) == MAM_BLOCKTAG_LIVE &&
		    mam_blocktag_live_at((uintptr_t)block, key, &value)) {
			*number = mam_blocktag_pool(value);
			*bytes = mam_blocktag_granules(value) << MAM_BLOCKTAG_SHIFT;
			return true;
		}
	}
	return false;
}

void mam_caches_fork_prepare(void)
{
	mam_blocktag_fork_prepare();
	mam_lock_take_for_fork(&idle_lock);
}

void mam_caches_fork_parent(void)
{
	mam_lock_release_for_fork(&idle_lock);
	mam_blocktag_fork_parent();
}

void mam_caches_fork_child(void)
{
	mam_lock_reinit(&idle_lock);
	mam_blocktag_fork_child();
}
