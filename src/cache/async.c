/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async.c - stream-ordered requests of a thread that has a cache.
 *
 * A thread cache has bins for each of up to 16 streams that the thread frees on, in a table by
 * handle, two places per handle. Only streams with some frees have bins (stream/pin.c).
 *
 * free:
 *   1. Query whether the stream is in capture (stream/key.c). If it is, the block bypasses the
 *      bins.
 *   2. A block with a tag is pushed into the stream's bins. Blocks that they evict for it join
 *      the memory of their stream, a batch per acquisition of the pool's lock (stream/pin.c).
 *   3. Otherwise the block joins the memory of its stream itself (stream/stream.c).
 * alloc:
 *   1. The same query, and the stream's id. If the id is not that of the bins, the handle stands
 *      for another stream by now. The bins are given up: their blocks join the memory of the former
 *      stream, which waits for the whole context.
 *   2. Use a block of the bins.
 *   3. Otherwise allocate from the stream's memory or the pool's, and tag the block.
 *   4. If the pool would have to grow: blocks in caches, this thread's or another's, may serve the
 *      request when they are back in the stream's memory.
 *
 * The queries cannot be saved. The driver does not report that a capture began or that a handle
 * was reused, and both must be known at each call. (In capture the id must not be queried.)
 *
 * The id was verified when the stream's record was made, and is verified again at each alloc. So
 * the blocks that an alloc finds were freed on this stream (stream/key.c).
 *
 * Bound: as for other requests of the cache. Driver calls are never made inside the thread cache.
 */
#include "cache/cache.h"

#include "base/clock.h"

#define BATCH 32      /* blocks per acquisition of the pool's lock */
#define CLASH_EVERY 8 /* a stream without a place gets that of another one at every eighth call */
#define TURNS_A_LOOK 256
#define TURNS_A_LIMIT 16

static unsigned place_of(const struct CUstream_st *stream)
{
	uint64_t mixed = ((uintptr_t)stream >> 4 ^ (uintptr_t)stream) * 0x9e3779b97f4a7c15u;

	return (unsigned)(mixed >> 60);
}

_Static_assert(MAM_TCACHE_STREAMS == 16, "the hash has four bits");

/* The thread's bins of a handle; NULL: none. pre: inside. */
static inline struct mam_stream_bins *find(const struct mam_tcache *tcache,
					   const struct CUstream_st *stream)
{
	unsigned place = place_of(stream);
	struct mam_stream_bins *bins = tcache->streams[place];

	if (bins && bins->stream == stream)
		return bins;
	bins = tcache->streams[place ^ 1];
	return bins && bins->stream == stream ? bins : NULL;
}

size_t mam_cache_evict_async(struct mam_tcache *tcache, struct mam_pool *pool,
			     struct mam_stream_bins *bins)
{
	uint64_t before = bins->bins.granules;
	void *blocks[BATCH];
	size_t count = mam_bins_evict(&bins->bins, blocks, BATCH);

	tcache->stream_granules -= before - bins->bins.granules;
	if (count != 0 &&
	    !mam_stream_put_batch(pool, bins->record, blocks, count, tcache->tally, &bins->due))
		bins->stale = true;
	return count;
}

/* Bins that lost blocks keep the record until these are found (drain.c). */
void mam_cache_unbind(struct mam_tcache *tcache, struct mam_pool *pool,
		      struct mam_stream_bins *bins)
{
	while (mam_cache_evict_async(tcache, pool, bins) != 0)
		continue;
	if (bins->record != 0 && bins->bins.lost == 0) {
		mam_stream_unpin(pool, bins->record);
		bins->record = 0;
	}
	bins->stream = NULL;
}

/* A place for the bins of another stream; NULL: both are in use, and not to be replaced now. */
static struct mam_stream_bins **vacate(struct mam_tcache *tcache, struct mam_pool *pool,
				       unsigned place)
{
	for (unsigned way = 0; way < 2; way++)
		if (!tcache->streams[place ^ way] || !tcache->streams[place ^ way]->stream)
			return &tcache->streams[place ^ way];
	if (++tcache->clashes % CLASH_EVERY != 0)
		return NULL;
	mam_cache_unbind(tcache, pool, tcache->streams[place]);
	return &tcache->streams[place];
}

