/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freelists.h - segregated free lists: all free blocks of a pool by size.
 *
 *  1. Sizes are divided into classes: below 2048 granules one class per size, above that 1024
 *     classes per octave. One bit per class marks the classes that are not empty, and one bit per
 *     word of those marks the words that are not 0.
 *  2. A class that contains one size is a list (peers.h): this applies to all small classes and
 *     most others. A class of several sizes is a tree (sizetree.h). The low bit of its root
 *     distinguishes them.
 *  3. best: search the request's own class, where blocks may be too small. If none of them fits,
 *     use the smallest of the next nonempty class, which the bits show.
 *
 * MAM uses one tree for all sizes, with the same result. But a descent is a chain of dependent
 * loads and unpredictable branches. By the number of classes per octave, each time with one class
 * per size below two octaves of them (ns per operation, workload random, 10,000 blocks):
 *
 *                       64    256    512   1024   4096
 *      to 1 MiB         88     81     76     73     76
 *      to 4 MiB         93     84     79     77     79
 *      to 64 MiB        78     73     71     70     70
 *
 * Source: the first level of M. Masmano, I. Ripoll, A. Crespo and J. Real, "TLSF: a new dynamic
 * memory allocator for real-time systems", ECRTS 2004, and the small bins of D. Lea, "A Memory
 * Allocator", 1996. We differ in keeping a class in order, so that the fit is best fit and not good
 * fit.
 *
 * Bound: O(1) for small sizes, O(log s) in distinct sizes of a class for the rest; best and below
 * read two words of bits and at most eleven of those above them. Memory: a few pages, one of them for each
 * octave of sizes that ever occurred. lock: pool.
 *
 * Invariants between calls: each free segment except the tail is in the class of its size; a class
 * is a tree if it contains two sizes or more.
 */
#ifndef MAM_INDEX_FREELISTS_H
#define MAM_INDEX_FREELISTS_H

#include <stdbool.h>

#include "index/peers.h"
#include "index/sizetree.h"

#define MAM_FREELISTS_FINE 10u    /* classes per octave: 2 to the power of this */
#define MAM_FREELISTS_MAX_BIT 51u /* of the largest size: 2^55 bytes in granules of 16 */
#define MAM_FREELISTS_CLASSES \
	((MAM_FREELISTS_MAX_BIT - MAM_FREELISTS_FINE + 2) << MAM_FREELISTS_FINE)
#define MAM_FREELISTS_WORDS (MAM_FREELISTS_CLASSES / 64)
#define MAM_FREELISTS_SUMS ((MAM_FREELISTS_WORDS + 63) / 64)
#define MAM_FREELISTS_TREE 1u /* in a root: it is a tree, not a list */

struct mam_freelists_metadata {
	uint32_t root[MAM_FREELISTS_CLASSES]; /* of a list or, with the bit, of a tree; 0: empty */
	uint64_t octaves;                     /* bit n: octave n ever had a segment */
	uint64_t sums[MAM_FREELISTS_SUMS];    /* bit n: full[n] is not 0 */
	uint64_t
		full[MAM_FREELISTS_WORDS + 1]; /* bit n: class n is not empty; the last word is 0 */
};

struct mam_freelists {
	struct mam_freelists_metadata *metadata; /* in pages of its own */
	unsigned granule_shift;                  /* lock: none, set at init */
};

enum mam_status mam_freelists_init(struct mam_freelists *freelists, size_t granule);
void mam_freelists_fini(struct mam_freelists *freelists);

/* mam_freelists_bytes - host memory that they use: pages that were ever written. */
size_t mam_freelists_bytes(const struct mam_freelists *freelists);

/* Sizes above the maximum belong to the last class. */
static inline uint64_t mam_freelists_class(const struct mam_freelists *freelists, uint64_t bytes)
{
	uint64_t granules = bytes >> freelists->granule_shift;
	unsigned shift = 63 - MAM_FREELISTS_FINE -
			 (unsigned)__builtin_clzll(granules | (uint64_t)1 << MAM_FREELISTS_FINE);
	uint64_t class = ((uint64_t)shift << MAM_FREELISTS_FINE) + (granules >> shift);

	return class < MAM_FREELISTS_CLASSES ? class : MAM_FREELISTS_CLASSES - 1;
}

/* Slow paths: a class is a tree, or must become a tree or a list. */
void mam_freelists_insert_into_tree(struct mam_freelists_metadata *metadata,
				    const struct mam_records *segments, uint64_t class,
				    uint32_t handle);
void mam_freelists_remove_from_tree(struct mam_freelists_metadata *metadata,
				    const struct mam_records *segments, uint64_t class,
				    uint32_t handle);
uint32_t mam_freelists_best_in_tree(const struct mam_records *segments, uint32_t root,
				    uint64_t bytes);

