/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.h - the cache stop: blocks that a thread freed, kept for its next request without a lock.
 *
 *   thread's bins (seat.h, bins.h)      no lock; a block moves by its tag (tag.h)
 *   the depot (depot.h)                 a lock for each octave of sizes, for many blocks at once
 *   the pool (pool/batch.h)             its lock, several blocks at once
 *
 * A pool without a cache is one whose `cache` is NULL, and every call here takes it.
 */
#ifndef MAM_CACHE_CACHE_H
#define MAM_CACHE_CACHE_H

#include "cache/depot.h"
#include "cache/seat.h"

#define MAM_CACHE_MOST_BYTES ((size_t)MAM_TAG_MOST * MAM_TAG_GRANULE)


/*
 * mam_cache_open - give a pool a cache, before any caller knows the pool. `number` tells it from all
 * other pools there are. Without host memory, or of a pool whose granule is under 512 bytes or
 * over 1 MiB, the pool goes without.
 */
void mam_cache_open(struct mam_pool *pool, uint64_t number);

/* mam_cache_alloc, mam_cache_free - as mam_pool_alloc() and mam_pool_free(). */
enum mam_status mam_cache_alloc_slowly(struct mam_pool *pool, size_t bytes, size_t alignment,
				       void **block);
enum mam_status mam_cache_free_slowly(struct mam_pool *pool, void *block);

/* mam_cache_alloc_nowait - as mam_pool_alloc_held(). */
enum mam_status mam_cache_alloc_nowait(struct mam_pool *pool, size_t bytes, size_t alignment,
				       void **block);

/*
 * mam_cache_free_now - as mam_pool_free_now(). The calling thread gets no seat: it serves kernels
 * and has nothing to cache, and more seats make others' smaller. It allocates by
 * mam_pool_alloc_new() past the cache: such blocks have no tag, and all frees know them.
 */
enum mam_status mam_cache_free_now(struct mam_pool *pool, void *block);

/*
 * mam_cache_claim - a block that is about to leave its caller by another way than mam_cache_free():
 * the pool's record is made whole, and the cache forgets it. DOUBLE_FREE: it lies in a cache. Of an
 * address inside a cached block it says nothing: that is for mam_cache_judge().
 */
enum mam_status mam_cache_claim_slowly(struct mam_pool *pool, void *block);

static inline enum mam_status mam_cache_claim(struct mam_pool *pool, void *block)
{
	struct mam_seat *seat = mam_seat_last;
	bool nothing_to_tell;

	if (!pool->cache)
		return MAM_OK;
	if (mam_tag_is_none((uintptr_t)block) &&
	    atomic_load_explicit(&seat->pool, memory_order_relaxed) == pool &&
	    mam_handshake_enter(&seat->hand)) {
		nothing_to_tell = seat->tally.allocs == 0 && seat->tally.frees == 0;
		mam_handshake_leave(&seat->hand);
		if (nothing_to_tell)
			return MAM_OK;
	}
	return mam_cache_claim_slowly(pool, block);
}

/* mam_cache_judge - what is wrong with an address inside a block: INTERIOR, or DOUBLE_FREE. */
enum mam_status mam_cache_judge(struct mam_pool *pool, const void *address);

/* mam_cache_correct - what the pool says of a segment, as callers see it. */
void mam_cache_correct(const struct mam_pool *pool, struct mam_segment_info *segment);

/* mam_cache_number_of - of the pool that may have the block; false: no tag says so. */
bool mam_cache_number_of(const void *block, uint64_t *number);

/* ---- drain.c ---- */

/*
 * mam_cache_settle - every thread's tally into the pool's counts, all of one moment, which lasts
 * until mam_cache_go(): a thread that met the pool in between would tell it of blocks that it
 * freed, and the one that was given them would not have spoken yet. NULL: no cache serves the pool.
 */
struct mam_cache *mam_cache_settle(struct mam_pool *pool);
void mam_cache_go(struct mam_cache *held); /* or NULL */

/* mam_cache_drain - every cached block back to the pool. False: there was none. */
bool mam_cache_drain(struct mam_pool *pool);

/*
 * mam_cache_age - seats that nobody used since the last look are emptied. Looks at most once a
 * second; `now`: by mam_clock_ns(). For threads that go to the pool anyway: mam has none of its
 * own.
 */
void mam_cache_age(struct mam_pool *pool, uint64_t now);

/*
 * mam_cache_close - no thread has a seat at the pool any more; what is cached is forgotten, and so
 * are the tags of its blocks.
 */
void mam_cache_close(struct mam_pool *pool);

/*
 * mam_cache_check - of what mam_cache_settle() answered: NULL or one sentence about what is broken.
 */
const char *mam_cache_check(const struct mam_cache *held);

/* Around a fork, of each pool: after its grow_lock and before its lock. */
void mam_cache_fork_prepare(struct mam_pool *pool);
void mam_cache_fork_parent(struct mam_pool *pool);
void mam_cache_fork_child(struct mam_pool *pool); /* when both locks of the pool are new */

/* And of what all caches share: after all pools. */
void mam_caches_fork_prepare(void);
void mam_caches_fork_parent(void);
void mam_caches_fork_child(void);

/* ---- inside the folder ---- */

