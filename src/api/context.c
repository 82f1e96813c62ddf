/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.c - context.h.
 */
#include "api/context.h"

#include <stdatomic.h>
#include <stddef.h>

#include "source/device.h"

/* The primary contexts that default pools were made in; each keeps its handle. atomic; set once */
static _Atomic(struct CUctx_st *) primaries[MAM_CONTEXT_DEVICES_MAX];

/* The thread's context at its last call: finding its device needs no call then. */
static _Thread_local struct mam_context last __attribute__((tls_model("initial-exec")));

static unsigned int get_id(const struct mam_driver *driver, struct CUctx_st *handle,
			   unsigned long long *id)
{
	*id = 0;
	return driver->ctx_get_id ? driver->ctx_get_id(handle, id) : MAM_DRIVER_SUCCESS;
}

/* `context` is the current one, of which the handle is known. */
static unsigned int identify(const struct mam_driver *driver, struct mam_context *context)
{
	unsigned int result = get_id(driver, context->handle, &context->id);

	if (result != MAM_DRIVER_SUCCESS)
		return result;
	if (context->handle == last.handle && context->id == last.id && context->id != 0) {
		context->device = last.device;
		return MAM_DRIVER_SUCCESS;
	}
	result = driver->ctx_get_device(&context->device);
	if (result == MAM_DRIVER_SUCCESS)
		last = *context;
	return result;
}

/* The device whose primary context `handle` is; -1: none's that is known. */
static int device_of_primary(const struct CUctx_st *handle)
{
	for (int i = 0; i < MAM_CONTEXT_DEVICES_MAX; i++)
		if (atomic_load_explicit(&primaries[i], memory_order_relaxed) == handle)
			return i;
	return -1;
}

static void find_primary(const struct mam_driver *driver, int device, struct mam_context *context)
{
	struct CUctx_st *handle = atomic_load_explicit(&primaries[device], memory_order_relaxed);

	context->device = device;
	context->handle = handle;
	if (handle && get_id(driver, handle, &context->id) != MAM_DRIVER_SUCCESS)
		context->handle = NULL; /* it was reset */
}

/* The device whose primary context is meant. Only a current context that ended leaves no device. */
static enum mam_status choose_device(const struct mam_driver *driver, int device,
				     const struct CUctx_st *current, unsigned int result,
				     int *chosen)
{
	*chosen = device;
	if (device == MAM_DEVICE_CURRENT)
		*chosen = current ? device_of_primary(current) : 0;
	if (*chosen < 0)
		return mam_driver_status(driver, "cuCtxGetId", result);
	return *chosen < MAM_CONTEXT_DEVICES_MAX ? MAM_OK : MAM_ERROR_NO_DEVICE;
}

enum mam_status mam_context_find(int device, struct mam_context *context)
{
	struct CUctx_st *current = NULL;
	const struct mam_driver *driver;
	enum mam_status status = mam_driver_get(&driver);
	unsigned int result;

	if (status != MAM_OK)
		return status;
	result = driver->ctx_get_current(&current);
	if (result == MAM_DRIVER_DEINITIALIZED)
		return MAM_ERROR_DRIVER; /* the process exits: there is nothing to report */
	if (result != MAM_DRIVER_SUCCESS)
		return mam_driver_status(driver, "cuCtxGetCurrent", result);
	if (current) {
		context->handle = current;
		result = identify(driver, context);
		if (result == MAM_DRIVER_SUCCESS &&
		    (device == MAM_DEVICE_CURRENT || device == context->device))
			return context->device < MAM_CONTEXT_DEVICES_MAX ? MAM_OK
									 : MAM_ERROR_NO_DEVICE;
	}
	status = choose_device(driver, device, current, result, &device);
	if (status == MAM_OK)
		find_primary(driver, device, context);
	return status;
}

/* A driver that cannot be asked: what is retained then stays so. */
static bool is_primary_active(const struct mam_driver *driver, int device)
{
	unsigned int flags;
	int active = 0;

	return driver->device_primary_ctx_get_state &&
	       driver->device_primary_ctx_get_state(device, &flags, &active) ==
		       MAM_DRIVER_SUCCESS &&
	       active;
}

enum mam_status mam_context_retain(struct mam_context *context, bool *retained)
{
	const struct mam_driver *driver;
	enum mam_status status = mam_driver_get(&driver);
	struct CUctx_st *primary;
	unsigned int result;
	int handle = context->device;
	bool active;

	*retained = false;
	if (status != MAM_OK)
		return status;
	if (!context->handle) {
		result = driver->device_get(&handle, context->device);
		if (result != MAM_DRIVER_SUCCESS)
			return mam_driver_status(driver, "cuDeviceGet", result);
	}
	active = is_primary_active(driver, handle);
	/* Without an active primary context the one at hand is another one. */
	if (context->handle && !active)
		return MAM_OK;
	result = driver->device_primary_ctx_retain(&primary, handle);
	if (result != MAM_DRIVER_SUCCESS)
		return mam_driver_status(driver, "cuDevicePrimaryCtxRetain", result);
	*retained = active;
	if (!context->handle) {
		context->handle = primary;
		result = get_id(driver, primary, &context->id);
		status = mam_driver_status(driver, "cuCtxGetId", result);
	}
	if (handle < MAM_CONTEXT_DEVICES_MAX)
		atomic_store_explicit(&primaries[handle], primary, memory_order_relaxed);
	return status;
}

void mam_context_release(const struct mam_context *context, bool retained)
{
	const struct mam_driver *driver;

	if (retained && mam_driver_get(&driver) == MAM_OK)
		driver->device_primary_ctx_release(context->device);
}

bool mam_context_is_primary(const struct mam_context *context)
{
	return atomic_load_explicit(&primaries[context->device], memory_order_relaxed) ==
	       context->handle;
}

bool mam_context_has_ended(const struct mam_context *context)
{
	const struct mam_driver *driver;
	unsigned int result;

	if (mam_driver_get(&driver) != MAM_OK)
		return false;
	result = mam_context_check(driver, context->handle, context->id);
	/* While the process exits, the driver cannot report it. */
	return result != MAM_DRIVER_SUCCESS && result != MAM_DRIVER_DEINITIALIZED;
}
