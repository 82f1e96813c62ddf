/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - KMA's lock-free binary tree: any lanes add and find concurrently; removal needs
 * exclusive access.
 *
 * The caller owns the nodes, which begin with a struct mam_tree_node; smaller keys are to the left,
 * larger ones to the right.
 *
 * add:
 * 1. From the root's link down: if the link is empty, store the node's address into it by
 *    compare-and-swap.
 * 2. If it was not empty, it names another node. If that has the same key, the new node is not
 *    added; otherwise continue at one of its links.
 * ensure: the same, but it reads links first, and allocates memory at the first empty one. If
 * another lane adds a node with the key meanwhile, the memory is freed.
 *
 * Source: KMA (Spliet, Howes, Gaster, Varbanescu: KMA: a dynamic memory manager for OpenCL,
 * GPGPU-7, 2014), listings 1 and 2. Differences: there ensure() restarts at the root when it has
 * memory, and again when its node was not added, and without memory it retries forever. Here it
 * continues where it is, and returns NULL. The rest of a node is zeroed, which is an empty list
 * (slist.h), so listing 3's nodes are ready.
 *
 * Invariants:
 * - A link is empty, and then names one node forever, whose key does not change. So decisions on
 *   the way down stay right, and no key is in the tree twice.
 * - A node is complete before it is in the tree.
 *
 * Memory order: a lane that finds a node sees what its adder wrote before the add; a
 * compare-and-swap releases, and link reads acquire.
 *
 * Bound: as many steps as the tree is deep; no link is tried twice. The order of keys determines
 * the depth: a little over 1.4 log2(n) on average for a random order, n for sorted keys, which must
 * be mixed first. No lane blocks another.
 *
 * Concurrent calls:
 *
 *               add  ensure  get  take
 *     init      no   no      no   no    before all, by the host or one lane; zeroed memory is init
 *     add       yes  yes     yes  no
 *     ensure         yes     yes  no
 *     get                    yes  no
 *     take                        no    one lane; barrier or kernel between
 *
 * All nodes of one tree must come from one base, if ensure() or the caller of take() frees any.
 */
#ifndef MAM_DS_TREE_H
#define MAM_DS_TREE_H

#include "ds/base.h"

struct mam_tree {
	uint64_t root; /* address of a node, 0: none; atomic */
};

struct mam_tree_node {
	uint64_t key;
	uint64_t left, right; /* addresses of nodes, 0: none; atomic */
};

MAM_KBOTH void mam_tree_init(MAM_GLOBAL struct mam_tree *tree)
{
	tree->root = 0;
}

/* The link to follow for `key`, which differs from the node's own. */
MAM_KFN MAM_GLOBAL uint64_t *mam_tree_link(MAM_GLOBAL struct mam_tree_node *node, uint64_t key)
{
	return key < node->key ? &node->left : &node->right;
}

MAM_KFN MAM_GLOBAL struct mam_tree_node *mam_tree_look(MAM_GLOBAL uint64_t *link)
{
	return MAM_DS_POINTER(struct mam_tree_node,
			      mam_atomic_load64(link, MAM_ACQUIRE, MAM_AT_DEVICE));
}

/* NULL: the link was empty, and names `node` now. Otherwise the node that it names. */
MAM_KFN MAM_GLOBAL struct mam_tree_node *mam_tree_try(MAM_GLOBAL uint64_t *link,
						      MAM_GLOBAL struct mam_tree_node *node)
{
	return MAM_DS_POINTER(struct mam_tree_node, mam_atomic_cas64(link, 0, MAM_DS_WORD(node),
								     MAM_ACQ_REL, MAM_AT_DEVICE));
}

/* The node with that key, or NULL. */
MAM_KFN MAM_GLOBAL struct mam_tree_node *mam_tree_get(MAM_GLOBAL struct mam_tree *tree,
						      uint64_t key)
{
	MAM_GLOBAL struct mam_tree_node *there = mam_tree_look(&tree->root);

	MAM_ROLLED
	while (there && there->key != key)
		there = mam_tree_look(mam_tree_link(there, key));
	return there;
}

