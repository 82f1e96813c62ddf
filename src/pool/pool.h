/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - the pool stop: best fit over a device's chunks, under one lock.
 *
 * Where a request stands in this folder:
 *   pool.c      alloc, free: into granules, under the lock.
 *   ground.c    find ground, split, join. The lock is held, no source call.
 *   retire.c    blocks that are freed and not to be handed out yet.
 *   hold.c      freed ground kept apart, for one stream's use.
 *   grow.c      a request that no ground fits: chunks in from the source, and idle ones out (trim).
 *   range.c     the same on a source that maps memory in pieces; remap.c moves them, footing.h says
 *               when and how large they are.
 *   prompt.c    for those whom a running kernel waits for: new memory, and a free, without a wait.
 *   spare.c     memory that goes back by itself once much of it lies free.
 *   inspect.c   stats, walk, find: look, change nothing.
 *   limit.c     the limit, changed later. reserve.c: ground made sure of beforehand. scope.c:
 *               statistics since a push.
 *   check.c     every invariant below, in C.
 *   life.c      init, fini, drop, fork.
 *   segment.h, addrtree, shelf (sizetree, peers), blockmap: the records and
 *   the structures over them.
 *
 * Locks. `grow_lock` (rank GROW) is held by whoever talks to the source; `lock` (rank POOL) by
 * whoever reads or writes the segments, for a bounded number of steps and never across a source
 * call. Thus a request that only needs ground the pool holds never waits for the driver, whatever
 * other threads do: that is what mam_pool_alloc_nowait() promises.
 *
 * What holds whenever `lock` is free (mam_pool_check() proves it):
 *   1. The segments of a chunk cover it without gap or overlap, in list order; no two free ones are
 *      neighbours.
 *   2. The groups of the tree by address hold exactly all segments; the shelf exactly the free ones
 *      except the tail.
 *   3. The tail, if any, is the last segment of the newest chunk, and is free; a free last segment
 *      there is the tail.
 *   4. Bases and sizes are multiples of the granule.
 *   5. Free, live and retired segments of a range lie on pieces of memory without gap, void ones on
 *      none.
 *   6. Every count in `counts` equals what a walk over the segments adds up to; peaks are not below
 *      their values.
 */
#ifndef MAM_POOL_POOL_H
#define MAM_POOL_POOL_H

#include <mam/source.h>
#include <mam/stats.h>

#include <stdatomic.h>

#include "base/lock.h"
#include "base/records.h"
#include "pool/blockmap.h"
#include "pool/relief.h"
#include "pool/segment.h"
#include "pool/shelf.h"
#include "source/source.h"

#define MAM_POOL_GRANULE 512u
#define MAM_POOL_GRANULE_LEAST 16u
#define MAM_POOL_GRANULE_MOST (2u << 20)
#define MAM_POOL_LARGE ((size_t)1 << 20)           /* rounded; blocks from this size up are large */
#define MAM_POOL_LARGE_ALIGNMENT ((size_t)64 << 10) /* of large blocks in pools of device memory */
#define MAM_POOL_GROWTH_LEAST ((uint64_t)64 << 20) /* default: the least a chunk is made of */
#define MAM_POOL_GROWTH_MOST ((uint64_t)1 << 30)   /* default: the most, but for one request */
#define MAM_POOL_GROWTH_SHARE 8                    /* default: this part of what is held */
#define MAM_POOL_GROWTH_EXACT ((uint64_t)32 << 20) /* default: such requests get their own size */

/* As in struct mam_pool_attr, where zero means the default. */
struct mam_pool_config {
	size_t chunk_bytes;
	size_t growth_bytes;
	size_t limit_bytes; /* lock: grow and pool to write, either to read; the rest is set once */
	size_t granule;
	size_t large_alignment; /* of addresses and sizes of large blocks; 0: the granule */
	enum mam_free_policy free_policy;
	size_t spare_bytes;
	char name[32];
};

enum mam_pool_state {
	MAM_POOL_NONE = 0, /* storage never used */
	MAM_POOL_READY = 1,
	MAM_POOL_ENDED = 2 /* destroyed or abandoned: every call returns DESTROYED */
};

struct mam_range;
struct mam_scope;

struct mam_pool {
	/* lock: none, set at init */
	struct mam_source *source;
	struct mam_pool_config config; /* defaults filled in */
	bool owns_source; /* false once it is destroyed; an abandoned pool still owns it */
	bool strict; /* a free waits for the device first */
	_Atomic uint32_t generation; /* atomic; how often the storage was a pool before (handle.h) */
	mam_relief_fn *relief[MAM_RELIEF_STOPS]; /* NULL: that stop is not there */
	void *cache;  /* the cache stop's own; lock: its own */
	void *stream; /* the stream stop's own; lock: its own */

	_Atomic uint32_t state;   /* enum mam_pool_state; written under both locks */
	_Atomic uint32_t waiters; /* in the source's quiesce; it is not destroyed under them */
	struct mam_lock grow_lock;
	struct mam_lock lock;

