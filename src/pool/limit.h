/* SPDX-License-Identifier: Apache-2.0 */
/* limit.h - the most a pool may hold, and how much of that is left (limit.c). */
#ifndef MAM_POOL_LIMIT_H
#define MAM_POOL_LIMIT_H

#include <mam/pools.h>

#include "pool/pool.h"

/*
 * mam_limit_left - how much more a pool that holds `held` bytes may take from its source: 0 where
 * the limit was lowered below that, UINT64_MAX without a limit. The caller holds either lock.
 */
static inline uint64_t mam_limit_left(const struct mam_pool *pool, uint64_t held)
{
	uint64_t limit = pool->config.limit_bytes;

	if (limit == 0)
		return UINT64_MAX;
	return held < limit ? limit - held : 0;
}

#endif