/* `node` has its key. False: another node has the same key, and the caller keeps `node`. */
MAM_KFN bool mam_tree_add(MAM_GLOBAL struct mam_tree *tree, MAM_GLOBAL struct mam_tree_node *node)
{
	MAM_GLOBAL uint64_t *link = &tree->root;
	MAM_GLOBAL struct mam_tree_node *there;

	node->left = 0;
	node->right = 0;
	MAM_ROLLED
	for (;;) {
		/* Most links on the way are not empty. */
		there = mam_tree_look(link);
		if (!there)
			there = mam_tree_try(link, node);
		if (!there)
			return true;
		if (there->key == node->key)
			return false;
		link = mam_tree_link(there, node->key);
	}
}

/* A node of `bytes`, written 8 bytes at a time, zero except for the key; NULL: out of memory. */
MAM_KFN MAM_GLOBAL struct mam_tree_node *mam_tree_make(MAM_DS_BASE base, uint64_t key, size_t bytes)
{
	MAM_GLOBAL uint64_t *words;
	size_t count, i;

	if (bytes > ~(size_t)0 - 8)
		return NULL;
	if (bytes < sizeof(struct mam_tree_node))
		bytes = sizeof(struct mam_tree_node);
	count = bytes / 8 + (bytes % 8 != 0);
	words = (MAM_GLOBAL uint64_t *)mam_ds_alloc(base, count * 8);
	if (!words)
		return NULL;
	words[0] = key;
	MAM_ROLLED
	for (i = 1; i < count; i++)
		words[i] = 0;
	return (MAM_GLOBAL struct mam_tree_node *)words;
}

/*
 * The node with that key, created if needed: `bytes` large, zeros after the key. NULL: it does not
 * exist, and there is no memory.
 */
MAM_KFN MAM_GLOBAL struct mam_tree_node *
mam_tree_ensure(MAM_GLOBAL struct mam_tree *tree, MAM_DS_BASE base, uint64_t key, size_t bytes)
{
	MAM_GLOBAL struct mam_tree_node *node = NULL, *there;
	MAM_GLOBAL uint64_t *link = &tree->root;
	uint32_t came = mam_warp_active();

	MAM_ROLLED
	while ((there = mam_tree_look(link)) != NULL && there->key != key)
		link = mam_tree_link(there, key);
	/* Lanes that need a node request it together. */
	mam_warp_sync(came);
	if (!there)
		node = mam_tree_make(base, key, bytes);
	MAM_ROLLED
	while (node && there != node && !(there && there->key == key)) {
		if (there)
			link = mam_tree_link(there, key);
		there = mam_tree_look(link);
		if (!there)
			there = mam_tree_try(link, node);
		if (!there)
			there = node;
	}
	/*
	 * Lanes that lost the race free their nodes together: otherwise they diverge here for good.
	 */
	mam_warp_sync(came);
	if (node && there != node)
		(void)mam_ds_free(base, node);
	mam_warp_sync(came);
	return there;
}

/*
 * Removes and returns the node with the smallest key; NULL: the tree is empty. The rest to its left
 * is first rotated to the right, each node once over all calls that empty the tree, so these calls
 * take a few steps per node, without a stack.
 */
MAM_KFN MAM_GLOBAL struct mam_tree_node *mam_tree_take(MAM_GLOBAL struct mam_tree *tree)
{
	MAM_GLOBAL struct mam_tree_node *node = mam_tree_look(&tree->root), *left;

	if (!node)
		return NULL;
	MAM_ROLLED
	while (node->left) {
		left = MAM_DS_POINTER(struct mam_tree_node, node->left);
		node->left = left->right;
		left->right = MAM_DS_WORD(node);
		node = left;
	}
	tree->root = node->right;
	return node;
}

#endif