/* Bins for a stream that is not in capture; NULL: none. pre: inside, and the stream has none. */
static struct mam_stream_bins *bind(struct mam_tcache *tcache, struct mam_pool *pool,
				    const struct mam_stream_key *key)
{
	struct mam_stream_bins **place = vacate(tcache, pool, place_of(key->stream)), *bins;
	unsigned long long id;
	uint32_t record;

	if (!place || (*place && (*place)->record != 0))
		return NULL;
	record = mam_stream_pin(pool, key, &id);
	if (record == 0)
		return NULL;
	bins = *place ? *place : mam_tcache_bins_new();
	if (!bins) {
		mam_stream_unpin(pool, record);
		return NULL;
	}
	*place = bins;
	bins->bins.key = tcache->bins.key;
	bins->record = record;
	bins->id = id;
	bins->captures = mam_stream_note(pool, key);
	bins->due = bins->stale = false;
	bins->stream = key->stream;
	return bins;
}

/* The bins to use for a call on the stream now. */
static struct mam_stream_bins *use(struct mam_tcache *tcache, struct mam_pool *pool,
				   const struct mam_stream_key *key)
{
	struct mam_stream_bins *bins = key->capture == 0 ? find(tcache, key->stream) : NULL;

	if (!bins)
		return NULL;
	if (bins->stale) {
		mam_cache_unbind(tcache, pool, bins);
		return NULL;
	}
	if (bins->captures != mam_stream_captures_noted(pool))
		bins->captures = mam_stream_note(pool, key);
	return bins;
}

/*
 * The fast paths: no lock and no locked instruction. False: nothing happened, and the slow path
 * decides.
 */
static inline struct mam_tcache *enter_own(const struct mam_pool *pool,
					   const struct mam_stream_key *key)
{
	struct mam_tcache *tcache = mam_tcache_last;

	return key->capture == 0 &&
			       atomic_load_explicit(&tcache->pool, memory_order_relaxed) == pool &&
			       mam_asymlock_enter(&tcache->hand)
		       ? tcache
		       : NULL;
}

static inline bool is_usable(const struct mam_pool *pool, const struct mam_stream_bins *bins)
{
	return bins && !bins->stale && !bins->due &&
	       bins->captures == mam_stream_captures_noted(pool);
}

static inline bool free_own(const struct mam_pool *pool, void *block,
			    const struct mam_stream_key *key)
{
	struct mam_tcache *tcache = enter_own(pool, key);
	struct mam_stream_bins *bins;
	bool given = false;
	uint64_t before;

	if (!tcache)
		return false;
	bins = find(tcache, key->stream);
	if (is_usable(pool, bins)) {
		before = bins->bins.granules;
		given = mam_cache_give_inside(tcache, &bins->bins, (uintptr_t)block);
		tcache->stream_granules += bins->bins.granules - before;
	}
	mam_asymlock_leave(&tcache->hand);
	return given;
}

static inline void *take_from_bins(struct mam_tcache *tcache, struct mam_stream_bins *bins,
				   size_t bytes)
{
	uint64_t before = bins->bins.granules;
	void *found = mam_cache_take_inside(tcache, &bins->bins, bytes);

	tcache->stream_granules -= before - bins->bins.granules;
	return found;
}

static inline void *alloc_own(const struct mam_pool *pool, size_t bytes,
			      const struct mam_stream_now *now)
{
	struct mam_tcache *tcache =
		bytes <= MAM_CACHE_MAX_BYTES ? enter_own(pool, &now->key) : NULL;
	struct mam_stream_bins *bins;
	void *found = NULL;

	if (!tcache)
		return NULL;
	bins = find(tcache, now->key.stream);
	if (is_usable(pool, bins) && bins->id == now->id)
		found = take_from_bins(tcache, bins, bytes);
	mam_asymlock_leave(&tcache->hand);
	return found;
}

static bool put_in_bins(struct mam_tcache *tcache, struct mam_pool *pool,
			struct mam_stream_bins *bins, void *block, uint64_t granules)
{
	if (mam_tcache_held(tcache) + granules > tcache->max)
		mam_cache_make_room(tcache, pool, granules);
	if (!mam_cache_give_inside(tcache, &bins->bins, (uintptr_t)block))
		return false;
	tcache->stream_granules += granules;
	return true;
}

/* A free in progress. */
struct free_call {
	struct mam_stream_key key;
	void *block;
	size_t requested; /* as in mam_pool_free_one() */
	bool due;         /* memory of the stream should leave it */
};

/* Divisions: not at each call that the bins do not serve. */
static void count_turn(struct mam_tcache *tcache)
{
	if (tcache->turns++ % TURNS_A_LIMIT == 0)
		mam_cache_limit(tcache);
}

