/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cl.h - what the parts of mam-bench-opencl share. It plays the cells of plan.c on a device of OpenCL
 * and says its rows as opencl.c of `mam bench kma` hears them.
 *
 * Of device_bench.h's words it has its own: a run's `play` is the device, and a heap's `heap` is NULL,
 * as OpenCL's buffers have no address for the host. After the first call that OpenCL refuses every
 * function here answers false, and play->trouble says what it was.
 */
#ifndef MAM_TOOLS_BENCH_KMA_OPENCL_CL_H
#define MAM_TOOLS_BENCH_KMA_OPENCL_CL_H

/* Of 1.2, with its queues. */
#define CL_TARGET_OPENCL_VERSION 120
#include <mam/opencl.h>

#include "bench/device_play.h"
#include "bench/kma/told.h"

#define CL_NAME_BYTES 128

struct device_play {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program programs[2]; /* over mam.cl, over the poor man's */
	cl_mem told;
	char platform_name[CL_NAME_BYTES], device_name[CL_NAME_BYTES], driver[CL_NAME_BYTES];
	bool is_processor;
	uint64_t heap_most; /* bytes that a buffer may have */
	char trouble[512];  /* "": none */
	/* The heap that is played on: mam's, or the poor man's buffer. */
	struct mam_cl_heap *heap;
	cl_mem memory;
	uint64_t memory_bytes;
};

/* Arguments of a kernel behind heap, ask and told; NULL ends them. */
#define CL_BUFFERS 3
struct cl_buffers {
	cl_mem of[CL_BUFFERS];
};

/* ---- the device: device.c ---- */

/* cl_device_open - one whose names have these parts in them; "": any. False: one sentence in trouble */
bool cl_device_open(struct device_play *play, const char *platform, const char *device);
void cl_device_close(struct device_play *play);
/* cl_failed - a call that answered `code`; what it was for is said. True: it failed */
bool cl_failed(struct device_play *play, cl_int code, const char *what);
/* cl_failed_mam - the same of mam's calls */
bool cl_failed_mam(struct device_play *play, enum mam_status status, const char *what);

/* ---- kernels and heaps: launch.c ---- */

/* cl_heap_make - of the allocator's kind; false: no room, one sentence in `why`, or a trouble */
bool cl_heap_make(struct device_play *play, bool poor, uint64_t bytes, uint32_t superblocks,
		  char *why, size_t why_bytes);
bool cl_heap_reset(struct device_play *play);
void cl_heap_end(struct device_play *play);
/* cl_heap_left - blocks and runs of mam's heap that are in use */
bool cl_heap_left(struct device_play *play, uint64_t *left);

/* cl_buffer - device memory; NULL: a trouble */
cl_mem cl_buffer(struct device_play *play, uint64_t bytes);
bool cl_zero(struct device_play *play, cl_mem buffer, uint64_t bytes);
/* cl_launch - so many work items; us and told may be NULL */
bool cl_launch(struct device_play *play, const char *kernel, uint32_t items,
	       const struct kma_ask *ask, const struct cl_buffers *buffers, double *us,
	       struct kma_told *told);

#endif
