/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.h - statistics, for callers that need a part of them (inspect.c). */
#ifndef MAM_POOL_INSPECT_H
#define MAM_POOL_INSPECT_H

#include "pool/pool.h"

/*
 * mam_inspect_complete_locked - `full` has the pool's counts: add the values that are computed on
 * demand. The caller holds pool->lock.
 */
void mam_inspect_complete_locked(const struct mam_pool *pool, struct mam_stats *full);

#endif
