/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - the host side of a heap. */
#ifndef MAM_OPENCL_HEAP_H
#define MAM_OPENCL_HEAP_H

#include "opencl/program.h"
#include "opencl/attr.h"

/* It does not change after mam_cl_heap_create(). */
struct mam_cl_heap {
	cl_context context; /* valid as long as the buffer */
	cl_device_id device;
	cl_mem buffer;
	struct mam_cl_program *program;
	struct mam_cl_terms terms;
};

/* Does `queue` belong to that context and device, and is it an in-order queue? */
enum mam_status mam_cl_queue_check(const char *who, cl_context context, cl_device_id device,
				   cl_command_queue queue, cl_bool *in_order);

/* An argument of a kernel. */
struct mam_cl_argument {
	size_t bytes;
	const void *value;
};

/*
 * Launches a kernel of the heap's program over all superblocks, in the order of `queue`. `done`
 * (may be NULL): an event that the caller releases.
 */
enum mam_status mam_cl_launch(const char *who, struct mam_cl_heap *heap, cl_command_queue queue,
			      const char *name, const struct mam_cl_argument *arguments,
			      cl_uint count, cl_event *done);

#endif
