/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.h - the cache layer: blocks that a thread freed, kept for its next request without a lock.
 *
 *   thread cache (tcache.h, bins.h)       no lock; a block is moved by writing its tag (blocktag.h)
 *   transfer cache (transfer.h)            one lock per octave of sizes, for many blocks at once
 *   pool (pool/batch.h)                 the pool's lock, several blocks at once
 *
 * In a pool without a cache, `cache` is NULL; every call here accepts such a pool, and passes it on
 * to the redzone layer if the pool has that debug mode.
 */
#ifndef MAM_CACHE_CACHE_H
#define MAM_CACHE_CACHE_H

#include "cache/transfer.h"
#include "cache/tcache.h"
#include "pool/handle.h"
#include "redzone/redzone.h"
#include "stream/stream.h"

#define MAM_CACHE_MAX_BYTES ((size_t)MAM_BLOCKTAG_MAX * MAM_BLOCKTAG_GRANULE)

/*
 * mam_cache_open - give a pool a cache, before any caller knows the pool. `number` identifies it
 * among all existing pools. Without host memory, or if the pool's granule is under 512 bytes or
 * over 1 MiB, the pool has no cache.
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
 * mam_cache_free_now - as mam_pool_free_now(). Makes no thread cache for the calling thread: it
 * serves kernels and caches nothing, and more thread caches make the others smaller. It allocates
 * by mam_pool_alloc_new(), which bypasses the cache: such blocks have no tag, and all frees handle
 * them.
 */
enum mam_status mam_cache_free_now(struct mam_pool *pool, void *block);

/*
 * mam_cache_claim - a block is about to be taken from its caller, but not by mam_cache_free():
 * complete the pool's record, and remove the block's tag. DOUBLE_FREE: it is in a cache. An address
 * inside a cached block is not detected: mam_cache_judge() does that.
 */
enum mam_status mam_cache_claim_slowly(struct mam_pool *pool, void *block);

static inline enum mam_status mam_cache_claim(struct mam_pool *pool, void *block)
{
	struct mam_tcache *tcache = mam_tcache_last;
	bool nothing_to_report;

	if (!pool->cache)
		return MAM_OK;
	if (mam_blocktag_is_none((uintptr_t)block) &&
	    atomic_load_explicit(&tcache->pool, memory_order_relaxed) == pool &&
	    mam_asymlock_enter(&tcache->hand)) {
		nothing_to_report = tcache->tally->allocs == 0 && tcache->tally->frees == 0;
		mam_asymlock_leave(&tcache->hand);
		if (nothing_to_report)
			return MAM_OK;
	}
	return mam_cache_claim_slowly(pool, block);
}

/*
 * mam_cache_retire_shared - as mam_pool_retire_shared(). mam_cache_gather - all blocks that thread
 * caches keep join the pool's queue of retired blocks, except those whose tickets were reclaimed,
 * which are free. If the source refused memory, all free blocks of caches return to the pool: they
 * may separate free blocks that together would fit.
 */
enum mam_status mam_cache_retire_shared(struct mam_pool *pool, void *block, uint64_t *ticket,
					size_t *bytes);
void mam_cache_gather(struct mam_pool *pool);

/*
 * mam_cache_alloc_async, mam_cache_free_async - as mam_stream_alloc() and mam_stream_free()
 * (async.c). mam_cache_alloc_async_own, mam_cache_free_async_own: try the thread's own cache
 * first, as mam_cache_alloc_own() and mam_cache_free_own(). NULL and false: not done; `now` is what the
 * driver reported, if it was queried, and the other two functions do not query it again.
 * mam_cache_release_async: before mam_stream_let_go(), return blocks of the stream in all thread
 * caches to it.
 */
void *mam_cache_alloc_async_own(const struct mam_pool *handle, size_t bytes,
				struct CUstream_st *stream, struct mam_stream_now *now);
bool mam_cache_free_async_own(const struct mam_pool *handle, void *block,
			      struct CUstream_st *stream, struct mam_stream_now *now);
enum mam_status mam_cache_alloc_async(struct mam_pool *pool, size_t bytes,
				      struct CUstream_st *stream, struct mam_stream_now *now,
				      void **block);
enum mam_status mam_cache_free_async(struct mam_pool *pool, void *block, struct CUstream_st *stream,
				     struct mam_stream_now *now);
void mam_cache_release_async(struct mam_pool *pool, struct CUstream_st *stream);

