/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edges.cl - the kernels of edges_opencl.c. mam.cl comes first. If EDGES_OVER_RING is defined, the
 * base of the structures is the poor man's heap, otherwise a heap of mam. `memory` is one or the
 * other.
 */
#include "edges.h"
#ifdef EDGES_OVER_RING
#include "edges_ring.h"
#endif

__kernel void build(__global void *memory, __global struct mam_tree *tree,
		    __global const struct edges_edge *list, ulong count, __global ulong *refused)
{
#ifdef EDGES_OVER_RING
	struct edges_keep keep;

	keep.ring = (__global struct edges_ring *)memory;
	keep.node = NULL;
	edges_build(tree, &keep, list, count, refused);
#else
	edges_build(tree, memory, list, count, refused);
#endif
}

__kernel void look(__global struct mam_tree *tree, __global struct edges_sum *sum)
{
	edges_check(tree, sum);
}

#ifdef EDGES_OVER_RING
__kernel void empty(__global void *memory, ulong bytes, __global struct mam_tree *tree)
{
	edges_ring_init((__global struct edges_ring *)memory, bytes);
	mam_tree_init(tree);
}
#else
__kernel void drop_links(__global void *memory, __global struct mam_tree *tree,
			 __global ulong *chains)
{
	edges_drop_links(tree, memory, chains);
}

__kernel void drop_nodes(__global void *memory, __global struct mam_tree *tree,
			 __global ulong *chains)
{
	edges_drop_nodes(tree, memory, chains);
}
#endif
