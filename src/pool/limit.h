/* SPDX-License-Identifier: Apache-2.0 */
/* limit.h - the maximum size of a pool, and how much of it is left (limit.c). */
#ifndef MAM_POOL_LIMIT_H
#define MAM_POOL_LIMIT_H

#include <mam/pools.h>

#include "pool/pool.h"

/*
 * mam_limit_left - how much more a pool that has `held` bytes may allocate from its source: 0 if
 * the limit was lowered below that, UINT64_MAX without a limit. The caller holds either lock.
 */
static inline uint64_t mam_limit_left(const struct mam_pool *pool, uint64_t held)
{
	uint64_t limit = pool->config.limit_bytes;

	if (limit == 0)
		return UINT64_MAX;
	return held < limit ? limit - held : 0;
}

/* mam_limit_exceeds_footprint - whether growth for `bytes` exceeds the pool's footprint. */
bool mam_limit_exceeds_footprint(struct mam_pool *pool, uint64_t bytes);

#endif
