/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow.c - add chunks from the source, and release idle ones.
 *
 * A request that no free memory fits:
 *   1. Take the grow lock: one thread calls the source. The others wait here, and search the pool
 *      each time that the lock is released. On mapped memory the first one adds what they need.
 *   2. Try again; another thread may have freed memory or grown the pool meanwhile.
 *   3. Request max(bytes of the request, growth size) from the source, halving the size down to the
 *      request while it refuses. The records for the chunk are reserved first, so that no chunk has
 *      to be freed because host memory ran out.
 *   4. If the source, the limit or a quota refuses: free all idle chunks, which were too small, and
 *      try the source once more.
 *   5. Allocate the block from the new chunk before any other thread can.
 *
 * An allocation does not wait for the GPU before step 4: a kernel may be waiting for the thread
 * that allocates. cuMemFree and similar calls wait for all work of the context, even if the chunk
 * is unused. So step 3 frees no chunk. If the pool chooses the sizes of its chunks, the next strict
 * free does that instead, after its own wait (mam_grow_release_outgrown()): it frees all chunks
 * that are idle then, once for each growth. Pools with another policy free idle chunks only in step
 * 4 and in mam_pool_trim(). A limit counts as memory: a request beyond it fails unless idle chunks
 * are freed. So step 4 then waits, although the driver has more memory.
 *
 * Two waits remain, both in the driver: another thread of the process may be in a free, in step 4
 * or in trim, with grow_lock or the driver's own lock held, and wait there for its work.
 *
 * A request in the order of a stream may use memory that other streams freed, before their work is
 * done: the stream waits for them on the GPU, and the host does not wait (stream/borrow.c). It does
 * so before step 3 if growth would exceed the pool's footprint, and after step 4.
 *
 * A request of a thread that may not wait (prompt.c) takes step 1 for a bounded time, and steps 2,
 * 3 and 5.
 *
 * The pool's lock is not held across a source call, so a slow source call does not delay a thread
 * that finds free memory. A chunk that is being released keeps its two records: if the source
 * refuses it, the chunk is added again unchanged, and that cannot fail.
 *
 * The growth size was found by replaying PyTorch's traces of gnn, gpt2 and resnet50 (peak reserved
 * to peak live; one chunk for all gives 1.16, 1.10, 1.005). "Trading" frees idle chunks in step 3:
 *   double, up to 4 GiB                                    1.55  1.47  1.12
 *   an eighth, 64 MiB at least                             1.68  1.59  1.03
 *   an eighth, 64 MiB to 1 GiB, exact from 32 MiB, trading 1.31  1.07  1.10   waits in allocations
 *   always exact, trading                                  1.30  1.12  1.02   five times the calls
 * A large request gets a chunk of its own size, which a later request of that size can use as a
 * whole, and small blocks do not pin it. PyTorch's own allocator reserved 1.68, 1.47 and 1.36.
 *
 * Without a wait in an allocation, and calls to the source:
 *   idle chunks are not freed                              1.67 10  1.43 55  1.11 34   <- others
 *   freed by the first strict free after a growth          1.71 16  1.16 64  1.10 37   <- strict
 *   the same, with the chunk of the freed block            1.71 16  1.09 154 1.04 95   regrows
 *   by frees, as many bytes as were idle at the growth     1.71 16  1.16 64  1.10 37
 *   by frees, until as much is freed as was grown          1.07 9792  1.06 577  1.05 184
 *   by frees, idle chunks of 1 GiB, above half of the pool 1.11 281  1.16 91  1.10 37   regrows
 * Trading only if an event over the context has passed would wait if another thread launched work
 * between the query and the free; nothing closes that gap. In a library, recording such an event
 * would also invalidate stream captures.
 *
 * Bound: O(log n) and at most 2 log2(growth / need) + 2 grow calls per request. Trim checks every
 * chunk.
 */
#include "pool/grow.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/log.h"
#include "index/addrtree.h"
#include "pool/growth_policy.h"
#include "pool/streamlist.h"
#include "pool/limit.h"
#include "pool/range.h"
#include "source/source.h"

