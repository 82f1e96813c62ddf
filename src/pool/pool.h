/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - the pool layer: best fit over a device's chunks, under one lock.
 *
 * The parts of this folder:
 *   pool.c      allocate, free: round to granules, take the lock.
 *   space.c    find free memory, split, join. The lock is held; no source call.
 *   retire.c    blocks that are freed and must not be reused yet.
 *   streamlist.c      freed memory kept apart, for the use of one stream.
 *   grow.c      a request that no free memory fits: add chunks from the source, and release idle
 *               ones (trim).
 *   range.c     the same on a source that maps memory in pieces; remap.c moves them, growth_policy.h
 *               determines when, and their size; alias.c maps memory that a stream still uses
 *               at a second address.
 *   prompt.c    for threads that a running kernel waits for: allocate new memory and free without a
 *               wait.
 *   spare.c     memory that the pool releases by itself once much of it is free.
 *   inspect.c   statistics, enumeration, find: read-only.
 *   suspend.c   release the memory of all blocks and map it again; see src/suspend.
 *   limit.c     change the limit. reserve.c: reserve memory in advance. scope.c: statistics since a
 *               push.
 *   check.c     every invariant below, in C.
 *   life.c      init, fini, drop, fork.
 *   segment.h, addrtree.h, freelists.h (sizetree.h, peers.h), blockmap.h: the records and the
 *               structures over them.
 *
 * Locks. A thread holds `grow_lock` (rank GROW) while it calls the source. It holds `lock` (rank
 * POOL) while it reads or writes segments, for a bounded number of steps and never across a source
 * call. So a request that fits into free memory of the pool never waits for the driver, whatever
 * other threads do: mam_pool_alloc_nowait() promises this.
 *
 * Invariants whenever `lock` is free (mam_pool_check() verifies them):
 *   1. The segments of a chunk cover it without gap or overlap, in list order; no two free ones are
 *      neighbors.
 *   2. The groups of the tree by address contain exactly all segments; the free lists contain
 *      exactly the free ones except the tail.
 *   3. The tail, if any, is the last segment of the newest chunk, and is free; a free last segment
 *      there is the tail.
 *   4. Bases and sizes are multiples of the granule.
 *   5. Free, live and retired segments of a range are backed by pieces of memory without gap,
 *      unmapped segments by none. The memory of a piece may be suspended (suspend.h).
 *   6. Every count in `counts` equals the sum over all segments; peaks are not below their values.
 */
#ifndef MAM_POOL_POOL_H
#define MAM_POOL_POOL_H

#include <mam/source.h>
#include <mam/statpage.h>
#include <mam/stats.h>

#include <stdatomic.h>

#include "base/lock.h"
#include "base/records.h"
#include "index/blockmap.h"
#include "pool/drain.h"
#include "index/segment.h"
#include "index/freelists.h"
#include "source/source.h"

#define MAM_POOL_GRANULE 512u
#define MAM_POOL_GRANULE_MIN 16u
#define MAM_POOL_GRANULE_MAX (2u << 20)
#define MAM_POOL_LARGE ((size_t)1 << 20)            /* rounded; minimum size of a large block */
#define MAM_POOL_LARGE_ALIGNMENT ((size_t)64 << 10) /* of large device blocks */
#define MAM_POOL_GROWTH_MIN ((uint64_t)64 << 20)    /* default: minimum size of a chunk */
#define MAM_POOL_GROWTH_MAX ((uint64_t)1 << 30)     /* default: maximum, except for one request */
#define MAM_POOL_GROWTH_SHARE 8                     /* default: this part of the reserved bytes */
#define MAM_POOL_GROWTH_EXACT ((uint64_t)32 << 20)  /* default: exact chunks from this size up */

/* As in struct mam_pool_attr, where zero means the default. */
struct mam_pool_config {
	size_t chunk_bytes;
	size_t growth_bytes;
	size_t limit_bytes; /* lock: grow and pool to write, either to read; the rest is set once */
	size_t granule;
	size_t large_alignment; /* of addresses and sizes of large blocks; 0: the granule */
	enum mam_free_policy free_policy;
	size_t spare_bytes;
	size_t footprint; /* percent; 0: off */
	char name[32];
};

enum mam_pool_state {
	MAM_POOL_NONE = 0, /* storage never used */
	MAM_POOL_READY = 1,
	MAM_POOL_ENDED = 2 /* destroyed or abandoned: every call returns DESTROYED */
};

