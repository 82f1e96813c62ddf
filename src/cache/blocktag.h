/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocktag.h - what is known of a block without its pool's lock: one word, found by its address.
 *
 *  1. Addresses below 2^48 are divided into regions of 32 GiB. Each has a table that is made on
 *     first use and never freed. A block of 32 KiB or more has its tag in the table's word for the
 *     32 KiB window in which it begins: no two such blocks begin in one window. The tag contains
 *     the offset in the window. A smaller block has its tag in a leaf, which has one word per
 *     granule of 512 bytes in 2 MiB.
 *  2. Only a block that went through a cache has a tag. It is
 *       LIVE     a caller holds the block: its pool, its length, the requested size
 *       CACHED   in a thread's bins or in the transfer cache: which one, its length, and the next
 *                block; kept: in a group of retired blocks instead (kept.h)
 *     and 0 otherwise: then only the pool's record describes the block.
 *  3. The holder of a block may write its tag: its caller's free, then the owner of the bins. Reads
 *     and writes are relaxed atomics. A program that frees one block from two threads at once
 *     breaks that rule. Then the last write wins, and the bins that lost the block notice it by the
 *     thread cache number in the tag (bins.h).
 *
 *   LIVE    pool 20 | zero 1 | granule in window 6 | requested 22 | granules 12 | zero 1 | state 2
 *   CACHED  thread cache 10 | next granule's number 39 | granules 12 | kept 1 | state 2
 *
 * A tag is LIVE or CACHED for an existing pool only while that pool's record of the block is live.
 * Pool numbers are reused: when a pool ends, no tag of its number remains.
 *
 * Bound: three loads to find a large block's tag, five for a small one's. Memory: 8 bytes for each
 * 32 KiB of addresses and each 512 bytes of those with small blocks, one page at a time. (A leaf
 * for all sizes cost one page per block of 256 KiB and up: 1,000 blocks of up to 1 MiB took 286 ns
 * per operation, most of it page faults, where the pool alone took 95.)
 */
#ifndef MAM_CACHE_BLOCKTAG_H
#define MAM_CACHE_BLOCKTAG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAM_BLOCKTAG_GRANULE 512u
#define MAM_BLOCKTAG_SHIFT 9
#define MAM_BLOCKTAG_MAX 2048u /* granules of the largest block that has a tag: 1 MiB */

#define MAM_BLOCKTAG_LARGE 64u /* granules: minimum size of a block whose tag is in the table */
#define MAM_BLOCKTAG_WINDOW_SHIFT 15
#define MAM_BLOCKTAG_LEAF_SHIFT 21
#define MAM_BLOCKTAG_REGION_SHIFT 35
#define MAM_BLOCKTAG_ADDRESS_SHIFT 48
#define MAM_BLOCKTAG_LEAF_TAGS (1u << (MAM_BLOCKTAG_LEAF_SHIFT - MAM_BLOCKTAG_SHIFT))
#define MAM_BLOCKTAG_WINDOWS (1u << (MAM_BLOCKTAG_REGION_SHIFT - MAM_BLOCKTAG_WINDOW_SHIFT))
#define MAM_BLOCKTAG_LEAVES (1u << (MAM_BLOCKTAG_REGION_SHIFT - MAM_BLOCKTAG_LEAF_SHIFT))
#define MAM_BLOCKTAG_REGIONS (1u << (MAM_BLOCKTAG_ADDRESS_SHIFT - MAM_BLOCKTAG_REGION_SHIFT))

_Static_assert(MAM_BLOCKTAG_LARGE << MAM_BLOCKTAG_SHIFT == 1u << MAM_BLOCKTAG_WINDOW_SHIFT,
	       "no two large blocks begin in one window");

#define MAM_BLOCKTAG_PLACE_SHIFT 37

#define MAM_BLOCKTAG_NONE 0u
#define MAM_BLOCKTAG_LIVE 1u
#define MAM_BLOCKTAG_CACHED 2u
#define MAM_BLOCKTAG_KEPT 4u /* with CACHED */

#define MAM_BLOCKTAG_TCACHES 1024u /* numbers of thread caches; 0 is the transfer cache */
#define MAM_BLOCKTAG_POOLS (1u << 20)