struct mam_cache {
	struct mam_lock lock;
	_Atomic(struct mam_pool *) pool; /* atomic; written under lock: cache; NULL: idle */
	_Atomic uint64_t number;       /* atomic; set at open: of the pool, among all there are */
	struct mam_seat *seats;        /* lock: cache */
	_Atomic uint32_t seat_count;   /* atomic; written under lock: cache */
	uint32_t next_seat;            /* lock: cache; number for the next seat's tags */
	struct mam_cache *next;        /* lock: idle; the next idle one */
	_Atomic uint64_t next_look;    /* atomic; when seats are looked at again */
	_Atomic uint64_t high_most;    /* atomic; blocks may reach so high before caches are emptied */
	uint64_t lost;                 /* lock: cache; count: of seats that are gone (bins.h) */
	struct mam_depot depot;
};

/*
 * mam_cache_serves - it is this pool's still: a pool that ended keeps the name of what was its own.
 */
static inline bool mam_cache_serves(const struct mam_cache *cache, const struct mam_pool *pool)
{
	return atomic_load_explicit(&cache->pool, memory_order_acquire) == pool;
}

/* mam_cache_leave_seat - the seat's blocks to the pool, and the seat off the list. */
void mam_cache_leave_seat(struct mam_seat *seat);

/* mam_cache_has - whether a segment that the pool takes for live lies in a cache. */
bool mam_cache_has(const struct mam_segment_info *segment);

/* mam_cache_forget - no tag says of a block at this address that it lies in a cache. */
void mam_cache_forget(const void *block);

/* mam_cache_retire - a closed cache, for the next pool to use. */
void mam_cache_retire(struct mam_cache *cache);

/* How many granules a seat may hold, from what its tally learned at the last meeting. */
void mam_cache_limit(struct mam_seat *seat);

/* ---- the fast path ---- */

static inline uint64_t mam_cache_granules(const struct mam_seat *seat, size_t bytes)
{
	return (bytes + seat->round_up) >> MAM_TAG_SHIFT & seat->unit_mask;
}

/* pre: inside the seat. NULL: no block fits. */
static inline void *mam_cache_take_inside(struct mam_seat *seat, size_t bytes)
{
	uint64_t granules = mam_cache_granules(seat, bytes);
	uint64_t bin = mam_bins_best(&seat->bins, granules,
				     granules + (granules >> seat->slack));
	mam_tag_word *tag;
	uintptr_t block;

	if (bin == 0)
		return NULL;
	block = mam_bins_pop(&seat->bins, bin, &tag);
	if (block == 0)
		return NULL;
	mam_tag_write(tag, mam_tag_live(seat->live_key, block, bin, bytes));
	mam_tally_alloc(&seat->tally, bytes, bin << MAM_TAG_SHIFT);
	return (void *)block;
}

/*
 * mam_cache_alloc_own - one of the thread's own blocks; NULL: there is none. pre: `bytes` is not 0.
 * Outside of a section (pool/handle.h) too: a pool's thread caches are closed before its storage is
 * reused, and only the thread itself can open its own at the next pool there.
 */
static inline void *mam_cache_alloc_own(struct mam_pool *pool, size_t bytes)
{
	struct mam_seat *seat = mam_seat_last;
	void *found;

	if (atomic_load_explicit(&seat->pool, memory_order_relaxed) != pool ||
	    bytes > MAM_CACHE_MOST_BYTES || !mam_handshake_enter(&seat->hand))
		return NULL;
	found = mam_cache_take_inside(seat, bytes);
	mam_handshake_leave(&seat->hand);
	return found;
}

/* mam_cache_alloc - the rest of the way. pre: inside a section; `bytes` is not 0. */
static inline enum mam_status mam_cache_alloc(struct mam_pool *pool, size_t bytes,
					      size_t alignment, void **block)
{
	return pool->cache ? mam_cache_alloc_slowly(pool, bytes, alignment, block)
			   : mam_pool_alloc(pool, bytes, alignment, block);
}

/* pre: inside the seat. False: the block is not one for its bins, or they are full. */
static inline bool mam_cache_give_inside(struct mam_seat *seat, uintptr_t block)
{
	uint64_t value, granules;
	mam_tag_word *tag = mam_tag_live_at(block, seat->live_key, &value);

	if (!tag)
		return false;
	granules = mam_tag_granules(value);
	if (seat->bins.granules + granules > seat->most)
		return false;
	mam_bins_push(&seat->bins, block, tag, granules);
	mam_tally_free(&seat->tally, mam_tag_requested(value), granules << MAM_TAG_SHIFT);
	return true;
}

/* mam_cache_free_own - into the thread's bins; false: nothing was done. As mam_cache_alloc_own(). */
static inline bool mam_cache_free_own(struct mam_pool *pool, void *block)
{
	struct mam_seat *seat = mam_seat_last;
	bool given;

	if (atomic_load_explicit(&seat->pool, memory_order_relaxed) != pool ||
	    !mam_handshake_enter(&seat->hand))
		return false;
	given = mam_cache_give_inside(seat, (uintptr_t)block);
	mam_handshake_leave(&seat->hand);
	return given;
}

/* mam_cache_free - the rest of the way. pre: inside a section. */
static inline enum mam_status mam_cache_free(struct mam_pool *pool, void *block)
{
	return pool->cache ? mam_cache_free_slowly(pool, block) : mam_pool_free(pool, block);
}

#endif
