/* SPDX-License-Identifier: Apache-2.0 */
/* scope.h - statistics of a period of time: since a push (scope.c). */
#ifndef MAM_POOL_SCOPE_H
#define MAM_POOL_SCOPE_H

#include "pool/pool.h"

/* mam_scope_push - begin a scope of the calling thread. OUT_OF_HOST_MEMORY, DESTROYED. */
enum mam_status mam_scope_push(struct mam_pool *pool);

/*
 * mam_scope_pop - end the thread's newest scope; `full`: all its statistics. INVALID_VALUE: the
 * thread has no scope. DESTROYED.
 */
enum mam_status mam_scope_pop(struct mam_pool *pool, struct mam_stats *full);

/*
 * mam_scope_lifetime_locked - write the peaks of the pool's lifetime into a copy of its counts.
 * While scopes are open, `counts` has only the peaks since the last push or pop.
 */
void mam_scope_lifetime_locked(const struct mam_pool *pool, struct mam_stats *full);

/* mam_scope_fini - the pool ends: free its open scopes. The caller holds pool->lock. */
void mam_scope_fini(struct mam_pool *pool);

/* mam_scope_unfail - a request that was counted as a failure is being retried. */
void mam_scope_unfail(struct mam_pool *pool);

#endif