/* mam_cache_judge - classify an address inside a block: INTERIOR, or DOUBLE_FREE. */
enum mam_status mam_cache_judge(struct mam_pool *pool, const void *address);

/* mam_cache_correct - change the pool's description of a segment to the callers' view. */
void mam_cache_correct_cached(const struct mam_pool *pool, struct mam_segment_info *segment);

static inline void mam_cache_correct(const struct mam_pool *pool, struct mam_segment_info *segment)
{
	if (!segment->live)
		return;
	if (pool->redzone)
		mam_redzone_correct(pool, segment);
	else if (pool->cache)
		mam_cache_correct_cached(pool, segment);
}

/*
 * mam_cache_number_of - number of the pool that may have the block, and its rounded size; false: it
 * has no tag.
 */
bool mam_cache_number_of(const void *block, uint64_t *number, size_t *bytes);

/* ---- drain.c ---- */

/*
 * mam_cache_count_pending - flush the tallies of all threads into the pool's counts, all at one moment,
 * which lasts until mam_cache_go(). Otherwise a thread that flushed in between could add frees of
 * blocks whose allocation another thread has not flushed yet. NULL: no cache serves the pool.
 */
struct mam_cache *mam_cache_count_pending(struct mam_pool *pool);
void mam_cache_go(struct mam_cache *held); /* or NULL */

/* mam_cache_drain - return every cached block to the pool. False: there was none. */
bool mam_cache_drain(struct mam_pool *pool);

/*
 * mam_cache_age - empty thread caches that were not used since the last check. Checks at most once
 * per second; `now`: from mam_clock_ns(). Called by threads that enter the pool anyway: mam has no
 * thread for it.
 */
void mam_cache_age(struct mam_pool *pool, uint64_t now);

/*
 * mam_cache_close - the pool has no thread caches any more; cached blocks are dropped, and so are
 * their tags.
 */
void mam_cache_close(struct mam_pool *pool);

/*
 * mam_cache_check - `held` is the result of mam_cache_count_pending(). Returns NULL or one sentence about
 * an invariant that does not hold.
 */
const char *mam_cache_check(const struct mam_cache *held);

/* Around a fork, of each pool: after its grow_lock and before its lock. */
void mam_cache_fork_prepare(struct mam_pool *pool);
void mam_cache_fork_parent(struct mam_pool *pool);
void mam_cache_fork_child(struct mam_pool *pool); /* both locks of the pool are new */

/* The same for the state that all caches share: after all pools. */
void mam_caches_fork_prepare(void);
void mam_caches_fork_parent(void);
void mam_caches_fork_child(void);

/* ---- inside the folder ---- */

struct mam_cache {
	struct mam_lock lock;
	_Atomic(struct mam_pool *) pool; /* atomic; written under lock: cache; NULL: not in use */
	_Atomic uint64_t number;         /* atomic; set at open: number of the pool */
	struct mam_tcache *tcaches;      /* lock: cache */
	_Atomic uint32_t tcache_count;   /* atomic; written under lock: cache */
	uint32_t next_tcache;            /* lock: cache; number for the tags of the next one */
	struct mam_cache *next;          /* lock: idle; next cache that is not in use */
	_Atomic uint64_t next_look;      /* atomic; time of the next check of thread caches */
	_Atomic uint64_t high_max;       /* atomic; caches are emptied before blocks reach higher */
	uint64_t lost;                   /* lock: cache; count: of ended thread caches (bins.h) */
	/* lock: none, set at open: the pool's range and source may end before its thread caches */
	bool in_pieces;      /* memory is mapped in pieces */
	uint64_t pieces_min; /* bytes of cached blocks for which pieces are always mapped */
	struct mam_transfer transfer;
};

/*
 * mam_cache_serves - whether the cache still belongs to this pool: a pool that ended keeps the
 * pointer to its former cache.
 */
static inline bool mam_cache_serves(const struct mam_cache *cache, const struct mam_pool *pool)
{
	return atomic_load_explicit(&cache->pool, memory_order_acquire) == pool;
}

/* mam_cache_leave_tcache - return the thread cache's blocks to the pool and unlink it. */
void mam_cache_leave_tcache(struct mam_tcache *tcache);

/* mam_cache_has - whether a segment that is live in the pool is in a cache. */
bool mam_cache_has(const struct mam_segment_info *segment);

/*
 * mam_cache_forget - remove the CACHED tag of a block at this address, if it has one. Returns
 * whether it was kept.
 */
