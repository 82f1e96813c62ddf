/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbtree.c - linking, unlinking and checking; see rbtree.h.
 *
 * A "link" here is a parent's reference to a child: its handle and, in the low bit, its color.
 * `side` mirrors the cases: a statement about left holds for right likewise.
 */
#include "base/rbtree.h"

#define RED 1u
#define MAX_DEPTH 72 /* over 2 log2 of the number of records that 32 bits can name */

static uint32_t handle_of(uint32_t link)
{
	return link & ~RED;
}

static bool is_red(uint32_t link)
{
	return (link & RED) != 0;
}

static enum mam_rbside other(enum mam_rbside side)
{
	return side == MAM_RB_LEFT ? MAM_RB_RIGHT : MAM_RB_LEFT;
}

static enum mam_rbside side_of(const struct mam_rbnode *parent, uint32_t handle)
{
	return handle_of(parent->child[MAM_RB_LEFT]) == handle ? MAM_RB_LEFT : MAM_RB_RIGHT;
}

/* The link of `parent` (not 0) that names `handle`. */
static uint32_t *link_to(char *nodes, uint32_t parent, uint32_t handle)
{
	struct mam_rbnode *node = mam_rb_at(nodes, parent);

	return &node->child[side_of(node, handle)];
}

/* The link that named `old`, possibly the root, now names `fresh`, in the same color. */
static void rename_child(char *nodes, uint32_t *root, uint32_t parent, uint32_t old, uint32_t fresh)
{
	uint32_t *link;

	if (parent == 0) {
		*root = fresh;
		return;
	}
	link = link_to(nodes, parent, old);
	*link = fresh | (*link & RED);
}

/*
 * `handle` moves down to `side`, its child on the other side takes its place, and the two exchange
 * colors. Every rotation below also exchanges colors. The order is unchanged.
 */
static void rotate(char *nodes, uint32_t *root, uint32_t handle, enum mam_rbside side)
{
	struct mam_rbnode *node = mam_rb_at(nodes, handle);
	uint32_t riser_link = node->child[other(side)];
	uint32_t riser = handle_of(riser_link);
	struct mam_rbnode *riser_node = mam_rb_at(nodes, riser);
	uint32_t moved = riser_node->child[side];

	node->child[other(side)] = moved;
	if (moved != 0)
		mam_rb_at(nodes, handle_of(moved))->parent = handle;
	rename_child(nodes, root, node->parent, handle, riser);
	riser_node->parent = node->parent;
	riser_node->child[side] = handle | (riser_link & RED);
	node->parent = riser;
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
	for (parent = mam_rb_parent(nodes, handle); parent != 0;
	     parent = mam_rb_parent(nodes, handle)) {
		if (mam_rb_child(nodes, parent, side) != handle)
			return parent;
		handle = parent;
	}
	return 0;
}

bool mam_rb_is_red(char *nodes, uint32_t handle)
{
	uint32_t parent = handle == 0 ? 0 : mam_rb_parent(nodes, handle);

	return parent != 0 && is_red(*link_to(nodes, parent, handle));
}

void mam_rb_paint(char *nodes, uint32_t handle, bool red)
{
	*link_to(nodes, mam_rb_parent(nodes, handle), handle) = handle | (red ? RED : 0);
}

/*
 * `handle` is red, and its parent may be red too. While the uncle is red as well, both turn black,
 * the grandparent turns red, and the loop continues two levels up. Otherwise one or two rotations
 * finish.
 */
static void mend_red(char *nodes, uint32_t *root, uint32_t handle)
{
	for (;;) {
		uint32_t parent = mam_rb_parent(nodes, handle);
		uint32_t grand = parent == 0 ? 0 : mam_rb_parent(nodes, parent);
		struct mam_rbnode *grand_node = mam_rb_at(nodes, grand);
		enum mam_rbside side;
		uint32_t above;

		if (grand == 0)
			return; /* the parent is the root, which is black */
		side = side_of(grand_node, parent);
		if (!is_red(grand_node->child[side]))
			return;
		if (!is_red(grand_node->child[other(side)])) {
			if (mam_rb_child(nodes, parent, other(side)) == handle)
				rotate(nodes, root, parent, side);
			rotate(nodes, root, grand, other(side));
			return;
		}
		/*
		 * One of the links was written just now. Use two separate stores: a load of both
		 * links at once would wait for that store.
		 */
		grand_node->child[side] = parent;
		grand_node->child[other(side)] = handle_of(grand_node->child[other(side)]);
		above = grand_node->parent;
		if (above == 0)
			return; /* the root stays black */
		*link_to(nodes, above, grand) |= RED;
		handle = grand;
	}
}

void mam_rb_link(char *nodes, uint32_t *root, uint32_t parent, enum mam_rbside side,
		 uint32_t handle)
{
	struct mam_rbnode *node = mam_rb_at(nodes, handle);

	node->parent = parent;
	node->child[MAM_RB_LEFT] = 0;
	node->child[MAM_RB_RIGHT] = 0;
	if (parent == 0) {
		*root = handle;
		return;
	}
	mam_rb_at(nodes, parent)->child[side] = handle | RED;
	mend_red(nodes, root, handle);
}

/*
 * The paths through the `side` of `parent` lack one black node. Either add one there, or remove one
 * from all other paths and continue one level up.
 */
