/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizetree.h - the holes of a pool by size: MAM's tree-dictionary.
 *
 * One node a size; the holes of equal size (peers) are a list, and its first one stands in the tree by size.
 *
 *  1. best: descend by size to the least one not under the request; take the first of its peers.
 *  2. insert: a hole that lies lower than the first of its peers becomes the first; any other becomes the second.
 *  3. remove: out of the list; when it was the first, the next one takes its place in the tree.
 *
 * Why not always the lowest of equals, which needs a tree among peers and its descent, cold lines all the way: it buys
 * nothing that could be measured. High-water ratios (high water over peak live bytes, 512 B granule) by the hole taken
 * among equals, of three recorded training runs and the mean of three seeds each of made-up mixes of sizes:
 *
 *                          lowest   as here   newest   oldest
 *      resnet50-train       1.009    1.005     1.014    1.010
 *      gnn-train            1.162    1.162     1.162    1.162
 *      gpt2-train           1.103    1.103     1.103    1.103
 *      32 fixed sizes       1.065    1.063     1.068    1.068
 *      the same, in phases  1.072    1.069     1.071    1.071
 *      powers of two        1.029    1.024     1.026    1.023
 *      uniform to 64 KiB    1.050    1.051     1.056    1.054
 *
 * while a free among 100,000 blocks and 100,000 holes became a third cheaper.
 *
 * Source: C. Aknesil and D. Unat, "MAM: A Memory Allocation Manager for GPUs". We differ in rule 2.
 *
 * Bound: insert and best O(log s) in distinct sizes, remove the same and O(1) unless it was the last of its size.
 * lock: pool.
 *
 * What holds between calls: the tree holds one record of each size, the first of its peers; the lists hold the rest.
 */
#ifndef MAM_POOL_SIZETREE_H
#define MAM_POOL_SIZETREE_H

#include "pool/segment.h"

void mam_sizetree_insert(const struct mam_records *segments, uint32_t *root, uint32_t handle);
void mam_sizetree_remove(const struct mam_records *segments, uint32_t *root, uint32_t handle);

/* mam_sizetree_best - one of the smallest holes of at least `bytes`; 0 if there is none. */
uint32_t mam_sizetree_best(const struct mam_records *segments, uint32_t root, uint64_t bytes);

/*
 * mam_sizetree_best_aligned - the same among holes that hold `bytes` at a multiple of `alignment`. O(log s) where a hole
 * of bytes + alignment exists or one of the first few fits; otherwise it looks at every hole that might before it says 0.
 */
uint32_t mam_sizetree_best_aligned(const struct mam_records *segments, uint32_t root, uint64_t bytes, uint64_t alignment);

/* mam_sizetree_largest - one of the largest; 0 if there is none. */
uint32_t mam_sizetree_largest(const struct mam_records *segments, uint32_t root);

/* mam_sizetree_largest_inner - the same without those that end their chunk: looks at those on its way, at most one a chunk. */
uint32_t mam_sizetree_largest_inner(const struct mam_records *segments, uint32_t root);

const char *mam_sizetree_check(const struct mam_records *segments, uint32_t root, uint64_t *count);

#endif
