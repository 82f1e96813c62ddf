/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizeforest.h - the large holes of a pool by size: a tree by size for each eighth of an octave.
 *
 *  1. The class of a size: its highest bit and the three below. Each class has a tree (sizetree.h),
 *     most of them empty or of one or two sizes; a bit says which are not empty.
 *  2. best: in the tree of the request's class, where sizes may be too small; if none there will
 *     do, the smallest of the next class that has any.
 *
 * One tree for all sizes is MAM's, and does the same. In pieces it is as exact and half as deep:
 * with 30 different sizes a free of a gigabyte cost a third more than one of 256 bytes, and here a
 * tenth.
 *
 * Source: the first level of M. Masmano, I. Ripoll, A. Crespo and J. Real, "TLSF: a new dynamic
 * memory allocator for real-time systems", ECRTS 2004. We differ in keeping a class in order, so
 * that the fit is best and not good.
 *
 * Bound: O(log s) in distinct sizes of a class; best looks at 6 words of bits at most. lock: pool.
 */
#ifndef MAM_POOL_SIZEFOREST_H
#define MAM_POOL_SIZEFOREST_H

#include "pool/peers.h"
#include "pool/sizetree.h"

#define MAM_SIZEFOREST_LEAST_BIT 9u /* the smallest size is 2^9 granules */
#define MAM_SIZEFOREST_MOST_BIT 51u /* the largest: 2^55 bytes in granules of 16 */
#define MAM_SIZEFOREST_TREES ((MAM_SIZEFOREST_MOST_BIT - MAM_SIZEFOREST_LEAST_BIT + 1) * 8)
#define MAM_SIZEFOREST_WORDS ((MAM_SIZEFOREST_TREES + 63) / 64)

struct mam_sizeforest {
	uint32_t *root;                      /* of each class's tree; 0: empty */
	uint64_t full[MAM_SIZEFOREST_WORDS]; /* bit n: tree n is not empty */
	unsigned granule_shift;              /* lock: none, set at init */
};

/* mam_sizeforest_init - `roots` is zeroed memory for MAM_SIZEFOREST_TREES, the caller's. */
void mam_sizeforest_init(struct mam_sizeforest *forest, size_t granule, uint32_t *roots);

/* Sizes under the least belong before the first tree, sizes over the most into the last. */
static inline unsigned mam_sizeforest_class(const struct mam_sizeforest *forest, uint64_t bytes)
{
	uint64_t granules = bytes >> forest->granule_shift;
	unsigned bit;

	if (granules >> MAM_SIZEFOREST_LEAST_BIT == 0)
		return 0;
	bit = 63 - (unsigned)__builtin_clzll(granules);
	if (bit > MAM_SIZEFOREST_MOST_BIT)
		return MAM_SIZEFOREST_TREES - 1;
	return (bit - MAM_SIZEFOREST_LEAST_BIT) * 8 + (unsigned)(granules >> (bit - 3) & 7);
}

/*
 * Most classes hold one size: then the tree is its root alone, and insert and remove are the list's
 * (peers.h), as in a bin. Whichever record comes first is made the root, without children. pre:
 * root is not 0.
 */
static inline bool mam_sizeforest_one_size(const struct mam_records *segments, uint32_t root)
{
	const struct mam_rbnode *node = &mam_segment_at(segments, root)->by_size;

	return (node->child[MAM_RB_LEFT] | node->child[MAM_RB_RIGHT]) == 0;
}

/* pre of the next two: the segment is of 512 granules or more */
static inline void mam_sizeforest_insert(struct mam_sizeforest *forest,
					 const struct mam_records *segments, uint32_t handle)
{
	struct mam_segment *segment = mam_segment_at(segments, handle);
	unsigned tree = mam_sizeforest_class(forest, segment->bytes);
	uint32_t root = forest->root[tree];

	if (root == 0 || (mam_sizeforest_one_size(segments, root) &&
			  mam_segment_at(segments, root)->bytes == segment->bytes)) {
		segment->by_size = (struct mam_rbnode){ 0, { 0, 0 } };
		forest->root[tree] = mam_peers_put(segments, root, handle);
	} else {
		mam_sizetree_insert(segments, &forest->root[tree], handle);
	}
	forest->full[tree / 64] |= (uint64_t)1 << tree % 64;
}

static inline void mam_sizeforest_remove(struct mam_sizeforest *forest,
					 const struct mam_records *segments, uint32_t handle)
{
	unsigned tree = mam_sizeforest_class(forest, mam_segment_at(segments, handle)->bytes);
	uint32_t root = forest->root[tree];

	if (mam_sizeforest_one_size(segments, root)) {
		root = mam_peers_take(segments, root, handle);
		mam_segment_at(segments, root)->by_size = (struct mam_rbnode){ 0, { 0, 0 } };
		forest->root[tree] = root;
	} else {
		mam_sizetree_remove(segments, &forest->root[tree], handle);
	}
	forest->full[tree / 64] &= ~((uint64_t)(forest->root[tree] == 0) << tree % 64);
}

/* mam_sizeforest_best - one of the smallest holes of at least `bytes`; 0 if there is none here. */
uint32_t mam_sizeforest_best(const struct mam_sizeforest *forest,
			     const struct mam_records *segments, uint64_t bytes);

/* mam_sizeforest_below - one of the largest holes under `bytes`; 0 if there is none here. */
uint32_t mam_sizeforest_below(const struct mam_sizeforest *forest,
			      const struct mam_records *segments, uint64_t bytes);

/* mam_sizeforest_check - NULL or one sentence; adds the holes to *count, which `most` bounds. */
const char *mam_sizeforest_check(const struct mam_sizeforest *forest,
				 const struct mam_records *segments, uint64_t most,
				 uint64_t *count);

#endif
