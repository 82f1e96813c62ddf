/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relief.h - what stops above the pool can give back to it when ground runs short.
 *
 * A thread's cache and a stream hold blocks that are nobody's. The pool knows neither; they leave
 * it a function each, and the pool calls them where a request would otherwise cost more:
 *   PASSED   before the source is asked for more: what costs no wait
 *   ALL      before OUT_OF_MEMORY, and by trim: everything, even if the device must be waited for
 *   END      the pool has ended and its chunks are about to go: wait for what may still use them,
 *            and let go of the driver
 *
 * A function is called with grow_lock held and `lock` free; it gives blocks back by
 * mam_pool_free() and its like and calls neither mam_pool_alloc() nor mam_pool_trim().
 *
 * lock: none, set before the pool is known to a caller, and never taken back.
 */
#ifndef MAM_POOL_RELIEF_H
#define MAM_POOL_RELIEF_H

#include <stdbool.h>

struct mam_pool;

enum mam_relief_level {
	MAM_RELIEF_PASSED,
	MAM_RELIEF_ALL,
	MAM_RELIEF_END
};

/* True: something became free ground. */
typedef bool mam_relief_fn(struct mam_pool *pool, enum mam_relief_level level);

enum mam_relief_stop {
	MAM_RELIEF_STREAM, /* asked first */
	MAM_RELIEF_CACHE,
	MAM_RELIEF_STOPS
};

#endif
