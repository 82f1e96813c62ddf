/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blockmap.h - map a block's address to its segment record, in one cache miss.
 *
 * The tree by address could do this, but its path is log2 n cache misses long: with 200,000
 * segments the lookup was most of the cost of a free. This table nearly always has the record. It
 * may miss a live block; then the tree is searched. This keeps the table simple:
 *
 *  1. A bucket is one cache line with 8 entries of (tag, handle), found by a hash of the address. A
 *     full bucket drops an entry.
 *     Comparing all tags of a bucket at once, by arithmetic on two words, brought no gain with many
 *     blocks and was 2 ns slower with few: a predicted branch does not wait for the value that it
 *     tests.
 *  2. When it is half full, a table of twice the size replaces it. Each operation moves two buckets
 *     of the old table, so no operation is long. If there is no memory for the new table, the old
 *     one stays in use.
 *  3. An entry counts only if its record is live and begins at the requested address.
 *
 * Bound: O(1) each. Memory: 16 to 32 bytes per live block, half as much again while the old table
 * is being moved. lock: pool.
 */
#ifndef MAM_INDEX_BLOCKMAP_H
#define MAM_INDEX_BLOCKMAP_H

#include "index/segment.h"

struct mam_blocktable {
	uint64_t *entries; /* buckets x 8, each tag << 32 | handle, 0 empty; NULL: no table */
	unsigned log2_buckets;
};

struct mam_blockmap {
	struct mam_blocktable now;
	struct mam_blocktable old; /* being emptied into `now`; entries NULL otherwise */
	size_t old_at;             /* buckets of `old` below this index are empty */
	uint64_t count;            /* live blocks that were inserted, dropped ones included */
};

enum mam_status mam_blockmap_init(struct mam_blockmap *map);
void mam_blockmap_fini(struct mam_blockmap *map);

/* mam_blockmap_insert - insert the new block at mam_segment_at(handle)->base. */
void mam_blockmap_insert(struct mam_blockmap *map, const struct mam_records *segments,
			 uint32_t handle);

/*
 * mam_blockmap_find - return the record of the live block at exactly `address`, or 0: search the
 * tree.
 */
uint32_t mam_blockmap_find(const struct mam_blockmap *map, const struct mam_records *segments,
			   uint64_t address);

/* mam_blockmap_take - the same, and remove the entry, if there is one: the block is freed. */
uint32_t mam_blockmap_take(struct mam_blockmap *map, const struct mam_records *segments,
			   uint64_t address);

/* mam_blockmap_missed - a block is freed that the table does not have: only the count changes. */
void mam_blockmap_missed(struct mam_blockmap *map);

size_t mam_blockmap_bytes(const struct mam_blockmap *map);

/*
 * mam_blockmap_check - check that every entry names a live record of its own address, and that no
 * record is named twice. Returns NULL or one sentence.
 */
const char *mam_blockmap_check(const struct mam_blockmap *map, const struct mam_records *segments);

#endif
