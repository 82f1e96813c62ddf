/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ground.h - ground the pool holds, taken and given back. `_locked`: the caller holds pool->lock.
 */
#ifndef MAM_POOL_GROUND_H
#define MAM_POOL_GROUND_H

#include "pool/pool.h"

/* What a request comes to: the rounded size, and an alignment that is over the granule or 0. */
struct mam_request {
	uint64_t bytes;
	uint64_t alignment;
	uint64_t requested; /* 0: only make sure that such ground is there (reserve.c) */
	uint32_t hold;      /* stream free list that serves it too while the pool grows; 0: none */
	uint32_t hold_use;  /* which use of that record (hold.h) */
};

/*
 * mam_ground_shape - OUT_OF_MEMORY for sizes no memory could have, INVALID_VALUE for an alignment
 * that is no power of two.
 */
enum mam_status mam_ground_shape(const struct mam_pool *pool, size_t bytes, size_t alignment,
				 struct mam_request *request);

/*
 * mam_ground_take_locked - a block, or WOULD_WAIT when no ground fits, OUT_OF_HOST_MEMORY,
 * DESTROYED.
 */
enum mam_status mam_ground_take_locked(struct mam_pool *pool, const struct mam_request *request,
				       void **block);

/*
 * The two halves of it. mam_ground_find_locked: the segment it would use, or 0.
 * mam_ground_place_locked: a block out of a free or held segment that is large enough. pre: records
 * for two splits are reserved.
 */
uint32_t mam_ground_find_locked(const struct mam_pool *pool, const struct mam_request *request);
void *mam_ground_place_locked(struct mam_pool *pool, uint32_t handle,
			      const struct mam_request *request);

/*
 * mam_ground_give_locked - the block at `address` back; NOT_OWNED, INTERIOR, DOUBLE_FREE,
 * DESTROYED.
 */
enum mam_status mam_ground_give_locked(struct mam_pool *pool, uint64_t address);

/*
 * The two halves of it. mam_ground_end_locked: the block at `address` is nobody's from now on, with
 * the same errors; its record is still LIVE and the caller makes it RETIRED, or releases it.
 * mam_ground_release_locked: its ground is free.
 */
enum mam_status mam_ground_end_locked(struct mam_pool *pool, uint64_t address, uint32_t *handle);
void mam_ground_release_locked(struct mam_pool *pool, uint32_t handle);

/*
 * mam_ground_shelve_locked - a free segment to where it belongs, tail or shelf; unshelve takes it
 * out again.
 */
void mam_ground_shelve_locked(struct mam_pool *pool, uint32_t handle);
void mam_ground_unshelve_locked(struct mam_pool *pool, uint32_t handle);

/*
 * mam_ground_carve_locked - cut [from, to) out of a shelved free or void segment; it is on no shelf
 * afterwards. pre: two records are reserved.
 * mam_ground_become_locked - a segment on no shelf is FREE or VOID from now on: joined with
 * neighbours of its kind, and shelved.
 */
uint32_t mam_ground_carve_locked(struct mam_pool *pool, uint32_t handle, uint64_t from,
				 uint64_t to);
void mam_ground_become_locked(struct mam_pool *pool, uint32_t handle, uint32_t state);

#endif
