/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag.h - what is known of a block without its pool's lock: one word, found by its address.
 *
 *  1. Addresses below 2^48 are cut into granules of 512 bytes; each may have a tag of 64 bits. The
 *     tags of 2 MiB of addresses are a leaf. A leaf is found through two levels: the root's entry
 *     for 32 GiB, and that level's entry for the 2 MiB. Both are made when first needed, and stay.
 *  2. Only a block that went through a cache has a tag, at its first granule. It is
 *       LIVE     a caller holds it: of which pool, how long, what was asked for
 *       CACHED   in a thread's bins or in the depot: in whose, how long, and which block is next
 *     and 0 where there is none: the pool's record alone knows.
 *  3. Whoever holds a block may write its tag: its caller's free, then the owner of the bins.
 *     Reads and writes are relaxed atomics. A program that frees one block from two threads at
 *     once breaks that rule; then the last write stands, and the bins that lost notice by the seat
 *     number in the tag (bins.h).
 *
 *   LIVE    pool 20 | zero 7 | requested 22 | granules 13 | state 2
 *   CACHED  seat 10 | next granule's number 39 | granules 13 | state 2
 *
 * A tag says LIVE or CACHED of a pool that stands only while that pool's record of the block says
 * live. Tags of pools that ended may remain; their number is no other pool's.
 *
 * Bound: three loads to find a tag. Memory: address space for 1/64 of the addresses that blocks lie
 * at, in whole leaves; real memory for each 4 KiB of it that has had a tag, which is 256 KiB of
 * addresses.
 */
#ifndef MAM_CACHE_TAG_H
#define MAM_CACHE_TAG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAM_TAG_GRANULE 512u
#define MAM_TAG_SHIFT 9
#define MAM_TAG_MOST 2048u /* granules of the largest block that has a tag: 1 MiB */

#define MAM_TAG_LEAF_SHIFT 21
#define MAM_TAG_MIDDLE_SHIFT 35
#define MAM_TAG_ADDRESS_SHIFT 48
#define MAM_TAG_LEAF_TAGS (1u << (MAM_TAG_LEAF_SHIFT - MAM_TAG_SHIFT))
#define MAM_TAG_MIDDLE_LEAVES (1u << (MAM_TAG_MIDDLE_SHIFT - MAM_TAG_LEAF_SHIFT))
#define MAM_TAG_ROOT_MIDDLES (1u << (MAM_TAG_ADDRESS_SHIFT - MAM_TAG_MIDDLE_SHIFT))

#define MAM_TAG_NONE 0u
#define MAM_TAG_LIVE 1u
#define MAM_TAG_CACHED 2u

#define MAM_TAG_SEATS 1024u       /* numbers of seats; 0 is the depot's */
#define MAM_TAG_POOLS (1u << 20)

/* What must be equal for a block to be live in a pool, and for a block to be in a seat's bin. */
#define MAM_TAG_LIVE_MASK (UINT64_C(0xfffff) << 44 | 3)
#define MAM_TAG_CACHED_MASK (UINT64_C(0x3ff) << 54 | UINT64_C(0x1fff) << 2 | 3)

typedef _Atomic uint64_t mam_tag_word;
typedef _Atomic(mam_tag_word *) mam_tag_leaf;

extern _Atomic(mam_tag_leaf *) mam_tag_root[MAM_TAG_ROOT_MIDDLES];

static inline uint64_t mam_tag_live_key(uint64_t pool)
{
	return pool << 44 | MAM_TAG_LIVE;
}

static inline uint64_t mam_tag_live(uint64_t key, uint64_t granules, uint64_t requested)
{
	return key | requested << 15 | granules << 2;
}

static inline uint64_t mam_tag_cached_key(uint64_t seat)
{
	return seat << 54 | MAM_TAG_CACHED;
}

static inline uint64_t mam_tag_cached(uint64_t key, uint64_t granules, uint64_t next)
{
	return key | next << 15 | granules << 2;
}

static inline unsigned mam_tag_state(uint64_t tag)
{
	return (unsigned)(tag & 3);
}

static inline uint64_t mam_tag_granules(uint64_t tag)
{
	return tag >> 2 & 0x1fff;
}

static inline uint64_t mam_tag_requested(uint64_t live)
{
	return live >> 15 & 0x3fffff;
}

static inline uint64_t mam_tag_pool(uint64_t live)
{
	return live >> 44;
}

static inline uint64_t mam_tag_next(uint64_t cached)
{
	return cached >> 15 & ((UINT64_C(1) << 39) - 1);
}

/* mam_tag_find - where the tag of a granule is; NULL: none was ever made near it. */
static inline mam_tag_word *mam_tag_find(uintptr_t address)
{
	mam_tag_leaf *middle;
	mam_tag_word *leaf;

	if (address >> MAM_TAG_ADDRESS_SHIFT != 0)
		return NULL;
	middle = atomic_load_explicit(&mam_tag_root[address >> MAM_TAG_MIDDLE_SHIFT],
				      memory_order_acquire);
	if (!middle)
		return NULL;
	leaf = atomic_load_explicit(
		&middle[address >> MAM_TAG_LEAF_SHIFT & (MAM_TAG_MIDDLE_LEAVES - 1)],
		memory_order_acquire);
	if (!leaf)
		return NULL;
	return &leaf[address >> MAM_TAG_SHIFT & (MAM_TAG_LEAF_TAGS - 1)];
}

static inline uint64_t mam_tag_read(const mam_tag_word *tag)
{
	return atomic_load_explicit(tag, memory_order_relaxed);
}

static inline void mam_tag_write(mam_tag_word *tag, uint64_t value)
{
	atomic_store_explicit(tag, value, memory_order_relaxed);
}

/* mam_tag_of - the tag of an address as it is now; 0: none, or no first byte of a granule. */
static inline uint64_t mam_tag_of(uintptr_t address)
{
	const mam_tag_word *tag =
		address % MAM_TAG_GRANULE == 0 ? mam_tag_find(address) : NULL;

	return tag ? mam_tag_read(tag) : MAM_TAG_NONE;
}

/* mam_tag_make - as find, and makes what is missing; NULL: no host memory, or a high address. */
mam_tag_word *mam_tag_make(uintptr_t address);

/* Around a fork: the lock under which leaves are cut. */
void mam_tag_fork_prepare(void);
void mam_tag_fork_parent(void);
void mam_tag_fork_child(void);

#endif
