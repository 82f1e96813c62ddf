/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcache.h - a thread cache: a thread's bins at one pool, and the tally of its use. Blocks that
 * were freed on a stream are in bins of their own, one set per stream.
 *
 * A thread has one thread cache per pool that it uses, made at its first request there. The one
 * that it used last is compared first. The owner uses its thread cache inside the asymmetric lock;
 * all other threads hold the cache's lock and have stopped the owner (asymlock.h).
 *
 * The memory of a thread cache belongs to its thread and is freed when the thread ends. If the pool
 * ends first, the thread cache stays, without a pool, until the thread needs one again.
 */
#ifndef MAM_CACHE_TCACHE_H
#define MAM_CACHE_TCACHE_H

#include "cache/bins.h"
#include "cache/asymlock.h"
#include "cache/kept.h"
#include "pool/batch.h"
#include "stream/key.h"

#define MAM_TCACHE_STREAMS 16 /* streams of which a thread cache holds blocks */
#define MAM_TCACHE_SMALL 128  /* granules: up to this size a request may allocate extra blocks */

struct mam_cache;

/* Blocks that the thread freed on one stream (async.c). */
struct mam_stream_bins {
	struct CUstream_st *stream; /* handle; NULL: the bins are empty and not in use */
	unsigned long long id;      /* 0: a default stream */
	uint32_t record;            /* pinned (stream/stream.h); 0: none */
	uint32_t captures;          /* as of mam_stream_note() */
	bool due;                   /* its memory should leave the stream at its next call */
	bool stale;                 /* the handle stands for another stream by now */
	struct mam_bins bins;
};

struct mam_tcache {
	struct mam_asymlock hand;
	_Atomic(struct mam_pool *) pool; /* NULL: no pool; written by others while stopped */
	_Atomic uintptr_t handle;        /* the pool's handle; 0: no pool; written with `pool` */

	/* lock: none, set when it is assigned to a pool */
	bool waits; /* frees must wait for the device first */
	struct mam_cache *cache;
	const void *owner;  /* identifies the thread: mam_tcache_self() */
	uint64_t live_key;  /* of tags: mam_blocktag_live_key() */
	uint64_t round_up;  /* the pool's granule less 1 */
	uint64_t unit_mask; /* rounds granules of 512 bytes to granules of the pool */

	/* thread, and others while it is stopped */
	uint64_t max;   /* maximum of granules in the bins */
	uint64_t slack; /* a block that is larger by up to 1 / 2^slack may serve a request */
	struct mam_tally *tally; /* on the statistics page, or unlisted */
	struct mam_bins bins;
	struct mam_kept kept;
	const struct mam_driver *driver; /* thread; NULL: no bins for a stream of the driver yet */
	const struct CUctx_st *context;  /* thread; of the pool; set with `driver` */
	struct mam_stream_bins *streams[MAM_TCACHE_STREAMS]; /* by handle; NULL: not made yet */
	uint64_t stream_granules;                            /* sum over streams[] */
	uint32_t clashes; /* count of streams that found no place in streams[] */
	uint8_t appetite[MAM_TCACHE_SMALL + 1]; /* extra blocks to allocate next time */

	uint64_t turns; /* thread; count: slow paths of the owner */
	uint64_t seen;  /* lock: cache; its value at the last check */

	struct mam_tcache *next, *previous; /* lock: cache; thread caches of one pool */
	struct mam_tcache *of_thread;       /* thread; next of the thread's */
	struct mam_tally unlisted;          /* as tally: used if the page is full */
};

/*
 * mam_tcache_serves - whether the thread cache belongs to the pool of a handle. One comparison
 * shows that the handle is valid and that its pool has not ended. Outside of the lock, the pool may
 * end a moment later: then the bins are empty, and no tag matches.
 */
static inline bool mam_tcache_serves(const struct mam_tcache *tcache, const struct mam_pool *handle)
{
	return atomic_load_explicit(&tcache->handle, memory_order_relaxed) == (uintptr_t)handle &&
	       handle != NULL;
}

/* mam_tcache_held - granules in all bins. */
static inline uint64_t mam_tcache_held(const struct mam_tcache *tcache)
{
	return tcache->bins.granules + tcache->stream_granules;
}

/* The thread cache that a thread used last; initially a dummy without a pool. */
extern _Thread_local struct mam_tcache *mam_tcache_last __attribute__((tls_model("initial-exec")));

static inline const void *mam_tcache_self(void)
{
	return &mam_tcache_last;
}

/* mam_tcache_find - the calling thread's cache at a pool; NULL: it has none. */
struct mam_tcache *mam_tcache_find(const struct mam_pool *pool);

/* mam_tcache_take - a new one in the thread's list, without a pool yet; NULL: no host memory. */
struct mam_tcache *mam_tcache_take(void);

/*
 * mam_tcache_prepare - call before the first mam_tcache_take(). `on_exit` is called for each thread
 * cache that still has a pool when its thread ends.
 */
void mam_tcache_prepare(void (*on_exit)(struct mam_tcache *tcache));

/* mam_tcache_bins_new, mam_tcache_bins_free - bins for a stream; NULL: no host memory. */
struct mam_stream_bins *mam_tcache_bins_new(void);
void mam_tcache_bins_free(struct mam_stream_bins *bins);

/*
 * mam_tcache_drop - in a fork's child: free the thread cache of a thread that does not exist there.
 */
void mam_tcache_drop(struct mam_tcache *tcache);

#endif
