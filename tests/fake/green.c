/* SPDX-License-Identifier: Apache-2.0 */
/*
 * green.c - green contexts: additional contexts that share the memory of a device's primary one.
 *
 * A green context has its own streams and its own handle, but memory allocated in it belongs to the
 * primary context, which it keeps alive. Its work also counts as work of the primary context. The
 * multiprocessors assigned to it are ignored.
 */
#include "fake.h"

/* The context of a handle, valid or not. */
static int check(struct CUgreenCtx_st *green, struct CUctx_st **context)
{
	int result;

	if (!green)
		return CUDA_ERROR_INVALID_VALUE;
	/* The handle is a field of the context, so a stale one is still readable. */
	result = fake_context_check(
		(struct CUctx_st *)((char *)green - offsetof(struct CUctx_st, green)));
	if (result == CUDA_SUCCESS)
		*context = green->context;
	return result;
}

int cuGreenCtxCreate(struct CUgreenCtx_st **green, struct CUdevResourceDesc_st *resources,
		     int device, unsigned int flags)
{
	struct CUctx_st *context;
	int result = fake_enter("cuGreenCtxCreate");

	(void)resources;
	if (result == CUDA_SUCCESS && (!green || flags != GREEN_DEFAULT_STREAM))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS)
		result = fake_context_make_green(device, &context);
	if (result == CUDA_SUCCESS)
		*green = &context->green;
	return fake_leave("cuGreenCtxCreate", result, "device=%d flags=%u", device, flags);
}

int cuCtxFromGreenCtx(struct CUctx_st **context, struct CUgreenCtx_st *green)
{
	struct CUctx_st *found;
	int result = fake_enter("cuCtxFromGreenCtx");

	if (result == CUDA_SUCCESS && !context)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = check(green, &found);
	if (result == CUDA_SUCCESS)
		*context = found;
	return fake_leave("cuCtxFromGreenCtx", result, "green=%p", (void *)green);
}

int cuGreenCtxDestroy(struct CUgreenCtx_st *green)
{
	struct CUctx_st *context;
	int result = fake_enter("cuGreenCtxDestroy");

	if (result == CUDA_SUCCESS)
		result = check(green, &context);
	if (result == CUDA_SUCCESS) {
		struct CUctx_st *parent = context->parent;

		fake_context_end(context);
		if (parent->retained > 0 && --parent->retained == 0)
			fake_context_end(parent);
	}
	return fake_leave("cuGreenCtxDestroy", result, "green=%p", (void *)green);
}

int cuGreenCtxRecordEvent(struct CUgreenCtx_st *green, struct CUevent_st *event)
{
	return cuCtxRecordEvent(green ? green->context : NULL, event);
}

int cuGreenCtxStreamCreate(struct CUstream_st **stream, struct CUgreenCtx_st *green,
			   unsigned int flags, int priority)
{
	struct CUctx_st *context;
	int result = fake_enter("cuGreenCtxStreamCreate");

	if (result == CUDA_SUCCESS && (!stream || flags != STREAM_NON_BLOCKING))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = check(green, &context);
	if (result == CUDA_SUCCESS)
		result = fake_stream_make(context, true, stream);
	return fake_leave("cuGreenCtxStreamCreate", result, "flags=%u priority=%d", flags,
			  priority);
}
