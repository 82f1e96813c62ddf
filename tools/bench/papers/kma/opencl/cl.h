/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cl.h - interface between the parts of mam-bench-opencl. It runs the cells of plan.c on an OpenCL
 * device and writes its rows in the format that opencl.c of `mam bench kma` reads.
 *
 * It uses some of device_bench.h's types differently: a run's `play` is the device, and a heap's
 * `heap` is NULL, as OpenCL buffers have no host-visible address. After the first failed OpenCL
 * call every function here returns false, and play->trouble has the error.
 */
#ifndef MAM_TOOLS_BENCH_KMA_OPENCL_CL_H
#define MAM_TOOLS_BENCH_KMA_OPENCL_CL_H

/* Of 1.2, with its queues. */
#define CL_TARGET_OPENCL_VERSION 120
#include <mam/opencl.h>

#include "bench/device/device_play.h"
#include "bench/papers/kma/told.h"

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
	uint64_t heap_max; /* maximum bytes of a buffer */
	char trouble[512]; /* "": none */
	/* The current heap: mam's, or the poor man's buffer. */
	struct mam_cl_heap *heap;
	cl_mem memory;
	uint64_t memory_bytes;
};

/* Arguments of a kernel after `heap`, `ask` and `told`; ends at a NULL. */
#define CL_BUFFERS 3
struct cl_buffers {
	cl_mem of[CL_BUFFERS];
};

/* ---- the device: device.c ---- */

/*
 * cl_device_open - open a device whose names contain these strings; "" matches any. Returns false
 * with one sentence in trouble
 */
bool cl_device_open(struct device_play *play, const char *platform, const char *device);
void cl_device_close(struct device_play *play);
/*
 * cl_failed - return true if a call returned an error `code`, and record the error and its purpose
 * `what`
 */
bool cl_failed(struct device_play *play, cl_int code, const char *what);
/* cl_failed_mam - the same for mam's calls */
bool cl_failed_mam(struct device_play *play, enum mam_status status, const char *what);

/* ---- kernels and heaps: launch.c ---- */

/*
 * cl_heap_make - make a heap of the allocator's kind. Returns false if it does not fit (one
 * sentence in `why`), or on an error
 */
bool cl_heap_make(struct device_play *play, bool poor, uint64_t bytes, uint32_t superblocks,
		  char *why, size_t why_bytes);
bool cl_heap_reset(struct device_play *play);
void cl_heap_end(struct device_play *play);
/* cl_heap_left - the blocks and runs of mam's heap that are in use */
bool cl_heap_left(struct device_play *play, uint64_t *left);

/* cl_buffer - allocate device memory; returns NULL on an error */
cl_mem cl_buffer(struct device_play *play, uint64_t bytes);
bool cl_zero(struct device_play *play, cl_mem buffer, uint64_t bytes);
/* cl_launch - launch a kernel with `items` work items; `us` and `told` may be NULL */
bool cl_launch(struct device_play *play, const char *kernel, uint32_t items,
	       const struct kma_ask *ask, const struct cl_buffers *buffers, double *us,
	       struct kma_told *told);

#endif
