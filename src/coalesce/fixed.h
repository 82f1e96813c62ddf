/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed.h - one block for a whole thread block or a whole warp, all of whose threads request the
 * same number of bytes.
 *
 * 1. One thread allocates a block from the base with a part for each thread; the block's first 4
 *    bytes count the parts. The others get its address by a shuffle, or from a word of shared
 *    memory.
 * 2. Part i belongs to the i-th thread, or to the i-th participating lane of the warp. With
 *    headers: 8 bytes before each part have the distance to the block. Parts are at multiples of
 *    16, with a stride of bytes + 8 rounded up, to an odd multiple if that is 128 or more. Without
 *    headers: part i is at 16 + i * bytes of the block, so that its address is a multiple of every
 *    common divisor of 16 and `bytes`; and a map has the block for each part's address.
 * 3. A free finds the block: it reads the header, and clears it; or it removes the part from the
 *    map. Of lanes that free parts of one block together, one subtracts all of theirs from the
 *    count. The lane that brings the count to 0 frees the block to the base.
 * 4. A single lane gets a block of one part, with a header, so that all are freed alike.
 *
 * Source: Blach, Erhart, Memedi, Schäfer, "Coalescing Memory Allocations for GPU MPI", 3.1. There a
 * header is a pointer, and each part decrements the count by itself. The paper does not discuss a
 * full map.
 *
 * Bound: one call of the base per block; two barriers, three with a map, or a match, a shuffle and
 * a barrier of the warp. A free is a load or a search in the map, and an addition for each block of
 * which the lanes free parts. A lane waits only for the threads that call together, and for the
 * base.
 *
 * Invariants:
 * - The block is returned to the base only when all parts were freed: each free subtracts one,
 *   once.
 * - All accesses to a part happen before its free, so before the lane that freed it subtracts it,
 *   which releases; and the last lane acquires what all of them released. So no lane accesses the
 *   block any more when it gets its next owner.
 * - If the base has no block, or the map has no space for one of the parts, all get NULL. Parts
 *   that are already in the map are removed from it before the block is returned to the base.
 * - A part that is not in the map is not freed. So a double free is detected, unless the address
 *   has been allocated again. With headers, a double free that follows the first one is detected as
 *   long as no thread has written there since; concurrent double frees are not detected.
 */
#ifndef MAM_COALESCE_FIXED_H
#define MAM_COALESCE_FIXED_H

#include "coalesce/base.h"
#include "coalesce/map.h"
#include "device/lanes.h"

#define MAM_FIXED_HEAD 16u                  /* before the first part; includes its header */
#define MAM_FIXED_ODD 128u                  /* strides from this size up are odd multiples */
#define MAM_FIXED_MARK ((uint64_t)0xb7c05d) /* of a header, above the distance */
#define MAM_FIXED_MARK_SHIFT 40
#define MAM_FIXED_MAX ((uint64_t)1 << MAM_FIXED_MARK_SHIFT) /* bytes of a block */

/* ---- a block and its parts ------------------------------------------------------------------- */

/*
 * The stride from one part to the next. With headers, and if 16 more bytes are negligible, it is an
 * odd multiple of 16: the words of lanes that each scan their own part are then in different banks
 * of the L1 cache. At a multiple of 64 their loads take half as long again, at 128 up to three
 * times.
 */
MAM_KFN uint64_t mam_fixed_stride(const struct mam_kmap *map, uint64_t bytes)
{
	uint64_t stride = (bytes + 8 + 15) & ~(uint64_t)15;

	if (map)
		return bytes;
	return stride < MAM_FIXED_ODD ? stride : stride | 16;
}

