/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbtree.h - intrusive red-black trees of records, which are named by 32-bit handles.
 *
 * A record embeds a struct mam_rbnode for each tree it can be in. Records are in one array that may
 * move (records.h), so links are handles, not pointers: a handle is the record's distance from the
 * array's start in units of 8 bytes. Therefore a node takes 12 bytes instead of 24, and the segment
 * record of a pool one cache line. Record 0 is never in a tree: handle 0 means "none". Handles are
 * even because records are multiples of 16 bytes.
 *
 * A node's color is in the low bit of the link that names the node, so it is stored in its parent.
 * Rebalancing reads the colors of uncles and nephews far more often than it moves these nodes. It
 * reads them from a node that it already uses, and each record it does not touch saves a cache
 * miss. The root is black, so that its handle needs no color.
 *
 * `nodes` in every call is the address of record 0's node of that tree: array start plus the
 * member's offset. The tree itself is one handle, the root. The caller is responsible for the
 * order: it descends by its own comparison, then links.
 *
 * Source: R. Bayer, "Symmetric binary B-Trees", Acta Informatica 1, 1972; L. Guibas and R.
 * Sedgewick, "A dichromatic framework for balanced trees", FOCS 1978. We differ in handles, and the
 * caller specifies where to link, so that a caller that knows a neighbor needs no descent.
 *
 * Bound: height at most 2 log2(n + 1). link and unlink: O(log n) steps, O(1) on average over any
 * sequence, at most three rotations each.
 *
 * Invariants between calls: the root is black; a red node has no red child; each path from a node
 * down to a missing child contains the same number of black nodes; a child's parent is the node
 * that names it.
 */
#ifndef MAM_BASE_RBTREE_H
#define MAM_BASE_RBTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAM_RB_UNIT 8 /* the unit of handles in bytes */

enum mam_rbside { MAM_RB_LEFT = 0, MAM_RB_RIGHT = 1 };

struct mam_rbnode {
	uint32_t parent;   /* handle, or 0 at the root */
	uint32_t child[2]; /* handles, 0 for none; low bit: 1 if that child is red */
};

static inline struct mam_rbnode *mam_rb_at(char *nodes, uint32_t handle)
{
	return (struct mam_rbnode *)(void *)(nodes + (size_t)handle * MAM_RB_UNIT);
}

static inline uint32_t mam_rb_child(char *nodes, uint32_t handle, enum mam_rbside side)
{
	return mam_rb_at(nodes, handle)->child[side] & ~1u;
}

static inline uint32_t mam_rb_parent(char *nodes, uint32_t handle)
{
	return mam_rb_at(nodes, handle)->parent;
}

/* mam_rb_extreme - the first (LEFT) or last (RIGHT) record under `handle`; 0 under 0. */
uint32_t mam_rb_extreme(char *nodes, uint32_t handle, enum mam_rbside side);

/* mam_rb_step - the next (RIGHT) or previous (LEFT) record in order; 0 at the end. */
uint32_t mam_rb_step(char *nodes, uint32_t handle, enum mam_rbside side);

/* mam_rb_paint - for tests: make the link that names `handle`, not the root, red or black. */
void mam_rb_paint(char *nodes, uint32_t handle, bool red);
bool mam_rb_is_red(char *nodes, uint32_t handle);

/*
 * mam_rb_link - insert `handle` under `parent` (0: the tree is empty) on a side where it has no
 * child, and rebalance.
 */
void mam_rb_link(char *nodes, uint32_t *root, uint32_t parent, enum mam_rbside side,
		 uint32_t handle);

/*
 * mam_rb_unlink - remove `handle` from the tree and rebalance. Its node's contents are undefined
 * afterwards.
 */
void mam_rb_unlink(char *nodes, uint32_t *root, uint32_t handle);

/* mam_rb_replace - put `fresh` in the place of `old`. The caller is responsible for the order. */
void mam_rb_replace(char *nodes, uint32_t *root, uint32_t old, uint32_t fresh);

/*
 * mam_rb_check - check the invariants and the order: `in_order(a, b)` must be true for neighbors, a
 * before b. Returns NULL and sets *count to the number of records, or returns one sentence about
 * the first fault. The depth is bounded, so that the check also ends on a damaged tree with a
 * cycle.
 */
const char *mam_rb_check(char *nodes, uint32_t root,
			 bool (*in_order)(const void *user, uint32_t a, uint32_t b),
			 const void *user, uint64_t *count);

#endif
