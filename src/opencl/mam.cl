/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam.cl - malloc() and free() in OpenCL C kernels, after KMA, and structures that grow on them.
 *
 *	#include <mam/mam.cl>
 *
 *	struct node { __global struct node *next; uint value; };
 *
 *	__kernel void build(__global void *heap, __global const uint *values, ...)
 *	{
 *		__global struct node *node = mam_cl_malloc(heap, sizeof(*node));
 *
 *		if (!node)
 *			return;
 *		...
 *		mam_cl_free(heap, node);
 *	}
 *
 * The host makes `heap` by mam_cl_heap_create() (mam/opencl.h). Build with -I to where mam's headers are
 * installed and what mam_cl_options() says: -cl-std=CL3.0 where the device knows the orders acquire and
 * release at its own scope, else -cl-std=CL1.2. The device has 64-bit atomics and 64-bit addresses.
 *
 *	mam_cl_malloc(heap, bytes)   a block, or NULL: no room, or 0 bytes. At a multiple of 16, or, of less
 *	                             than 16 bytes, of 8 or 4. Not cleared.
 *	mam_cl_free(heap, block)     false: it is none that was taken here, or was given back; counted, and
 *	                             nothing is done. NULL: true.
 *
 * By any work item of any kernel, in any order, from any control flow. Nobody waits for another: work
 * items of one group may run one after the other. Who gets a block sees what was done before it was
 * given back.
 *
 * Structures are those of mam/ds.cuh, with the same calls; what may be called together with what is at
 * the head of each below. Their base is the heap, `__global void *`:
 *
 *	mam_vector     elements in segments that double: they never move; a number each, without holes
 *	mam_sll        nodes of the caller's, the newest first
 *	mam_arraylist  blocks of elements; a work group grows it by one request:
 *	               MAM_SHARED(struct mam_arraylist_shared, shared) in the kernel's outermost block, then
 *	               mam_arraylist_grow_local(list, heap, shared, count, &first) by all of the group, and
 *	               no `return` before it: PoCL 3.1 makes wrong code of a way out in front of a barrier,
 *	               and, by the method that it takes by itself, of some loops around one: set
 *	               POCL_WORK_GROUP_METHOD=cbs there
 *	mam_tree       nodes of the caller's, by a key of 64 bits
 *	mam_dsmap      from a key of 64 bits to a value of 64
 *
 * One that is zeroed is empty (mam_sll, mam_tree); others are made by mam_NAME_init(), by one work item.
 *
 * What a program may define before this:
 *	MAM_CL_PUBLISHED_NAMES    malloc(heap, bytes) and free(heap, block) as well
 *	MAM_DS_BASE, mam_ds_alloc(base, bytes), mam_ds_free(base, block)   all three: structures stand on
 *	                          another allocator, of that type
 *	MAM_CL_LONE               on NVIDIA's devices: each work item for itself, where otherwise those of a
 *	                          warp that come together are served together, 20 times as fast
 *	MAM_CL_ATOMIC_READS       with OpenCL C 1.2: atomics in place of volatile reads, for Oclgrind
 *
 * OpenCL C 1.2 promises less than this needs, see "What 1.2 leaves to the implementation" below.
 */
#ifndef MAM_CL
#define MAM_CL

#include "kma/kma.h"

MAM_KFN __global void *mam_cl_malloc(__global void *heap, size_t bytes)
{
	return mam_kma_alloc((__global struct mam_kma *)heap, bytes);
}

MAM_KFN bool mam_cl_free(__global void *heap, __global void *block)
{
	return mam_kma_free((__global struct mam_kma *)heap, block);
}

#if defined(MAM_CL_PUBLISHED_NAMES)
#define malloc(heap, bytes) mam_cl_malloc(heap, bytes)
#define free(heap, block) mam_cl_free(heap, block)
#endif

#if !defined(MAM_DS_BASE)
#define MAM_DS_BASE __global void *
#define mam_ds_alloc(base, bytes) mam_cl_malloc(base, bytes)
#define mam_ds_free(base, block) mam_cl_free(base, block)
#endif

#include "ds/arraylist.h"
#include "ds/map.h"
#include "ds/slist.h"
#include "ds/tree.h"
#include "ds/vector.h"

#endif
