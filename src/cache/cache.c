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
 * (pool/footing.h) costs 45 ms of driver calls, with 12 MiB 38, without caches 31.
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

#define SEAT_MOST ((uint64_t)16 << 20)  /* bytes, if there is one thread */
#define SEAT_MOST_SHARED ((uint64_t)32 << 20) /* if there are several */
#define SEAT_MOST_PIECES ((uint64_t)12 << 20) /* if memory is mapped in pieces */
#define SHARE_OF_LIVE 512
#define SHARE_OF_RESERVED 4
#define SHARE_OF_PIECES 8 /* of live bytes, if memory is mapped for cached blocks */
#define SHARE_OF_MEMORY 256 /* of device memory: the minimum of that share */
#define SLACK_ALONE 3 /* of a request: an eighth */
#define SLACK_FEW 2   /* a quarter */
#define SLACK_MANY 1
#define SEATS_FEW 4
#define TURNS_A_LOOK 256 /* slow paths per check of the clock */
#define SHARE_OF_HIGH 256
#define HIGH_LEAST ((uint64_t)16 << 20)
#define MORE_BLOCKS 16 /* extra blocks per request */
#define MORE_GRANULES 128
#define BATCH 32      /* blocks evicted per acquisition of a lock */
#define DEPOT_SEATS 4 /* maximum of the transfer cache, in limits of a thread cache */

static struct mam_lock idle_lock = MAM_LOCK_INIT(MAM_RANK_LOG, "idle caches");
static struct mam_cache *idle; /* lock: idle */