bool mam_cache_forget(const void *block);

/* mam_cache_end - keep a closed cache for the next pool. */
void mam_cache_end(struct mam_cache *cache);

/* Set the granules that a thread cache may contain, from the values of its last flush. */
void mam_cache_limit(struct mam_tcache *tcache);

/* mam_cache_enter - enter the calling thread's cache at the pool; NULL: it has none now. */
struct mam_tcache *mam_cache_enter(struct mam_pool *pool);

/* mam_cache_make_room - evict until the bins have room for that many granules. pre: inside. */
void mam_cache_make_room(struct mam_tcache *tcache, struct mam_pool *pool, uint64_t granules);

/*
 * mam_cache_live_here - the tag of a block that a caller holds in this pool, and its value; NULL:
 * it has none. mam_cache_is_cached: whether a block without that tag is in a cache.
 * mam_cache_tag_live: tag a block that a caller got from the pool. pre: inside the thread cache.
 */
mam_blocktag_word *mam_cache_live_here(const struct mam_pool *pool, const void *block,
				       uint64_t *value);
bool mam_cache_is_cached(struct mam_pool *pool, const void *block);
void mam_cache_tag_live(struct mam_tcache *tcache, void *block, size_t bytes);

/*
 * mam_cache_evict_async - return up to a batch of blocks to their stream, from any thread that may
 * touch the thread cache. 0: there are none. mam_cache_unbind: return all, and give up the record.
 */
size_t mam_cache_evict_async(struct mam_tcache *tcache, struct mam_pool *pool,
			     struct mam_stream_bins *bins);
void mam_cache_unbind(struct mam_tcache *tcache, struct mam_pool *pool,
		      struct mam_stream_bins *bins);

/* ---- the fast path ---- */

static inline uint64_t mam_cache_granules(const struct mam_tcache *tcache, size_t bytes)
{
	return (bytes + tcache->round_up) >> MAM_BLOCKTAG_SHIFT & tcache->unit_mask;
}

/* `bins`: the thread cache's or those of a stream. pre: inside. NULL: no block fits. */
static inline __attribute__((always_inline)) void *
mam_cache_take_inside(struct mam_tcache *tcache, struct mam_bins *bins, size_t bytes)
{
	uint64_t bin = mam_cache_granules(tcache, bytes);
	mam_blocktag_word *tag;
	uintptr_t block;

	if (bins->head[bin] == 0)
		bin = mam_bins_best(bins, bin, bin + (bin >> tcache->slack));
	if (bin == 0)
		return NULL;
	block = mam_bins_pop(bins, bin, &tag);
	if (block == 0)
		return NULL;
	mam_blocktag_write(tag, mam_blocktag_live(tcache->live_key, block, bin, bytes));
	mam_tally_alloc(tcache->tally, bytes, bin << MAM_BLOCKTAG_SHIFT);
	return (void *)block;
}

/*
 * mam_cache_alloc_own - allocate a block of the thread's own cache; NULL: none fits, or `handle` is
 * not the handle of its pool, or `bytes` is 0. May be called outside of a section
 * (pool/handle.h): a pool's thread caches are closed before its storage is reused, and only the
 * thread itself can open its own at the next pool there.
 */
static inline __attribute__((always_inline)) void *
mam_cache_alloc_own(const struct mam_pool *handle, size_t bytes)
{
	struct mam_tcache *tcache = mam_tcache_last;
	void *found;

	if (!mam_tcache_serves(tcache, handle) || bytes > MAM_CACHE_MAX_BYTES ||
	    !mam_asymlock_enter(&tcache->hand))
		return NULL;
	found = mam_cache_take_inside(tcache, &tcache->bins, bytes);
	mam_asymlock_leave(&tcache->hand);
	return found;
}

/* mam_cache_alloc - the slow path. pre: inside a section; `bytes` is not 0. */
static inline enum mam_status mam_cache_alloc(struct mam_pool *pool, size_t bytes, size_t alignment,
					      void **block)
{
	if (pool->cache)
		return mam_cache_alloc_slowly(pool, bytes, alignment, block);
	return pool->redzone ? mam_redzone_alloc(pool, bytes, alignment, false, block)
			     : mam_pool_alloc(pool, bytes, alignment, block);
}

/*
 * The same for a free. `tag` and `value`: of mam_blocktag_live_at(). False: the thread cache is
 * full.
 */
