/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.c - the calls of the KMA paper, which identify a heap by the buffer that kernels get.
 *
 * A list maps buffers to heaps; it is as long as the number of such heaps.
 */
#include <pthread.h>
#include <stdlib.h>

#include "opencl/error.h"
#include "opencl/heap.h"

struct named {
	struct named *next;
	struct mam_cl_heap *heap;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct named *list; /* synchronization: lock */

cl_mem clSBMalloc_create(cl_context context, cl_device_id device, cl_command_queue queue,
			 cl_uint superblocks, cl_uint superblock_bytes)
{
	struct mam_cl_heap_attr attr = MAM_CL_HEAP_ATTR_INIT;
	struct named *made = calloc(1, sizeof(*made));

	if (!made) {
		(void)mam_cl_fail(
			MAM_ERROR_OUT_OF_HOST_MEMORY, CL_SUCCESS,
			"clSBMalloc_create: the host cannot allocate %zu bytes: free host memory.",
			sizeof(*made));
		return NULL;
	}
	attr.superblocks = superblocks;
	attr.superblock_bytes = superblock_bytes;
	if (mam_cl_heap_create(context, device, queue, &attr, &made->heap) != MAM_OK) {
		free(made);
		return NULL;
	}
	pthread_mutex_lock(&lock);
	made->next = list;
	list = made;
	pthread_mutex_unlock(&lock);
	return mam_cl_heap_buffer(made->heap);
}

cl_int clSBMalloc_destroy(cl_mem heap)
{
	struct named **link, *found;
	enum mam_status status;

	pthread_mutex_lock(&lock);
	for (link = &list; *link && mam_cl_heap_buffer((*link)->heap) != heap;
	     link = &(*link)->next)
		;
	found = *link;
	if (found)
		*link = found->next;
	pthread_mutex_unlock(&lock);
	if (!found) {
		(void)mam_cl_fail(MAM_ERROR_NOT_OWNED, CL_INVALID_MEM_OBJECT,
				  "clSBMalloc_destroy: the buffer is not a heap: pass one of "
				  "clSBMalloc_create(), once.");
		return CL_INVALID_MEM_OBJECT;
	}
	status = mam_cl_heap_destroy(found->heap);
	free(found);
	return status == MAM_OK ? CL_SUCCESS : mam_cl_error(NULL);
}
