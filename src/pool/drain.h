/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h - what layers above the pool can return to it when it runs out of free memory.
 *
 * Thread caches, streams and red zones keep blocks that no caller holds. The pool does not know
 * these layers. Each of them registers a function, which the pool calls where a request would
 * otherwise cost more:
 *   PASSED   before the pool requests more from the source: release what needs no wait
 *   ALL      before OUT_OF_MEMORY, and by trim: release everything, even with a wait for the device
 *   END      the pool has ended and its chunks are about to be released: wait for work that may
 *            still use them, and release the driver's objects
 *
 * A function is called with grow_lock held and `lock` free. It frees blocks by mam_pool_free() and
 * similar functions and calls neither mam_pool_alloc() nor mam_pool_trim().
 *
 * lock: none, set before the pool is known to a caller, and never reset.
 */
#ifndef MAM_POOL_DRAIN_H
#define MAM_POOL_DRAIN_H

#include <stdbool.h>

struct mam_pool;

enum mam_drain_level { MAM_DRAIN_PASSED, MAM_DRAIN_ALL, MAM_DRAIN_END };

/* True: some memory was freed. */
typedef bool mam_drain_fn(struct mam_pool *pool, enum mam_drain_level level);

enum mam_drain_stop {
	MAM_DRAIN_REDZONE, /* called first: checks freed blocks and frees them */
	MAM_DRAIN_CACHE,   /* before streams: blocks that it holds for them are returned to these */
	MAM_DRAIN_STREAM,
	MAM_DRAIN_STOPS
};

#endif