/* mam_source_grow(), or mam_source_grow_prompt(). */
typedef enum mam_status mam_grow_fn(struct mam_source *source, size_t bytes, void **base);

static uint64_t unit_of(const struct mam_pool *pool)
{
	uint64_t granularity = pool->source->properties.granularity;

	return granularity > pool->config.granule ? granularity : pool->config.granule;
}

static void count_call(struct mam_pool *pool, uint64_t began)
{
	uint64_t ns = mam_clock_ns() - began;

	mam_lock_take(&pool->lock);
	mam_pool_called_locked(pool, ns);
	mam_pool_unlock(pool);
}

static enum mam_status source_grow_by(struct mam_pool *pool, mam_grow_fn *grow, size_t bytes,
				      void **base)
{
	uint64_t began = mam_clock_ns();
	enum mam_status status = grow(pool->source, bytes, base);

	count_call(pool, began);
	return status;
}

static enum mam_status source_grow(struct mam_pool *pool, size_t bytes, void **base)
{
	return source_grow_by(pool, mam_source_grow, bytes, base);
}

static enum mam_status source_shrink(struct mam_pool *pool, void *base, size_t bytes)
{
	uint64_t began = mam_clock_ns();
	enum mam_status status = mam_source_shrink(pool->source, base, bytes);

	count_call(pool, began);
	return status;
}

static enum mam_status add_chunk_locked(struct mam_pool *pool, void *base, size_t bytes)
{
	uint32_t chunk_handle;
	uint32_t handle;
	struct mam_chunk *chunk;
	struct mam_segment *segment;
	uint32_t old_tail = pool->tail;

	if (mam_records_reserve(&pool->chunks, 1) != MAM_OK ||
	    mam_records_reserve(&pool->segments, MAM_SEGMENT_RECORDS) != MAM_OK)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	chunk_handle = mam_records_take(&pool->chunks);
	handle = mam_records_take(&pool->segments);

	chunk = mam_chunk_at(&pool->chunks, chunk_handle);
	*chunk = (struct mam_chunk){ .base = (uintptr_t)base, .bytes = bytes, .last = handle };
	chunk->older = pool->newest_chunk;
	if (chunk->older != 0)
		mam_chunk_at(&pool->chunks, chunk->older)->newer = chunk_handle;
	pool->newest_chunk = chunk_handle;

	segment = mam_segment_at(&pool->segments, handle);
	*segment = (struct mam_segment){ .base = (uintptr_t)base,
					 .bytes = bytes,
					 .state = MAM_SEGMENT_FREE };
	segment->chunk = chunk_handle;
	mam_addrtree_insert(&pool->segments, &pool->by_address, handle);
	pool->tail = 0;
	if (old_tail != 0) /* no longer of the newest chunk: a normal free block */
		mam_space_insert_free_locked(pool, old_tail);
	mam_space_insert_free_locked(pool, handle);

	pool->counts.segments++;
	pool->counts.chunks++;
	pool->counts.grows++;
	pool->counts.reserved_bytes += bytes;
	mam_pool_peak(&pool->counts.peak_reserved_bytes, pool->counts.reserved_bytes);
	return MAM_OK;
}

/* Remove a wholly free chunk from the pool; the caller keeps its two records. */
static void detach_locked(struct mam_pool *pool, uint32_t chunk_handle)
{
	struct mam_chunk *chunk = mam_chunk_at(&pool->chunks, chunk_handle);

	mam_space_remove_free_locked(pool, chunk->last);
	mam_addrtree_detach(&pool->segments, &pool->by_address, chunk->last);
	mam_segment_at(&pool->segments, chunk->last)->state = MAM_SEGMENT_IDLE;
	if (chunk->older != 0)
		mam_chunk_at(&pool->chunks, chunk->older)->newer = chunk->newer;
	if (chunk->newer != 0) {
		mam_chunk_at(&pool->chunks, chunk->newer)->older = chunk->older;
	} else {
		pool->newest_chunk = chunk->older;
		if (chunk->older != 0) { /* the newest now: its free end is the tail */
			uint32_t last = mam_chunk_at(&pool->chunks, chunk->older)->last;

			if (mam_segment_at(&pool->segments, last)->state == MAM_SEGMENT_FREE) {
				mam_space_remove_free_locked(pool, last);
				mam_space_insert_free_locked(pool, last);
			}
		}
	}
	pool->counts.segments--;
	pool->counts.chunks--;
	pool->counts.reserved_bytes -= chunk->bytes;
	pool->high_bytes -= chunk->high;
}

