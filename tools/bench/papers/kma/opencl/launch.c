/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - heaps, buffers and kernels of mam-bench-opencl. Kernels are timed by profiling events,
 * from start to end on the device.
 */
#include <stdio.h>

#include "bench/papers/kma/kma.h"
#include "cl.h"

cl_mem cl_buffer(struct device_play *play, uint64_t bytes)
{
	cl_int code;
	cl_mem buffer =
		clCreateBuffer(play->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &code);

	return cl_failed(play, code, "device memory") ? NULL : buffer;
}

bool cl_zero(struct device_play *play, cl_mem buffer, uint64_t bytes)
{
	const cl_uint zero = 0;

	return !cl_failed(play,
			  clEnqueueFillBuffer(play->queue, buffer, &zero, sizeof(zero), 0,
					      (size_t)bytes, 0, NULL, NULL),
			  "to zero memory");
}

/* ---- heaps ---- */

/* Empties the poor man's heap. */
static bool make_ring(struct device_play *play)
{
	const size_t items = 1;
	const cl_ulong bytes = play->memory_bytes;
	cl_int code;
	cl_kernel kernel = clCreateKernel(play->programs[1], "make", &code);

	if (cl_failed(play, code, "the kernel make"))
		return false;
	code = clSetKernelArg(kernel, 0, sizeof(play->memory), &play->memory);
	if (code == CL_SUCCESS)
		code = clSetKernelArg(kernel, 1, sizeof(bytes), &bytes);
	if (code == CL_SUCCESS)
		code = clEnqueueNDRangeKernel(play->queue, kernel, 1, NULL, &items, &items, 0, NULL,
					      NULL);
	if (code == CL_SUCCESS)
		code = clFinish(play->queue);
	clReleaseKernel(kernel);
	return !cl_failed(play, code, "to make the poor man's heap");
}

bool cl_heap_make(struct device_play *play, bool poor, uint64_t bytes, uint32_t superblocks,
		  char *why, size_t why_bytes)
{
	struct mam_cl_heap_attr attr = MAM_CL_HEAP_ATTR_INIT;
	const char *sentence = "";
	enum mam_status status;

	why[0] = '\0';
	if (bytes > play->heap_max)
		bytes = play->heap_max;
	if (poor) {
		play->memory_bytes = bytes;
		play->memory = cl_buffer(play, bytes);
		return play->memory != NULL && make_ring(play);
	}
	if (superblocks > 0) {
		attr.superblocks = superblocks;
		attr.superblock_bytes = 1u << KMA_SHIFT;
		attr.entries_per_class = 1u << KMA_ENTRIES_SHIFT;
	} else {
		attr.bytes = (size_t)(bytes / 100 * 98); /* leaves room for metadata */
	}
	status = mam_cl_heap_create(play->context, play->device, play->queue, &attr, &play->heap);
	if (status == MAM_OK)
		return true;
	play->heap = NULL;
	(void)mam_cl_error(&sentence);
	if (status != MAM_ERROR_OUT_OF_MEMORY)
		return !cl_failed_mam(play, status, "mam_cl_heap_create()");
	snprintf(why, why_bytes, "%s", sentence);
	return false;
}

bool cl_heap_reset(struct device_play *play)
{
	if (play->heap == NULL)
		return make_ring(play);
	return !cl_failed_mam(play, mam_cl_heap_reset(play->heap, play->queue),
			      "mam_cl_heap_reset()");
}

void cl_heap_end(struct device_play *play)
{
	if (play->heap != NULL)
		(void)mam_cl_heap_destroy(play->heap);
	if (play->memory != NULL)
		clReleaseMemObject(play->memory);
	play->heap = NULL;
	play->memory = NULL;
}

bool cl_heap_left(struct device_play *play, uint64_t *left)
{
	struct mam_cl_heap_info stats = { .size = sizeof(stats) };

	*left = 0;
	if (play->heap == NULL)
		return true;
	if (cl_failed_mam(play, mam_cl_heap_stats(play->heap, play->queue, &stats),
			  "mam_cl_heap_stats()"))
		return false;
	*left = stats.blocks + stats.runs;
	return true;
}

/* ---- kernels ---- */

static cl_int set_arguments(struct device_play *play, cl_kernel kernel, const struct kma_ask *ask,
			    const struct cl_buffers *buffers)
{
	cl_mem heap = play->heap != NULL ? mam_cl_heap_buffer(play->heap) : play->memory;
	cl_int code = clSetKernelArg(kernel, 0, sizeof(heap), &heap);
	cl_uint i;

	if (code == CL_SUCCESS)
		code = clSetKernelArg(kernel, 1, sizeof(*ask), ask);
	if (code == CL_SUCCESS)
		code = clSetKernelArg(kernel, 2, sizeof(play->told), &play->told);
	for (i = 0; i < CL_BUFFERS && buffers != NULL && buffers->of[i] != NULL; i++) {
		if (code == CL_SUCCESS)
			code = clSetKernelArg(kernel, 3 + i, sizeof(cl_mem), &buffers->of[i]);
	}
	return code;
}

static cl_int time_of(cl_event event, double *us)
{
	cl_ulong begin = 0, end = 0;
	cl_int code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(begin),
					      &begin, NULL);

	if (code == CL_SUCCESS)
		code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end,
					       NULL);
	*us = (double)(end - begin) / 1000;
	return code;
}

/* The largest group size that divides the number of items, so that no item is idle. */
static size_t group_of(uint32_t items)
{
	size_t group = KMA_BLOCK;

	while (items % group != 0)
		group--;
	return group;
}

bool cl_launch(struct device_play *play, const char *kernel, uint32_t items,
	       const struct kma_ask *ask, const struct cl_buffers *buffers, double *us,
	       struct kma_told *told)
{
	const size_t group = group_of(items), all = items;
	cl_event event = NULL;
	cl_kernel made;
	cl_int code;

	if (play->trouble[0] != '\0' || !cl_zero(play, play->told, sizeof(*told)))
		return false;
	made = clCreateKernel(play->programs[play->heap == NULL], kernel, &code);
	if (cl_failed(play, code, kernel))
		return false;
	code = set_arguments(play, made, ask, buffers);
	if (code == CL_SUCCESS)
		code = clEnqueueNDRangeKernel(play->queue, made, 1, NULL, &all, &group, 0, NULL,
					      &event);
	if (code == CL_SUCCESS)
		code = clFinish(play->queue);
	if (code == CL_SUCCESS && us != NULL)
		code = time_of(event, us);
	if (code == CL_SUCCESS && told != NULL)
		code = clEnqueueReadBuffer(play->queue, play->told, CL_TRUE, 0, sizeof(*told), told,
					   0, NULL, NULL);
	if (event != NULL)
		clReleaseEvent(event);
	clReleaseKernel(made);
	return !cl_failed(play, code, kernel);
}
