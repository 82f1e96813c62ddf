/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compartments.h - one block for several lanes of a warp, each with a compartment of its own size.
 *
 *     block                                     8 bytes: compartments in use, and the block's bytes
 *       compartment of the first lane           8 bytes: where it begins in the block, and a tag
 *         what that lane asked for              at a multiple of 16
 *       compartment of the second ...
 *
 * 1. A lane's bytes and the 8 in front of them, rounded up to a multiple of 16, are its compartment's
 *    size. The sum over the lanes below says where in the block it begins. As the block's own 8 come
 *    first, what a lane gets lies at a multiple of 16, where the block does.
 * 2. The leader, who got the block, writes its header; then all meet, and each writes its own.
 * 3. To give back, a lane looks at the tag in front, and writes another: who has it twice sees that.
 * 4. Lanes that give back together, and have parts of the same block, take their number off its
 *    count at once. Who brings it to 0 has the block, all of it, to give it back.
 * 5. What is alone in its block has the same two headers, but another tag, and all of the first is
 *    bytes; there is nothing to count.
 *
 * After Huang, Rodrigues, Jones, Buck, Hwu: Scalable SIMD-parallel memory allocation for many-core
 * machines, J. Supercomputing 64 (2013), section 5.1. It sums by atomics on shared memory, of which
 * this takes none; rounds to 8; and takes one off the count a lane.
 *
 * Bound: a sum over lanes and two shuffles; a match and one atomic operation a block.
 *
 * What must hold: who is in compartments is written before the count is, and whoever makes it less
 * had them; behind that the block may be somebody else's.
 */
#ifndef MAM_COALESCE_COMPARTMENTS_H
#define MAM_COALESCE_COMPARTMENTS_H

#include "heap/lanes.h"

#define MAM_COMPARTMENT_ALIGN 16u
#define MAM_COMPARTMENT_HEADER 8u

/* Bytes of a block that 32 lanes have together, at most: the largest that buffers.h keeps. */
#ifndef MAM_COMPARTMENTS_BYTES
#define MAM_COMPARTMENTS_BYTES 8192u
#endif
#if MAM_COMPARTMENTS_BYTES < 520 || MAM_COMPARTMENTS_BYTES > 1073741824
#error "MAM_COMPARTMENTS_BYTES: 520, which is 16 a lane, to 1 GiB, which 32 bits count"
#endif
/* What a lane may ask for to have a compartment: 32 of them fit. */
#define MAM_COMPARTMENT_MOST                                                               \
	((MAM_COMPARTMENTS_BYTES - MAM_COMPARTMENT_HEADER) / 32u / MAM_COMPARTMENT_ALIGN * \
		 MAM_COMPARTMENT_ALIGN -                                                   \
	 MAM_COMPARTMENT_HEADER)

/* Tags: no small numbers, no text, no usual pattern, so that memory seldom has one by chance. */
#define MAM_COMPARTMENT_SHARED 0xb7e4c91du
#define MAM_COMPARTMENT_ALONE 0x8d3f62a5u
#define MAM_COMPARTMENT_FREE 0xe15a0b76u

/* In front of compartments; what is alone has a uint64_t there, its block's bytes. */
struct mam_kcompartments {
	uint32_t count; /* of those in use; atomic */
	uint32_t bytes; /* that the block was asked for with */
};

/* A lane's place in a block that is not there yet. */
struct mam_kcompartment {
	uint32_t offset; /* where its compartment begins */
	uint32_t total;  /* bytes of the block; the same in all lanes */
};

MAM_KFN bool mam_compartments_fit(size_t bytes)
{
	return bytes && bytes <= MAM_COMPARTMENT_MOST;
}

/* For the lanes of `group`, which all come, each with bytes that fit. */
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
 * For the lanes of `group`, which all come with their places: `block` is the leader's, and NULL if
 * there is none; then all get NULL.
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
	/* The leader acquired what the block's last holder did, and its header is to be seen. */
	mam_warp_sync(group);
	return address ? mam_compartments_put(address, place.offset, MAM_COMPARTMENT_SHARED) : NULL;
}

/* Bytes of a block for what is alone in it; 0: there is no such block. */
MAM_KFN size_t mam_compartments_alone(size_t bytes)
{
	return bytes && bytes + MAM_COMPARTMENT_ALIGN > bytes ? bytes + MAM_COMPARTMENT_ALIGN : 0;
}

/* `block` has the bytes that mam_compartments_alone() said. */
MAM_KFN void *mam_compartments_put_alone(void *block, size_t bytes)
{
	*(uint64_t *)block = bytes;
	return mam_compartments_put((uint64_t)(uintptr_t)block, MAM_COMPARTMENT_HEADER,
				    MAM_COMPARTMENT_ALONE);
}

/* What was in front of memory that is given back. */
struct mam_kcompartment_end {
	uint64_t block; /* 0: it is none of ours */
	bool shared;
};

/* What is ours cannot be given back again from here on. */
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
 * For the lanes of `mask`, which all come: bytes of the block that the caller has to give back, 0 if
 * it has none to.
 */
MAM_KFN size_t mam_compartments_leave(uint32_t mask, struct mam_kcompartment_end end)
{
	struct mam_kcompartments *header = (struct mam_kcompartments *)(uintptr_t)end.block;
	uint64_t *alone = (uint64_t *)(uintptr_t)end.block;
	uint32_t group = mam_warp_match64(mask, end.block), own = mam_popc32(group), before, bytes;

	/* What each of them did, and its tag, comes before the block is somebody else's. */
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
