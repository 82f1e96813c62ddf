/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - the pool's door for the cache stop: several blocks under one hold of the lock, and the
 * books of what callers hold.
 *
 * To the pool a block in a thread's cache is a live one like others: it has a record, and nobody
 * else gets its ground. To callers it is free. The counts say what callers see:
 *
 *   live_*    what callers hold, as of the last time that each thread met the pool
 *   cached_*  live records that no caller holds, of the same time
 *
 * Between two meetings a thread takes from its cache and gives to it without a word to the pool,
 * and keeps the difference in a tally. Every call here takes the caller's tally into the counts
 * first, under the same hold. Thus with one thread, peaks and all, the counts are those of a pool
 * without a cache; with several, peaks are those of the moments at which threads meet the pool, and
 * no higher than the live records were then (pool.h:mam_pool_peak_live). Who
 * freed a block may come before who was given it: until all have met, live_* may lie below zero.
 *
 * Bound: O(log n) a block. lock: each function takes pool->lock, once.
 */
#ifndef MAM_POOL_BATCH_H
#define MAM_POOL_BATCH_H

#include "pool/pool.h"

/* What a thread did with its cache since it met the pool. */
struct mam_tally {
	/* blocks that callers hold now, less those they held then; each with its peak since */
	int64_t blocks, peak_blocks;   /* count */
	int64_t bytes, peak_bytes;     /* of what was asked for */
	int64_t rounded, peak_rounded; /* of what was taken */
	uint64_t allocs, frees;        /* count */
	/* out: of the pool, at the last meeting */
	uint64_t reserved_bytes;
	uint64_t live_bytes; /* rounded */
	uint64_t high_bytes; /* highest block ends */
};

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

/*
 * mam_pool_meet - the tally into the counts, and nothing else. A pool that has ended takes none,
 * and the tally is empty afterwards either way.
 */
void mam_pool_meet(struct mam_pool *pool, struct mam_tally *tally);

/*
 * mam_pool_alloc_batch - a block for a caller, and behind it up to `wanted` more of its size for a
 * cache, as long as there is ground; `got` of them. WOULD_WAIT: the pool would have to grow; the
 * request is not counted, and mam_pool_alloc() goes on with it. Else as mam_pool_alloc().
 *
 * mam_pool_alloc_below - one block, and WOULD_WAIT also where nothing but fresh ground fits, once
 * blocks reach higher than `high_most`: joined holes might serve as well.
 */
enum mam_status mam_pool_alloc_batch(struct mam_pool *pool, size_t bytes, size_t alignment,
				     struct mam_tally *tally, void **block, size_t wanted,
				     void **more, size_t *got);
enum mam_status mam_pool_alloc_below(struct mam_pool *pool, size_t bytes, size_t alignment,
				     struct mam_tally *tally, uint64_t high_most, void **block);

/*
 * mam_pool_free_one - a block that a caller held. `requested`: what the caller asked for, where
 * that is not what the record says; 0: it is.
 */
enum mam_status mam_pool_free_one(struct mam_pool *pool, void *block, size_t requested,
				  struct mam_tally *tally);

/*
 * mam_pool_free_batch - blocks that no caller held. Any that the pool does not know are left out.
 */
void mam_pool_free_batch(struct mam_pool *pool, void *const *blocks, size_t count,
			 struct mam_tally *tally);

/*
 * mam_pool_recount - where a program's fault made the counts wrong, and no cache holds anything:
 * what callers hold is what the records say. `asked` knows of a live block what its caller asked
 * for.
 */
void mam_pool_recount(struct mam_pool *pool,
		      size_t (*asked)(const struct mam_pool *pool,
				      const struct mam_segment_info *segment));

/* mam_pool_amend - write into a live block's record what its caller asked for. */
void mam_pool_amend(struct mam_pool *pool, void *block, size_t requested, struct mam_tally *tally);

#endif
