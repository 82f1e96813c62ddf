/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - what a pool counts. Bytes unless a name says otherwise; all of one moment; exact, not
 * sampled. Threads that keep freed blocks (enum mam_cache_mode) count for themselves and are asked
 * when the numbers are: the peaks of what is live are exact for one thread, and with several those of
 * the moments at which a thread went to the pool, never above what callers and caches held together.
 */
#ifndef MAM_STATS_H
#define MAM_STATS_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mam_stats {
	size_t size; /* in: sizeof(struct mam_stats) */

	/* what callers hold */
	uint64_t live_blocks;        /* count */
	uint64_t live_bytes;         /* sum of the sizes asked for */
	uint64_t live_rounded_bytes; /* sum of the sizes taken */
	uint64_t peak_live_blocks;   /* count */
	uint64_t peak_live_bytes;
	uint64_t peak_live_rounded_bytes;

	/* what the pool holds */
	uint64_t chunks;         /* count */
	uint64_t reserved_bytes; /* sum of the chunks */
	uint64_t peak_reserved_bytes;
	uint64_t high_water_bytes; /* peak of: sum of the highest block ends ever in chunks */

	/* how it is cut up */
	uint64_t segments;   /* count, live and free */
	uint64_t holes;      /* count: free segments with a block above in the chunk */
	uint64_t hole_bytes; /* sum of the holes */
	uint64_t largest_hole_bytes;
	uint64_t largest_free_bytes; /* the largest request served without growth */

	/* what happened */
	uint64_t allocs;   /* count: requests that got a block */
	uint64_t frees;    /* count */
	uint64_t failures; /* count: requests that got none */
	uint64_t grows;    /* count: chunks taken from the source */
	uint64_t shrinks;  /* count: chunks given back */

	uint64_t host_bytes; /* host memory of the pool's own books */

	/* what nobody holds and nobody may get yet (mam_pool_retire) */
	uint64_t retired_blocks;     /* count */
	uint64_t retired_bytes;      /* sum of the sizes taken */
	uint64_t peak_retired_bytes;

	/* memory behind addresses; of sources that give both at once, physical is reserved */
	uint64_t physical_bytes; /* what the driver has given and not got back */
	uint64_t peak_physical_bytes;
	uint64_t remaps;         /* count: pieces of memory moved to other addresses */
	uint64_t driver_calls;   /* count: of the source for chunks and pieces, refused ones too */
	uint64_t driver_ns;      /* nanoseconds spent in them; a simulated source's own reckoning */

	/* in threads' caches: free for their threads, still blocks to the pool */
	uint64_t cached_blocks; /* count; in none of the numbers above but reserved and physical */
	uint64_t cached_bytes;  /* sum of the sizes taken */
};

/*
 * mam_stats_push - from now on count apart what happens in the pool, in all threads, until the
 * calling thread's mam_stats_pop(). Pushes nest: a pop ends the thread's newest. Scopes of several
 * threads overlap as they like and each has its own numbers. What is left open ends with the pool.
 * Requests in between cost no more. Errors: INVALID_VALUE, DESTROYED, OUT_OF_HOST_MEMORY.
 */
MAM_API enum mam_status mam_stats_push(struct mam_pool *pool);

/*
 * mam_stats_pop - the numbers since the thread's newest push: the counts of what happened, the
 * driver's calls and nanoseconds, and the peaks (the highest value between, that of the push
 * included) are of that time alone; all others are as mam_pool_stats() has them now. It ends that
 * scope; peaks of scopes around it, and of the pool, lose nothing. stats NULL: only end it. Set
 * stats->size first. Errors: INVALID_VALUE (also where the thread has pushed nothing), DESTROYED.
 */
MAM_API enum mam_status mam_stats_pop(struct mam_pool *pool, struct mam_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
