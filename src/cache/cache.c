/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.c - what the fast path leaves over (cache.h).
 *
 * alloc:
 *   1. Find the thread's seat at the pool, or make one.
 *   2. The bins once more: somebody may have stopped the thread a moment ago.
 *   3. The pool, with the thread's tally and inside the seat, so that nobody sees half of it. Small
 *      sizes bring more of their like: each time the bins have none twice as many, up to 16 blocks
 *      and 64 KiB.
 *   4. Where the pool would have to grow: outside the seat, since growing empties all caches first.
 *   5. Tag the block, so that its free finds the way here.
 * free:
 *   1. A block with a tag goes to the bins. What the bins give up for it goes to the pool, a batch
 *      under one hold of its lock, until they are a quarter below their limit.
 *   2. A block without goes to the pool, and the thread's tally with it.
 *   3. A block that is cached was freed before, and one inside a cached block likewise.
 *
 * Source: J. Bonwick and J. Adams, "Magazines and Vmem", USENIX 2001. We differ in stacks that run
 * through the blocks' tags in place of magazines of one size: sizes of GPU memory seldom repeat, and
 * a magazine for each would be mostly empty.
 *
 * How much a thread may hold: a quarter of what the pool has reserved, shared by its threads, but no
 * more than 16 MiB or a 64th of what is live. What is cached never makes a pool grow: growth empties
 * the caches first (drain.c). In the workload above (bins.c), by MiB a thread, share of operations
 * that find nothing:
 *        1      2      4      8     16
 *      17.7%  13.6%   9.3%   5.2%   1.8%     (from blocks of up to a quarter more)
 *      20.3%  16.4%  12.4%   8.1%   3.9%     (an eighth)
 */
#include "cache/cache.h"

#include "base/bits.h"
#include "base/log.h"
#include "base/pages.h"

#define CACHE_BYTES mam_round_up(sizeof(struct mam_cache), 4096)

#define SEAT_MOST ((uint64_t)16 << 20)  /* bytes, of a thread */
#define SHARE_OF_LIVE 64
#define SHARE_OF_RESERVED 4
#define MORE_BLOCKS 16 /* that one request may bring */
#define MORE_GRANULES 128
#define BATCH 32 /* blocks given up under one hold of the pool's lock */

static struct mam_lock idle_lock = MAM_LOCK_INIT(MAM_RANK_LOG, "idle caches");
static struct mam_cache *idle; /* lock: idle */

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
			mam_lock_init(&cache->lock, MAM_RANK_CACHE, "cache");
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
	/* Emptying a cache never waits for the device. A pool that ends had none to empty. */
	return level != MAM_RELIEF_END && mam_cache_drain(pool);
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
	mam_lock_take(&cache->lock);
	atomic_store_explicit(&cache->number, number, memory_order_relaxed);
	atomic_store_explicit(&cache->pool, pool, memory_order_release);
	mam_lock_release(&cache->lock);
	mam_seat_on_exit = mam_cache_leave_seat;
	pool->relief[MAM_RELIEF_CACHE] = relieve;
	pool->cache = cache;
}