static void mend_black(char *nodes, uint32_t *root, uint32_t parent, enum mam_rbside side)
{
	for (;;) {
		struct mam_rbnode *parent_node = mam_rb_at(nodes, parent);
		struct mam_rbnode *sibling_node;
		uint32_t sibling;
		uint32_t above;
		uint32_t *link;

		if (is_red(parent_node->child[other(side)]))
			rotate(nodes, root, parent, side); /* the sibling is black afterwards */
		sibling = handle_of(parent_node->child[other(side)]);
		sibling_node = mam_rb_at(nodes, sibling);
		if (is_red(sibling_node->child[other(side)]))
			break;
		if (is_red(sibling_node->child[side])) {
			rotate(nodes, root, sibling, other(side));
			break;
		}
		parent_node->child[other(side)] |= RED;
		above = parent_node->parent;
		if (above == 0)
			return; /* all paths have one black node less now */
		link = link_to(nodes, above, parent);
		if (is_red(*link)) {
			*link &= ~RED;
			return;
		}
		side = side_of(mam_rb_at(nodes, above), parent);
		parent = above;
	}
	/*
	 * The sibling has a red child on the far side: that child turns black and replaces the
	 * missing black node.
	 */
	mam_rb_at(nodes, mam_rb_child(nodes, parent, other(side)))->child[other(side)] &= ~RED;
	rotate(nodes, root, parent, side);
}

/*
 * Unlink a node that has at most one child. An only child is red and its parent black, so the child
 * replaces its parent as a black node. A leaf is removed; if it was black, its paths lack one node.
 */
static void unlink_outer(char *nodes, uint32_t *root, const struct mam_rbnode *node,
			 uint32_t handle)
{
	uint32_t child = handle_of(node->child[MAM_RB_LEFT] | node->child[MAM_RB_RIGHT]);
	uint32_t parent = node->parent;
	enum mam_rbside side;
	bool lacking;

	if (child != 0)
		mam_rb_at(nodes, child)->parent = parent;
	if (parent == 0) {
		*root = child;
		return;
	}
	side = side_of(mam_rb_at(nodes, parent), handle);
	lacking = child == 0 && !is_red(mam_rb_at(nodes, parent)->child[side]);
	mam_rb_at(nodes, parent)->child[side] = child;
	if (lacking)
		mend_black(nodes, root, parent, side);
}

void mam_rb_unlink(char *nodes, uint32_t *root, uint32_t handle)
{
	struct mam_rbnode *node = mam_rb_at(nodes, handle);
	uint32_t heir;

	if (node->child[MAM_RB_LEFT] == 0 || node->child[MAM_RB_RIGHT] == 0) {
		unlink_outer(nodes, root, node, handle);
		return;
	}
	/*
	 * The next node in order has no left child: unlink that one instead, and then put it in
	 * this node's place, with its color.
	 */
	heir = mam_rb_extreme(nodes, handle_of(node->child[MAM_RB_RIGHT]), MAM_RB_LEFT);
	unlink_outer(nodes, root, mam_rb_at(nodes, heir), heir);
	mam_rb_replace(nodes, root, handle, heir);
}

void mam_rb_replace(char *nodes, uint32_t *root, uint32_t old, uint32_t fresh)
{
	struct mam_rbnode *node = mam_rb_at(nodes, fresh);

	*node = *mam_rb_at(nodes, old);
	rename_child(nodes, root, node->parent, old, fresh);
	if (node->child[MAM_RB_LEFT] != 0)
		mam_rb_at(nodes, handle_of(node->child[MAM_RB_LEFT]))->parent = fresh;
	if (node->child[MAM_RB_RIGHT] != 0)
		mam_rb_at(nodes, handle_of(node->child[MAM_RB_RIGHT]))->parent = fresh;
}

struct check {
	char *nodes;
	bool (*in_order)(const void *user, uint32_t a, uint32_t b);
	const void *user;
	uint32_t previous;
	uint64_t count;
	const char *fault;
};

/* The black height under `link`, or -1 once a fault is found. */
static int check_below(struct check *check, uint32_t link, uint32_t parent, bool parent_is_red,
		       int depth)
{
	uint32_t handle = handle_of(link);
	int left;
	int right;

	if (handle == 0 && !is_red(link))
		return 0;
	if (handle == 0)
		check->fault = "a link to nothing is red";
	else if (depth > MAX_DEPTH)
		check->fault = "a path is longer than a balanced tree allows";
	else if (mam_rb_parent(check->nodes, handle) != parent)
		check->fault = "a node's parent link does not name its parent";
	else if (is_red(link) && parent_is_red)
		check->fault = "a red node has a red parent";
	if (check->fault != NULL)
		return -1;

	left = check_below(check, mam_rb_at(check->nodes, handle)->child[MAM_RB_LEFT], handle,
			   is_red(link), depth + 1);
	if (check->fault != NULL)
		return -1;
	if (check->previous != 0 && !check->in_order(check->user, check->previous, handle)) {
		check->fault = "two neighbors are out of order";
		return -1;
	}
	check->previous = handle;
	check->count++;
	right = check_below(check, mam_rb_at(check->nodes, handle)->child[MAM_RB_RIGHT], handle,
			    is_red(link), depth + 1);
	if (check->fault == NULL && left != right)
		check->fault = "two paths differ in black nodes";
	if (check->fault != NULL)
		return -1;
	return left + (is_red(link) ? 0 : 1);
}

const char *mam_rb_check(char *nodes, uint32_t root,
			 bool (*in_order)(const void *user, uint32_t a, uint32_t b),
			 const void *user, uint64_t *count)
{
	struct check check = { nodes, in_order, user, 0, 0, NULL };

	if (is_red(root))
		return "the root is red";
	check_below(&check, root, 0, false, 1);
	if (check.fault == NULL)
		*count = check.count;
	return check.fault;
}