static inline __attribute__((always_inline)) bool
mam_cache_give_tagged(struct mam_tcache *tcache, struct mam_bins *bins, uintptr_t block,
		      mam_blocktag_word *tag, uint64_t value)
{
	uint64_t granules = mam_blocktag_granules(value);

	if (mam_tcache_held(tcache) + granules > tcache->max)
		return false;
	mam_bins_push(bins, block, tag, granules);
	mam_tally_free(tcache->tally, mam_blocktag_requested(value),
		       granules << MAM_BLOCKTAG_SHIFT);
	return true;
}

/* Also false if the block is not for these bins. */
static inline __attribute__((always_inline)) bool
mam_cache_give_inside(struct mam_tcache *tcache, struct mam_bins *bins, uintptr_t block)
{
	uint64_t value;
	mam_blocktag_word *tag = mam_blocktag_live_at(block, tcache->live_key, &value);

	return tag && mam_cache_give_tagged(tcache, bins, block, tag, value);
}

/*
 * mam_cache_free_own - free into the thread's own cache, which does not wait for the device; false:
 * not done. As mam_cache_alloc_own().
 */
static inline __attribute__((always_inline)) bool mam_cache_free_own(const struct mam_pool *handle,
								     void *block)
{
	struct mam_tcache *tcache = mam_tcache_last;
	bool given;

	if (!mam_tcache_serves(tcache, handle) || !mam_asymlock_enter(&tcache->hand))
		return false;
	given = mam_cache_give_inside(tcache, &tcache->bins, (uintptr_t)block);
	mam_asymlock_leave(&tcache->hand);
	return given;
}

/*
 * mam_cache_size_own - the rounded size of a block of the pool of the thread's own cache; false: it
 * has no tag. As mam_cache_alloc_own().
 */
static inline bool mam_cache_size_own(const struct mam_pool *handle, const void *block,
				      size_t *bytes)
{
	const struct mam_tcache *tcache = mam_tcache_last;
	uint64_t value;

	if (!mam_tcache_serves(tcache, handle) ||
	    !mam_blocktag_live_at((uintptr_t)block, tcache->live_key, &value))
		return false;
	*bytes = mam_blocktag_granules(value) << MAM_BLOCKTAG_SHIFT;
	return true;
}

/* The thread keeps a live block; `tag` and `value`: of mam_blocktag_live_at(). pre: inside. */
static inline void mam_cache_keep_inside(struct mam_tcache *tcache, struct mam_pool *pool,
					 void *block, mam_blocktag_word *tag, uint64_t value,
					 uint64_t *ticket, size_t *bytes)
{
	uint64_t granules = mam_blocktag_granules(value);

	mam_kept_push(&tcache->kept, tcache->bins.key, (uintptr_t)block, tag, granules);
	mam_tally_free(tcache->tally, mam_blocktag_requested(value),
		       granules << MAM_BLOCKTAG_SHIFT);
	mam_tally_keep(tcache->tally, granules << MAM_BLOCKTAG_SHIFT);
	*ticket = 0;
	if (mam_kept_is_due(&tcache->kept, tcache->max)) {
		*bytes = tcache->kept.open.granules << MAM_BLOCKTAG_SHIFT;
		*ticket = mam_kept_seal(tcache, pool);
	}
}

/* mam_cache_retire_own - retire into the thread's own cache, as mam_cache_free_own(). */
static inline bool mam_cache_retire_own(const struct mam_pool *handle, void *block,
					uint64_t *ticket, size_t *bytes)
{
	struct mam_tcache *tcache = mam_tcache_last;
	mam_blocktag_word *tag;
	uint64_t value;

	if (!mam_tcache_serves(tcache, handle) || !mam_asymlock_enter(&tcache->hand))
		return false;
	tag = mam_blocktag_live_at((uintptr_t)block, tcache->live_key, &value);
	if (tag)
		mam_cache_keep_inside(tcache, mam_handle_storage(handle), block, tag, value, ticket,
				      bytes);
	mam_asymlock_leave(&tcache->hand);
	return tag != NULL;
}

/* mam_cache_free - the slow path. pre: inside a section. */
static inline enum mam_status mam_cache_free(struct mam_pool *pool, void *block)
{
	if (pool->cache)
		return mam_cache_free_slowly(pool, block);
	return pool->redzone ? mam_redzone_free(pool, block) : mam_pool_free(pool, block);
}

#endif
