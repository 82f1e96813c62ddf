/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.h - allocate from and free to the memory that the pool has. `_locked`: the caller holds
 * pool->lock.
 */
#ifndef MAM_POOL_SPACE_H
#define MAM_POOL_SPACE_H

#include "pool/pool.h"

/* A request: the rounded size, and an alignment that is greater than the granule or 0. */
struct mam_request {
	uint64_t bytes;
	uint64_t alignment;
	uint64_t requested;      /* 0: only ensure that such memory is free (reserve.c) */
	uint32_t list;           /* stream free list for it while the pool grows; 0: none */
	uint32_t streamlist_use; /* which use of that record (streamlist.h) */
	const void *order;       /* its stream, for mam_stream_ops; NULL: none */
};

/*
 * mam_space_shape - round the request. OUT_OF_MEMORY for sizes that exceed any memory,
 * INVALID_VALUE for an alignment that is not a power of two.
 */
enum mam_status mam_space_shape(const struct mam_pool *pool, size_t bytes, size_t alignment,
				struct mam_request *request);

/*
 * mam_space_take_locked - allocate a block. WOULD_WAIT if no free memory fits, OUT_OF_HOST_MEMORY,
 * DESTROYED, SUSPENDED. mam_space_take_below_locked: also WOULD_WAIT if only memory above all
 * earlier blocks fits and blocks already reach higher than `high_max` (batch.h).
 */
enum mam_status mam_space_take_locked(struct mam_pool *pool, const struct mam_request *request,
				      void **block);
enum mam_status mam_space_take_below_locked(struct mam_pool *pool,
					    const struct mam_request *request, uint64_t high_max,
					    void **block);

/*
 * The two halves of it. mam_space_find_locked: return the segment that it would use, or 0.
 * mam_space_place_locked: make a block of a free or held segment that is large enough. pre:
 * records for two splits are reserved.
 */
uint32_t mam_space_find_locked(const struct mam_pool *pool, const struct mam_request *request);
void *mam_space_place_locked(struct mam_pool *pool, uint32_t handle,
			     const struct mam_request *request);

/*
 * mam_space_give_locked - free the block at `address`. NOT_OWNED, INTERIOR, DOUBLE_FREE,
 * DESTROYED.
 */
enum mam_status mam_space_give_locked(struct mam_pool *pool, uint64_t address);

/*
 * The two halves of it. mam_space_end_locked: the caller gives up the block at `address`, with the
 * same errors. Its record is still LIVE; the caller makes it RETIRED, or releases it.
 * mam_space_release_locked: free its memory.
 */
enum mam_status mam_space_end_locked(struct mam_pool *pool, uint64_t address, uint32_t *handle);
void mam_space_release_locked(struct mam_pool *pool, uint32_t handle);

/*
 * mam_space_insert_free_locked - insert a free segment into its free list, or make it the tail;
 * mam_space_remove_free_locked() removes it again.
 */
void mam_space_insert_free_locked(struct mam_pool *pool, uint32_t handle);
void mam_space_remove_free_locked(struct mam_pool *pool, uint32_t handle);

/*
 * mam_space_carve_locked - cut [from, to) out of a listed free or unmapped segment; it is in no
 * list afterwards. pre: two records are reserved.
 * mam_space_become_locked - make a segment that is in no list FREE or VOID (unmapped), join it
 * with neighbors of the same state and insert it into a list.
 */
uint32_t mam_space_carve_locked(struct mam_pool *pool, uint32_t handle, uint64_t from, uint64_t to);
void mam_space_become_locked(struct mam_pool *pool, uint32_t handle, uint32_t state);

#endif
