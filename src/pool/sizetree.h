/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizetree.h - the holes of a pool by size: MAM's tree-dictionary.
 *
 * One node a size; the holes of equal size (peers) form a tree of their own by address, and its root stands for them in
 * the tree by size. Best fit is the lowest address among the smallest size that is large enough:
 *
 *  1. descend by size to the least one not under the request;
 *  2. descend its peers to the left.
 *
 * Why the lowest address: it keeps blocks together at the bottom of a chunk, so that large ground stays whole above.
 * High-water ratios (high water over peak live bytes, 512 B granule) of three recorded training runs, by the hole taken
 * among equals:
 *                       lowest   newest   oldest
 *      resnet50-train   1.009    1.014    1.010
 *      gnn-train        1.162    1.162    1.162
 *      gpt2-train       1.103    1.103    1.103
 * The price is the descent among peers; `mam bench host` shows it with 100,000 holes.
 *
 * Source: C. Aknesil and D. Unat, "MAM: A Memory Allocation Manager for GPUs". We differ in keeping equals in a tree by
 * address where MAM keeps a list.
 *
 * Bound: O(log n) each. lock: pool.
 *
 * What holds between calls: a size has one record in the tree by size; that record is the root of its peers' tree.
 */
#ifndef MAM_POOL_SIZETREE_H
#define MAM_POOL_SIZETREE_H

#include "pool/segment.h"

void mam_sizetree_insert(const struct mam_records *segments, uint32_t *root, uint32_t handle);
void mam_sizetree_remove(const struct mam_records *segments, uint32_t *root, uint32_t handle);

/* mam_sizetree_best - the lowest of the smallest holes of at least `bytes`; 0 if there is none. */
uint32_t mam_sizetree_best(const struct mam_records *segments, uint32_t root, uint64_t bytes);

/* mam_sizetree_best_aligned - the same among holes that hold `bytes` at a multiple of `alignment`. O(log n) where a hole
 * of bytes + alignment exists or the first few fit; otherwise it looks at every hole that might, before it says 0. */
uint32_t mam_sizetree_best_aligned(const struct mam_records *segments, uint32_t root, uint64_t bytes, uint64_t alignment);

/* mam_sizetree_next, mam_sizetree_prev - the hole after or before in the order (size, address); 0 at the end. */
uint32_t mam_sizetree_next(const struct mam_records *segments, uint32_t handle);
uint32_t mam_sizetree_prev(const struct mam_records *segments, uint32_t handle);

/* mam_sizetree_last - the largest hole, the highest among equals; 0 if there is none. */
uint32_t mam_sizetree_last(const struct mam_records *segments, uint32_t root);

const char *mam_sizetree_check(const struct mam_records *segments, uint32_t root, uint64_t *count);

#endif
