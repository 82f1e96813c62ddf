/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizetree.h - free blocks by size in a red-black tree: MAM's tree-dictionary. freelists.h has several
 * of them.
 *
 * One node per size; the free blocks of equal size form a list (peers.h), and the first of the list
 * is the tree's node.
 *
 *  1. best: descend to the smallest size not below the request; return the first of its peers.
 *  2. insert: descend to the size; insert into its list, or as a new node.
 *  3. remove: remove from the list; if it was the first, the next one replaces it in the tree.
 *
 * Source: C. Aknesil and D. Unat, "MAM: A Memory Allocation Manager for GPUs". We differ in which
 * of several equal free blocks comes first.
 *
 * Bound: insert and best O(log s) in distinct sizes; remove O(1), but O(log s) for the last of its
 * size. lock: pool.
 *
 * Invariants between calls: the tree contains one record of each size, the first of its peers; the
 * lists contain the rest.
 */
#ifndef MAM_INDEX_SIZETREE_H
#define MAM_INDEX_SIZETREE_H

#include "index/segment.h"

void mam_sizetree_insert(const struct mam_records *segments, uint32_t *root, uint32_t handle);
void mam_sizetree_remove(const struct mam_records *segments, uint32_t *root, uint32_t handle);

/* mam_sizetree_best - one of the smallest free blocks of at least `bytes`; 0 if there is none. */
uint32_t mam_sizetree_best(const struct mam_records *segments, uint32_t root, uint64_t bytes);

/* mam_sizetree_below - one of the largest free blocks under `bytes`; 0 if there is none. */
uint32_t mam_sizetree_below(const struct mam_records *segments, uint32_t root, uint64_t bytes);

/*
 * mam_sizetree_check - NULL or one sentence; adds the free blocks to *count, which `most` bounds.
 */
const char *mam_sizetree_check(const struct mam_records *segments, uint32_t root, uint64_t max,
			       uint64_t *count);

#endif