/* The source refused it: add it again as the oldest chunk, which leaves the tail unchanged. */
static void reattach_locked(struct mam_pool *pool, uint32_t chunk_handle)
{
	struct mam_chunk *chunk = mam_chunk_at(&pool->chunks, chunk_handle);
	uint32_t handle = chunk->last;
	uint32_t at = pool->newest_chunk;

	while (at != 0 && mam_chunk_at(&pool->chunks, at)->older != 0)
		at = mam_chunk_at(&pool->chunks, at)->older;
	chunk->older = 0;
	chunk->newer = at;
	if (at != 0)
		mam_chunk_at(&pool->chunks, at)->older = chunk_handle;
	else
		pool->newest_chunk = chunk_handle;
	mam_segment_at(&pool->segments, handle)->state = MAM_SEGMENT_FREE;
	mam_addrtree_reattach(&pool->segments, &pool->by_address, handle);
	mam_space_insert_free_locked(pool, handle);
	pool->counts.segments++;
	pool->counts.chunks++;
	pool->counts.reserved_bytes += chunk->bytes;
	pool->high_bytes += chunk->high;
	mam_pool_peak(&pool->counts.peak_reserved_bytes, pool->counts.reserved_bytes);
	mam_pool_peak(&pool->counts.high_water_bytes, pool->high_bytes);
}

static uint32_t idle_chunk_locked(const struct mam_pool *pool, uint64_t keep_bytes)
{
	uint32_t at;

	for (at = pool->newest_chunk; at != 0; at = mam_chunk_at(&pool->chunks, at)->older) {
		const struct mam_chunk *chunk = mam_chunk_at(&pool->chunks, at);

		if (chunk->live_blocks == 0 &&
		    pool->counts.reserved_bytes - chunk->bytes >= keep_bytes)
			return at;
	}
	return 0;
}

/* Release one chunk, if any may be released. The caller holds only grow_lock. */
static enum mam_status release_one(struct mam_pool *pool, uint64_t keep_bytes, uint64_t *released)
{
	enum mam_status status;
	uint32_t handle;
	struct mam_chunk chunk = { 0 };

	*released = 0;
	mam_lock_take(&pool->lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY) {
		mam_pool_unlock(pool);
		return MAM_ERROR_DESTROYED;
	}
	handle = idle_chunk_locked(pool, keep_bytes);
	if (handle != 0) {
		chunk = *mam_chunk_at(&pool->chunks, handle);
		detach_locked(pool, handle);
		mam_pool_prove_locked(pool);
	}
	mam_pool_unlock(pool);
	if (handle == 0)
		return MAM_OK;

	status = source_shrink(pool, (void *)(uintptr_t)chunk.base, chunk.bytes);

	mam_lock_take(&pool->lock);
	if (status == MAM_OK) {
		mam_addrtree_forget(&pool->segments, chunk.last);
		mam_records_put(&pool->segments, chunk.last);
		mam_records_put(&pool->chunks, handle);
		pool->counts.shrinks++;
		*released = chunk.bytes;
	} else {
		reattach_locked(pool, handle);
	}
	mam_pool_prove_locked(pool);
	mam_pool_unlock(pool);
	return status;
}

static enum mam_status release_idle(struct mam_pool *pool, uint64_t keep_bytes, uint64_t *released)
{
	enum mam_status status;
	uint64_t one;

	*released = 0;
	if (mam_pool_is_suspended(pool))
		return MAM_OK;
	if (pool->range != NULL)
		return mam_range_trim(pool, keep_bytes, released);
	do {
		status = release_one(pool, keep_bytes, &one);
		*released += one;
	} while (status == MAM_OK && one != 0);
	return status;
}

