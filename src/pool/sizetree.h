/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizetree.h - holes by size in a red-black tree: MAM's tree-dictionary. shelf.h keeps
 * several.
 *
 * One node a size; the holes of equal size are a list (peers.h), and its first one stands in the
 * tree.
 *
 *  1. best: descend to the least size not under the request; take the first of its peers.
 *  2. insert: descend to the size; into its list, or a new node.
 *  3. remove: out of the list; when it was the first, the next one takes its place in the tree.
 *
 * Source: C. Aknesil and D. Unat, "MAM: A Memory Allocation Manager for GPUs". We differ in which
 * of equals comes first.
 *
 * Bound: insert and best O(log s) in distinct sizes, remove the same, and O(1) unless it was the
 * last of its size. lock: pool.
 *
 * What holds between calls: the tree holds one record of each size, the first of its peers; the
 * lists hold the rest.
 */
#ifndef MAM_POOL_SIZETREE_H
#define MAM_POOL_SIZETREE_H

#include "pool/segment.h"

void mam_sizetree_insert(const struct mam_records *segments, uint32_t *root, uint32_t handle);
void mam_sizetree_remove(const struct mam_records *segments, uint32_t *root, uint32_t handle);

/* mam_sizetree_best - one of the smallest holes of at least `bytes`; 0 if there is none. */
uint32_t mam_sizetree_best(const struct mam_records *segments, uint32_t root, uint64_t bytes);

/* mam_sizetree_below - one of the largest holes under `bytes`; 0 if there is none. */
uint32_t mam_sizetree_below(const struct mam_records *segments, uint32_t root, uint64_t bytes);

/* mam_sizetree_check - NULL or one sentence; adds the holes to *count, which `most` bounds. */
const char *mam_sizetree_check(const struct mam_records *segments, uint32_t root, uint64_t most,
			       uint64_t *count);

#endif
