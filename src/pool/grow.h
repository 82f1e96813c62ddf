/* SPDX-License-Identifier: Apache-2.0 */
/* grow.h - add chunks to the pool and release them; see grow.c. mam_pool_trim() is public. */
#ifndef MAM_POOL_GROW_H
#define MAM_POOL_GROW_H

#include "pool/space.h"

/*
 * mam_grow_for - the path after WOULD_WAIT: grow, and allocate the block. Takes both locks; counts
 * a failure.
 */
enum mam_status mam_grow_for(struct mam_pool *pool, const struct mam_request *request,
			     void **block);

/* mam_grow_may_borrow - whether the request is in the order of a stream, which can wait for others. */
static inline bool mam_grow_may_borrow(const struct mam_pool *pool,
				       const struct mam_request *request)
{
	return pool->fences != NULL && request->order != NULL;
}

/*
 * mam_grow_new - the same for mam_pool_alloc_new(): only new memory. WOULD_WAIT if grow_lock is not
 * available within `patience_ns`.
 */
enum mam_status mam_grow_new(struct mam_pool *pool, const struct mam_request *request,
			     uint64_t patience_ns, void **block);

/*
 * mam_grow_first - the first chunk of the configuration. grow_lock is not needed: no other thread
 * knows the pool yet.
 */
enum mam_status mam_grow_first(struct mam_pool *pool);

/*
 * mam_grow_drain - call the functions of the layers above, which release memory. grow_lock held.
 * True: try again.
 */
bool mam_grow_drain(struct mam_pool *pool, enum mam_drain_level level);

/* mam_grow_trim - mam_pool_trim() inside the library. */
enum mam_status mam_grow_trim(struct mam_pool *pool, size_t keep_bytes, size_t *released);

/*
 * mam_grow_release_outgrown - after a growth (`outgrown`) and a wait for the device, free the
 * chunks that are idle now. Does nothing while another thread holds grow_lock.
 */
void mam_grow_release_outgrown(struct mam_pool *pool);

/*
 * mam_grow_release_idle - release idle chunks or pieces to the source, as long as `keep_bytes`
 * remain. Takes grow_lock, and drains no cache or stream.
 */
enum mam_status mam_grow_release_idle(struct mam_pool *pool, uint64_t keep_bytes,
				      uint64_t *released);

#endif
