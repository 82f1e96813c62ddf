/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compartments.h - one block shared by several lanes of a warp, with a compartment per lane, each
 * of its own size.
 *
 *     block                                     8 bytes: compartments in use, and the block's bytes
 *       compartment of the first lane           8 bytes: its offset in the block, and a tag
 *         memory of that lane                   at a multiple of 16
 *       compartment of the second ...
 *
 * 1. A compartment's size is the lane's bytes and the 8 before them, rounded up to a multiple of
 *    16. The sum over the lower lanes is its offset in the block. The block's own 8 bytes come
 *    first, so a lane's memory is at a multiple of 16 if the block is.
 * 2. The leader, which allocated the block, writes its header; then all lanes synchronize, and each
 *    writes its own header.
 * 3. To free, a lane reads the tag before the memory, and writes another: a later double free finds
 *    that.
 * 4. Lanes that free together, and have parts of the same block, subtract their number from its
 *    count in one operation. The lane that brings the count to 0 frees the whole block.
 * 5. A request alone in its block has the same two headers, but another tag, and the whole first
 *    header is the number of bytes; there is no count.
 *
 * After Huang, Rodrigues, Jones, Buck, Hwu: Scalable SIMD-parallel memory allocation for many-core
 * machines, J. Supercomputing 64 (2013), section 5.1. The paper sums by atomics on shared memory,
 * which this code does not need; rounds to 8; and subtracts one from the count per lane.
 *
 * Bound: a sum over lanes and two shuffles; a match and one atomic operation per block.
 *
 * Invariant: accesses to a compartment happen before its lane decrements the count, and the lane
 * that brings it to 0 acquires all decrements. After that the block may belong to another owner.
 */
#ifndef MAM_COALESCE_COMPARTMENTS_H
#define MAM_COALESCE_COMPARTMENTS_H

#include "device/lanes.h"

#define MAM_COMPARTMENT_ALIGN 16u
#define MAM_COMPARTMENT_HEADER 8u

/* Max bytes of a block that 32 lanes share: the largest that buffers.h caches. */
#ifndef MAM_COMPARTMENTS_BYTES
#define MAM_COMPARTMENTS_BYTES 8192u
#endif
#if MAM_COMPARTMENTS_BYTES < 520 || MAM_COMPARTMENTS_BYTES > 1073741824
#error "MAM_COMPARTMENTS_BYTES: 520, which is 16 a lane, to 1 GiB, which 32 bits count"
#endif
/* Max bytes of a request that gets a compartment: 32 of them fit in a block. */
#define MAM_COMPARTMENT_MAX                                                                \
	((MAM_COMPARTMENTS_BYTES - MAM_COMPARTMENT_HEADER) / 32u / MAM_COMPARTMENT_ALIGN * \
		 MAM_COMPARTMENT_ALIGN -                                                   \
	 MAM_COMPARTMENT_HEADER)

/* Tags: not small numbers, text or usual patterns, so that memory rarely contains one by chance. */
#define MAM_COMPARTMENT_SHARED 0xb7e4c91du
#define MAM_COMPARTMENT_ALONE 0x8d3f62a5u
#define MAM_COMPARTMENT_FREE 0xe15a0b76u

/* The header of a shared block. A block with one request has a uint64_t there: its bytes. */
struct mam_kcompartments {
	uint32_t count; /* compartments in use; atomic */
	uint32_t bytes; /* requested for the block */
};

/* A lane's place in a block that is not allocated yet. */
struct mam_kcompartment {
	uint32_t offset; /* the begin of its compartment */
	uint32_t total;  /* bytes of the block; the same in all lanes */
};

MAM_KFN bool mam_compartments_fit(size_t bytes)
{
	return bytes && bytes <= MAM_COMPARTMENT_MAX;
}

/* Called by all lanes of `group`, each with bytes that fit. */
MAM_KFN struct mam_kcompartment mam_compartments_place(uint32_t group, size_t bytes)
{
	uint32_t size = ((uint32_t)bytes + MAM_COMPARTMENT_HEADER + MAM_COMPARTMENT_ALIGN - 1) &
			~(MAM_COMPARTMENT_ALIGN - 1);
	struct mam_klanes sum = mam_lanes_sum(group, size);
	struct mam_kcompartment place;

	place.offset = MAM_COMPARTMENT_HEADER + (uint32_t)sum.before;
	place.total = MAM_COMPARTMENT_HEADER + (uint32_t)sum.total;
	return place;
}