enum mam_status mam_grow_release_idle(struct mam_pool *pool, uint64_t keep_bytes,
				      uint64_t *released)
{
	enum mam_status status;

	mam_lock_take(&pool->grow_lock);
	status = release_idle(pool, keep_bytes, released);
	mam_lock_release(&pool->grow_lock);
	return status;
}

bool mam_grow_drain(struct mam_pool *pool, enum mam_drain_level level)
{
	bool any = false;

	for (int stop = 0; stop < MAM_DRAIN_STOPS; stop++)
		if (pool->drain[stop] != NULL && pool->drain[stop](pool, level))
			any = true;
	return any;
}

enum mam_status mam_grow_trim(struct mam_pool *pool, size_t keep_bytes, size_t *released)
{
	enum mam_status status;
	uint64_t bytes = 0;

	/* Another pool may need memory: do not wait for the thread that suspends this one. */
	if (mam_pool_is_suspended(pool)) {
		if (released != NULL)
			*released = 0;
		return MAM_OK;
	}
	mam_lock_take(&pool->grow_lock);
	(void)mam_grow_drain(pool, MAM_DRAIN_ALL);
	status = release_idle(pool, keep_bytes, &bytes);
	mam_lock_release(&pool->grow_lock);
	if (bytes != 0)
		status = MAM_OK;
	if (released != NULL && status == MAM_OK)
		*released = bytes;
	return status;
}

static uint64_t growth_wish(const struct mam_pool *pool, uint64_t need)
{
	uint64_t wish = pool->config.growth_bytes;

	if (wish == 0) {
		if (need >= MAM_POOL_GROWTH_EXACT)
			return need;
		wish = pool->counts.reserved_bytes / MAM_POOL_GROWTH_SHARE;
		if (wish > MAM_POOL_GROWTH_MAX)
			wish = MAM_POOL_GROWTH_MAX;
		if (wish < MAM_POOL_GROWTH_MIN)
			wish = MAM_POOL_GROWTH_MIN;
	}
	return mam_round_up(wish, unit_of(pool));
}

/* Whether the pool chooses the sizes of all its chunks. */
static bool chooses_sizes(const struct mam_pool *pool)
{
	return pool->config.growth_bytes == 0 && pool->config.chunk_bytes == 0;
}

void mam_grow_release_outgrown(struct mam_pool *pool)
{
	uint64_t released;

	/* Another thread is growing the pool: a later free is soon enough. */
	if (!mam_lock_take_within(&pool->grow_lock, 0))
		return;
	if (atomic_exchange_explicit(&pool->outgrown, false, memory_order_relaxed))
		(void)release_idle(pool, 0, &released);
	mam_lock_release(&pool->grow_lock);
}

/*
 * Request `wish` bytes, halving them down to `need`. Reads counts without the lock: only the holder
 * of grow_lock changes reserved_bytes.
 */
static enum mam_status ask_source(struct mam_pool *pool, mam_grow_fn *grow, uint64_t need,
				  uint64_t wish, void **base, uint64_t *bytes)
{
	uint64_t unit = unit_of(pool);
	uint64_t room = mam_round_down(mam_limit_left(pool, pool->counts.reserved_bytes), unit);
	enum mam_status status;

	*bytes = wish < room ? wish : room;
	if (*bytes < need)
		*bytes = need;
	status = need > room ? MAM_ERROR_OUT_OF_MEMORY : source_grow_by(pool, grow, *bytes, base);
	while (status == MAM_ERROR_OUT_OF_MEMORY && need <= room && *bytes > need) {
		*bytes = mam_round_up(*bytes / 2, unit);
		if (*bytes < need)
			*bytes = need;
		status = source_grow_by(pool, grow, *bytes, base);
	}
	if (status != MAM_OK || *bytes < wish || wish > need) /* an exact chunk shows nothing */
		atomic_store_explicit(&pool->refused, status != MAM_OK || *bytes < wish,
				      memory_order_relaxed);
	return status;
}