static inline void mam_freelists_insert(struct mam_freelists *freelists,
					const struct mam_records *segments, uint32_t handle)
{
	struct mam_freelists_metadata *metadata = freelists->metadata;
	uint64_t bytes = mam_segment_at(segments, handle)->bytes;
	uint64_t class = mam_freelists_class(freelists, bytes);
	uint32_t root = metadata->root[class];
	uint32_t first = root & ~MAM_FREELISTS_TREE;
	/* One branch for all cases: record 0, which stands for no segment, may be read. */
	bool listed =
		(root == first) & ((root == 0) | (mam_segment_at(segments, first)->bytes == bytes));

	if (!listed) {
		mam_freelists_insert_into_tree(metadata, segments, class, handle);
		return;
	}
	metadata->root[class] = mam_peers_put(segments, root, handle);
	metadata->octaves |= (uint64_t)1 << (class >> MAM_FREELISTS_FINE);
	metadata->full[class / 64] |= (uint64_t)1 << class % 64;
	metadata->sums[class / 4096] |= (uint64_t)1 << class / 64 % 64;
}

static inline void mam_freelists_remove(struct mam_freelists *freelists,
					const struct mam_records *segments, uint32_t handle)
{
	struct mam_freelists_metadata *metadata = freelists->metadata;
	uint64_t class = mam_freelists_class(freelists, mam_segment_at(segments, handle)->bytes);
	uint32_t root = metadata->root[class];
	uint64_t full;

	if ((root & MAM_FREELISTS_TREE) != 0) {
		mam_freelists_remove_from_tree(metadata, segments, class, handle);
		return;
	}
	root = mam_peers_take(segments, root, handle);
	metadata->root[class] = root;
	full = metadata->full[class / 64] & ~((uint64_t)(root == 0) << class % 64);
	metadata->full[class / 64] = full;
	metadata->sums[class / 4096] &= ~((uint64_t)(full == 0) << class / 64 % 64);
}

/* The first nonempty class at or above `class`; MAM_FREELISTS_CLASSES if there is none. */
static inline uint64_t mam_freelists_full_from(const struct mam_freelists_metadata *metadata,
					       uint64_t class)
{
	uint64_t word = class / 64;
	uint64_t left = metadata->full[word] & ~(uint64_t)0 << class % 64;
	uint64_t sum;

	if (left != 0)
		return word * 64 + (unsigned)__builtin_ctzll(left);
	word++;
	for (sum = word / 64, left = ~(uint64_t)0 << word % 64; sum < MAM_FREELISTS_SUMS;
	     sum++, left = ~(uint64_t)0) {
		left &= metadata->sums[sum];
		if (left == 0)
			continue;
		word = sum * 64 + (unsigned)__builtin_ctzll(left);
		return word * 64 + (unsigned)__builtin_ctzll(metadata->full[word]);
	}
	return MAM_FREELISTS_CLASSES;
}

/* mam_freelists_best - one of the smallest free blocks of at least `bytes`; 0 if there is none. */
static inline uint32_t mam_freelists_best(const struct mam_freelists *freelists,
					  const struct mam_records *segments, uint64_t bytes)
{
	const struct mam_freelists_metadata *metadata = freelists->metadata;
	uint64_t class = mam_freelists_class(freelists, bytes);
	uint32_t root = metadata->root[class];
	uint32_t found;

	/* A fit in the request's own class is better than any above. Record 0 never fits. */
	if ((root & MAM_FREELISTS_TREE) != 0) {
		found = mam_freelists_best_in_tree(segments, root, bytes);
		if (found != 0)
			return found;
	} else if ((root != 0) & (mam_segment_at(segments, root)->bytes >= bytes)) {
		return root;
	}
	class = mam_freelists_full_from(metadata, class + 1);
	if (class == MAM_FREELISTS_CLASSES)
		return 0;
	root = metadata->root[class];
	return (root & MAM_FREELISTS_TREE) != 0 ? mam_freelists_best_in_tree(segments, root, bytes)
						: root;
}

/*
 * mam_freelists_best_aligned - the same among free blocks that contain `bytes` at a multiple of
 * `alignment`. As fast as best if there is a block of bytes + alignment or if one of the first few
 * fits; otherwise it checks every candidate before it returns 0.
 */
uint32_t mam_freelists_best_aligned(const struct mam_freelists *freelists,
				    const struct mam_records *segments, uint64_t bytes,
				    uint64_t alignment);

/* mam_freelists_below - one of the largest under `bytes`; 0 if there is none. */
uint32_t mam_freelists_below(const struct mam_freelists *freelists,
			     const struct mam_records *segments, uint64_t bytes);

/* mam_freelists_largest - one of the largest; 0 if there is none. */
uint32_t mam_freelists_largest(const struct mam_freelists *freelists,
			       const struct mam_records *segments);

/*
 * mam_freelists_largest_inner - the same without segments that end their chunk: it skips at most one
 * per chunk.
 */
uint32_t mam_freelists_largest_inner(const struct mam_freelists *freelists,
				     const struct mam_records *segments);

/* mam_freelists_check - NULL and the number of free blocks, or one sentence. */
const char *mam_freelists_check(const struct mam_freelists *freelists,
				const struct mam_records *segments, uint64_t *count);

#endif