MAM_KFN void *mam_compartments_put(uint64_t block, uint32_t offset, uint32_t tag)
{
	uint64_t at = block + offset;

	*(uint64_t *)(uintptr_t)at = (uint64_t)tag << 32 | offset;
	return (void *)(uintptr_t)(at + MAM_COMPARTMENT_HEADER);
}

/*
 * Called by all lanes of `group` with their places. `block` is that of the leader; if it is NULL,
 * all lanes get NULL.
 */
MAM_KFN void *mam_compartments_deal(uint32_t group, struct mam_kcompartment place, void *block)
{
	struct mam_kcompartments *header = (struct mam_kcompartments *)block;
	uint32_t leader = mam_lanes_leader(group);
	uint64_t address;

	if (mam_lane() == leader && block) {
		header->count = mam_popc32(group);
		header->bytes = place.total;
	}
	address = mam_warp_shuffle64(group, (uint64_t)(uintptr_t)block, leader);
	/* The leader acquired the last owner's accesses: pass them on, with its header. */
	mam_warp_sync(group);
	return address ? mam_compartments_put(address, place.offset, MAM_COMPARTMENT_SHARED) : NULL;
}

/* Bytes of a block for one request; 0: no block can be that large. */
MAM_KFN size_t mam_compartments_alone(size_t bytes)
{
	return bytes && bytes + MAM_COMPARTMENT_ALIGN > bytes ? bytes + MAM_COMPARTMENT_ALIGN : 0;
}

/* `block` has the bytes that mam_compartments_alone() returned. */
MAM_KFN void *mam_compartments_put_alone(void *block, size_t bytes)
{
	*(uint64_t *)block = bytes;
	return mam_compartments_put((uint64_t)(uintptr_t)block, MAM_COMPARTMENT_HEADER,
				    MAM_COMPARTMENT_ALONE);
}

/* The header of memory that is being freed. */
struct mam_kcompartment_end {
	uint64_t block; /* 0: the memory is not ours */
	bool shared;
};

/* Marks our memory as free, so that a later double free is detected. */
MAM_KFN struct mam_kcompartment_end mam_compartments_end(void *object)
{
	uint64_t address = (uint64_t)(uintptr_t)object, header;
	struct mam_kcompartment_end end;
	uint64_t *at = (uint64_t *)(uintptr_t)(address - MAM_COMPARTMENT_HEADER);

	end.block = 0;
	end.shared = false;
	if (address % MAM_COMPARTMENT_ALIGN)
		return end;
	header = *at;
	end.shared = header >> 32 == MAM_COMPARTMENT_SHARED;
	if (!end.shared && header >> 32 != MAM_COMPARTMENT_ALONE)
		return end;
	*at = (uint64_t)MAM_COMPARTMENT_FREE << 32;
	end.block = address - MAM_COMPARTMENT_HEADER - (uint32_t)header;
	return end;
}

/*
 * Called by all lanes of `mask`. Returns the bytes of the block that the caller must free, 0 if it
 * has no block to free.
 */
MAM_KFN size_t mam_compartments_leave(uint32_t mask, struct mam_kcompartment_end end)
{
	struct mam_kcompartments *header = (struct mam_kcompartments *)(uintptr_t)end.block;
	uint64_t *alone = (uint64_t *)(uintptr_t)end.block;
	uint32_t group = mam_warp_match64(mask, end.block), own = mam_popc32(group), before, bytes;

	/* Each lane's accesses, and its tag, happen before the block gets another owner. */
	mam_warp_sync(group);
	if (!end.block)
		return 0;
	if (!end.shared)
		return (size_t)alone[0];
	if (mam_lane() != mam_lanes_leader(group))
		return 0;
	bytes = header->bytes;
	before = mam_atomic_add32(&header->count, 0 - own, MAM_ACQ_REL, MAM_AT_DEVICE);
	MAM_KASSERT(before >= own);
	return before == own ? bytes : 0;
}

#endif
