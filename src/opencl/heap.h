/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h - a heap as the host has it.
 */
#ifndef MAM_OPENCL_HEAP_H
#define MAM_OPENCL_HEAP_H

#include "opencl/program.h"
#include "opencl/terms.h"

/* Nothing of it changes after mam_cl_heap_create(). */
struct mam_cl_heap {
	cl_context context; /* lives as long as the buffer does */
	cl_device_id device;
	cl_mem buffer;
	struct mam_cl_program *program;
	struct mam_cl_terms terms;
};

/* Is `queue` one of that context and device, and is it in order? */
enum mam_status mam_cl_queue_check(const char *who, cl_context context, cl_device_id device,
				   cl_command_queue queue, cl_bool *in_order);

/* An argument of a kernel. */
struct mam_cl_argument {
	size_t bytes;
	const void *value;
};

/*
 * A kernel of the heap's program over all superblocks, in the order of `queue`. `done` (may be NULL): an
 * event to be released.
 */
enum mam_status mam_cl_launch(const char *who, struct mam_cl_heap *heap, cl_command_queue queue,
			      const char *name, const struct mam_cl_argument *arguments,
			      cl_uint count, cl_event *done);

#endif
