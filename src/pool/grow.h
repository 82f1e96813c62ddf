/* SPDX-License-Identifier: Apache-2.0 */
/* grow.h - chunks in and out; grow.c has the story. mam_pool_trim() is public. */
#ifndef MAM_POOL_GROW_H
#define MAM_POOL_GROW_H

#include "pool/ground.h"

/*
 * mam_grow_for - the road after WOULD_WAIT: grow, and take the block. Takes both locks; counts a
 * failure.
 */
enum mam_status mam_grow_for(struct mam_pool *pool, const struct mam_request *request,
			     void **block);

/*
 * mam_grow_new - the same for mam_pool_alloc_new(): new memory or none, and grow_lock within
 * `patience_ns` or WOULD_WAIT.
 */
enum mam_status mam_grow_new(struct mam_pool *pool, const struct mam_request *request,
			     uint64_t patience_ns, void **block);

/*
 * mam_grow_first - the first chunk of the configuration. grow_lock is not needed: nobody else knows
 * the pool yet.
 */
enum mam_status mam_grow_first(struct mam_pool *pool);

/* mam_grow_trim - mam_pool_trim() inside the library. */
enum mam_status mam_grow_trim(struct mam_pool *pool, size_t keep_bytes, size_t *released);

/*
 * mam_grow_release_outgrown - after a growth (`outgrown`), and a wait for the device: free the chunks
 * that are idle now. Nothing while another thread holds grow_lock.
 */
void mam_grow_release_outgrown(struct mam_pool *pool);

/*
 * mam_grow_release_idle - what is wholly free back to the source, as long as `keep_bytes` stay.
 * Holds grow_lock, and asks no stop above.
 */
enum mam_status mam_grow_release_idle(struct mam_pool *pool, uint64_t keep_bytes,
				      uint64_t *released);

#endif