	/* lock: pool */
	struct mam_records segments;
	struct mam_records chunks;
	struct mam_blockmap blocks;
	struct mam_shelf shelf;
	uint32_t by_address;     /* root of the tree of groups of neighbours (addrtree.h) */
	uint32_t tail;           /* segment, or 0 */
	uint32_t newest_chunk;   /* head of the list of chunks, or 0 */
	uint32_t retired_first;  /* queue of retired blocks, oldest first; 0: none */
	uint32_t retired_last;
	uint64_t retired_ticket;   /* of the newest retired block ever; 0: there was none */
	uint64_t reclaimed_ticket; /* of the newest one that was reclaimed */
	uint64_t high_bytes;     /* sum of the chunks' high */
	struct mam_range *range; /* of a source that maps in pieces, else NULL; set at init */
	uint64_t stuck_bytes;    /* free, and could not go when last tried (spare.c) */
	atomic_bool outgrown;    /* it grew; a strict free is to free idle chunks (grow.c) */
	bool unfenced;           /* a block was freed without a wait since pieces last moved */
	struct mam_records holds; /* ground kept apart (hold.h); empty until there is any */
	uint32_t idle_hold;       /* head of the list of holds that nobody has, or 0 */
	bool over_limit;         /* the limit was lowered below what was held then (limit.c) */
	struct mam_scope *scopes; /* statistics since a push, newest first (scope.c); NULL: none */
	struct mam_stats counts; /* what is kept as it happens: see mam_pool_stats() */
};

/*
 * mam_pool_init - `pool` is zeroed storage, all but its generation, that outlives every use, late
 * ones included (the registry's). Takes the first chunk when config->chunk_bytes asks for one. On failure nothing is
 * held, and an owned source is destroyed.
 */
enum mam_status mam_pool_init(struct mam_pool *pool, struct mam_source *source, bool owns_source,
			      const struct mam_pool_config *config);

/*
 * mam_pool_fini - chunks back to the source, books freed. LIVE_BLOCKS changes nothing. A chunk the
 * source refuses is logged and left.
 */
enum mam_status mam_pool_fini(struct mam_pool *pool);

/*
 * mam_pool_drop - the same whatever lives, and without a source call: an owned source is left
 * behind, as its end might call the driver.
 */
enum mam_status mam_pool_drop(struct mam_pool *pool);

/* mam_pool_alloc - bytes > 0; alignment 0 or a power of two. Grows where it must. */
enum mam_status mam_pool_alloc(struct mam_pool *pool, size_t bytes, size_t alignment, void **block);

/*
 * mam_pool_alloc_new - for a thread that a running kernel waits for (prompt.c has the story): as
 * mam_pool_alloc(), and what would wait for the device is left out. From ground the pool holds, or
 * from new memory of the source: of its calls only `grow` or `map`, and what looks at how much there
 * is. Nothing is given back, unmapped or moved, no stream is asked, the device is not waited for.
 *
 * WOULD_WAIT: another thread was in a source call for `patience_ns` nanoseconds, one that may last
 * as long as the kernel. OUT_OF_MEMORY: beyond the limit, or only giving back, moving or waiting
 * would help. The rest as mam_pool_alloc(). It counts as an allocation, or as a failure.
 */
enum mam_status mam_pool_alloc_new(struct mam_pool *pool, size_t bytes, size_t alignment,
				   uint64_t patience_ns, void **block);

/*
 * mam_pool_alloc_here - the first half of it, for who has others to serve before new memory is asked
 * for: from ground the pool holds, else WOULD_WAIT, which is no failure and not counted.
 */
enum mam_status mam_pool_alloc_here(struct mam_pool *pool, size_t bytes, size_t alignment,
				    void **block);

/*
 * mam_pool_free_now - for the same thread: the block is free ground at once, whatever the policy,
 * as the device has said that it is done with it. The source is not called; if so much lies free
 * now that some of it should go back (spare.h), the next mam_pool_free() sees to it. Errors as
 * mam_pool_free().
 */
enum mam_status mam_pool_free_now(struct mam_pool *pool, void *block);

/*
 * mam_pool_free - at once; the strict wait is mam_pool_quiesce(), made by the caller before. After a
 * growth that wait frees idle chunks as well.
 */
enum mam_status mam_pool_free(struct mam_pool *pool, void *block);
enum mam_status mam_pool_quiesce(struct mam_pool *pool);
/* mam_pool_wait - the same wait whatever the policy is. */
enum mam_status mam_pool_wait(struct mam_pool *pool);

enum mam_status mam_pool_find(struct mam_pool *pool, const void *address,
			      struct mam_segment_info *info);

/*
 * As mam_pool_alloc_nowait(), mam_pool_retire(), mam_pool_stats(), mam_pool_walk() and
 * mam_pool_check(), of a pool that knows nothing of caches: what lies in one is live. For an audit
 * the caller holds grow_lock: a chunk on its way out has records that no structure names.
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

/* Inside the folder. `_locked`: the caller holds pool->lock. */

/* One sentence about the first broken invariant, or NULL. */
const char *mam_pool_fault_locked(struct mam_pool *pool);

/* Builds with --enable-debug (MAM_DEBUG 2) prove all invariants after each change. */
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
 * Ground was freed without a wait: work may still touch it, which matters once its memory is to
 * lose its address (remap.c).
 */
static inline void mam_pool_unfence_locked(struct mam_pool *pool)
{
	if (!pool->strict)
		pool->unfenced = true;
}

/*
 * Between two meetings of the threads with the pool what they freed may be known before what they
 * were given (batch.h): a count of live blocks may lie below zero for a while, and that is no peak.
 */
/* mam_pool_called_locked - the source was called, and took so long or reckons for itself. */
static inline void mam_pool_called_locked(struct mam_pool *pool, uint64_t ns)
{
	pool->counts.driver_calls++;
	if (MAM_SOURCE_OP(pool->source, cost) != NULL)
		pool->counts.driver_ns = pool->source->ops->cost(pool->source);
	else
		pool->counts.driver_ns += ns;
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
 * mam_pool_peak_live - the peaks of what is live, for so much more than is known to be. What
 * callers hold is never more than the live records, which are callers' and cached ones: more than
 * those are allocations that one thread told before another told the frees between them.
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