/* pre: inside the thread cache, if there is one. Errors as mam_stream_put(). */
static enum mam_status free_inside(struct mam_pool *pool, struct mam_tcache *tcache,
				   struct free_call *call)
{
	struct mam_tally none = { 0 };
	struct mam_stream_bins *bins = tcache ? use(tcache, pool, &call->key) : NULL;
	enum mam_status status;
	uint64_t value;
	mam_blocktag_word *tag = mam_cache_live_here(pool, call->block, &value);

	if (tag && bins &&
	    put_in_bins(tcache, pool, bins, call->block, mam_blocktag_granules(value))) {
		call->due = bins->due;
		bins->due = false;
		return MAM_OK;
	}
	if (tag) {
		call->requested = mam_blocktag_requested(value);
		mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
	} else if (mam_cache_is_cached(pool, call->block)) {
		return MAM_ERROR_DOUBLE_FREE;
	}
	status = mam_stream_put(pool, call->block, call->requested, &call->key,
				tcache ? tcache->tally : &none, &call->due);
	if (!tcache)
		return status;
	count_turn(tcache);
	if (!bins && status == MAM_OK && call->key.capture == 0)
		(void)bind(tcache, pool, &call->key);
	return status;
}

static enum mam_status free_once(struct mam_pool *pool, struct free_call *call)
{
	struct mam_tcache *tcache = mam_cache_enter(pool);
	enum mam_status status = free_inside(pool, tcache, call);

	if (tcache)
		mam_asymlock_leave(&tcache->hand);
	return status;
}

static __attribute__((noinline)) enum mam_status free_slowly(struct mam_pool *pool, void *block,
							     const struct mam_stream_key *key)
{
	struct free_call call = { .key = *key, .block = block };
	struct mam_tally none = { 0 };
	enum mam_status status;

	while ((status = free_once(pool, &call)) == MAM_ERROR_WOULD_WAIT) {
		status = mam_stream_meet(pool, &call.key);
		if (status == MAM_OK)
			continue;
		if (call.requested != 0)
			mam_pool_amend(pool, block, call.requested, &none);
		return status;
	}
	if (call.due)
		mam_stream_reclaim(pool->stream, &call.key, false);
	return status;
}

/* A block that never went through a cache needs no bins. WOULD_WAIT: nothing happened. */
static enum mam_status free_untagged(struct mam_pool *pool, void *block,
				     const struct mam_stream_key *key, bool *due)
{
	struct mam_tcache *tcache =
		mam_blocktag_is_none((uintptr_t)block) ? enter_own(pool, key) : NULL;
	enum mam_status status = MAM_ERROR_WOULD_WAIT;

	if (!tcache)
		return status;
	if (tcache->turns++ % TURNS_A_LIMIT != 0)
		status = mam_stream_put(pool, block, 0, key, tcache->tally, due);
	mam_asymlock_leave(&tcache->hand);
	return status;
}

enum mam_status mam_cache_free_async(struct mam_pool *pool, void *block, struct CUstream_st *stream)
{
	struct mam_stream_now now;
	enum mam_status status;
	bool due = false;

	if (!pool->cache)
		return mam_stream_free(pool, block, stream);
	if (!pool->stream)
		return mam_cache_free(pool, block);
	status = mam_stream_query(pool, stream, false, &now);
	if (status != MAM_OK)
		return status;
	if (free_own(pool, block, &now.key))
		return MAM_OK;
	status = free_untagged(pool, block, &now.key, &due);
	if (status == MAM_ERROR_WOULD_WAIT)
		return free_slowly(pool, block, &now.key);
	if (due)
		mam_stream_reclaim(pool->stream, &now.key, false);
	return status;
}

/* An allocation in progress. */
struct alloc_call {
	struct mam_stream_now now;
	struct mam_request request;
	size_t bytes;
	bool own;  /* as in mam_stream_take() */
	bool look; /* check whether other thread caches are idle */
};

/* pre: inside the thread cache, if there is one. Errors as mam_stream_take(). */
static enum mam_status alloc_inside(struct mam_pool *pool, struct mam_tcache *tcache,
				    struct alloc_call *call, void **block)
{
	struct mam_tally none = { 0 };
	struct mam_stream_bins *bins = tcache ? use(tcache, pool, &call->now.key) : NULL;
	bool small = call->bytes <= MAM_CACHE_MAX_BYTES;
	enum mam_status status;
	void *found;

