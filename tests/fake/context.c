/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.c - primary and other contexts, and each thread's stack of current contexts.
 *
 * A context record is never freed: a handle kept after cuCtxDestroy or cuDevicePrimaryCtxReset
 * returns CUDA_ERROR_CONTEXT_IS_DESTROYED forever. A device's primary context keeps its handle when
 * it becomes active again. When a context ends, its memory, streams and events end with it.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK 16

static struct CUctx_st *contexts;  /* lock: fake */
static unsigned long long last_id; /* lock: fake */
static __thread struct CUctx_st *stack[STACK];
static __thread int depth;

static struct CUctx_st *make(int device, bool primary)
{
	struct CUctx_st *context = calloc(1, sizeof(*context));

	if (context) {
		context->device = device;
		context->primary = primary;
		context->green.context = context;
		context->next = contexts;
		contexts = context;
	}
	return context;
}

int fake_context_prepare(void)
{
	for (int i = 0; i < fake_knobs.devices; i++) {
		if (!fake_devices[i].primary)
			fake_devices[i].primary = make(i, true);
		if (!fake_devices[i].primary)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

static void revive(struct CUctx_st *context)
{
	context->alive = true;
	context->id = ++last_id;
	context->broken = 0;
	context->attached = 0;
	context->legacy_ns = context->blocking_ns = context->all_ns = 0;
}

void fake_context_end(struct CUctx_st *context)
{
	if (!context->alive)
		return;
	for (struct CUctx_st *other = contexts; other; other = other->next)
		if (other->parent == context)
			fake_context_end(other);
	fake_timeline_wait(context->all_ns);
	fake_stream_drop_context(context);
	fake_memory_drop_context(context);
	fake_array_drop_context(context);
	fake_peer_drop_context(context);
	context->alive = false;
	context->broken = 0;
	context->retained = 0;
}

int fake_context_check(struct CUctx_st *context)
{
	for (struct CUctx_st *known = contexts; known; known = known->next)
		if (known == context)
			return context->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return CUDA_ERROR_INVALID_CONTEXT;
}

struct CUctx_st *fake_context_owner(struct CUctx_st *context)
{
	return context->parent ? context->parent : context;
}

struct CUctx_st *fake_context_start(int device)
{
	struct CUctx_st *primary = fake_devices[device].primary;

	if (!primary->alive)
		revive(primary);
	primary->retained++;
	return primary;
}

int fake_context_make_green(int device, struct CUctx_st **context)
{
	struct CUctx_st *made = make(device, false);

	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	revive(made);
	made->parent = fake_context_start(device);
	*context = made;
	return CUDA_SUCCESS;
}

void fake_context_break(int code)
{
	struct CUctx_st *context = depth ? stack[depth - 1] : fake_devices[0].primary;

	if (context)
		fake_context_owner(context)->broken = code;
}

/*
 * The result of a call in a broken context. The listed functions only look something up, or let a
 * program leave the context.
 */
int fake_context_broken(const char *name)
{
	static const char *const spared[] = {
		"cuCtxDestroy",
		"cuCtxDetach",
		"cuCtxGetCurrent",
		"cuCtxGetDevice",
		"cuCtxGetId",
		"cuCtxPopCurrent",
		"cuCtxPushCurrent",
		"cuCtxSetCurrent",
		"cuDeviceCanAccessPeer",
		"cuDeviceGet",
		"cuDeviceGetAttribute",
		"cuDeviceGetCount",
		"cuDeviceGetName",
		"cuDeviceGetUuid",
		"cuDevicePrimaryCtxGetState",
		"cuDevicePrimaryCtxRelease",
		"cuDevicePrimaryCtxReset",
		"cuDevicePrimaryCtxRetain",
		"cuDevicePrimaryCtxSetFlags",
		"cuDeviceTotalMem",
		"cuMemGetAddressRange",
		"cuPointerGetAttribute",
		"cuPointerGetAttributes",
		"cuThreadExchangeStreamCaptureMode",
	};
	int code = depth ? fake_context_owner(stack[depth - 1])->broken : 0;

	for (size_t i = 0; code && i < sizeof(spared) / sizeof(spared[0]); i++)
		if (strcmp(name, spared[i]) == 0)
			return CUDA_SUCCESS;
	return code;
}

/* The calling thread's context, if it is usable. */
int fake_context_current(struct CUctx_st **context)
{
	int result = depth ? fake_context_check(stack[depth - 1]) : CUDA_ERROR_INVALID_CONTEXT;

	if (result == CUDA_SUCCESS)
		*context = stack[depth - 1];
	return result;
}

int cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
	int result = fake_enter("cuDevicePrimaryCtxRetain");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS)
		*context = fake_context_start(device);
	return fake_leave("cuDevicePrimaryCtxRetain", result, "device=%d", device);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	int result = fake_enter("cuDevicePrimaryCtxRelease");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS && fake_devices[device].primary->retained == 0)
		result = CUDA_ERROR_INVALID_CONTEXT;
	if (result == CUDA_SUCCESS && --fake_devices[device].primary->retained == 0)
		fake_context_end(fake_devices[device].primary);
	return fake_leave("cuDevicePrimaryCtxRelease", result, "device=%d", device);
}

