/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.c - create, reset and destroy heaps.
 *
 * A heap is one buffer. A kernel formats all superblocks at once; it does not touch the memory of
 * blocks. The host keeps no copy of the heap's state: the statistics are read from the device
 * (stats.c).
 */
#include <stdlib.h>

#include "opencl/device.h"
#include "opencl/error.h"
#include "opencl/heap.h"

/* Does the device belong to the context? */
static enum mam_status check_context(const char *who, cl_context context, cl_device_id device)
{
	cl_device_id few[16], *devices = few;
	size_t bytes = 0, i, count;
	cl_int code;

	if (!context)
		return mam_cl_fail(MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
				   "%s: the context is NULL: pass one of clCreateContext().", who);
	code = clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &bytes);
	if (code == CL_SUCCESS && bytes > sizeof(few)) {
		devices = malloc(bytes);
		if (!devices)
			return mam_cl_fail(
				MAM_ERROR_OUT_OF_HOST_MEMORY, CL_SUCCESS,
				"%s: the host cannot allocate %zu bytes: free host memory.", who,
				bytes);
	}
	if (code == CL_SUCCESS)
		code = clGetContextInfo(context, CL_CONTEXT_DEVICES, bytes, devices, NULL);
	count = code == CL_SUCCESS ? bytes / sizeof(*devices) : 0;
	for (i = 0; i < count && devices[i] != device; i++)
		;
	if (devices != few)
		free(devices);
	if (code != CL_SUCCESS)
		return mam_cl_refused(who, "clGetContextInfo", code);
	if (i == count)
		return mam_cl_fail(
			MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
			"%s: the device does not belong to the context: pass one that does.", who);
	return MAM_OK;
}

static enum mam_status check_room(const char *who, const struct mam_cl_heap *heap)
{
	cl_ulong max = 0;
	cl_int code = clGetDeviceInfo(heap->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(max), &max,
				      NULL);

	if (code != CL_SUCCESS)
		return mam_cl_refused(who, "clGetDeviceInfo", code);
	if (heap->terms.bytes > max)
		return mam_cl_fail(MAM_ERROR_OUT_OF_MEMORY, CL_SUCCESS,
				   "%s: the heap would take %zu bytes with its metadata, but the "
				   "device allocates at most %llu at once: make the heap smaller.",
				   who, heap->terms.bytes, (unsigned long long)max);
	return MAM_OK;
}

/* `done`: an event that the caller releases. */
static enum mam_status format(const char *who, struct mam_cl_heap *heap, cl_command_queue queue,
			      cl_event *done)
{
	const struct mam_cl_terms *terms = &heap->terms;
	const cl_ulong bytes = terms->bytes;
	const struct mam_cl_argument arguments[] = {
		{ sizeof(heap->buffer), &heap->buffer }, { sizeof(bytes), &bytes },
		{ sizeof(cl_uint), &terms->shift },      { sizeof(cl_uint), &terms->entries_shift },
		{ sizeof(cl_uint), &terms->search },     { sizeof(cl_uint), &terms->counted },
	};

	return mam_cl_launch(who, heap, queue, "mam_cl_format", arguments,
			     sizeof(arguments) / sizeof(arguments[0]), done);
}

/* Creates buffer and program, and formats the heap. */
static enum mam_status begin(const char *who, struct mam_cl_heap *heap, cl_command_queue queue,
			     const char *options)
{
	enum mam_status status;
	cl_event done;
	cl_int code;

	status = mam_cl_program_acquire(who, heap->context, heap->device, options, &heap->program);
	if (status != MAM_OK)
		return status;
	heap->buffer =
		clCreateBuffer(heap->context, CL_MEM_READ_WRITE, heap->terms.bytes, NULL, &code);
	if (!heap->buffer) {
		status = mam_cl_refused(who, "clCreateBuffer", code);
		goto release_program;
	}
	status = format(who, heap, queue, &done);
	if (status != MAM_OK)
		goto release_buffer;
	code = clWaitForEvents(1, &done);
	clReleaseEvent(done);
	if (code == CL_SUCCESS)
		return MAM_OK;
	status = mam_cl_refused(who, "clWaitForEvents", code);
release_buffer:
	clReleaseMemObject(heap->buffer);
release_program:
	mam_cl_program_release(heap->program);
	return status;
}

enum mam_status mam_cl_heap_create(cl_context context, cl_device_id device, cl_command_queue queue,
				   const struct mam_cl_heap_attr *attr, struct mam_cl_heap **heap)
{
	static const char who[] = "mam_cl_heap_create";
	struct mam_cl_terms terms;
	struct mam_cl_heap *made;
	enum mam_status status;
	const char *options;
	cl_bool in_order;

	if (!heap)
		return mam_cl_fail(MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
				   "%s: the output pointer is NULL: pass the address of a pointer.",
				   who);
	status = mam_cl_terms(who, attr, &terms);
	if (status == MAM_OK)
		status = mam_cl_device_check(who, device, &options);
	if (status == MAM_OK)
		status = check_context(who, context, device);
	if (status == MAM_OK)
		status = mam_cl_queue_check(who, context, device, queue, &in_order);
	if (status != MAM_OK)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made)
		return mam_cl_fail(MAM_ERROR_OUT_OF_HOST_MEMORY, CL_SUCCESS,
				   "%s: the host cannot allocate %zu bytes: free host memory.", who,
				   sizeof(*made));
	made->context = context;
	made->device = device;
	made->terms = terms;
	status = check_room(who, made);
	if (status == MAM_OK)
		status = begin(who, made, queue, options);
	if (status != MAM_OK) {
		free(made);
		return status;
	}
	*heap = made;
	return MAM_OK;
}

enum mam_status mam_cl_heap_destroy(struct mam_cl_heap *heap)
{
	cl_int code;

	if (!heap)
		return MAM_OK;
	code = clReleaseMemObject(heap->buffer);
	mam_cl_program_release(heap->program);
	free(heap);
	if (code != CL_SUCCESS)
		return mam_cl_refused("mam_cl_heap_destroy", "clReleaseMemObject", code);
	return MAM_OK;
}

cl_mem mam_cl_heap_buffer(const struct mam_cl_heap *heap)
{
	return heap ? heap->buffer : NULL;
}

enum mam_status mam_cl_heap_reset(struct mam_cl_heap *heap, cl_command_queue queue)
{
	static const char who[] = "mam_cl_heap_reset";

	if (!heap)
		return mam_cl_fail(MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
				   "%s: the heap is NULL: pass one of mam_cl_heap_create().", who);
	return format(who, heap, queue, NULL);
}
