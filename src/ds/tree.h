/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - KMA's lock-free binary tree: any lane adds and finds, nobody takes out while others are at
 * it.
 *
 * A node is the caller's, and begins with a struct mam_tree_node; smaller keys are to its left, larger
 * ones to its right.
 *
 * add:
 * 1. From the root's link down: put the node's address into the link, if that is empty, by
 *    compare-and-swap.
 * 2. It was not: a node with the same key is there, and the new one stays out; or go on by one of its
 *    links.
 * ensure: the same, but links are read first, and memory is asked for at the first empty one. When a
 * node with the key comes in between, the memory goes back.
 *
 * Source: KMA (Spliet, Howes, Gaster, Varbanescu: KMA: a dynamic memory manager for OpenCL, GPGPU-7,
 * 2014), listings 1 and 2. What is not the same: there ensure() begins at the root again when it has
 * memory, and once more when its node did not get in, and where there is no memory it tries for ever;
 * here it goes on where it is, and says NULL. What else a node has is zeroed, which is an empty list
 * (slist.h), so listing 3's nodes are ready.
 *
 * Invariants:
 * - A link is empty, and then for ever the address of one node; its key does not change. So what was
 *   decided on the way down stays right, and no key is in the tree twice.
 * - A node is whole before it is in the tree.
 *
 * What is ordered: who finds a node sees what its adder wrote before it was added; a compare-and-swap
 * releases, links are read acquiring.
 *
 * Bound: as many steps as the tree is deep; nobody tries a link twice. Depth is that of the order in
 * which keys come, 1.4 log2(n) and a little on average, if that is any order by chance; n, if they come
 * sorted: then mix them first. A lane is held up by none.
 *
 * Who may call what together with whom:
 *
 *               add  ensure  get  take
 *     init      no   no      no   no    before all, by the host or one lane; zeroed memory is init
 *     add       yes  yes     yes  no
 *     ensure         yes     yes  no
 *     get                    yes  no
 *     take                        no    one lane, a barrier or a kernel apart from all others
 *
 * All nodes of one tree are of one base, if ensure() or who takes them out gives any back.
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

/* The link by which `key`, which is not the node's own, lies. */
MAM_KFN MAM_GLOBAL uint64_t *mam_tree_link(MAM_GLOBAL struct mam_tree_node *node, uint64_t key)
{
	return key < node->key ? &node->left : &node->right;
}

MAM_KFN MAM_GLOBAL struct mam_tree_node *mam_tree_look(MAM_GLOBAL uint64_t *link)
{
	return MAM_DS_POINTER(struct mam_tree_node,
			      mam_atomic_load64(link, MAM_ACQUIRE, MAM_AT_DEVICE));
}

/* NULL: the link was empty, and `node` is there now. Else what is there. */
MAM_KFN MAM_GLOBAL struct mam_tree_node *mam_tree_try(MAM_GLOBAL uint64_t *link,
						      MAM_GLOBAL struct mam_tree_node *node)
{
	return MAM_DS_POINTER(struct mam_tree_node, mam_atomic_cas64(link, 0, MAM_DS_WORD(node),
								     MAM_ACQ_REL, MAM_AT_DEVICE));
}

/* The node of that key, or NULL. */
MAM_KFN MAM_GLOBAL struct mam_tree_node *mam_tree_get(MAM_GLOBAL struct mam_tree *tree,
						      uint64_t key)
{
	MAM_GLOBAL struct mam_tree_node *there = mam_tree_look(&tree->root);

	MAM_ROLLED
	while (there && there->key != key)
		there = mam_tree_look(mam_tree_link(there, key));
	return there;
}

/* `node` has its key. False: another node has it, too, and this one is still the caller's. */
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

/* A node of `bytes`, 8 at a time, of which all but the key is 0; NULL: no memory. */
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
 * The node of that key, which is made if there is none: `bytes` large, zeroes behind the key. NULL:
 * there is none, and no memory.
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
	/* Those that need a node ask for it together. */
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
	/* And those that came second give it back together: else they part here, for good. */
	mam_warp_sync(came);
	if (node && there != node)
		(void)mam_ds_free(base, node);
	mam_warp_sync(came);
	return there;
}

/*
 * Takes the node of the smallest key out; NULL: there is none. What was left of it is turned to its
 * right first, each node once in all calls that empty the tree, so these cost a few steps a node,
 * without a stack.
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