struct mam_range;
struct mam_redzone;
struct mam_scope;
struct mam_stream_ops;
struct mam_suspension;

/*
 * Every call reads the first fields, and threads that wait for a lock make its cache line move from
 * core to core: the locks and what they protect begin in another line, and in another pair of
 * lines, as processors prefetch pairs. (With the locks among the first fields, a pair of 64 KiB on
 * a stream took 104 ns in place of 51 while one other thread was in the pool, and each pair of that
 * one 600 ns in place of 240, on two cores with a driver whose calls take no time.)
 */
#define MAM_POOL_LINES 128

struct mam_pool {
	/* lock: none, set at init */
	struct mam_source *source;
	struct mam_pool_config config; /* defaults filled in */
	bool owns_source; /* false once it is destroyed; an abandoned pool still owns it */
	bool strict;      /* a free waits for the device first */
	_Atomic uint32_t generation;          /* atomic; number of pools here before (handle.h) */
	mam_drain_fn *drain[MAM_DRAIN_STOPS]; /* NULL: no such layer */
	void *cache;                          /* state of the cache layer; lock: its own */
	void *stream;                         /* state of the stream layer; lock: its own */
	const struct mam_stream_ops *fences;  /* of the stream layer (range.h); NULL: none */
	struct mam_redzone *redzone;          /* of the redzone layer; NULL: not that debug mode */

	_Atomic uint32_t state; /* enum mam_pool_state; written under both locks */

	char apart[80]; /* not used; not an alignment: tests have pools in memory of calloc() */
	struct mam_lock lock;
	struct mam_lock grow_lock;

	/* lock: pool */
	struct mam_records segments;
	struct mam_records chunks;
	struct mam_blockmap blocks;
	struct mam_freelists freelists;
	uint32_t by_address;    /* root of the tree of groups of neighbors (addrtree.h) */
	uint32_t tail;          /* segment, or 0 */
	uint32_t newest_chunk;  /* head of the list of chunks, or 0 */
	uint32_t retired_first; /* queue of retired blocks, oldest first; 0: none */
	uint32_t retired_last;
	uint64_t retired_ticket; /* of the newest retired block ever; 0: none was ever retired */
	_Atomic uint64_t passed_ticket;   /* atomic, written under lock: pool; retired blocks with a
					 * ticket up to this are available */
	uint64_t kept_blocks, kept_bytes; /* retired blocks in thread caches: live records */
	uint64_t high_bytes;              /* sum of the chunks' high */
	struct mam_range *range; /* of a source that maps in pieces, otherwise NULL; set at init */
	uint64_t stuck_bytes;    /* free, but could not be released at the last attempt (spare.c) */
	atomic_bool outgrown;    /* it grew; a strict free must release idle chunks (grow.c) */
	atomic_bool refused;     /* it could not grow by as much as it wished at the last attempt */
	bool unfenced;           /* a block was freed without a wait since pieces last moved */
	struct mam_records holds; /* stream free lists (streamlist.h); empty until one is made */
	uint32_t idle_streamlist; /* head of the list of unused stream free lists, or 0 */
	/* written under both locks; NULL: no piece is suspended */
	struct mam_suspension *suspension;
	struct mam_suspension *kept; /* lock: grow; host memory for the next suspend; NULL: none */
	atomic_bool suspended;       /* allocations fail; written under lock: pool (suspend.h) */
	bool over_limit;             /* the limit was lowered below the reserved bytes (limit.c) */
	_Atomic uint32_t waiters;    /* in the source's quiesce, which keeps the source alive */
	_Atomic uint64_t waiting; /* atomic; bytes of requests that wait for grow_lock (grow.c) */
	struct mam_scope *scopes; /* statistics since a push, newest first (scope.c); NULL: none */
	struct mam_stats counts;  /* counts that are updated on each event: see mam_pool_stats() */
	/* atomic; written under lock: pool; where they are published; NULL: nowhere */
	struct mam_statpage_pool *_Atomic page;
};

_Static_assert(offsetof(struct mam_pool, state) < 2 * MAM_POOL_LINES &&
		       offsetof(struct mam_pool, lock) == 2 * MAM_POOL_LINES &&
		       offsetof(struct mam_pool, segments) > 2 * MAM_POOL_LINES,
	       "fields that every call reads are apart from the locks");

