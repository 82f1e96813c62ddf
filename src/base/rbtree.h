/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbtree.h - intrusive red-black trees over records named by 32-bit handles.
 *
 * A record embeds a struct mam_rbnode for each tree it can be in. Records lie in one array that may
 * move (records.h), so links are handles, not pointers: a handle is the record's distance from the
 * array's start in units of 8 bytes. That makes a node 12 bytes instead of 24, and the segment
 * record of a pool one cache line. Record 0 is never in a tree: handle 0 is "none", and handles are
 * even because records are multiples of 16 bytes.
 *
 * A node's colour sits in the low bit of the link that names it, its parent's. Rebalancing asks
 * after the colours of uncles and nephews far more often than it moves them: this way it asks a
 * node it has in hand, and each record it does not touch is a cache miss saved. The root is black,
 * so that its handle needs no colour.
 *
 * `nodes` in every call is the address of record 0's node of that tree: array start plus the
 * member's offset. The tree itself is one handle, the root. Order is the caller's business: it
 * descends by its own comparison, then links.
 *
 * Source: R. Bayer, "Symmetric binary B-Trees", Acta Informatica 1, 1972; L. Guibas and R.
 * Sedgewick, "A dichromatic framework for balanced trees", FOCS 1978. We differ in handles, and in
 * linking where the caller says, so that a caller who knows a neighbour needs no descent.
 *
 * Bound: height at most 2 log2(n + 1). link and unlink: O(log n) steps, O(1) on average over any
 * sequence, at most three rotations each.
 *
 * What holds between calls: the root is black; a red node has no red child; each path from a node
 * down to a missing child passes the same number of black nodes; a child's parent is the node that
 * names it.
 */
#ifndef MAM_BASE_RBTREE_H
#define MAM_BASE_RBTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAM_RB_UNIT 8 /* bytes a handle counts in */

enum mam_rbside { MAM_RB_LEFT = 0, MAM_RB_RIGHT = 1 };

struct mam_rbnode {
	uint32_t parent;   /* handle, or 0 at the root */
	uint32_t child[2]; /* handles, 0 for none; low bit: 1 when that child is red */
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

/* mam_rb_paint - tests: make the link that names `handle`, not the root, say red or black. */
void mam_rb_paint(char *nodes, uint32_t handle, bool red);
bool mam_rb_is_red(char *nodes, uint32_t handle);

/*
 * mam_rb_link - hang `handle` under `parent` (0: the tree is empty) at a side where it has no
 * child, and rebalance.
 */
void mam_rb_link(char *nodes, uint32_t *root, uint32_t parent, enum mam_rbside side,
		 uint32_t handle);

/*
 * mam_rb_unlink - take `handle` out of the tree and rebalance. Its node's contents are then
 * meaningless.
 */
void mam_rb_unlink(char *nodes, uint32_t *root, uint32_t handle);

/* mam_rb_replace - put `fresh` exactly where `old` is. The caller answers for the order. */
void mam_rb_replace(char *nodes, uint32_t *root, uint32_t old, uint32_t fresh);

/*
 * mam_rb_check - prove what holds between calls, and the order: `in_order(a, b)` must be true for
 * neighbours a before b. Returns NULL and sets *count to the number of records, or one sentence
 * about the first fault. Depth is bounded, so that a damaged tree with a cycle is reported, not
 * followed for ever.
 */
const char *mam_rb_check(char *nodes, uint32_t root,
			 bool (*in_order)(const void *user, uint32_t a, uint32_t b),
			 const void *user, uint64_t *count);

#endif