/* Bits that identify a live block of a pool, and a block in the bin of a thread cache. */
#define MAM_BLOCKTAG_LIVE_MASK (UINT64_C(0xfffff) << 44 | UINT64_C(0x3f) << 37 | 3)
#define MAM_BLOCKTAG_CACHED_MASK (UINT64_C(0x3ff) << 54 | UINT64_C(0xfff) << 3 | 3)

typedef _Atomic uint64_t mam_blocktag_word;

struct mam_blocktag_table {
	mam_blocktag_word large[MAM_BLOCKTAG_WINDOWS];
	_Atomic(mam_blocktag_word *) leaves[MAM_BLOCKTAG_LEAVES];
};

extern _Atomic(struct mam_blocktag_table *) mam_blocktag_root[MAM_BLOCKTAG_REGIONS];

static inline uint64_t mam_blocktag_live_key(uint64_t pool)
{
	return pool << 44 | MAM_BLOCKTAG_LIVE;
}

/* The position of a block's first granule in its window. */
static inline uint64_t mam_blocktag_place(uintptr_t address)
{
	return (uint64_t)(address >> MAM_BLOCKTAG_SHIFT & (MAM_BLOCKTAG_LARGE - 1))
	       << MAM_BLOCKTAG_PLACE_SHIFT;
}

static inline uint64_t mam_blocktag_live(uint64_t key, uintptr_t address, uint64_t granules,
					 uint64_t requested)
{
	return key | mam_blocktag_place(address) | requested << 15 | granules << 3;
}

static inline uint64_t mam_blocktag_cached_key(uint64_t tcache)
{
	return tcache << 54 | MAM_BLOCKTAG_CACHED;
}

/* mam_blocktag_tcache - the number of the thread cache of such a key. */
static inline unsigned mam_blocktag_tcache(uint64_t key)
{
	return (unsigned)(key >> 54);
}

static inline uint64_t mam_blocktag_cached(uint64_t key, uint64_t granules, uint64_t next)
{
	return key | next << 15 | granules << 3;
}

static inline unsigned mam_blocktag_state(uint64_t tag)
{
	return (unsigned)(tag & 3);
}

static inline uint64_t mam_blocktag_granules(uint64_t tag)
{
	return tag >> 3 & 0xfff;
}

static inline uint64_t mam_blocktag_requested(uint64_t live)
{
	return live >> 15 & 0x3fffff;
}

static inline uint64_t mam_blocktag_pool(uint64_t live)
{
	return live >> 44;
}

static inline uint64_t mam_blocktag_next(uint64_t cached)
{
	return cached >> 15 & ((UINT64_C(1) << 39) - 1);
}

static inline struct mam_blocktag_table *mam_blocktag_table_of(uintptr_t address)
{
	return address >> MAM_BLOCKTAG_ADDRESS_SHIFT != 0
		       ? NULL
		       : atomic_load_explicit(
				 &mam_blocktag_root[address >> MAM_BLOCKTAG_REGION_SHIFT],
				 memory_order_acquire);
}

static inline mam_blocktag_word *mam_blocktag_in_table(struct mam_blocktag_table *table,
						       uintptr_t address)
{
	return &table->large[address >> MAM_BLOCKTAG_WINDOW_SHIFT & (MAM_BLOCKTAG_WINDOWS - 1)];
}

static inline _Atomic(mam_blocktag_word *) *mam_blocktag_leaf_of(struct mam_blocktag_table *table,
								 uintptr_t address)
{
	return &table->leaves[address >> MAM_BLOCKTAG_LEAF_SHIFT & (MAM_BLOCKTAG_LEAVES - 1)];
}

/* NULL: there is no leaf. */
static inline mam_blocktag_word *mam_blocktag_in_leaf(struct mam_blocktag_table *table,
						      uintptr_t address)
{
	mam_blocktag_word *leaf =
		atomic_load_explicit(mam_blocktag_leaf_of(table, address), memory_order_acquire);

	return leaf ? &leaf[address >> MAM_BLOCKTAG_SHIFT & (MAM_BLOCKTAG_LEAF_TAGS - 1)] : NULL;
}

/*
 * mam_blocktag_known - the same word. pre: a block of that length and address has, or had, a tag.
 */