static void start(struct mam_cache *cache)
{
	mam_lock_init(&cache->lock, MAM_RANK_CACHE, "cache");
	mam_depot_init(&cache->depot);
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

void mam_cache_retire(struct mam_cache *cache)
{
	mam_lock_take(&idle_lock);
	cache->next = idle;
	idle = cache;
	mam_lock_release(&idle_lock);
}

static bool relieve(struct mam_pool *pool, enum mam_relief_level level)
{
	/* Emptying a cache never waits for the device. A pool that ends has emptied its caches. */
	if (level == MAM_RELIEF_END)
		return false;
	/*
	 * New chunks are rare, so each is worth emptying all caches. New pieces are frequent and
	 * small: 16 threads did 1.7 million operations per second when their caches were emptied
	 * before each piece, and 35 million on chunks.
	 */
	if (level == MAM_RELIEF_PASSED && pool->range != NULL)
		return false;
	return mam_cache_drain(pool);
}

void mam_cache_open(struct mam_pool *pool, uint64_t number)
{
	struct mam_cache *cache;

	if (pool->config.granule < MAM_TAG_GRANULE ||
	    pool->config.granule > MAM_CACHE_MOST_BYTES || number >= MAM_TAG_POOLS)
		return;
	cache = take_idle();
	if (!cache)
		return;
	mam_seat_prepare(mam_cache_leave_seat);
	mam_lock_take(&cache->lock);
	cache->lost = cache->depot.lost = 0;
	atomic_store_explicit(&cache->high_most, 0, memory_order_relaxed);
	atomic_store_explicit(&cache->next_look, 0, memory_order_relaxed);
	atomic_store_explicit(&cache->number, number, memory_order_relaxed);
	atomic_store_explicit(&cache->pool, pool, memory_order_release);
	mam_lock_release(&cache->lock);
	pool->relief[MAM_RELIEF_CACHE] = relieve;
	pool->cache = cache;
}

void mam_cache_limit(struct mam_seat *seat)
{
	uint64_t seats = atomic_load_explicit(&seat->cache->seat_count, memory_order_relaxed);
	const struct mam_pool *pool =
		atomic_load_explicit(&seat->cache->pool, memory_order_relaxed);
	uint64_t seat_most = seats <= 1 ? SEAT_MOST : SEAT_MOST_SHARED;
	uint64_t ground, most, spared;

	if (seats == 0)
		seats = 1;
	ground = seat->tally.reserved_bytes / SHARE_OF_RESERVED;
	if (pool->range != NULL) {
		ground = seat->tally.live_bytes / SHARE_OF_PIECES;
		spared = pool->source->properties.total_bytes / SHARE_OF_MEMORY;
		if (ground < spared)
			ground = spared;
		seat_most = SEAT_MOST_PIECES;
	}
	ground /= seats;
	most = seat->tally.live_bytes / SHARE_OF_LIVE / seats;
	if (most < seat_most)
		most = seat_most;
	seat->most = (most < ground ? most : ground) >> MAM_TAG_SHIFT;
	seat->slack = seats == 1 ? SLACK_ALONE : seats <= SEATS_FEW ? SLACK_FEW : SLACK_MANY;
}

static void sit_locked(struct mam_cache *cache, struct mam_seat *seat, struct mam_pool *pool)
{
	cache->next_seat = cache->next_seat % (MAM_TAG_SEATS - 1) + 1;
	seat->cache = cache;
	seat->live_key = mam_tag_live_key(atomic_load(&cache->number));
	seat->round_up = pool->config.granule - 1;
	seat->unit_mask = ~(seat->round_up >> MAM_TAG_SHIFT);
	seat->bins.key = mam_tag_cached_key(cache->next_seat);
	seat->next = cache->seats;
	if (seat->next)
		seat->next->previous = seat;
	cache->seats = seat;
	atomic_fetch_add_explicit(&cache->seat_count, 1, memory_order_relaxed);
	atomic_store_explicit(&seat->pool, pool, memory_order_relaxed);
}

/* The thread's cache at the pool; NULL: the pool ended, or there is no host memory. */
static struct mam_seat *seat_at(struct mam_pool *pool)
{
	struct mam_cache *cache = pool->cache;
	struct mam_seat *seat = mam_seat_last;

	if (atomic_load_explicit(&seat->pool, memory_order_relaxed) == pool)
		return seat;
	seat = mam_seat_find(pool);
	if (seat)
		return seat;
	seat = mam_seat_take();
	if (!seat)
		return NULL;
	mam_lock_take(&cache->lock);
	if (mam_cache_serves(cache, pool))
		sit_locked(cache, seat, pool);
	mam_lock_release(&cache->lock);
	if (atomic_load_explicit(&seat->pool, memory_order_relaxed) != pool)
		return NULL;
	mam_seat_last = seat;
	return seat;
}

/*
 * Enter the thread's cache; NULL: there is none. The thread that stopped this one holds the cache's
 * lock until it may continue.
 */
static struct mam_seat *enter(struct mam_pool *pool)
{
	for (;;) {
		struct mam_seat *seat = seat_at(pool);

		if (!seat || mam_handshake_is_inside(&seat->hand))
			return NULL;
		if (mam_handshake_enter(&seat->hand)) {
			if (atomic_load_explicit(&seat->pool, memory_order_relaxed) == pool)
				return seat;
			mam_handshake_leave(&seat->hand);
			continue;
		}
		mam_lock_take(&seat->cache->lock);
		mam_lock_release(&seat->cache->lock);
	}
}

/* How many extra blocks a request for that many granules allocates. */
static size_t appetite_for(struct mam_seat *seat, uint64_t granules)
{
	size_t more;

	if (granules > MAM_SEAT_SMALL)
		return 0;
	more = seat->appetite[granules];
	seat->appetite[granules] = (uint8_t)(more == 0 ? 1 : more < MORE_BLOCKS ? 2 * more : more);
	return more * granules > MORE_GRANULES ? MORE_GRANULES / granules : more;
}

/* Extra blocks from the pool; those that cannot be tagged are freed. */
static void keep(struct mam_seat *seat, struct mam_pool *pool, void **more, size_t count,
		 uint64_t granules)
{
	size_t left = 0;

	for (size_t i = count; i-- > 0;) {
		mam_tag_word *tag = mam_tag_make((uintptr_t)more[i], granules);

		if (tag)
			mam_bins_push(&seat->bins, (uintptr_t)more[i], tag, granules);
		else
			more[left++] = more[i];
	}
	if (left != 0)
		mam_pool_free_batch(pool, more, left, &seat->tally);
}

static void tag_live(struct mam_seat *seat, void *block, size_t bytes, uint64_t granules)
{
	mam_tag_word *tag = mam_tag_make((uintptr_t)block, granules);

	if (tag)
		mam_tag_write(tag, mam_tag_live(seat->live_key, (uintptr_t)block, granules,
						bytes));
}

/* Whether a cached block may serve the request, and its block may be cached. */
static bool is_small(const struct mam_seat *seat, size_t bytes, size_t alignment)
{
	return bytes <= MAM_CACHE_MOST_BYTES && alignment <= seat->round_up + 1 &&
	       (alignment == 0 || mam_is_power_of_two(alignment));
}

static bool is_alone(const struct mam_seat *seat)
{
	return atomic_load_explicit(&seat->cache->seat_count, memory_order_relaxed) == 1;
}

static bool take_from_depot(struct mam_seat *seat, uint64_t granules)
{
	return mam_depot_take(&seat->cache->depot, &seat->bins, granules,
			      granules + (granules >> seat->slack));
}

/* pre: inside. WOULD_WAIT: the pool must grow for it. */
static enum mam_status alloc_inside(struct mam_seat *seat, struct mam_pool *pool, size_t bytes,
				    size_t alignment, void **block)
{
	bool small = is_small(seat, bytes, alignment);
	uint64_t granules = small ? mam_cache_granules(seat, bytes) : 0;
	void *more[MORE_BLOCKS];
	enum mam_status status;
	size_t got;

	if (small) {
		void *found = mam_cache_take_inside(seat, bytes);

		if (!found && take_from_depot(seat, granules))
			found = mam_cache_take_inside(seat, bytes);
		if (found) {
			*block = found;
			return MAM_OK;
		}
	}
	status = mam_pool_alloc_batch(pool, bytes, alignment, &seat->tally, block,
				      small ? appetite_for(seat, granules) : 0, more, &got);
	if (status != MAM_OK)
		return status;
	mam_cache_limit(seat);
	if (small) {
		keep(seat, pool, more, got, granules);
		tag_live(seat, *block, bytes, granules);
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

	if (high_bytes <= atomic_load_explicit(&cache->high_most, memory_order_relaxed))
		return;
	(void)mam_cache_drain(pool);
	atomic_store_explicit(&cache->high_most,
			      high_bytes + (step > HIGH_LEAST ? step : HIGH_LEAST),
			      memory_order_relaxed);
}

/* Larger than the bins allow, or aligned: from the pool, which may have to grow. */
static enum mam_status alloc_large(struct mam_pool *pool, struct mam_seat *seat, size_t bytes,
				   size_t alignment, void **block)
{
	uint64_t high_most = atomic_load_explicit(&seat->cache->high_most, memory_order_relaxed);
	enum mam_status status = mam_pool_alloc_below(pool, bytes, alignment, &seat->tally,
						      high_most, block);
	uint64_t high_bytes = seat->tally.high_bytes;

	mam_handshake_leave(&seat->hand);
	if (status == MAM_OK)
		return status;
	before_rising(pool, high_bytes);
	return mam_pool_alloc(pool, bytes, alignment, block);
}

/* Inside the thread cache: after those of a pool are closed, no tag is written for it. */
static void tag_fresh(struct mam_pool *pool, void *block, size_t bytes)
{
	struct mam_seat *seat = enter(pool);

	if (!seat)
		return;
	tag_live(seat, block, bytes, mam_cache_granules(seat, bytes));
	mam_handshake_leave(&seat->hand);
}

enum mam_status mam_cache_alloc_slowly(struct mam_pool *pool, size_t bytes, size_t alignment,
				       void **block)
{
	struct mam_seat *seat = pool->cache ? enter(pool) : NULL;
	enum mam_status status = MAM_ERROR_WOULD_WAIT;
	bool look = false;

	if (seat && !is_small(seat, bytes, alignment))
		return alloc_large(pool, seat, bytes, alignment, block);
	if (seat) {
		status = alloc_inside(seat, pool, bytes, alignment, block);
		look = ++seat->turns % TURNS_A_LOOK == 0;
		mam_handshake_leave(&seat->hand);
	}
	if (look)
		mam_cache_age(pool, mam_clock_ns());
	if (status != MAM_ERROR_WOULD_WAIT)
		return status;
	status = mam_pool_alloc(pool, bytes, alignment, block);
	if (status == MAM_OK && seat)
		tag_fresh(pool, *block, bytes);
	return status;
}

enum mam_status mam_cache_alloc_nowait(struct mam_pool *pool, size_t bytes, size_t alignment,
				       void **block)
{
	struct mam_seat *seat = pool->cache && bytes != 0 && block ? enter(pool) : NULL;
	enum mam_status status;

	if (!seat)
		return mam_pool_alloc_held(pool, bytes, alignment, block);
	status = alloc_inside(seat, pool, bytes, alignment, block);
	mam_handshake_leave(&seat->hand);
	/* This call counts the failure. */
	return status == MAM_ERROR_WOULD_WAIT ? mam_pool_alloc_held(pool, bytes, alignment, block)
					      : status;
}

/* Evict down to three quarters of the limit, and make room for `granules` more. */
static void give_up(struct mam_seat *seat, struct mam_pool *pool, uint64_t granules)
{
	uint64_t goal = seat->most / 4 * 3;
	void *blocks[BATCH];
	size_t count;

	goal = goal > granules ? goal - granules : 0;
	while (seat->bins.granules > goal && !is_alone(seat) &&
	       mam_depot_give(&seat->cache->depot, &seat->bins, DEPOT_SEATS * seat->most))
		continue;
	while (seat->bins.granules > goal &&
	       (count = mam_bins_evict(&seat->bins, blocks, BATCH)) != 0)
		mam_pool_free_batch(pool, blocks, count, &seat->tally);
	mam_cache_limit(seat);
}

/* The tag of a block that a caller holds in this pool, and its value; NULL: it has none. */
static mam_tag_word *live_here(const struct mam_pool *pool, const void *block, uint64_t *value)
{
	const struct mam_cache *cache = pool->cache;

	if (!mam_cache_serves(cache, pool))
		return NULL;
	return mam_tag_live_at((uintptr_t)block,
			       mam_tag_live_key(atomic_load_explicit(&cache->number,
								     memory_order_relaxed)),
			       value);
}

bool mam_cache_has(const struct mam_segment_info *segment)
{
	return segment->live && mam_tag_state(mam_tag_of((uintptr_t)segment->base,
							 segment->bytes >> MAM_TAG_SHIFT)) ==
					MAM_TAG_CACHED;
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
	struct mam_segment_info segment;
	enum mam_status status;

	/* Usually both tags show that it is not cached, and the record need not be read. */
	if (mam_tag_may_be_cached((uintptr_t)block) &&
	    mam_pool_find(pool, block, &segment) == MAM_OK && mam_cache_has(&segment))
		return MAM_ERROR_DOUBLE_FREE;
	status = mam_pool_free_one(pool, block, 0, tally);
	return status == MAM_ERROR_INTERIOR ? mam_cache_judge(pool, block) : status;
}

/* pre: inside the thread cache, if there is one. */
static enum mam_status free_tagged(struct mam_pool *pool, struct mam_seat *seat, void *block,
				   mam_tag_word *tag, uint64_t value)
{
	struct mam_tally none = { 0 };
	uint64_t granules = mam_tag_granules(value);

	if (seat && seat->bins.granules + granules > seat->most)
		give_up(seat, pool, granules);
	if (seat && mam_cache_give_inside(seat, (uintptr_t)block))
		return MAM_OK;
	mam_tag_write(tag, MAM_TAG_NONE);
	return mam_pool_free_one(pool, block, mam_tag_requested(value),
				 seat ? &seat->tally : &none);
}

enum mam_status mam_cache_free_slowly(struct mam_pool *pool, void *block)
{
	struct mam_tally none = { 0 };
	struct mam_seat *seat;
	enum mam_status status;
	mam_tag_word *tag;
	uint64_t value;

	if (!pool->cache)
		return mam_pool_free(pool, block);
	seat = enter(pool);
	if (seat)
		seat->turns++;
	tag = live_here(pool, block, &value);
	status = tag ? free_tagged(pool, seat, block, tag, value)
		     : free_untagged(pool, block, seat ? &seat->tally : &none);
	if (seat)
		mam_handshake_leave(&seat->hand);
	if (pool->config.spare_bytes != 0)
		mam_spare_look(pool);
	return status;
}

/* pre: inside the thread cache, if there is one. */
static enum mam_status claim(struct mam_pool *pool, struct mam_seat *seat, void *block)
{
	struct mam_tally none = { 0 };
	struct mam_segment_info segment;
	enum mam_status status = MAM_OK;
	struct mam_tally *tally = seat ? &seat->tally : &none;
	uint64_t value;
	mam_tag_word *tag = live_here(pool, block, &value);

	if (tag) {
		mam_tag_write(tag, MAM_TAG_NONE);
		mam_pool_amend(pool, block, mam_tag_requested(value), tally);
	} else {
		if (tally->allocs != 0 || tally->frees != 0)
			mam_pool_meet(pool, tally);
		if (mam_tag_may_be_cached((uintptr_t)block) &&
		    mam_pool_find(pool, block, &segment) == MAM_OK && mam_cache_has(&segment))
			status = MAM_ERROR_DOUBLE_FREE;
	}
	return status;
}

enum mam_status mam_cache_claim_slowly(struct mam_pool *pool, void *block)
{
	struct mam_seat *seat = enter(pool);
	enum mam_status status = claim(pool, seat, block);

	if (seat)
		mam_handshake_leave(&seat->hand);
	return status;
}

enum mam_status mam_cache_free_now(struct mam_pool *pool, void *block)
{
	enum mam_status status = pool->cache ? claim(pool, NULL, block) : MAM_OK;

	if (status == MAM_OK)
		status = mam_pool_free_now(pool, block);
	return status == MAM_ERROR_INTERIOR && pool->cache ? mam_cache_judge(pool, block) : status;
}

void mam_cache_correct(const struct mam_pool *pool, struct mam_segment_info *segment)
{
	uint64_t value;

	if (!pool->cache || !segment->live)
		return;
	if (mam_cache_has(segment)) {
		segment->live = false;
		segment->requested = 0;
	} else if (live_here(pool, segment->base, &value)) {
		segment->requested = mam_tag_requested(value);
	}
}

void mam_cache_forget(const void *block)
{
	for (uint64_t granules = 1; granules <= MAM_TAG_LARGE; granules += MAM_TAG_LARGE - 1) {
		mam_tag_word *tag = mam_tag_find((uintptr_t)block, granules);

		if (tag && mam_tag_state(mam_tag_read(tag)) == MAM_TAG_CACHED)
			mam_tag_write(tag, MAM_TAG_NONE);
	}
}

bool mam_cache_number_of(const void *block, uint64_t *number)
{
	struct mam_tag_table *table = mam_tag_table_of((uintptr_t)block);
	uint64_t value, key;

	if (!table)
		return false;
	for (int large = 1; large >= 0; large--) {
		value = mam_tag_of((uintptr_t)block, large ? MAM_TAG_LARGE : 1);
		key = mam_tag_live_key(mam_tag_pool(value));
		if (mam_tag_state(value) == MAM_TAG_LIVE &&
		    mam_tag_live_at((uintptr_t)block, key, &value)) {
			*number = mam_tag_pool(value);
			return true;
		}
	}
	return false;
}

void mam_caches_fork_prepare(void)
{
	mam_tag_fork_prepare();
	mam_lock_take_for_fork(&idle_lock);
}

void mam_caches_fork_parent(void)
{
	mam_lock_release_for_fork(&idle_lock);
	mam_tag_fork_parent();
}

void mam_caches_fork_child(void)
{
	mam_lock_reinit(&idle_lock);
	mam_tag_fork_child();
}