/* Records reserved for a new chunk, which no other thread can reach. */
struct kept {
	uint32_t chunk;
	uint32_t segment[MAM_SEGMENT_RECORDS];
};

static enum mam_status keep_records(struct mam_pool *pool, struct kept *kept)
{
	enum mam_status status;

	mam_lock_take(&pool->lock);
	status = mam_records_reserve(&pool->chunks, 1);
	if (status == MAM_OK)
		status = mam_records_reserve(&pool->segments, MAM_SEGMENT_RECORDS);
	if (status == MAM_OK) {
		kept->chunk = mam_records_take(&pool->chunks);
		for (unsigned i = 0; i < MAM_SEGMENT_RECORDS; i++)
			kept->segment[i] = mam_records_take(&pool->segments);
	}
	mam_pool_unlock(pool);
	return status;
}

static void put_records_locked(struct mam_pool *pool, const struct kept *kept)
{
	for (unsigned i = 0; i < MAM_SEGMENT_RECORDS; i++) {
		mam_segment_at(&pool->segments, kept->segment[i])->state = MAM_SEGMENT_IDLE;
		mam_records_put(&pool->segments, kept->segment[i]);
	}
	mam_records_put(&pool->chunks, kept->chunk);
}

/*
 * Steps 3 and 5: add a chunk of `wish` to `need` bytes, and allocate the block from it under the
 * same acquisition of the lock. Without records for the block the chunk stays, as free memory for
 * the next request.
 */
static enum mam_status bring_chunk(struct mam_pool *pool, mam_grow_fn *grow, uint64_t need,
				   uint64_t wish, const struct mam_request *request, void **block)
{
	struct kept kept = { 0 };
	enum mam_status status = keep_records(pool, &kept);
	uint64_t bytes = 0;
	void *base;

	if (status != MAM_OK)
		return status;
	status = ask_source(pool, grow, need, wish, &base, &bytes);
	if (status == MAM_OK && chooses_sizes(pool))
		atomic_store_explicit(&pool->outgrown, true, memory_order_relaxed);
	mam_lock_take(&pool->lock);
	put_records_locked(pool, &kept);
	if (status == MAM_OK)
		status = add_chunk_locked(pool, base, bytes);
	if (status == MAM_OK)
		status = mam_space_take_locked(pool, request, block);
	mam_pool_unlock(pool);
	return status;
}

static enum mam_status try_again(struct mam_pool *pool, const struct mam_request *request,
				 void **block)
{
	enum mam_status status;

	mam_lock_take(&pool->lock);
	status = mam_streamlist_serve_locked(pool, request, block);
	mam_pool_unlock(pool);
	return status;
}

/* Size of a chunk that fits the request wherever the chunk begins. */
static uint64_t need_of(const struct mam_pool *pool, const struct mam_request *request)
{
	uint64_t slack =
		request->alignment > pool->source->properties.alignment ? request->alignment : 0;

	return mam_round_up(request->bytes + slack, unit_of(pool));
}

static bool may_grow_by(const struct mam_pool *pool, uint64_t need)
{
	return pool->config.growth_bytes != MAM_GROWTH_NONE &&
	       (pool->config.limit_bytes == 0 || need <= pool->config.limit_bytes);
}

static enum mam_status grow_for(struct mam_pool *pool, struct mam_request *request, void **block)
{
	uint64_t need = need_of(pool, request);
	uint64_t released = 0;
	enum mam_status status;

	if (pool->range != NULL)
		return mam_range_grow_for(pool, request, block);
	if (!may_grow_by(pool, need))
		return MAM_ERROR_OUT_OF_MEMORY;
	status = bring_chunk(pool, mam_source_grow, need, growth_wish(pool, need), request, block);
	if (status == MAM_ERROR_OUT_OF_MEMORY) {
		(void)release_idle(pool, 0, &released);
		if (released != 0)
			status = bring_chunk(pool, mam_source_grow, need, need, request, block);
	}
	return status;
}

/* Allocate a block of memory that another stream freed. WOULD_WAIT: none fits. */
static enum mam_status borrow(struct mam_pool *pool, const struct mam_request *request,
			      void **block)
{
	return mam_grow_may_borrow(pool, request) ? pool->fences->borrow(pool, request, block)
						  : MAM_ERROR_WOULD_WAIT;
}

