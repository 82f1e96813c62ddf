/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.h - a pool on a source that provides addresses and memory separately.
 *
 *   part LARGE                                        part SMALL
 *   +--------+------+-------+==========+------+=====  +-----+---+====================
 *   | block  | free | block | unmapped | block| unm.  | blk |fr.| unmapped
 *   +--------+------+-------+==========+------+=====  +-----+---+====================
 *   [ piece  ][ piece ][pc. ]          [piece ]       [piece    ]
 *
 * The pool has two address ranges, each of which is one chunk in its metadata. They are many times
 * larger than the device memory. Memory is mapped into them in pieces. A part of a range without
 * memory is void (unmapped). In the mapped parts, live and free blocks are placed as in any chunk,
 * across the bounds of pieces.
 *
 * A free block that is too small grows into the unmapped addresses beside it. The memory for that
 * is new, or it consists of free pieces from elsewhere: they are moved, and the pool needs no more
 * memory than before. growth_policy.h determines which, and the size of new pieces. Requests under one
 * mebibyte have a range of their own, so that one small block does not prevent a large piece from
 * moving.
 *
 * lock: pool for everything here. The source is called with grow_lock alone; the segment that it
 * works on is in state MOVING meanwhile, so that no other thread uses it. Only the holder of
 * grow_lock changes which segments are void and where pieces are.
 *
 * Source: moving free memory to new addresses instead of wasting it is what C. Guo et al.,
 * "GMLake", ASPLOS 2024, and the expandable segments of PyTorch do. We differ in best fit over one
 * range in which pieces and blocks do not have to match, and in pieces of several sizes.
 */
#ifndef MAM_POOL_RANGE_H
#define MAM_POOL_RANGE_H

#include "pool/space.h"
#include "source/pieces.h"

enum mam_range_part_id { MAM_RANGE_LARGE, MAM_RANGE_SMALL, MAM_RANGE_PARTS };

#define MAM_RANGE_SMALL_BELOW ((uint64_t)1 << 20)

/* lock: pool, all fields */
struct mam_range_part {
	struct mam_freelists free_blocks;
	struct mam_freelists unmapped;
	struct mam_pieces pieces;
	uint32_t chunk; /* its handle; 0: not made */
};

/* A fence of the stream layer. */
struct mam_alias_fence {
	struct CUevent_st *event; /* NULL: only a wait for the device is sure */
	struct CUctx_st *context;
	struct CUstream_st *stream; /* the stream: its handle, thread and id */
	uint64_t thread;
	unsigned long long id;
};

/*
 * Functions of the stream layer. grow_lock is held, the pool's lock is not. None waits.
 *
 * may     whether a fence could be recorded in the stream `order`
 * record  record one; false: that failed. `fence` may be one of the same stream, which is replaced
 * passed  whether the fence has passed
 * drop    the fence is no longer needed; may be called after the streams' end
 * borrow  allocate a block of memory that another stream freed; later work of the request's stream
 *         waits for that stream on the GPU. Errors as mam_space_take_locked().
 * gather  move about `bytes` of such memory to the request's stream, which also waits on the GPU,
 *         and offer it to the request. Returns the bytes; 0: there are none.
 */
struct mam_stream_ops {
	bool (*may)(struct mam_pool *pool, const void *order);
	bool (*record)(struct mam_pool *pool, const void *order, struct mam_alias_fence *fence);
	bool (*passed)(struct mam_pool *pool, const struct mam_alias_fence *fence);
	void (*drop)(struct mam_pool *pool, struct mam_alias_fence *fence);
	enum mam_status (*borrow)(struct mam_pool *pool, const struct mam_request *request,
				  void **block);
	uint64_t (*gather)(struct mam_pool *pool, struct mam_request *request, uint64_t bytes);
};

/* Old addresses that leave after one fence. */
struct mam_leaving {
	uint32_t first; /* segment, or 0 */
	struct mam_alias_fence fence;
};

#define MAM_LEAVING_MAX 64

struct mam_range {
	struct mam_range_part part[MAM_RANGE_PARTS];
	struct mam_leaving leaving[MAM_LEAVING_MAX]; /* oldest first; lock: grow and pool */
	uint32_t leaving_count;                      /* lock: grow and pool */
	uint64_t piece_max; /* bytes of the largest piece ever mapped; lock: grow and pool */
	uint32_t unsealed;  /* first of the segments without a fence yet; lock: grow and pool */
};

/* mam_range_pieces - the tables of both parts, for rings of addresses (source/pieces.h). */
static inline struct mam_pieces *mam_range_pieces(void *range, unsigned part)
{
	return part < MAM_RANGE_PARTS ? &((struct mam_range *)range)->part[part].pieces : NULL;
}

static inline unsigned mam_range_part_of(uint64_t bytes)
{
	return bytes < MAM_RANGE_SMALL_BELOW ? MAM_RANGE_SMALL : MAM_RANGE_LARGE;
}

/* mam_range_part_at - the part that contains a segment. */
static inline unsigned mam_range_part_at(const struct mam_range *range,
					 const struct mam_segment *segment)
{
	return segment->chunk == range->part[MAM_RANGE_SMALL].chunk ? MAM_RANGE_SMALL
								    : MAM_RANGE_LARGE;
}

static inline struct mam_freelists *mam_range_freelists(struct mam_range *range,
							const struct mam_segment *segment)
{
	struct mam_range_part *part = &range->part[mam_range_part_at(range, segment)];

	return segment->state == MAM_SEGMENT_UNMAPPED ? &part->unmapped : &part->free_blocks;
}

/*
 * mam_range_init - make the ranges of a pool whose source maps in pieces; does nothing for other
 * pools.
 * mam_range_fini - free their metadata, without a source call.
 */
enum mam_status mam_range_init(struct mam_pool *pool);
void mam_range_fini(struct mam_pool *pool);

/* mam_range_give_back - release all pieces and ranges to the source, at the pool's end. */
void mam_range_give_back(struct mam_pool *pool);

/* mam_range_first - map config.chunk_bytes when the pool is made. */
enum mam_status mam_range_first(struct mam_pool *pool);

/*
 * mam_range_grow_for - grow for a request that no free block fits, and allocate the block. The
 * caller holds grow_lock. OUT_OF_MEMORY, OUT_OF_HOST_MEMORY, DRIVER, NO_DEVICE, DESTROYED.
 */
enum mam_status mam_range_grow_for(struct mam_pool *pool, struct mam_request *request,
				   void **block);

/*
 * mam_range_grow_new - the same with new memory alone: no piece is moved or released. grow_lock
 * held.
 */
enum mam_status mam_range_grow_new(struct mam_pool *pool, const struct mam_request *request,
				   void **block);

/*
 * mam_range_trim - release free pieces to the driver, as long as `keep_bytes` remain. grow_lock
 * held.
 */
enum mam_status mam_range_trim(struct mam_pool *pool, uint64_t keep_bytes, uint64_t *released);

/*
 * mam_range_fault_locked - NULL, or one sentence about free lists that do not contain the `free_blocks`
 * and `voids` that a scan found, or pieces that do not match the segments.
 */
const char *mam_range_fault_locked(const struct mam_pool *pool, uint64_t free_blocks,
				   uint64_t unmapped);

/* mam_range_unmapped_locked - bytes and number of the unmapped segments, O(segments). */
uint64_t mam_range_unmapped_locked(const struct mam_pool *pool, uint64_t *count);

#endif
