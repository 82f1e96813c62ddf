/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blockmap.h - from a block's address to its segment record, in one cache miss.
 *
 * The tree by address could answer, but its path is log2 n cache misses long: with 200,000 segments
 * it was most of the cost of a free. This table answers nearly always, and may say "not here" of a
 * block that is live: then the tree answers. That licence keeps it simple:
 *
 *  1. Buckets of one cache line, 8 entries of (tag, handle), found by a hash of the address. A full
 *     bucket forgets one.
 *     All tags of a bucket compared at once, by arithmetic on two words, were no faster among many
 *     blocks and 2 ns slower among few: a branch that is guessed does not wait for what it tests.
 *  2. At half full a table of twice the size takes over. The old one is emptied into it two buckets
 *     an operation, so no operation is long. If there is no memory for it, the old one serves on.
 *  3. An entry is believed only when its record is live and begins at the address asked for.
 *
 * Bound: O(1) each. Memory: 16 to 32 bytes a live block, half as much again while a table is being
 * emptied. lock: pool.
 */
#ifndef MAM_POOL_BLOCKMAP_H
#define MAM_POOL_BLOCKMAP_H

#include "pool/segment.h"

struct mam_blocktable {
	uint64_t *entries; /* buckets x 8, each tag << 32 | handle, 0 empty; NULL: no table */
	unsigned log2_buckets;
};

struct mam_blockmap {
	struct mam_blocktable now;
	struct mam_blocktable old; /* being emptied into `now`; entries NULL otherwise */
	size_t old_at;             /* buckets of `old` below this one are empty */
	uint64_t count;            /* live blocks told to it, forgotten ones included */
};

enum mam_status mam_blockmap_init(struct mam_blockmap *map);
void mam_blockmap_fini(struct mam_blockmap *map);

/* mam_blockmap_insert - a block at mam_segment_at(handle)->base came to life. */
void mam_blockmap_insert(struct mam_blockmap *map, const struct mam_records *segments,
			 uint32_t handle);

/*
 * mam_blockmap_find - the record of the live block at exactly `address`, or 0 for "ask the tree".
 */
uint32_t mam_blockmap_find(const struct mam_blockmap *map, const struct mam_records *segments,
			   uint64_t address);

/* mam_blockmap_take - as find, and forget the entry it was found by: the block ends. */
uint32_t mam_blockmap_take(struct mam_blockmap *map, const struct mam_records *segments,
			   uint64_t address);

/* mam_blockmap_missed - a block ends that the table did not know: only the count changes. */
void mam_blockmap_missed(struct mam_blockmap *map);

size_t mam_blockmap_bytes(const struct mam_blockmap *map);

/*
 * mam_blockmap_check - every entry names a live record of its own address, and none twice. NULL or
 * one sentence.
 */
const char *mam_blockmap_check(const struct mam_blockmap *map, const struct mam_records *segments);

#endif