	if (bins && bins->id != call->now.id) {
		mam_cache_unbind(tcache, pool, bins);
		bins = NULL;
	}
	if (bins && small && (found = take_from_bins(tcache, bins, call->bytes)) != NULL) {
		*block = found;
		return MAM_OK;
	}
	status = mam_stream_take(pool, &call->now, &call->request, tcache ? tcache->tally : &none,
				 block, &call->own);
	if (!tcache)
		return status;
	count_turn(tcache);
	call->look = tcache->turns % TURNS_A_LOOK == 0;
	if (!bins && call->own && call->now.key.capture == 0)
		bins = bind(tcache, pool, &call->now.key);
	if (status == MAM_OK && bins && small)
		mam_cache_tag_live(tcache, *block, call->bytes);
	return status;
}

static enum mam_status alloc_once(struct mam_pool *pool, struct alloc_call *call, void **block)
{
	struct mam_tcache *tcache = mam_cache_enter(pool);
	enum mam_status status = alloc_inside(pool, tcache, call, block);

	if (tcache)
		mam_asymlock_leave(&tcache->hand);
	return status;
}

/* No bins may serve it. */
static enum mam_status alloc_large(struct mam_pool *pool, struct alloc_call *call, void **block)
{
	struct mam_tcache *tcache = enter_own(pool, &call->now.key);
	enum mam_status status;

	if (!tcache)
		return alloc_once(pool, call, block);
	status =
		mam_stream_take(pool, &call->now, &call->request, tcache->tally, block, &call->own);
	mam_asymlock_leave(&tcache->hand);
	return status;
}

/* Return the blocks of the thread's bins of a stream to the stream. False: there are none. */
static bool flush(struct mam_pool *pool, const struct mam_stream_key *key)
{
	struct mam_tcache *tcache = mam_cache_enter(pool);
	struct mam_stream_bins *bins = tcache ? find(tcache, key->stream) : NULL;
	bool any = false;

	while (bins && mam_cache_evict_async(tcache, pool, bins) != 0)
		any = true;
	if (tcache)
		mam_asymlock_leave(&tcache->hand);
	return any;
}

static enum mam_status grow(struct mam_pool *pool, struct alloc_call *call, void **block)
{
	const struct mam_stream_key *key = &call->now.key;
	enum mam_status status = MAM_ERROR_WOULD_WAIT;
	struct mam_stream_bins *bins;
	struct mam_tcache *tcache;

	/* As at other growths, only new chunks are worth emptying the caches of all threads. */
	if (pool->range ? flush(pool, key) : mam_cache_drain(pool))
		status = alloc_once(pool, call, block);
	if (status != MAM_ERROR_WOULD_WAIT)
		return status;
	status = mam_stream_grow(pool, key, &call->request, call->own, block);
	if (status != MAM_OK || call->bytes > MAM_CACHE_MAX_BYTES)
		return status;
	tcache = mam_cache_enter(pool);
	bins = tcache ? find(tcache, key->stream) : NULL;
	if (bins)
		mam_cache_tag_live(tcache, *block, call->bytes);
	if (tcache)
		mam_asymlock_leave(&tcache->hand);
	return status;
}

static __attribute__((noinline)) enum mam_status
alloc_slowly(struct mam_pool *pool, size_t bytes, const struct mam_stream_now *now, void **block)
{
	struct alloc_call call = { .now = *now, .bytes = bytes };
	enum mam_status status;

	if (mam_space_shape(pool, bytes, 0, &call.request) != MAM_OK)
		return mam_pool_alloc(pool, bytes, 0, block);
	status = bytes > MAM_CACHE_MAX_BYTES ? alloc_large(pool, &call, block)
					     : alloc_once(pool, &call, block);
	if (call.look)
		mam_cache_age(pool, mam_clock_ns());
	return status == MAM_ERROR_WOULD_WAIT ? grow(pool, &call, block) : status;
}

enum mam_status mam_cache_alloc_async(struct mam_pool *pool, size_t bytes,
				      struct CUstream_st *stream, void **block)
{
	struct mam_stream_now now;
	enum mam_status status;
	void *found;

	if (!pool->stream)
		return mam_cache_alloc(pool, bytes, 0, block);
	if (!pool->cache || !mam_stream_is_any(pool))
		return mam_stream_alloc(pool, bytes, stream, block);
	status = mam_stream_query(pool, stream, true, &now);
	if (status != MAM_OK)
		return status == MAM_ERROR_DESTROYED ? status : mam_stream_refuse(pool, status);
	found = alloc_own(pool, bytes, &now);
	if (!found)
		return alloc_slowly(pool, bytes, &now, block);
	*block = found;
	return MAM_OK;
}
