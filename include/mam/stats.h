/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - the counters of a pool. Values are in bytes unless a comment differs; all are a
 * consistent snapshot, exact and not sampled. A thread with a cache (enum mam_cache_mode) counts
 * its own operations, and the snapshot adds them. Peaks of live memory are exact for one thread.
 * With several threads they are sampled when a thread enters the pool, and never exceed the sum of
 * live and cached memory.
 */
#ifndef MAM_STATS_H
#define MAM_STATS_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mam_stats {
	size_t size; /* in: sizeof(struct mam_stats) */

	/* live blocks */
	uint64_t live_blocks;        /* count */
	uint64_t live_bytes;         /* sum of the requested sizes */
	uint64_t live_rounded_bytes; /* sum of the rounded sizes */
	uint64_t peak_live_blocks;   /* count */
	uint64_t peak_live_bytes;
	uint64_t peak_live_rounded_bytes;

	/* memory of the pool */
	uint64_t chunks;         /* count */
	uint64_t reserved_bytes; /* sum of the chunks */
	uint64_t peak_reserved_bytes;
	uint64_t high_water_bytes; /* peak of: sum of the highest block ends so far in all chunks */

	/* fragmentation */
	uint64_t segments;         /* count, live and free */
	uint64_t free_blocks;      /* count: free segments with a block above them in the chunk */
	uint64_t free_block_bytes; /* sum of those */
	uint64_t largest_free_block_bytes;
	uint64_t largest_free_bytes; /* the largest request that is served without growth */

	/* operations */
	uint64_t allocs;   /* count: requests that returned a block */
	uint64_t frees;    /* count */
	uint64_t failures; /* count: requests that failed; without WOULD_WAIT, after which a program
			      can wait, or ask again */
	uint64_t grows;    /* count: chunks obtained from the source */
	uint64_t shrinks;  /* count: chunks returned */

	uint64_t host_bytes; /* host memory of the pool's metadata */

	/* freed blocks that are not available yet (mam_pool_retire) */
	uint64_t retired_blocks; /* count */
	uint64_t retired_bytes;  /* sum of the rounded sizes */
	uint64_t peak_retired_bytes;

	/* mapped memory; equal to reserved_bytes for sources that do not map separately */
	uint64_t physical_bytes; /* obtained from the driver and not returned */
	uint64_t peak_physical_bytes;
	uint64_t remaps;       /* count: pieces of memory remapped to other addresses */
	uint64_t driver_calls; /* count: calls of the source for memory, failed ones too */
	uint64_t driver_ns;    /* nanoseconds spent in them; simulated sources compute them */

	/* in thread caches: free for their threads, still blocks to the pool */
	uint64_t cached_blocks; /* count; only reserved and physical above include them */
	uint64_t cached_bytes;  /* sum of the rounded sizes */

	uint64_t suspended_bytes; /* memory that a suspended pool released and maps again later */
};

/*
 * mam_stats_push - begin a scope that counts what happens in the pool, in all threads, until the
 * calling thread's mam_stats_pop(). Scopes nest: a pop ends the thread's newest one. Scopes of
 * several threads may overlap, and each has its own values. A scope that is still open ends with
 * the pool. Scopes do not slow down requests. Errors: INVALID_VALUE, DESTROYED, OUT_OF_HOST_MEMORY.
 */
MAM_API enum mam_status mam_stats_push(struct mam_pool *pool);

/*
 * mam_stats_pop - end the thread's newest scope and return its values. The counts of operations,
 * the driver's calls and nanoseconds, and the peaks cover the scope alone. A peak is the highest
 * value in the scope, including that at the push. All other values are current, as in
 * mam_pool_stats(). Enclosing scopes and the pool keep their peaks. stats NULL: only end the scope.
 * Set stats->size first. Errors: INVALID_VALUE (also if the thread has no open scope), DESTROYED.
 */
MAM_API enum mam_status mam_stats_pop(struct mam_pool *pool, struct mam_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
