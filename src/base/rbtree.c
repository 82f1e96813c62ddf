/* SPDX-License-Identifier: Apache-2.0 */
/* rbtree.c - linking, unlinking and checking; rbtree.h has the story. `side` mirrors: what is said of left holds of right. */
#include "base/rbtree.h"

#define MAX_DEPTH 72 /* over 2 log2 of all the records 32 bits can name */

static enum mam_rbside other(enum mam_rbside side)
{
	return side == MAM_RB_LEFT ? MAM_RB_RIGHT : MAM_RB_LEFT;
}

static void set_parent(char *nodes, uint32_t handle, uint32_t parent)
{
	struct mam_rbnode *node = mam_rb_at(nodes, handle);

	node->parent = parent | (node->parent & 1u);
}

static void set_red(char *nodes, uint32_t handle)
{
	mam_rb_at(nodes, handle)->parent |= 1u;
}

static void set_black(char *nodes, uint32_t handle)
{
	mam_rb_at(nodes, handle)->parent &= ~1u;
}

static enum mam_rbside side_of(char *nodes, uint32_t parent, uint32_t handle)
{
	return mam_rb_child(nodes, parent, MAM_RB_LEFT) == handle ? MAM_RB_LEFT : MAM_RB_RIGHT;
}

/* What named `old` as its child, the root included, now names `fresh`. */
static void rename_child(char *nodes, uint32_t *root, uint32_t parent, uint32_t old, uint32_t fresh)
{
	if (parent == 0)
		*root = fresh;
	else
		mam_rb_at(nodes, parent)->child[side_of(nodes, parent, old)] = fresh;
}

/* `handle` sinks to `side`; its child on the other side rises into its place. Order is unchanged. */
static void rotate(char *nodes, uint32_t *root, uint32_t handle, enum mam_rbside side)
{
	uint32_t riser = mam_rb_child(nodes, handle, other(side));
	uint32_t moved = mam_rb_child(nodes, riser, side);
	uint32_t parent = mam_rb_parent(nodes, handle);

	mam_rb_at(nodes, handle)->child[other(side)] = moved;
	if (moved != 0)
		set_parent(nodes, moved, handle);
	rename_child(nodes, root, parent, handle, riser);
	set_parent(nodes, riser, parent);
	mam_rb_at(nodes, riser)->child[side] = handle;
	set_parent(nodes, handle, riser);
}

uint32_t mam_rb_extreme(char *nodes, uint32_t handle, enum mam_rbside side)
{
	uint32_t below;

	if (handle == 0)
		return 0;
	while ((below = mam_rb_child(nodes, handle, side)) != 0)
		handle = below;
	return handle;
}

uint32_t mam_rb_step(char *nodes, uint32_t handle, enum mam_rbside side)
{
	uint32_t below = mam_rb_child(nodes, handle, side);
	uint32_t parent;

	if (below != 0)
		return mam_rb_extreme(nodes, below, other(side));
	for (parent = mam_rb_parent(nodes, handle); parent != 0; parent = mam_rb_parent(nodes, handle)) {
		if (mam_rb_child(nodes, parent, side) != handle)
			return parent;
		handle = parent;
	}
	return 0;
}

/* A red node under a red parent: push the fault up two levels while the uncle is red too, then rotate it away. */
static void mend_red(char *nodes, uint32_t *root, uint32_t handle)
{
	uint32_t parent;

	while ((parent = mam_rb_parent(nodes, handle)) != 0 && mam_rb_is_red(nodes, parent)) {
		uint32_t grand = mam_rb_parent(nodes, parent);
		enum mam_rbside side = side_of(nodes, grand, parent);
		uint32_t uncle = mam_rb_child(nodes, grand, other(side));

		if (mam_rb_is_red(nodes, uncle)) {
			set_black(nodes, parent);
			set_black(nodes, uncle);
			set_red(nodes, grand);
			handle = grand;
			continue;
		}
		if (mam_rb_child(nodes, parent, other(side)) == handle) {
			rotate(nodes, root, parent, side);
			parent = handle;
		}
		set_black(nodes, parent);
		set_red(nodes, grand);
		rotate(nodes, root, grand, other(side));
		break;
	}
	set_black(nodes, *root);
}

void mam_rb_link(char *nodes, uint32_t *root, uint32_t parent, enum mam_rbside side, uint32_t handle)
{
	struct mam_rbnode *node = mam_rb_at(nodes, handle);

	node->parent = parent | 1u;
	node->child[MAM_RB_LEFT] = 0;
	node->child[MAM_RB_RIGHT] = 0;
	if (parent == 0)
		*root = handle;
	else
		mam_rb_at(nodes, parent)->child[side] = handle;
	mend_red(nodes, root, handle);
}

