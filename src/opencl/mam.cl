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
 * The host creates `heap` by mam_cl_heap_create() (mam/opencl.h). Build with -I and the directory
 * of mam's installed headers, and with the options from mam_cl_options(): -cl-std=CL3.0 if the
 * device supports acquire and release order at device scope, otherwise -cl-std=CL1.2. The device
 * must have 64-bit atomics and 64-bit addresses.
 *
 *	mam_cl_malloc(heap, bytes)   a block, or NULL: no memory, or 0 bytes. At a multiple of 16; below
 *	                             16 bytes, of 8 or 4. Not cleared.
 *	mam_cl_free(heap, block)     false: an invalid free or a double free; it is counted, and nothing
 *	                             is done. NULL: true.
 *
 * Any work item of any kernel may call, in any order and control flow. No work item waits for
 * another: the work items of a group may run one after the other. A work item that gets a block
 * sees what was done before that block was freed.
 *
 * Structures are those of mam/ds.cuh, with the same calls; the head of each below lists which calls
 * may run concurrently. Their base is the heap, `__global void *`:
 *
 *	mam_vector     elements in segments that double: they never move; indices without gaps
 *	mam_sll        nodes of the caller, the newest first
 *	mam_arraylist  blocks of elements; a work group grows it by one request:
 *	               MAM_SHARED(struct mam_arraylist_shared, shared) in the kernel's outermost block, then
 *	               mam_arraylist_grow_local(list, heap, shared, count, &first) by all of the group, and
 *	               no `return` before it: PoCL 3.1 miscompiles an early exit before a barrier,
 *	               and, with its default method, some loops around one: set
 *	               POCL_WORK_GROUP_METHOD=cbs there
 *	mam_tree       nodes of the caller, by a 64-bit key
 *	mam_dsmap      a 64-bit key to 64-bit values
 *
 * A zeroed mam_sll or mam_tree is empty; for the others one work item calls mam_NAME_init().
 *
 * Macros that a program may define before this:
 *	MAM_CL_PUBLISHED_NAMES    malloc(heap, bytes) and free(heap, block) as well
 *	MAM_DS_BASE, mam_ds_alloc(base, bytes), mam_ds_free(base, block)   all three: structures use
 *	                          another allocator, of that type
 *	MAM_CL_LONE               on NVIDIA's devices: serve each work item alone; by default the
 *	                          converged ones of a warp are served together, 20 times as fast
 *	MAM_CL_ATOMIC_READS       with OpenCL C 1.2: atomics in place of volatile reads, for Oclgrind
 *
 * OpenCL C 1.2 guarantees less than this needs: see the comment on OpenCL C 1.2 below.
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
