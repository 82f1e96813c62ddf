/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ds.cuh - structures that grow inside kernels, on any allocator for kernels: a vector, a list, KMA's
 * list of blocks and its tree, a hash map.
 *
 *	#include <mam/ds.cuh>
 *
 *	struct node {
 *		struct mam_tree_node tree;
 *		struct mam_sll links;
 *	};
 *	struct link {
 *		struct mam_sll_node node;
 *		struct node *sink;
 *	};
 *
 *	__global__ void build(struct mam_kheap *heap, struct mam_tree *tree, const uint64_t *edges)
 *	{
 *		struct mam_kbase base = mam_base_heap(heap);
 *		const uint64_t *edge = edges + 2 * (blockIdx.x * blockDim.x + threadIdx.x);
 *		struct node *source = (struct node *)mam_tree_ensure(tree, base, edge[0], sizeof(*source));
 *		struct node *sink = (struct node *)mam_tree_ensure(tree, base, edge[1], sizeof(*sink));
 *		struct link *link = (struct link *)mam_base_alloc(base, sizeof(*link));
 *
 *		if (!source || !sink || !link)
 *			return;
 *		link->sink = sink;
 *		mam_sll_add(&source->links, &link->node);
 *	}
 *	__global__ void collect(struct mam_vector *found, const int *values)
 *	{
 *		uint64_t number;
 *		int *place = (int *)mam_vector_push(found, mam_base_cuda(), &number);
 *
 *		if (place)
 *			*place = values[threadIdx.x];
 *	}
 *
 * A base is the allocator below: mam_base_heap(heap), a heap of objects (heap.cuh); mam_base_cuda(),
 * CUDA's malloc() and free() in kernels; or any two functions, as in coalesce.cuh. One structure has
 * one base.
 *
 * A structure lies in device memory, and is made by the host or one lane, before any other call. An
 * mam_sll or mam_tree that is zeroed is an empty one; an mam_dsmap is mam_dsmap_bytes(buckets) of
 * zeroes, and then mam_dsmap_init().
 *
 * What any lanes of any kernels may call at the same time; and what only one lane may call, a barrier
 * or the end of a kernel apart from all other calls of that structure:
 *
 *	              any lanes, together with each other           one lane, alone
 *	mam_vector     push, get, count                              init, clear, fini
 *	mam_sll        add, first, next, take                        init
 *	mam_arraylist  grow, get, count, newest, older, at;          init, clear
 *	               grow_local: all threads of a block together
 *	mam_tree       add, ensure, get                              init, take
 *	mam_dsmap      insert, insert_multi, find, first, next,      init, fini
 *	               walk_begin, walk_next, count
 *
 * Nodes that mam_sll_take() gave out may be given back, or added again, when nobody walks through them
 * any more. mam_dsmap_insert_multi() beside mam_dsmap_insert() of the same key may leave it there twice.
 *
 *	mam_vector     elements in segments that double: they never move; a number each, without holes
 *	mam_sll        nodes of the caller's, the newest first
 *	mam_arraylist  blocks of elements; a block of threads grows it by one request
 *	mam_tree       nodes of the caller's, by a key of 64 bits; as deep as the order of keys makes it,
 *	               so mix those that come sorted
 *	mam_dsmap      from a key of 64 bits to a value of 64, once or more often, in pages of 15 entries
 *
 * No memory: NULL, or MAM_DSMAP_NO_ROOM, and nothing is changed; but a vector that had none is full from
 * there on, until mam_vector_clear().
 *
 * What is ordered: who finds a node, or a value, sees what its adder wrote before. What is written into
 * elements of a vector or a list of blocks after these gave them out goes to others by a barrier, the
 * end of a kernel, or the program's own atomics.
 *
 * Compile with -I to where mam's headers are installed; sm_70 and later; C++11 and later. More of each
 * is at the head of its header, in mam/ds.
 */
#ifndef MAM_DS_CUH
#define MAM_DS_CUH

#include <mam/heap.cuh>

#include "ds/arraylist.h"
#include "ds/map.h"
#include "ds/slist.h"
#include "ds/tree.h"
#include "ds/vector.h"

#endif
