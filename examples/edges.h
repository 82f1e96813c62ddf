/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edges.h - build a graph from an unsorted list of edges, in a kernel. Neither the nodes nor the
 * number of links of each are known beforehand, so the kernel allocates them as they arrive.
 *
 * add:
 * 1. Ensure that source and sink exist: nodes in a binary tree by key (mam_tree_ensure).
 * 2. Allocate a link that points to the sink, and add it to the source's list (mam_sll_add).
 * check, and drop, by all lanes together: each lane owns an equal range of keys, and iterates over
 * its nodes by searching the next larger key. Keys are mixed, so ranges have about the same number
 * of nodes.
 * drop:
 * 1. One kernel: each lane frees its nodes' links, and chains those nodes by the word that was the
 *    list of links.
 * 2. The next kernel, with as many lanes: each frees the nodes of its chain.
 *
 * Source: Spliet, Howes, Gaster, Varbanescu: KMA, a dynamic memory manager for OpenCL, GPGPU-7
 * (2014), section 5.3, listings 1 to 3.
 *
 * Bound: add: as many steps as the tree is deep, about 1.4 log2(nodes), twice; at most three
 * allocations. check and drop: about that many steps per node. Memory: 32 bytes per node, 16 per
 * link.
 *
 * Concurrent calls: edges_add() and edges_build() by any lanes of any kernels; edges_check(),
 * edges_drop_links() and edges_drop_nodes() each by all lanes of a separate kernel.
 *
 * CUDA and OpenCL C. In OpenCL include mam.cl first, which defines MAM_DS_BASE; in CUDA that is a
 * struct mam_kbase.
 */
#ifndef EDGES_H
#define EDGES_H

#ifdef __CUDACC__
#include <mam/ds.cuh>
#endif

#include "edges_list.h"

struct edges_node {
	struct mam_tree_node tree; /* its key is edges_key() of the node's name */
	struct mam_sll links;      /* outgoing links */
};

struct edges_link {
	struct mam_sll_node node;
	uint64_t sink; /* address of an edges_node */
};

MAM_KFN uint64_t edges_lane(void)
{
	return (uint64_t)mam_block() * mam_block_threads() + mam_thread();
}

MAM_KFN uint64_t edges_lanes(void)
{
	return (uint64_t)mam_grid_blocks() * mam_block_threads();
}

/* False: out of memory, and the edge is not in the graph; its nodes may be. */
MAM_KFN bool edges_add(MAM_GLOBAL struct mam_tree *tree, MAM_DS_BASE base, uint64_t source,
		       uint64_t sink)
{
	MAM_GLOBAL struct mam_tree_node *from, *to;
	MAM_GLOBAL struct edges_link *link;

	from = mam_tree_ensure(tree, base, edges_key(source), sizeof(struct edges_node));
	to = mam_tree_ensure(tree, base, edges_key(sink), sizeof(struct edges_node));
	if (!from || !to)
		return false;
	link = (MAM_GLOBAL struct edges_link *)mam_ds_alloc(base, sizeof(struct edges_link));
	if (!link)
		return false;
	link->sink = MAM_DS_WORD(to);
	mam_sll_add(&((MAM_GLOBAL struct edges_node *)from)->links, &link->node);
	return true;
}