void mam_cache_limit(struct mam_seat *seat)
{
	uint64_t seats = atomic_load_explicit(&seat->cache->seat_count, memory_order_relaxed);
	uint64_t ground, most;

	if (seats == 0)
		seats = 1;
	ground = seat->tally.reserved_bytes / SHARE_OF_RESERVED / seats;
	most = seat->tally.live_bytes / SHARE_OF_LIVE / seats;
	if (most < SEAT_MOST)
		most = SEAT_MOST;
	seat->most = (most < ground ? most : ground) >> MAM_TAG_SHIFT;
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

/* The thread's seat at the pool; NULL: the pool ended, or there is no host memory. */
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
 * Into the thread's seat; NULL: without one. Who stopped the thread holds the cache's lock until it
 * may go on.
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

/* How many more blocks a request for so many granules brings. */
static size_t appetite_for(struct mam_seat *seat, uint64_t granules)
{
	size_t more;

	if (granules > MAM_SEAT_SMALL)
		return 0;
	more = seat->appetite[granules];
	seat->appetite[granules] = (uint8_t)(more == 0 ? 1 : more < MORE_BLOCKS ? 2 * more : more);
	return more * granules > MORE_GRANULES ? MORE_GRANULES / granules : more;
}

/* Blocks that the pool gave beyond the one asked for; what cannot be tagged goes back. */
static void keep(struct mam_seat *seat, struct mam_pool *pool, void **more, size_t count,
		 uint64_t granules)
{
	size_t left = 0;

	for (size_t i = count; i-- > 0;) {
		mam_tag_word *tag = mam_tag_make((uintptr_t)more[i]);

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
	mam_tag_word *tag = mam_tag_make((uintptr_t)block);

	if (tag)
		mam_tag_write(tag, mam_tag_live(seat->live_key, granules, bytes));
}

/* May a cached block serve it, and may its block be cached? */
static bool is_small(const struct mam_seat *seat, size_t bytes, size_t alignment)
{
	return bytes <= MAM_CACHE_MOST_BYTES && alignment <= seat->round_up + 1 &&
	       (alignment == 0 || mam_is_power_of_two(alignment));
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

enum mam_status mam_cache_alloc_slowly(struct mam_pool *pool, size_t bytes, size_t alignment,
				       void **block)
{
	struct mam_seat *seat = pool->cache ? enter(pool) : NULL;
	enum mam_status status = MAM_ERROR_WOULD_WAIT;

	if (seat) {
		status = alloc_inside(seat, pool, bytes, alignment, block);
		mam_handshake_leave(&seat->hand);
	}
	if (status != MAM_ERROR_WOULD_WAIT)
		return status;
	status = mam_pool_alloc(pool, bytes, alignment, block);
	if (status == MAM_OK && seat && is_small(seat, bytes, alignment))
		tag_live(seat, *block, bytes, mam_cache_granules(seat, bytes));
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
	/* Here it is a failure, and counted as one. */
	return status == MAM_ERROR_WOULD_WAIT ? mam_pool_alloc_held(pool, bytes, alignment, block)
					      : status;
}

/* Down to three quarters of the limit, and room for `granules` more. */
static void give_up(struct mam_seat *seat, struct mam_pool *pool, uint64_t granules)
{
	uint64_t goal = seat->most / 4 * 3;
	void *blocks[BATCH];
	size_t count;

	goal = goal > granules ? goal - granules : 0;
	while (seat->bins.granules > goal &&
	       (count = mam_bins_evict(&seat->bins, blocks, BATCH)) != 0)
		mam_pool_free_batch(pool, blocks, count, &seat->tally);
	mam_cache_limit(seat);
}

static bool is_live_here(const struct mam_pool *pool, uint64_t tag)
{
	const struct mam_cache *cache = pool->cache;

	return mam_tag_state(tag) == MAM_TAG_LIVE && mam_cache_serves(cache, pool) &&
	       mam_tag_pool(tag) ==
		       atomic_load_explicit(&cache->number, memory_order_relaxed);
}

/* What the pool says of a block without a tag, as callers see it. */
static enum mam_status refused(struct mam_pool *pool, void *block, enum mam_status status)
{
	struct mam_segment_info segment;

	if (status == MAM_ERROR_INTERIOR && mam_pool_find(pool, block, &segment) == MAM_OK &&
	    mam_tag_state(mam_tag_of((uintptr_t)segment.base)) == MAM_TAG_CACHED)
		return MAM_ERROR_DOUBLE_FREE;
	return status;
}

/* A block whose tag says CACHED: of this pool or of another? */
static enum mam_status freed_before(struct mam_pool *pool, void *block)
{
	struct mam_segment_info segment;
	enum mam_status status = mam_pool_find(pool, block, &segment);

	return status == MAM_OK ? MAM_ERROR_DOUBLE_FREE : status;
}

enum mam_status mam_cache_free_slowly(struct mam_pool *pool, void *block)
{
	struct mam_tally none = { 0 };
	struct mam_seat *seat;
	struct mam_tally *tally;
	enum mam_status status;
	uint64_t value;

	if (!pool->cache)
		return mam_pool_free(pool, block);
	seat = enter(pool);
	tally = seat ? &seat->tally : &none;
	value = mam_tag_of((uintptr_t)block);
	if (mam_tag_state(value) == MAM_TAG_CACHED) {
		status = freed_before(pool, block);
	} else if (is_live_here(pool, value)) {
		uint64_t granules = mam_tag_granules(value);

		status = MAM_OK;
		if (seat && seat->bins.granules + granules > seat->most)
			give_up(seat, pool, granules);
		if (!seat || !mam_cache_give_inside(seat, (uintptr_t)block)) {
			mam_tag_write(mam_tag_find((uintptr_t)block), MAM_TAG_NONE);
			status = mam_pool_free_one(pool, block, mam_tag_requested(value), tally);
		}
	} else {
		status = refused(pool, block, mam_pool_free_one(pool, block, 0, tally));
	}
	if (seat)
		mam_handshake_leave(&seat->hand);
	return status;
}

enum mam_status mam_cache_claim(struct mam_pool *pool, void *block)
{
	struct mam_tally none = { 0 };
	struct mam_seat *seat;
	uint64_t value;
	enum mam_status status = MAM_OK;

	if (!pool->cache)
		return MAM_OK;
	seat = enter(pool);
	value = mam_tag_of((uintptr_t)block);
	if (mam_tag_state(value) == MAM_TAG_CACHED) {
		status = freed_before(pool, block);
	} else if (is_live_here(pool, value)) {
		mam_tag_write(mam_tag_find((uintptr_t)block), MAM_TAG_NONE);
		mam_pool_amend(pool, block, mam_tag_requested(value),
			       seat ? &seat->tally : &none);
	} else if (seat) {
		mam_pool_meet(pool, &seat->tally);
	}
	if (seat)
		mam_handshake_leave(&seat->hand);
	return status;
}

void mam_cache_correct(const struct mam_pool *pool, struct mam_segment_info *segment)
{
	uint64_t value;

	if (!pool->cache || !segment->live)
		return;
	value = mam_tag_of((uintptr_t)segment->base);
	if (mam_tag_state(value) == MAM_TAG_CACHED) {
		segment->live = false;
		segment->requested = 0;
	} else if (is_live_here(pool, value)) {
		segment->requested = mam_tag_requested(value);
	}
}

bool mam_cache_number_of(const void *block, uint64_t *number)
{
	uint64_t value = mam_tag_of((uintptr_t)block);

	if (mam_tag_state(value) != MAM_TAG_LIVE)
		return false;
	*number = mam_tag_pool(value);
	return true;
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