/* Called by the allocating thread: the address of a block; 0: there is none. */
MAM_KFN uint64_t mam_fixed_ask(struct mam_kbase base, const struct mam_kmap *map, uint32_t parts,
			       uint64_t bytes)
{
	uint64_t all;
	uint32_t *count;

	if (!bytes || bytes > MAM_FIXED_MAX)
		return 0;
	all = MAM_FIXED_HEAD + (parts - 1) * mam_fixed_stride(map, bytes) + bytes;
	if (all > MAM_FIXED_MAX)
		return 0;
	count = (uint32_t *)mam_base_alloc(base, (size_t)all);
	if (count)
		mam_atomic_store32(count, parts, MAM_RELAXED, MAM_AT_DEVICE);
	return (uint64_t)(uintptr_t)count;
}

/* Part `i` of a block. */
MAM_KFN uint64_t mam_fixed_part(const struct mam_kmap *map, uint64_t block, uint32_t i,
				uint64_t bytes)
{
	return block + MAM_FIXED_HEAD + i * mam_fixed_stride(map, bytes);
}

MAM_KFN uint64_t *mam_fixed_header(uint64_t part)
{
	return (uint64_t *)(uintptr_t)(part - 8);
}

/* From now on a free of the part finds the block. False: the map has no space. */
MAM_KFN bool mam_fixed_enter(struct mam_kmap *map, uint64_t block, uint64_t part)
{
	if (map)
		return mam_map_insert(map, part, block);
	mam_atomic_store64(mam_fixed_header(part),
			   MAM_FIXED_MARK << MAM_FIXED_MARK_SHIFT | (part - block), MAM_RELAXED,
			   MAM_AT_DEVICE);
	return true;
}

/* Undo mam_fixed_enter() in the map. */
MAM_KFN void mam_fixed_withdraw(struct mam_kmap *map, uint64_t part)
{
	uint64_t block;

	(void)mam_map_remove(map, part, &block);
}

/* Read the block's address from a header, and clear the header; 0: it is not a header. */
MAM_KFN uint64_t mam_fixed_wipe(uint64_t part)
{
	uint64_t word, distance;

	if (!part || part % 16)
		return 0;
	word = mam_global_load64(mam_fixed_header(part), MAM_RELAXED, MAM_AT_DEVICE);
	distance = word & (MAM_FIXED_MAX - 1);
	if (word >> MAM_FIXED_MARK_SHIFT != MAM_FIXED_MARK || !distance || distance % 16 ||
	    distance >= part)
		return 0;
	mam_atomic_store64(mam_fixed_header(part), 0, MAM_RELAXED, MAM_AT_DEVICE);
	return part - distance;
}

/* Subtract parts from the count; the last ones free the block. */
MAM_KFN bool mam_fixed_less(struct mam_kbase base, uint64_t block, uint32_t parts)
{
	uint32_t *count = (uint32_t *)(uintptr_t)block;
	uint32_t had = mam_atomic_add32(count, 0 - parts, MAM_RELEASE, MAM_AT_DEVICE);

	if (had != parts)
		return had > parts;
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	return mam_base_free(base, count);
}

/* ---- a warp ---------------------------------------------------------------------------------- */

/*
 * All lanes of the warp that have not exited call together; converged lanes with equal `bytes`
 * share a block.
 */
MAM_KFN void *mam_fixed_alloc_warp(struct mam_kbase base, struct mam_kmap *map, size_t bytes)
{
	uint32_t here = mam_warp_active(), mask = mam_warp_match64(here, bytes);
	uint32_t leader = mam_lanes_leader(mask);
	uint64_t block = 0, part;
	bool entered;

	if (mam_lane() == leader)
		block = mam_fixed_ask(base, map, mam_popc32(mask), bytes);
	block = mam_warp_shuffle64(mask, block, leader);
	mam_warp_sync(mask);
	if (!block)
		return NULL;
	part = mam_fixed_part(map, block, mam_lanes_rank(mask), bytes);
	entered = mam_fixed_enter(map, block, part);
	if (map && mam_warp_ballot(mask, entered) != mask) {
		if (entered)
			mam_fixed_withdraw(map, part);
		mam_warp_sync(mask);
		if (mam_lane() == leader)
			(void)mam_base_free(base, (void *)(uintptr_t)block);
		return NULL;
	}
	return (void *)(uintptr_t)part;
}