/* Adds all `count` edges of a list, by all lanes; `refused` counts those that ran out of memory. */
MAM_KFN void edges_build(MAM_GLOBAL struct mam_tree *tree, MAM_DS_BASE base,
			 MAM_GLOBAL const struct edges_edge *list, uint64_t count,
			 MAM_GLOBAL uint64_t *refused)
{
	uint64_t i, step = edges_lanes();

	MAM_ROLLED
	for (i = edges_lane(); i < count; i += step)
		if (!edges_add(tree, base, list[i].source, list[i].sink))
			(void)mam_atomic_add64(refused, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

/* The node with the smallest key that is not below `key`, or NULL. */
MAM_KFN MAM_GLOBAL struct edges_node *edges_at(MAM_GLOBAL struct mam_tree *tree, uint64_t key)
{
	MAM_GLOBAL struct mam_tree_node *at = mam_tree_look(&tree->root), *best = NULL;

	MAM_ROLLED
	while (at && at->key != key) {
		if (at->key > key)
			best = at;
		at = mam_tree_look(mam_tree_link(at, key));
	}
	return (MAM_GLOBAL struct edges_node *)(at ? at : best);
}

/* The first key of a lane's range; lanes from edges_lanes() up have none. */
MAM_KFN uint64_t edges_part(uint64_t lane)
{
	return (~(uint64_t)0 / edges_lanes() + 1) * lane;
}

/* The first node of the caller's range, or NULL. */
MAM_KFN MAM_GLOBAL struct edges_node *edges_first(MAM_GLOBAL struct mam_tree *tree)
{
	return edges_at(tree, edges_part(edges_lane()));
}

/* The next node in the caller's range, or NULL. */
MAM_KFN MAM_GLOBAL struct edges_node *edges_next(MAM_GLOBAL struct mam_tree *tree,
						 MAM_GLOBAL struct edges_node *node)
{
	return ~node->tree.key ? edges_at(tree, node->tree.key + 1) : NULL;
}

/* Is it in the caller's range? */
MAM_KFN bool edges_own(MAM_GLOBAL struct edges_node *node)
{
	return node &&
	       (edges_lane() + 1 == edges_lanes() || node->tree.key < edges_part(edges_lane() + 1));
}

/* Adds the sums over the graph to `sum`. */
MAM_KFN void edges_check(MAM_GLOBAL struct mam_tree *tree, MAM_GLOBAL struct edges_sum *sum)
{
	uint64_t nodes = 0, links = 0, names = 0, pairs = 0, name;
	MAM_GLOBAL struct edges_node *node, *sink;
	MAM_GLOBAL struct mam_sll_node *link;

	MAM_ROLLED
	for (node = edges_first(tree); edges_own(node); node = edges_next(tree, node)) {
		name = edges_name(node->tree.key);
		nodes++;
		names += name;
		MAM_ROLLED
		for (link = mam_sll_first(&node->links); link; link = mam_sll_next(link)) {
			sink = MAM_DS_POINTER(struct edges_node,
					      ((MAM_GLOBAL struct edges_link *)link)->sink);
			links++;
			pairs += edges_pair(name, edges_name(sink->tree.key));
		}
	}
	(void)mam_atomic_add64(&sum->nodes, nodes, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_atomic_add64(&sum->links, links, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_atomic_add64(&sum->names, names, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_atomic_add64(&sum->pairs, pairs, MAM_RELAXED, MAM_AT_DEVICE);
}

/* Step 1 of drop: `chains` has one element per lane. */
MAM_KFN void edges_drop_links(MAM_GLOBAL struct mam_tree *tree, MAM_DS_BASE base,
			      MAM_GLOBAL uint64_t *chains)
{
	MAM_GLOBAL struct mam_sll_node *link, *next;
	MAM_GLOBAL struct edges_node *node;
	uint64_t chain = 0;

	MAM_ROLLED
	for (node = edges_first(tree); edges_own(node); node = edges_next(tree, node)) {
		MAM_ROLLED
		for (link = mam_sll_first(&node->links); link; link = next) {
			next = mam_sll_next(link);
			(void)mam_ds_free(base, link);
		}
		node->links.newest = chain;
		chain = MAM_DS_WORD(node);
	}
	chains[edges_lane()] = chain;
}

/* Step 2: afterwards the tree is empty. */
MAM_KFN void edges_drop_nodes(MAM_GLOBAL struct mam_tree *tree, MAM_DS_BASE base,
			      MAM_GLOBAL uint64_t *chains)
{
	MAM_GLOBAL struct edges_node *node, *next;

	node = MAM_DS_POINTER(struct edges_node, chains[edges_lane()]);
	MAM_ROLLED
	for (; node; node = next) {
		next = MAM_DS_POINTER(struct edges_node, node->links.newest);
		(void)mam_ds_free(base, node);
	}
	if (edges_lane() == 0)
		mam_tree_init(tree);
}

#endif