/*
 * mam_pool_init - `pool` is storage that is zeroed except for its generation and that outlives
 * every use, late ones included (the registry's). Allocates the first chunk if config->chunk_bytes
 * requests one. On failure nothing is allocated, and an owned source is destroyed.
 */
enum mam_status mam_pool_init(struct mam_pool *pool, struct mam_source *source, bool owns_source,
			      const struct mam_pool_config *config);

/*
 * mam_pool_fini - release chunks to the source and free the metadata. LIVE_BLOCKS changes nothing.
 * A chunk that the source refuses is logged and leaked.
 */
enum mam_status mam_pool_fini(struct mam_pool *pool);

/*
 * mam_pool_drop - the same even if blocks are live, and without a source call: an owned source is
 * leaked, as its destructor might call the driver.
 */
enum mam_status mam_pool_drop(struct mam_pool *pool);

/* mam_pool_alloc - bytes > 0; alignment 0 or a power of two. Grows if necessary. */
enum mam_status mam_pool_alloc(struct mam_pool *pool, size_t bytes, size_t alignment, void **block);

/*
 * mam_pool_alloc_new - for a thread that a running kernel waits for (see prompt.c): as
 * mam_pool_alloc(), but without any step that would wait for the device. Uses free memory of the
 * pool, or new memory of the source. Of the source's calls it uses only `grow` or `map`, and those
 * that query how much memory there is. No memory is released, unmapped or moved, no stream is
 * drained, and there is no wait for the device.
 *
 * WOULD_WAIT: another thread was in a source call for `patience_ns` nanoseconds; that call may last
 * as long as the kernel. OUT_OF_MEMORY: beyond the limit, or only releasing, moving or waiting
 * would help. Other errors as mam_pool_alloc(). It counts as an allocation, or as a failure.
 */
enum mam_status mam_pool_alloc_new(struct mam_pool *pool, size_t bytes, size_t alignment,
				   uint64_t patience_ns, void **block);

/*
 * mam_pool_alloc_here - the first half of it, for a thread that serves other requests before it
 * requests new memory: allocate from free memory of the pool, otherwise WOULD_WAIT, which is not
 * counted as a failure.
 */
enum mam_status mam_pool_alloc_here(struct mam_pool *pool, size_t bytes, size_t alignment,
				    void **block);

/*
 * mam_pool_free_now - for the same thread: the block's memory is free immediately, whatever the
 * policy, as the device has reported that it no longer uses the block. Does not call the source. If
 * so much is free now that some of it should be released (spare.h), the next mam_pool_free() does
 * so. Errors as mam_pool_free().
 */
enum mam_status mam_pool_free_now(struct mam_pool *pool, void *block);

/*
 * mam_pool_free - free immediately. The strict wait is mam_pool_quiesce(), which the caller calls
 * before. After a growth, quiesce also releases idle chunks.
 */
enum mam_status mam_pool_free(struct mam_pool *pool, void *block);
enum mam_status mam_pool_quiesce(struct mam_pool *pool);
/* mam_pool_wait - the same wait for every policy. */
enum mam_status mam_pool_wait(struct mam_pool *pool);

enum mam_status mam_pool_find(struct mam_pool *pool, const void *address,
			      struct mam_segment_info *info);

/*
 * As mam_pool_alloc_nowait(), mam_pool_retire(), mam_pool_stats(), mam_pool_walk() and
 * mam_pool_check(), but unaware of caches: a cached block is live. For a check the caller holds
 * grow_lock: a chunk that is being released has records that no structure names.
 */
enum mam_status mam_pool_alloc_held(struct mam_pool *pool, size_t bytes, size_t alignment,
				    void **block);
enum mam_status mam_pool_set_aside(struct mam_pool *pool, void *block, uint64_t *ticket,
				   size_t *bytes);
enum mam_status mam_pool_count(struct mam_pool *pool, struct mam_stats *stats);
enum mam_status mam_pool_visit(struct mam_pool *pool,
			       bool (*visit)(const struct mam_segment_info *segment, void *user),
			       void *user);
enum mam_status mam_pool_audit(struct mam_pool *pool, char *why, size_t why_bytes);

void mam_pool_fork_prepare(struct mam_pool *pool);
void mam_pool_fork_parent(struct mam_pool *pool);
void mam_pool_fork_child(struct mam_pool *pool);

/*
 * mam_pool_show - publish the pool's counts on the process's statistics page from now on, until it
 * ends.
 */