static enum mam_status retry(struct mam_pool *pool, struct mam_request *request, void **block)
{
	enum mam_status status = try_again(pool, request, block);

	return status == MAM_ERROR_WOULD_WAIT ? grow_for(pool, request, block) : status;
}

/* Instead of OUT_OF_MEMORY: use memory that other streams freed, without a wait of the host. */
static enum mam_status borrow_all(struct mam_pool *pool, struct mam_request *request, void **block)
{
	enum mam_status status = borrow(pool, request, block);

	if (status != MAM_ERROR_WOULD_WAIT)
		return status;
	status = MAM_ERROR_OUT_OF_MEMORY;
	while (status == MAM_ERROR_OUT_OF_MEMORY && mam_grow_may_borrow(pool, request) &&
	       pool->fences->gather(pool, request, request->bytes) != 0)
		status = retry(pool, request, block);
	return status;
}

/*
 * Searches the pool even if nothing was drained: another thread may have freed memory since the
 * last search, and growth takes long.
 */
static enum mam_status after_drain(struct mam_pool *pool, struct mam_request *request, void **block)
{
	bool drained = mam_grow_drain(pool, MAM_DRAIN_ALL);
	enum mam_status status = try_again(pool, request, block);

	if (status != MAM_ERROR_WOULD_WAIT)
		return status;
	return drained ? grow_for(pool, request, block) : MAM_ERROR_OUT_OF_MEMORY;
}

/*
 * Take the grow lock. The thread that has it adds memory for those that wait (range.c), so these
 * search the pool each time that it is released. WOULD_WAIT: the caller has the lock; otherwise it
 * does not need it.
 */
static enum mam_status await_growth(struct mam_pool *pool, const struct mam_request *request,
				    void **block)
{
	uint64_t bytes = mam_growth_policy_shares(request->bytes) ? request->bytes : 0;
	enum mam_status status = MAM_ERROR_WOULD_WAIT;

	if (mam_lock_take_within(&pool->grow_lock, 0))
		return status;
	atomic_fetch_add_explicit(&pool->waiting, bytes, memory_order_relaxed);
	while (status == MAM_ERROR_WOULD_WAIT && !mam_lock_take_or_look(&pool->grow_lock))
		status = try_again(pool, request, block);
	atomic_fetch_sub_explicit(&pool->waiting, bytes, memory_order_relaxed);
	return status;
}

/* Steps 2 to 5 */
static enum mam_status grow(struct mam_pool *pool, struct mam_request *request, void **block)
{
	enum mam_status status = try_again(pool, request, block);

	if (status == MAM_ERROR_WOULD_WAIT && mam_grow_drain(pool, MAM_DRAIN_PASSED))
		status = try_again(pool, request, block);
	if (status == MAM_ERROR_WOULD_WAIT && mam_limit_exceeds_footprint(pool, request->bytes))
		status = borrow(pool, request, block);
	if (status == MAM_ERROR_WOULD_WAIT)
		status = grow_for(pool, request, block);
	if (status == MAM_ERROR_OUT_OF_MEMORY)
		status = borrow_all(pool, request, block);
	if (status == MAM_ERROR_OUT_OF_MEMORY)
		status = after_drain(pool, request, block);
	return status;
}

static void count_failure(struct mam_pool *pool)
{
	mam_lock_take(&pool->lock);
	pool->counts.failures++;
	mam_pool_unlock(pool);
}

enum mam_status mam_grow_for(struct mam_pool *pool, const struct mam_request *given, void **block)
{
	struct mam_request request = *given;
	enum mam_status status = await_growth(pool, &request, block);

	if (status == MAM_ERROR_WOULD_WAIT) {
		status = grow(pool, &request, block);
		mam_lock_release(&pool->grow_lock);
	}
	if (status != MAM_OK)
		count_failure(pool);
	return status;
}

