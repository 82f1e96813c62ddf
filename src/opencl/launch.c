/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - a kernel over all superblocks of a heap, in the order of a queue.
 *
 * In an out-of-order queue there is a barrier before the kernel and one after it. If either of them
 * fails, the call fails, though the kernel may run, with its normal effect.
 */
#include "opencl/error.h"
#include "opencl/heap.h"

/* Maximum number of work items, and work items per group. Each does a share. */
#define ITEMS 16384u
#define GROUP 64u

enum mam_status mam_cl_queue_check(const char *who, cl_context context, cl_device_id device,
				   cl_command_queue queue, cl_bool *in_order)
{
	cl_command_queue_properties properties = 0;
	cl_context its_context = NULL;
	cl_device_id its_device = NULL;
	cl_int code;

	if (!queue)
		return mam_cl_fail(MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
				   "%s: the queue is NULL: pass one of the heap's device.", who);
	code = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(its_context), &its_context,
				     NULL);
	if (code == CL_SUCCESS)
		code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(its_device),
					     &its_device, NULL);
	if (code == CL_SUCCESS)
		code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties),
					     &properties, NULL);
	if (code != CL_SUCCESS)
		return mam_cl_refused(who, "clGetCommandQueueInfo", code);
	if (its_context != context)
		return mam_cl_fail(
			MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
			"%s: the queue belongs to another context: pass one of the heap's.", who);
	if (its_device != device)
		return mam_cl_fail(
			MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
			"%s: the queue belongs to another device: pass one of the heap's.", who);
	*in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	return MAM_OK;
}

static enum mam_status enqueue(const char *who, cl_command_queue queue, cl_bool in_order,
			       cl_kernel kernel, size_t items, cl_event *done)
{
	const size_t group = GROUP;
	cl_int code = CL_SUCCESS;

	if (!in_order)
		code = clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
	if (code == CL_SUCCESS) {
		code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL,
					      done);
		if (code != CL_SUCCESS)
			return mam_cl_refused(who, "clEnqueueNDRangeKernel", code);
	}
	if (code == CL_SUCCESS && !in_order) {
		code = clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
		if (code != CL_SUCCESS && done)
			clReleaseEvent(*done);
	}
	if (code != CL_SUCCESS)
		return mam_cl_refused(who, "clEnqueueBarrierWithWaitList", code);
	return MAM_OK;
}

enum mam_status mam_cl_launch(const char *who, struct mam_cl_heap *heap, cl_command_queue queue,
			      const char *name, const struct mam_cl_argument *arguments,
			      cl_uint count, cl_event *done)
{
	size_t items = heap->terms.superblocks < ITEMS ? heap->terms.superblocks : ITEMS;
	cl_bool in_order = CL_TRUE;
	enum mam_status status;
	cl_kernel kernel;
	cl_int code;
	cl_uint i;

	status = mam_cl_queue_check(who, heap->context, heap->device, queue, &in_order);
	if (status != MAM_OK)
		return status;
	kernel = mam_cl_program_kernel(heap->program, name, &code);
	if (!kernel)
		return mam_cl_refused(who, "clCreateKernel", code);
	for (i = 0; i < count && code == CL_SUCCESS; i++)
		code = clSetKernelArg(kernel, i, arguments[i].bytes, arguments[i].value);
	if (code != CL_SUCCESS)
		status = mam_cl_refused(who, "clSetKernelArg", code);
	else
		status = enqueue(who, queue, in_order, kernel, (items + GROUP - 1) / GROUP * GROUP,
				 done);
	clReleaseKernel(kernel);
	return status;
}