/* The paths through `handle` (perhaps none, 0), a child of `parent`, lack one black node: find one to give, or go up. */
static void mend_black(char *nodes, uint32_t *root, uint32_t handle, uint32_t parent)
{
	while (handle != *root && !mam_rb_is_red(nodes, handle)) {
		enum mam_rbside side = side_of(nodes, parent, handle);
		uint32_t sibling = mam_rb_child(nodes, parent, other(side));
		uint32_t near;
		uint32_t far;

		if (mam_rb_is_red(nodes, sibling)) {
			set_black(nodes, sibling);
			set_red(nodes, parent);
			rotate(nodes, root, parent, side);
			sibling = mam_rb_child(nodes, parent, other(side));
		}
		near = mam_rb_child(nodes, sibling, side);
		far = mam_rb_child(nodes, sibling, other(side));
		if (!mam_rb_is_red(nodes, near) && !mam_rb_is_red(nodes, far)) {
			set_red(nodes, sibling);
			handle = parent;
			parent = mam_rb_parent(nodes, handle);
			continue;
		}
		if (!mam_rb_is_red(nodes, far)) {
			set_black(nodes, near);
			set_red(nodes, sibling);
			rotate(nodes, root, sibling, other(side));
			far = sibling;
			sibling = near;
		}
		if (mam_rb_is_red(nodes, parent))
			set_red(nodes, sibling);
		else
			set_black(nodes, sibling);
		set_black(nodes, parent);
		set_black(nodes, far);
		rotate(nodes, root, parent, side);
		return;
	}
	if (handle != 0)
		set_black(nodes, handle);
}

void mam_rb_unlink(char *nodes, uint32_t *root, uint32_t handle)
{
	struct mam_rbnode *node = mam_rb_at(nodes, handle);
	uint32_t left = node->child[MAM_RB_LEFT];
	uint32_t right = node->child[MAM_RB_RIGHT];
	uint32_t parent = node->parent & ~1u;
	bool was_black;
	uint32_t lacking;        /* whose paths lose what was unlinked */
	uint32_t lacking_parent;

	if (left == 0 || right == 0) {
		was_black = (node->parent & 1u) == 0;
		lacking = left != 0 ? left : right;
		lacking_parent = parent;
		rename_child(nodes, root, parent, handle, lacking);
		if (lacking != 0)
			set_parent(nodes, lacking, parent);
	} else {
		uint32_t heir = mam_rb_extreme(nodes, right, MAM_RB_LEFT);
		struct mam_rbnode *heir_node = mam_rb_at(nodes, heir);

		was_black = (heir_node->parent & 1u) == 0;
		lacking = heir_node->child[MAM_RB_RIGHT];
		if (heir == right) {
			lacking_parent = heir;
		} else {
			lacking_parent = heir_node->parent & ~1u;
			mam_rb_at(nodes, lacking_parent)->child[MAM_RB_LEFT] = lacking;
			if (lacking != 0)
				set_parent(nodes, lacking, lacking_parent);
			heir_node->child[MAM_RB_RIGHT] = right;
			set_parent(nodes, right, heir);
		}
		rename_child(nodes, root, parent, handle, heir);
		heir_node->parent = node->parent;
		heir_node->child[MAM_RB_LEFT] = left;
		set_parent(nodes, left, heir);
	}
	if (was_black)
		mend_black(nodes, root, lacking, lacking_parent);
}

void mam_rb_replace(char *nodes, uint32_t *root, uint32_t old, uint32_t fresh)
{
	struct mam_rbnode *node = mam_rb_at(nodes, fresh);

	*node = *mam_rb_at(nodes, old);
	rename_child(nodes, root, node->parent & ~1u, old, fresh);
	if (node->child[MAM_RB_LEFT] != 0)
		set_parent(nodes, node->child[MAM_RB_LEFT], fresh);
	if (node->child[MAM_RB_RIGHT] != 0)
		set_parent(nodes, node->child[MAM_RB_RIGHT], fresh);
}

struct check {
	char *nodes;
	bool (*in_order)(const void *user, uint32_t a, uint32_t b);
	const void *user;
	uint32_t previous;
	uint64_t count;
	const char *fault;
};

/* The black height under `handle`, or -1 once a fault is known. */
static int check_below(struct check *check, uint32_t handle, uint32_t parent, int depth)
{
	int left;
	int right;

	if (handle == 0)
		return 0;
	if (depth > MAX_DEPTH)
		check->fault = "a path is longer than a balanced tree allows";
	else if (mam_rb_parent(check->nodes, handle) != parent)
		check->fault = "a node's parent link does not name its parent";
	else if (mam_rb_is_red(check->nodes, handle) && mam_rb_is_red(check->nodes, parent))
		check->fault = "a red node has a red parent";
	if (check->fault != NULL)
		return -1;

	left = check_below(check, mam_rb_child(check->nodes, handle, MAM_RB_LEFT), handle, depth + 1);
	if (check->fault != NULL)
		return -1;
	if (check->previous != 0 && !check->in_order(check->user, check->previous, handle)) {
		check->fault = "two neighbours are out of order";
		return -1;
	}
	check->previous = handle;
	check->count++;
	right = check_below(check, mam_rb_child(check->nodes, handle, MAM_RB_RIGHT), handle, depth + 1);
	if (check->fault == NULL && left != right)
		check->fault = "two paths differ in black nodes";
	if (check->fault != NULL)
		return -1;
	return left + (mam_rb_is_red(check->nodes, handle) ? 0 : 1);
}

const char *mam_rb_check(char *nodes, uint32_t root, bool (*in_order)(const void *user, uint32_t a, uint32_t b),
                         const void *user, uint64_t *count)
{
	struct check check = { nodes, in_order, user, 0, 0, NULL };

	if (mam_rb_is_red(nodes, root))
		return "the root is red";
	check_below(&check, root, 0, 1);
	if (check.fault == NULL)
		*count = check.count;
	return check.fault;
}