int cuDevicePrimaryCtxRelease(int device)
{
	return cuDevicePrimaryCtxRelease_v2(device);
}

int cuDevicePrimaryCtxReset_v2(int device)
{
	int result = fake_enter("cuDevicePrimaryCtxReset");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS)
		fake_context_end(fake_devices[device].primary);
	return fake_leave("cuDevicePrimaryCtxReset", result, "device=%d", device);
}

int cuDevicePrimaryCtxReset(int device)
{
	return cuDevicePrimaryCtxReset_v2(device);
}

int cuDevicePrimaryCtxGetState(int device, unsigned int *flags, int *active)
{
	int result = fake_enter("cuDevicePrimaryCtxGetState");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS) {
		*flags = fake_devices[device].primary->flags;
		*active = fake_devices[device].primary->alive;
	}
	return fake_leave("cuDevicePrimaryCtxGetState", result, "device=%d", device);
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned int flags)
{
	int result = fake_enter("cuDevicePrimaryCtxSetFlags");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS)
		fake_devices[device].primary->flags = flags;
	return fake_leave("cuDevicePrimaryCtxSetFlags", result, "device=%d flags=%u", device,
			  flags);
}

static int push(struct CUctx_st *context)
{
	if (depth == STACK)
		return CUDA_ERROR_INVALID_VALUE;
	stack[depth++] = context;
	return CUDA_SUCCESS;
}

int cuCtxCreate_v2(struct CUctx_st **context, unsigned int flags, int device)
{
	int result = fake_enter("cuCtxCreate");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS) {
		struct CUctx_st *made = make(device, false);

		result = made ? push(made) : CUDA_ERROR_OUT_OF_MEMORY;
		if (result == CUDA_SUCCESS) {
			revive(made);
			made->flags = flags;
			*context = made;
		}
	}
	return fake_leave("cuCtxCreate", result, "flags=%u device=%d", flags, device);
}

int cuCtxCreate_v4(struct CUctx_st **context, void *parameters, unsigned int flags, int device)
{
	return parameters ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(context, flags, device);
}

/* Ends a context that the program created. */
static int destroy(struct CUctx_st *context)
{
	int result = fake_context_check(context);

	if (result == CUDA_SUCCESS && (context->primary || context->parent))
		result = CUDA_ERROR_INVALID_CONTEXT;
	if (result == CUDA_SUCCESS) {
		fake_context_end(context);
		if (depth && stack[depth - 1] == context)
			depth--;
	}
	return result;
}

int cuCtxAttach(struct CUctx_st **context, unsigned int flags)
{
	int result = fake_enter("cuCtxAttach");

	if (result == CUDA_SUCCESS && (!context || flags))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = fake_context_current(context);
	if (result == CUDA_SUCCESS)
		(*context)->attached++;
	return fake_leave("cuCtxAttach", result, "flags=%u", flags);
}

/* Must be called once per attach, and once more for the creation, which ends the context. */
int cuCtxDetach(struct CUctx_st *context)
{
	struct CUctx_st *current;
	int result = fake_enter("cuCtxDetach");

	if (result == CUDA_SUCCESS)
		result = fake_context_current(&current);
	if (result == CUDA_SUCCESS && context != current)
		result = CUDA_ERROR_INVALID_CONTEXT;
	if (result == CUDA_SUCCESS && context->attached)
		context->attached--;
	else if (result == CUDA_SUCCESS)
		result = destroy(context);
	return fake_leave("cuCtxDetach", result, "context=%p", (void *)context);
}

