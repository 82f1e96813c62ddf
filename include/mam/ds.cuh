/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ds.cuh - data structures that grow inside kernels, on any device-side allocator: a vector, a
 * list, KMA's block list and tree, a hash map.
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
 * A base is the underlying allocator: mam_base_heap(heap), a heap of objects (heap.cuh);
 * mam_base_cuda(), CUDA's malloc() and free() in kernels; or any two functions, as in coalesce.cuh.
 * A structure must always use the same base.
 *
 * A structure is in device memory. The host or one lane must initialize it before any other call. A
 * zeroed mam_sll or mam_tree is empty. For an mam_dsmap, zero mam_dsmap_bytes(buckets) bytes and
 * call mam_dsmap_init().
 *
 * The first column lists the calls that any lanes of any kernels may make at the same time. The
 * second lists the calls that only one lane may make, separated by a barrier or the end of a kernel
 * from all other calls of that structure:
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
 * Nodes from mam_sll_take() may be freed or added again when no lane iterates over them any more.
 * If mam_dsmap_insert_multi() and mam_dsmap_insert() of the same key run at the same time, the map
 * may contain it twice.
 *
 *	mam_vector     elements in segments that double: they never move; indices without gaps
 *	mam_sll        nodes of the caller, the newest first
 *	mam_arraylist  blocks of elements; a thread block grows it by one request
 *	mam_tree       nodes of the caller, by a 64-bit key; the order of keys determines the depth,
 *	               so mix keys that arrive sorted
 *	mam_dsmap      a 64-bit key to one or more 64-bit values, in pages of 15 entries
 *
 * Out of memory: NULL, or MAM_DSMAP_NO_ROOM, and nothing changes, with one exception: a vector that
 * ran out of memory stays full at that index until mam_vector_clear().
 *
 * Memory order: a lane that finds a node or a value sees what its adder wrote before. Later writes
 * into elements of a vector or a block list must be passed to other lanes by a barrier, the end of
 * a kernel, or the program's own atomics.
 *
 * Compile with -I and the directory of mam's installed headers; sm_70 and later; C++11 and later.
 * The head of each header in mam/ds has the details.
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
