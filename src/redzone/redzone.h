/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redzone.h - the debug mode of pools, MAM_DEBUG=redzone: detects out-of-bounds writes and writes
 * to freed blocks.
 *
 *     base        block           block + bytes
 *      | red zone | caller's bytes | red zone |
 *      '----------- one block of the pool ----'
 *
 * A pool in this mode has no thread caches, so the paths of other pools do not change. Each block has
 * a record, which translates between the two addresses. Callers know only theirs. The calls are those
 * of the pool and stream layers, and return the same.
 *
 * A block without a record (of a heap that grows) is not checked, and neither is a block whose red
 * zones could not be filled: allocated on a stream in capture, or the driver failed.
 */
#ifndef MAM_REDZONE_REDZONE_H
#define MAM_REDZONE_REDZONE_H

#include <stdbool.h>
#include <stddef.h>

#include <mam/mam.h>
#include <mam/stats.h>

struct CUstream_st;
struct mam_pool;

/* mam_redzone_is_wanted - for a pool on this device (negative: none), by the environment. */
bool mam_redzone_is_wanted(int device);

/*
 * mam_redzone_open - before any caller knows the pool: set pool->redzone. A failure is logged, and
 * the pool's blocks are not checked.
 */
void mam_redzone_open(struct mam_pool *pool);

/* pre for the rest: pool->redzone is not NULL. */

/* mam_redzone_alloc - as mam_pool_alloc(), or with `held` as mam_pool_alloc_held(). */
enum mam_status mam_redzone_alloc(struct mam_pool *pool, size_t bytes, size_t alignment, bool held,
				  void **block);
enum mam_status mam_redzone_alloc_async(struct mam_pool *pool, size_t bytes,
					struct CUstream_st *stream, void **block);

/*
 * mam_redzone_free - as mam_pool_free(). pre: no work uses the block any more (mam_pool_quiesce()).
 * mam_redzone_free_async: as mam_stream_free().
 */
enum mam_status mam_redzone_free(struct mam_pool *pool, void *block);
enum mam_status mam_redzone_free_async(struct mam_pool *pool, void *block,
				       struct CUstream_st *stream);

/*
 * mam_redzone_forget - a block leaves its caller and will not be checked: *block becomes its address
 * in the pool. DOUBLE_FREE, INTERIOR: it is not one.
 */
enum mam_status mam_redzone_forget(struct mam_pool *pool, void **block);

/*
 * mam_redzone_distrust - the contents of all live blocks are gone, and their red zones with them: they
 * are not checked any more. pre: the pool is suspended, and was flushed since.
 */
void mam_redzone_distrust(struct mam_pool *pool);

/*
 * mam_redzone_correct - change the pool's description of a segment to the callers' view.
 * mam_redzone_count: the same for statistics: freed blocks that are kept for a check are retired.
 */
void mam_redzone_correct(const struct mam_pool *pool, struct mam_segment_info *segment);
void mam_redzone_count(const struct mam_pool *pool, struct mam_stats *stats);

/*
 * mam_redzone_flush - check all blocks that were freed until now and return them to the pool. Waits for
 * the checks. False: there were none.
 */
bool mam_redzone_flush(struct mam_pool *pool);

/* mam_redzone_drop - the pool was abandoned, or this is the child of a fork: no driver call. */
void mam_redzone_drop(struct mam_pool *pool);

#endif