void mam_pool_show(struct mam_pool *pool, const char *source, int device);

/* Inside the folder. `_locked`: the caller holds pool->lock. */

/*
 * mam_pool_publish_locked - write the counts to the statistics page. `flushed`: the tally that was
 * added to them and will be cleared next; NULL: none.
 */
void mam_pool_publish_locked(struct mam_pool *pool, const struct mam_tally *flushed);

/* mam_pool_unlock - release the pool's lock. Every section that may change the counts ends so. */
static inline void mam_pool_unlock(struct mam_pool *pool)
{
	if (atomic_load_explicit(&pool->page, memory_order_relaxed) != NULL)
		mam_pool_publish_locked(pool, NULL);
	mam_lock_release(&pool->lock);
}

/* One sentence about the first broken invariant, or NULL. */
const char *mam_pool_fault_locked(struct mam_pool *pool);

/* Builds with --enable-debug (MAM_DEBUG 2) check all invariants after each change. */
#if MAM_DEBUG >= 2
void mam_pool_prove_locked(struct mam_pool *pool);
#else
static inline void mam_pool_prove_locked(struct mam_pool *pool)
{
	(void)pool;
}
#endif

void mam_segment_describe(const struct mam_pool *pool, uint32_t handle,
			  struct mam_segment_info *info);

/*
 * Memory was freed without a wait: work on the device may still access it. This matters before its
 * memory is unmapped (remap.c).
 */
static inline void mam_pool_unfence_locked(struct mam_pool *pool)
{
	if (!pool->strict)
		pool->unfenced = true;
}

/* mam_pool_is_suspended - without the lock, a moment later this may have changed. */
static inline bool mam_pool_is_suspended(const struct mam_pool *pool)
{
	return atomic_load_explicit(&pool->suspended, memory_order_relaxed);
}

/*
 * mam_pool_called_locked - count a source call, which took `ns` unless the source computes its own
 * costs.
 */
static inline void mam_pool_called_locked(struct mam_pool *pool, uint64_t ns)
{
	pool->counts.driver_calls++;
	if (MAM_SOURCE_OP(pool->source, cost) != NULL)
		pool->counts.driver_ns = pool->source->ops->cost(pool->source);
	else
		pool->counts.driver_ns += ns;
}

/*
 * mam_pool_footprint_locked - how many bytes the pool may have before a request of `bytes` uses
 * memory that other streams freed.
 */
static inline uint64_t mam_pool_footprint_locked(const struct mam_pool *pool, uint64_t bytes)
{
	int64_t live = (int64_t)pool->counts.live_rounded_bytes; /* may be below zero */

	if (pool->config.footprint == 0)
		return UINT64_MAX;
	bytes += live > 0 ? (uint64_t)live : 0;
	return bytes + bytes / 100 * pool->config.footprint;
}

static inline void mam_pool_peak(uint64_t *peak, uint64_t value)
{
	if ((int64_t)value > (int64_t)*peak)
		*peak = value;
}

static inline int64_t mam_pool_less(int64_t a, uint64_t b)
{
	return a < (int64_t)b ? a : (int64_t)b;
}

/*
 * mam_pool_peak_live - update the peaks of the live counts for a moment with that much more live
 * than the counts show. Between two flushes of tallies the frees of one thread may be known before
 * the allocations of another (batch.h): a count of live blocks may be below zero for a while, and
 * that is not a peak. Callers never hold more than the live records, which are the callers' and the
 * cached ones: any excess is due to allocations that one thread flushed before another one flushed
 * the frees between them.
 */
static inline void mam_pool_peak_live(struct mam_stats *counts, int64_t blocks, int64_t bytes,
				      int64_t rounded)
{
	uint64_t records = counts->live_blocks + counts->cached_blocks;
	uint64_t used = counts->live_rounded_bytes + counts->cached_bytes;

	blocks = mam_pool_less((int64_t)counts->live_blocks + blocks, records);
	bytes = mam_pool_less((int64_t)counts->live_bytes + bytes, used);
	rounded = mam_pool_less((int64_t)counts->live_rounded_bytes + rounded, used);
	mam_pool_peak(&counts->peak_live_blocks, (uint64_t)blocks);
	mam_pool_peak(&counts->peak_live_bytes, (uint64_t)bytes);
	mam_pool_peak(&counts->peak_live_rounded_bytes, (uint64_t)rounded);
}

#endif