int cuCtxDestroy_v2(struct CUctx_st *context)
{
	int result = fake_enter("cuCtxDestroy");

	if (result == CUDA_SUCCESS)
		result = destroy(context);
	return fake_leave("cuCtxDestroy", result, "context=%p", (void *)context);
}

int cuCtxDestroy(struct CUctx_st *context)
{
	return cuCtxDestroy_v2(context);
}

int cuCtxGetCurrent(struct CUctx_st **context)
{
	int result = fake_enter("cuCtxGetCurrent");

	if (result == CUDA_SUCCESS)
		*context = depth ? stack[depth - 1] : NULL;
	return fake_leave("cuCtxGetCurrent", result, "%s", "");
}

/* Replaces the top of the stack; NULL removes it. */
int cuCtxSetCurrent(struct CUctx_st *context)
{
	int result = fake_enter("cuCtxSetCurrent");

	if (result == CUDA_SUCCESS && context)
		result = fake_context_check(context);
	if (result == CUDA_SUCCESS && depth)
		depth--;
	if (result == CUDA_SUCCESS && context)
		result = push(context);
	return fake_leave("cuCtxSetCurrent", result, "context=%p", (void *)context);
}

/* The real driver accepts a destroyed context; some calls later its heap is corrupt (H100). */
int cuCtxPushCurrent_v2(struct CUctx_st *context)
{
	int result = fake_enter("cuCtxPushCurrent");

	if (result == CUDA_SUCCESS &&
	    fake_context_check(context) == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
		fprintf(stderr, "fake driver: a thread makes a destroyed context current\n");
		abort();
	}
	if (result == CUDA_SUCCESS)
		result = fake_context_check(context);
	if (result == CUDA_SUCCESS)
		result = push(context);
	return fake_leave("cuCtxPushCurrent", result, "context=%p", (void *)context);
}

int cuCtxPopCurrent_v2(struct CUctx_st **context)
{
	int result = fake_enter("cuCtxPopCurrent");

	if (result == CUDA_SUCCESS && !depth)
		result = CUDA_ERROR_INVALID_CONTEXT;
	if (result == CUDA_SUCCESS) {
		depth--;
		if (context)
			*context = stack[depth];
	}
	return fake_leave("cuCtxPopCurrent", result, "%s", "");
}

int cuCtxGetDevice(int *device)
{
	struct CUctx_st *context;
	int result = fake_enter("cuCtxGetDevice");

	if (result == CUDA_SUCCESS)
		result = fake_context_current(&context);
	if (result == CUDA_SUCCESS)
		*device = context->device;
	return fake_leave("cuCtxGetDevice", result, "%s", "");
}

int cuCtxGetDevice_v2(int *device, struct CUctx_st *context)
{
	int result = fake_enter("cuCtxGetDevice");

	if (result == CUDA_SUCCESS)
		result = context ? fake_context_check(context) : fake_context_current(&context);
	if (result == CUDA_SUCCESS)
		*device = context->device;
	return fake_leave("cuCtxGetDevice", result, "context=%p", (void *)context);
}

/* A lower number is more urgent. */
int cuCtxGetStreamPriorityRange(int *min, int *greatest)
{
	struct CUctx_st *context;
	int result = fake_enter("cuCtxGetStreamPriorityRange");

	if (result == CUDA_SUCCESS)
		result = fake_context_current(&context);
	if (result == CUDA_SUCCESS && min)
		*min = 0;
	if (result == CUDA_SUCCESS && greatest)
		*greatest = -5;
	return fake_leave("cuCtxGetStreamPriorityRange", result, "%s", "");
}

int cuCtxGetId(struct CUctx_st *context, unsigned long long *id)
{
	int result = fake_enter("cuCtxGetId");

	if (result == CUDA_SUCCESS)
		result = context ? fake_context_check(context) : fake_context_current(&context);
	if (result == CUDA_SUCCESS)
		*id = context->id;
	return fake_leave("cuCtxGetId", result, "context=%p", (void *)context);
}

int cuCtxSynchronize_v2(struct CUctx_st *context)
{
	int result = fake_enter("cuCtxSynchronize");

	if (result == CUDA_SUCCESS)
		result = context ? fake_context_check(context) : fake_context_current(&context);
	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse_all(context);
	if (result == CUDA_SUCCESS)
		fake_timeline_wait(context->all_ns);
	return fake_leave("cuCtxSynchronize", result, "context=%p", (void *)context);
}

int cuCtxSynchronize(void)
{
	return cuCtxSynchronize_v2(NULL);
}