/* ---- one lane -------------------------------------------------------------------------------- */

/* Any lane, alone or not, each with its own size: a block with one part and a header. */
MAM_KFN void *mam_fixed_alloc_one(struct mam_kbase base, size_t bytes)
{
	uint64_t block = mam_fixed_ask(base, NULL, 1, bytes), part;

	if (!block)
		return NULL;
	part = mam_fixed_part(NULL, block, 0, bytes);
	(void)mam_fixed_enter(NULL, block, part);
	return (void *)(uintptr_t)part;
}

/* ---- a thread block -------------------------------------------------------------------------- */

/* Exchanged between a thread block's leader and its other threads. */
struct mam_fixed_note {
	uint64_t block;
	uint64_t bytes;
	uint32_t full; /* the map had no space for at least one of them */
};

/*
 * All threads of the block call; `map` NULL: with headers, otherwise without. The last barrier
 * makes sure that all have read the note before the next call overwrites it.
 */
MAM_KFN void *mam_fixed_alloc_block(struct mam_kbase base, struct mam_kmap *map, size_t bytes)
{
	MAM_SHARED(struct mam_fixed_note, note);
	uint64_t block, each, part;
	bool entered, full = false;

	if (mam_block_leader()) {
		note->block = mam_fixed_ask(base, map, mam_block_threads(), bytes);
		note->bytes = bytes;
		note->full = 0;
	}
	mam_syncthreads();
	block = note->block;
	each = note->bytes;
	part = mam_fixed_part(map, block, mam_thread(), each);
	if (block && map) {
		entered = mam_fixed_enter(map, block, part);
		if (!entered)
			mam_atomic_store32(&note->full, 1, MAM_RELAXED, MAM_AT_BLOCK);
		mam_syncthreads();
		full = note->full;
		if (full && entered)
			mam_fixed_withdraw(map, part);
	} else if (block) {
		(void)mam_fixed_enter(map, block, part);
	}
	mam_syncthreads();
	if (full && mam_block_leader())
		(void)mam_base_free(base, (void *)(uintptr_t)block);
	return block && !full ? (void *)(uintptr_t)part : NULL;
}

/* ---- back ------------------------------------------------------------------------------------ */

/*
 * Free a part from any of the functions above, by any lane at any time; `map` as at the allocation.
 * False: an invalid free was detected, and nothing has changed.
 */
MAM_KFN bool mam_fixed_free(struct mam_kbase base, struct mam_kmap *map, void *part)
{
	uint64_t address = (uint64_t)(uintptr_t)part, block = 0;
	uint32_t mask = mam_warp_active(), group, leader;
	bool done = false;

	if (map)
		(void)mam_map_remove(map, address, &block);
	else
		block = mam_fixed_wipe(address);
	group = mam_warp_match64(mask, block);
	leader = mam_lanes_leader(group);
	mam_warp_sync(group);
	if (block && mam_lane() == leader)
		done = mam_fixed_less(base, block, mam_popc32(group));
	done = mam_warp_shuffle32(group, done, leader) != 0;
	return done || !part;
}

/*
 * Called by all lanes of a kernel, after all other kernels have ended: free the parts that are left
 * in the map. Returns how many parts the caller freed. For programs that leak parts, and to detect
 * leaks.
 */
MAM_KFN uint32_t mam_fixed_clean(struct mam_kbase base, struct mam_kmap *map)
{
	uint64_t at = (uint64_t)mam_block() * mam_block_threads() + mam_thread();
	uint64_t step = (uint64_t)mam_grid_blocks() * mam_block_threads(), value, part;
	uint32_t found = 0;

	MAM_ROLLED
	for (; at < mam_map_places(map); at += step) {
		part = mam_map_at(map, at, &value);
		if (part)
			found += mam_fixed_free(base, map, (void *)(uintptr_t)part);
	}
	return found;
}

#endif