static inline mam_blocktag_word *mam_blocktag_known(uintptr_t address, uint64_t granules)
{
	struct mam_blocktag_table *table = atomic_load_explicit(
		&mam_blocktag_root[address >> MAM_BLOCKTAG_REGION_SHIFT], memory_order_acquire);
	mam_blocktag_word *leaf;

	if (granules >= MAM_BLOCKTAG_LARGE)
		return mam_blocktag_in_table(table, address);
	leaf = atomic_load_explicit(mam_blocktag_leaf_of(table, address), memory_order_acquire);
	return &leaf[address >> MAM_BLOCKTAG_SHIFT & (MAM_BLOCKTAG_LEAF_TAGS - 1)];
}

/* mam_blocktag_find - the word for the tag of a block of that length; NULL: it was never made. */
static inline mam_blocktag_word *mam_blocktag_find(uintptr_t address, uint64_t granules)
{
	struct mam_blocktag_table *table = mam_blocktag_table_of(address);

	if (!table)
		return NULL;
	return granules >= MAM_BLOCKTAG_LARGE ? mam_blocktag_in_table(table, address)
					      : mam_blocktag_in_leaf(table, address);
}

static inline uint64_t mam_blocktag_read(const mam_blocktag_word *tag)
{
	return atomic_load_explicit(tag, memory_order_relaxed);
}

static inline void mam_blocktag_write(mam_blocktag_word *tag, uint64_t value)
{
	atomic_store_explicit(tag, value, memory_order_relaxed);
}

/*
 * mam_blocktag_live_at - the tag, and its value, of a block of any length that is live at exactly this
 * address in the pool of that key; NULL: there is none.
 */
static inline mam_blocktag_word *mam_blocktag_live_at(uintptr_t address, uint64_t key,
						      uint64_t *value)
{
	/* The low bits are on top: the number is in range if the address is, and is aligned. */
	uint64_t number = (uint64_t)address >> MAM_BLOCKTAG_SHIFT |
			  (uint64_t)address << (64 - MAM_BLOCKTAG_SHIFT);
	uint64_t wanted = key | (number & (MAM_BLOCKTAG_LARGE - 1)) << MAM_BLOCKTAG_PLACE_SHIFT;
	struct mam_blocktag_table *table;
	mam_blocktag_word *tag;

	if (number >> (MAM_BLOCKTAG_ADDRESS_SHIFT - MAM_BLOCKTAG_SHIFT) != 0)
		return NULL;
	table = atomic_load_explicit(
		&mam_blocktag_root[number >> (MAM_BLOCKTAG_REGION_SHIFT - MAM_BLOCKTAG_SHIFT)],
		memory_order_acquire);
	if (!table)
		return NULL;
	tag = mam_blocktag_in_table(table, address);
	*value = mam_blocktag_read(tag);
	if ((*value & MAM_BLOCKTAG_LIVE_MASK) == wanted)
		return tag;
	tag = mam_blocktag_in_leaf(table, address);
	if (!tag)
		return NULL;
	*value = mam_blocktag_read(tag);
	return (*value & MAM_BLOCKTAG_LIVE_MASK) == wanted ? tag : NULL;
}

/* mam_blocktag_of - the present tag of a block of that length; 0: none. */
static inline uint64_t mam_blocktag_of(uintptr_t address, uint64_t granules)
{
	const mam_blocktag_word *tag = mam_blocktag_find(address, granules);

	return tag ? mam_blocktag_read(tag) : MAM_BLOCKTAG_NONE;
}

/* mam_blocktag_may_be_cached - false: no block that begins here is in a cache. */
static inline bool mam_blocktag_may_be_cached(uintptr_t address)
{
	return mam_blocktag_state(mam_blocktag_of(address, MAM_BLOCKTAG_LARGE)) ==
		       MAM_BLOCKTAG_CACHED ||
	       mam_blocktag_state(mam_blocktag_of(address, 1)) == MAM_BLOCKTAG_CACHED;
}

/* mam_blocktag_is_none - true: no block that begins here went through a cache. False is inconclusive. */
static inline bool mam_blocktag_is_none(uintptr_t address)
{
	return (mam_blocktag_of(address, MAM_BLOCKTAG_LARGE) | mam_blocktag_of(address, 1)) ==
	       MAM_BLOCKTAG_NONE;
}

/* mam_blocktag_make - as find, but makes missing tables; NULL: no host memory, or a high address. */
mam_blocktag_word *mam_blocktag_make(uintptr_t address, uint64_t granules);

/* Around a fork: the lock under which leaves are allocated. */
void mam_blocktag_fork_prepare(void);
void mam_blocktag_fork_parent(void);
void mam_blocktag_fork_child(void);

#endif
