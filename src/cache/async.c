/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async.c - stream-ordered requests of a thread that has a cache.
 *
 * A thread cache has bins for each of up to 16 streams that the thread frees on, in a table by
 * handle, two places per handle. Only streams with some frees have bins (stream/pin.c).
 *
 * Most calls end in mam_cache_alloc_async_own() and mam_cache_free_async_own(). They need no section:
 * the driver's functions last as long as the process, and everything else is read inside the
 * thread cache, where the bins show that the pool has not ended.
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

/* Streams that the driver does not know (source/lag.h) are served by the slow paths. */
static void set_driver(struct mam_tcache *tcache, const struct mam_streams *streams)
{
	if (streams->fences.lag == NULL) {
		tcache->context = streams->fences.device.context;
		tcache->driver = streams->fences.device.driver;
	}
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
	set_driver(tcache, pool->stream);
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
static inline bool enter(struct mam_tcache *tcache)
{
	return mam_asymlock_enter(&tcache->hand);
}

static inline struct mam_tcache *enter_own(const struct mam_pool *pool,
					   const struct mam_stream_key *key)
{
	struct mam_tcache *tcache = mam_tcache_last;

	return key->capture == 0 &&
			       atomic_load_explicit(&tcache->pool, memory_order_relaxed) == pool &&
			       enter(tcache)
		       ? tcache
		       : NULL;
}

static inline bool is_usable(const struct mam_pool *pool, const struct mam_stream_bins *bins)
{
	return bins && !bins->stale && !bins->due &&
	       bins->captures == mam_stream_captures_noted(pool);
}

/* pre: inside the pool's thread cache. `tag` and `value`: of mam_blocktag_live_at(). */
static inline __attribute__((always_inline)) bool
give_to_bins(const struct mam_pool *pool, struct mam_tcache *tcache,
	     const struct CUstream_st *stream, void *block, mam_blocktag_word *tag, uint64_t value)
{
	struct mam_stream_bins *bins = find(tcache, stream);

	if (!is_usable(pool, bins) ||
	    !mam_cache_give_tagged(tcache, &bins->bins, (uintptr_t)block, tag, value))
		return false;
	tcache->stream_granules += mam_blocktag_granules(value);
	return true;
}

static __attribute__((noinline)) bool free_own(const struct mam_pool *pool, void *block,
					       const struct mam_stream_key *key)
{
	struct mam_tcache *tcache = enter_own(pool, key);
	mam_blocktag_word *tag;
	uint64_t value;
	bool given;

	if (!tcache)
		return false;
	tag = mam_blocktag_live_at((uintptr_t)block, tcache->live_key, &value);
	given = tag && give_to_bins(pool, tcache, key->stream, block, tag, value);
	mam_asymlock_leave(&tcache->hand);
	return given;
}

static inline __attribute__((always_inline)) void *
take_from_bins(struct mam_tcache *tcache, struct mam_stream_bins *bins, size_t bytes)
{
	uint64_t before = bins->bins.granules;
	void *found = mam_cache_take_inside(tcache, &bins->bins, bytes);

	tcache->stream_granules -= before - bins->bins.granules;
	return found;
}

/* pre: inside the pool's thread cache. */
static inline __attribute__((always_inline)) void *
take_of_stream(const struct mam_pool *pool, struct mam_tcache *tcache,
	       const struct CUstream_st *stream, unsigned long long id, size_t bytes)
{
	struct mam_stream_bins *bins = find(tcache, stream);

	if (is_usable(pool, bins) && bins->id == id)
		return take_from_bins(tcache, bins, bytes);
	return NULL;
}

static __attribute__((noinline)) void *alloc_own(const struct mam_pool *pool, size_t bytes,
						 const struct mam_stream_now *now)
{
	struct mam_tcache *tcache =
		bytes <= MAM_CACHE_MAX_BYTES ? enter_own(pool, &now->key) : NULL;
	void *found;

	if (!tcache)
		return NULL;
	found = take_of_stream(pool, tcache, now->key.stream, now->id, bytes);
	mam_asymlock_leave(&tcache->hand);
	return found;
}

/*
 * Query the stream in the common cases: a default stream, or one that is not in capture. `id`: as
 * in struct mam_stream_bins; NULL: it is not needed. False: the slow path queries.
 */
static inline bool query_own(const struct mam_tcache *tcache, struct CUstream_st **stream,
			     unsigned long long *id)
{
	const struct mam_driver *driver = tcache->driver;
	struct CUctx_st *current = NULL;
	unsigned int status = 0;

	if (!driver)
		return false;
	if ((uintptr_t)*stream <= (uintptr_t)MAM_STREAM_LEGACY) {
		*stream = MAM_STREAM_LEGACY;
		return true;
	}
	/* The thread's own stream depends on the current context. */
	if (*stream == MAM_STREAM_PER_THREAD) {
		id = NULL;
		if (driver->ctx_get_current(&current) != MAM_DRIVER_SUCCESS ||
		    current != tcache->context)
			return false;
	}
	if (id && !driver->stream_get_id)
		return false;
	if (driver->stream_is_capturing(*stream, &status) != MAM_DRIVER_SUCCESS || status != 0)
		return false;
	return !id || driver->stream_get_id(*stream, id) == MAM_DRIVER_SUCCESS;
}

static __attribute__((noinline)) void
note_known(struct CUstream_st *stream, const unsigned long long *id, struct mam_stream_now *now)
{
	*now = (struct mam_stream_now){ .key = { .stream = stream }, .is_known = true };
	if (stream == MAM_STREAM_PER_THREAD)
		now->key = mam_key_of_thread();
	else if (id && stream != MAM_STREAM_LEGACY)
		now->has_id = true;
	/* cppcheck-suppress nullPointer; has_id implies id */
	now->id = now->has_id ? *id : 0;
}

/* Bins exist only as long as the pool does. pre: inside. */
static inline const struct mam_pool *pool_of(const struct mam_tcache *tcache)
{
	return atomic_load_explicit(&tcache->pool, memory_order_relaxed);
}

void *mam_cache_alloc_async_own(const struct mam_pool *handle, size_t bytes,
				struct CUstream_st *stream, struct mam_stream_now *now)
{
	struct mam_tcache *tcache = mam_tcache_last;
	unsigned long long id = 0;
	void *found = NULL;

	now->is_known = false;
	if (!mam_tcache_serves(tcache, handle) || bytes > MAM_CACHE_MAX_BYTES ||
	    !query_own(tcache, &stream, &id))
		return NULL;
	if (enter(tcache)) {
		found = take_of_stream(pool_of(tcache), tcache, stream, id, bytes);
		mam_asymlock_leave(&tcache->hand);
	}
	if (!found)
		note_known(stream, &id, now);
	return found;
}

bool mam_cache_free_async_own(const struct mam_pool *handle, void *block,
			      struct CUstream_st *stream, struct mam_stream_now *now)
{
	struct mam_tcache *tcache = mam_tcache_last;
	mam_blocktag_word *tag;
	uint64_t value;
	bool given = false;

	now->is_known = false;
	if (!mam_tcache_serves(tcache, handle))
		return false;
	/* The caller holds the block: no other thread changes its tag. */
	tag = mam_blocktag_live_at((uintptr_t)block, tcache->live_key, &value);
	if (!tag || !query_own(tcache, &stream, NULL))
		return false;
	if (enter(tcache)) {
		given = give_to_bins(pool_of(tcache), tcache, stream, block, tag, value);
		mam_asymlock_leave(&tcache->hand);
	}
	if (!given)
		note_known(stream, NULL, now);
	return given;
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

enum mam_status mam_cache_free_async(struct mam_pool *pool, void *block, struct CUstream_st *stream,
				     struct mam_stream_now *now)
{
	const bool tried = now->is_known; /* the bins */
	enum mam_status status = MAM_OK;
	bool due = false;

	if (!pool->cache)
		return pool->redzone ? mam_redzone_free_async(pool, block, stream)
				     : mam_stream_free(pool, block, stream);
	if (!pool->stream)
		return mam_cache_free(pool, block);
	if (!tried)
		status = mam_stream_query(pool, stream, false, now);
	if (status != MAM_OK)
		return status;
	status = free_untagged(pool, block, &now->key, &due);
	if (status == MAM_ERROR_WOULD_WAIT)
		return !tried && free_own(pool, block, &now->key)
			       ? MAM_OK
			       : free_slowly(pool, block, &now->key);
	if (due)
		mam_stream_reclaim(pool->stream, &now->key, false);
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
				      struct CUstream_st *stream, struct mam_stream_now *now,
				      void **block)
{
	enum mam_status status;
	void *found;

	if (!pool->stream)
		return mam_cache_alloc(pool, bytes, 0, block);
	if (pool->redzone)
		return mam_redzone_alloc_async(pool, bytes, stream, block);
	if (!pool->cache || !mam_stream_is_any(pool))
		return mam_stream_alloc(pool, bytes, stream, block);
	if (now->is_known) /* the bins were searched already */
		return alloc_slowly(pool, bytes, now, block);
	status = mam_stream_query(pool, stream, true, now);
	if (status != MAM_OK)
		return status == MAM_ERROR_DESTROYED ? status : mam_stream_refuse(pool, status);
	found = alloc_own(pool, bytes, now);
	if (!found)
		return alloc_slowly(pool, bytes, now, block);
	*block = found;
	return MAM_OK;
}