/* No more than the source has room for, by a call that does not wait (prompt.c). */
static enum mam_status grow_new_chunk(struct mam_pool *pool, const struct mam_request *request,
				      void **block)
{
	uint64_t need = need_of(pool, request);
	uint64_t wish = growth_wish(pool, need), room;

	if (!may_grow_by(pool, need))
		return MAM_ERROR_OUT_OF_MEMORY;
	room = mam_source_room(pool->source);
	if (need > room)
		return MAM_ERROR_OUT_OF_MEMORY;
	return bring_chunk(pool, mam_source_grow_prompt, need,
			   wish < room ? wish : mam_round_down(room, unit_of(pool)), request,
			   block);
}

static enum mam_status grow_new(struct mam_pool *pool, const struct mam_request *request,
				void **block)
{
	enum mam_status status = try_again(pool, request, block);

	if (status == MAM_ERROR_WOULD_WAIT)
		status = pool->range != NULL ? mam_range_grow_new(pool, request, block)
					     : grow_new_chunk(pool, request, block);
	return status;
}

/*
 * Thread caches are emptied as usual: no thread waits for the device while it holds their locks.
 * Streams are not drained: driver calls are made under their lock.
 */
static bool empty_caches(struct mam_pool *pool, enum mam_drain_level level)
{
	return pool->drain[MAM_DRAIN_CACHE] != NULL && pool->drain[MAM_DRAIN_CACHE](pool, level);
}

enum mam_status mam_grow_new(struct mam_pool *pool, const struct mam_request *request,
			     uint64_t patience_ns, void **block)
{
	bool ours = mam_lock_take_within(&pool->grow_lock, patience_ns);
	enum mam_status status = MAM_ERROR_WOULD_WAIT;

	if (ours) {
		(void)empty_caches(pool, MAM_DRAIN_PASSED);
		status = grow_new(pool, request, block);
		if (status == MAM_ERROR_OUT_OF_MEMORY && empty_caches(pool, MAM_DRAIN_ALL))
			status = grow_new(pool, request, block);
	}
	if (status != MAM_OK)
		count_failure(pool);
	if (ours)
		mam_lock_release(&pool->grow_lock);
	return status;
}

/* As much as the source provides and the limit allows, in whole units. */
static enum mam_status grow_largest(struct mam_pool *pool, size_t *bytes, void **base)
{
	uint64_t began = mam_clock_ns();
	size_t max = pool->config.limit_bytes != 0 ? pool->config.limit_bytes : SIZE_MAX;
	enum mam_status status = mam_source_grow_largest(pool->source, max, bytes, base);
	size_t whole = status == MAM_OK ? mam_round_down(*bytes, unit_of(pool)) : 0;

	count_call(pool, began);
	if (status != MAM_OK || whole == *bytes)
		return status;
	status = source_shrink(pool, *base, *bytes);
	*bytes = whole;
	if (status != MAM_OK)
		return status;
	return whole == 0 ? MAM_ERROR_OUT_OF_MEMORY : source_grow(pool, whole, base);
}

enum mam_status mam_grow_first(struct mam_pool *pool)
{
	size_t unit = unit_of(pool);
	size_t limit = pool->config.limit_bytes;
	size_t bytes = pool->config.chunk_bytes;
	enum mam_status status;
	void *base;

	if (pool->range != NULL)
		return mam_range_first(pool);
	if (bytes == 0)
		return MAM_OK;
	if (bytes == MAM_CHUNK_LARGEST) {
		status = grow_largest(pool, &bytes, &base);
	} else if (bytes == 0 || mam_round_up_overflows(bytes, unit) ||
		   (limit != 0 && mam_round_up(bytes, unit) > limit)) {
		status = MAM_ERROR_OUT_OF_MEMORY;
	} else {
		bytes = mam_round_up(bytes, unit);
		status = source_grow(pool, bytes, &base);
	}
	if (status != MAM_OK)
		return status;
	mam_lock_take(&pool->lock);
	status = add_chunk_locked(pool, base, bytes);
	mam_pool_unlock(pool);
	if (status != MAM_OK)
		(void)source_shrink(pool, base, bytes);
	return status;
}
