/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope.h - statistics of a stretch of time: what happened since a push (scope.c).
 */
#ifndef MAM_POOL_SCOPE_H
#define MAM_POOL_SCOPE_H

#include "pool/pool.h"

/* mam_scope_push - begin a scope of the calling thread. OUT_OF_HOST_MEMORY, DESTROYED. */
enum mam_status mam_scope_push(struct mam_pool *pool);

/*
 * mam_scope_pop - end the thread's newest scope: `full`, all fields of it. INVALID_VALUE: it has
 * none. DESTROYED.
 */
enum mam_status mam_scope_pop(struct mam_pool *pool, struct mam_stats *full);

/*
 * mam_scope_lifetime_locked - the peaks of the pool's whole life into a copy of its counts. While
 * scopes are open, `counts` has them since the last push or pop only.
 */
void mam_scope_lifetime_locked(const struct mam_pool *pool, struct mam_stats *full);

/* mam_scope_fini - the pool ends: its open scopes go. The caller holds pool->lock. */
void mam_scope_fini(struct mam_pool *pool);

/* mam_scope_unfail - a request that was counted as a failure is being tried again. */
void mam_scope_unfail(struct mam_pool *pool);

#endif
