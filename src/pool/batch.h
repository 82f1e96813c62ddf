/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - the pool's interface to the caches: several blocks per acquisition of the lock, and the
 * counts of live and cached blocks.
 *
 * To the pool, a block in a thread's cache is live: it has a record, and its memory is not
 * allocated again. To callers, the block is free. The counts show the callers' view:
 *
 *   live_*    what callers hold, as of the last time that each thread flushed its tally
 *   cached_*  live records that no caller holds, as of the same time; not those of retired blocks
 *             that a thread keeps (pool.h:kept_blocks), which count as retired
 *
 * Between two flushes, a thread allocates from its cache and frees to it without informing the
 * pool, and records the difference in a tally (struct mam_tally). Every call here first adds the caller's tally to the
 * counts, under the same acquisition of the lock. With one thread, all counts including peaks are
 * therefore equal to those of a pool without a cache. With several threads, peaks are those at the
 * moments of the flushes, and no higher than the live records were then
 * (pool.h:mam_pool_peak_live). The thread that freed a block may flush before the thread that
 * allocated it. So live_* may be below zero until all threads have flushed.
 *
 * Bound: O(log n) per block. lock: each function takes pool->lock, once.
 */
#ifndef MAM_POOL_BATCH_H
#define MAM_POOL_BATCH_H

#include "pool/pool.h"

static inline void mam_tally_alloc(struct mam_tally *tally, uint64_t bytes, uint64_t rounded)
{
	tally->allocs++;
	tally->blocks++;
	tally->bytes += (int64_t)bytes;
	tally->rounded += (int64_t)rounded;
	if (tally->blocks > tally->peak_blocks)
		tally->peak_blocks = tally->blocks;
	if (tally->bytes > tally->peak_bytes)
		tally->peak_bytes = tally->bytes;
	if (tally->rounded > tally->peak_rounded)
		tally->peak_rounded = tally->rounded;
}

static inline void mam_tally_free(struct mam_tally *tally, uint64_t bytes, uint64_t rounded)
{
	tally->frees++;
	tally->blocks--;
	tally->bytes -= (int64_t)bytes;
	tally->rounded -= (int64_t)rounded;
}

/* A block that was freed, and its thread keeps it; and kept blocks that became available. */
static inline void mam_tally_keep(struct mam_tally *tally, uint64_t rounded)
{
	tally->kept_blocks++;
	tally->kept_bytes += (int64_t)rounded;
	if (tally->kept_bytes > tally->peak_kept_bytes)
		tally->peak_kept_bytes = tally->kept_bytes;
}

static inline void mam_tally_unkeep(struct mam_tally *tally, uint64_t blocks, uint64_t rounded)
{
	tally->kept_blocks -= (int64_t)blocks;
	tally->kept_bytes -= (int64_t)rounded;
}

/*
 * mam_pool_meet - add the tally to the counts, and do nothing else. A pool that has ended ignores
 * it. The tally is empty afterwards in both cases. mam_pool_meet_locked: the caller holds
 * pool->lock.
 */
void mam_pool_meet(struct mam_pool *pool, struct mam_tally *tally);
void mam_pool_meet_locked(struct mam_pool *pool, struct mam_tally *tally);

/*
 * mam_pool_alloc_batch - allocate a block for a caller, then up to `wanted` more of its size for a
 * cache, as long as free memory fits; `got` returns their number. WOULD_WAIT: the pool would have
 * to grow. The request is then not counted, and the caller continues with mam_pool_alloc(). Other
 * errors as mam_pool_alloc().
 *
 * mam_pool_alloc_below - allocate one block. Also returns WOULD_WAIT if only memory above all
 * earlier blocks fits and blocks already reach higher than `high_max`: joined free blocks might
 * serve the request as well.
 */
enum mam_status mam_pool_alloc_batch(struct mam_pool *pool, size_t bytes, size_t alignment,
				     struct mam_tally *tally, void **block, size_t wanted,
				     void **more, size_t *got);
enum mam_status mam_pool_alloc_below(struct mam_pool *pool, size_t bytes, size_t alignment,
				     struct mam_tally *tally, uint64_t high_max, void **block);

/*
 * mam_pool_free_one - free a block that a caller held. `requested`: the size that the caller
 * requested, if it differs from that in the record; 0: it does not differ.
 */
enum mam_status mam_pool_free_one(struct mam_pool *pool, void *block, size_t requested,
				  struct mam_tally *tally);

/* mam_pool_free_batch - free blocks that no caller held. Unknown blocks are skipped. */
void mam_pool_free_batch(struct mam_pool *pool, void *const *blocks, size_t count,
			 struct mam_tally *tally);

/*
 * mam_pool_ticket - a ticket for blocks that were retired and that a thread keeps. Tickets count
 * blocks: it is the number of the last one of them.
 *
 * mam_pool_set_aside_batch - blocks that a thread kept join the queue of retired blocks, with new
 * tickets. The thread's tally counts them as kept. Unknown blocks are skipped.
 */
uint64_t mam_pool_ticket(struct mam_pool *pool, uint64_t blocks, struct mam_tally *tally);
void mam_pool_set_aside_batch(struct mam_pool *pool, void *const *blocks, size_t count,
			      struct mam_tally *tally);

/*
 * mam_pool_recount - rebuild the counts after a program's error made them wrong, while no cache
 * contains a block: callers then hold exactly the live records. `asked` returns the size that the
 * caller of a live block requested.
 */
void mam_pool_recount(struct mam_pool *pool,
		      size_t (*asked)(const struct mam_pool *pool,
				      const struct mam_segment_info *segment));

/*
 * mam_pool_amend - write the requested size of a live block into its record. mam_pool_amend_locked:
 * the caller holds pool->lock.
 */
void mam_pool_amend(struct mam_pool *pool, void *block, size_t requested, struct mam_tally *tally);
void mam_pool_amend_locked(struct mam_pool *pool, void *block, size_t requested);

/* The counts that space.c updates when it allocates and frees blocks. */
struct mam_callers {
	uint64_t live_blocks, live_bytes, live_rounded_bytes;
	uint64_t peak_live_blocks, peak_live_bytes, peak_live_rounded_bytes;
	uint64_t allocs, frees;
};

/*
 * mam_pool_lend_locked, mam_pool_lent_locked - around frees of cached blocks: the counts of live
 * blocks stay, those of cached blocks fall. The caller holds pool->lock throughout.
 */
struct mam_callers mam_pool_lend_locked(struct mam_pool *pool);
void mam_pool_lent_locked(struct mam_pool *pool, const struct mam_callers *noted);

#endif
