/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - implements device.h: binding to a context, entering and leaving it.
 */
#include "source/device.h"

#include <stdint.h>

#include "base/log.h"

#define TICKET_BYTES 512u
#define IN_HOST_MEMORY 1ull

/* Reports once: later failures have the same reason. */
void mam_device_report_none(void)
{
	static _Atomic bool reported;

	if (!atomic_exchange(&reported, true))
		mam_log(MAM_LOG_WARN, "no CUDA device can be used: %s", mam_driver_reason());
}

/*
 * The current context if it is on device `ordinal`, otherwise the primary context of that device.
 * If no device is given, the primary context is that of the first device.
 */
static struct mam_device_answer find_context(struct mam_device *device, int ordinal)
{
	const struct mam_driver *driver = device->driver;
	struct CUctx_st *current = NULL;
	unsigned int result = driver->ctx_get_current(&current);
	int current_device = -1, handle;

	if (result != MAM_DRIVER_SUCCESS)
		return mam_device_answer_of("cuCtxGetCurrent", result);
	if (current) {
		result = driver->ctx_get_device(&current_device);
		if (result != MAM_DRIVER_SUCCESS)
			return mam_device_answer_of("cuCtxGetDevice", result);
	}
	if (current && (ordinal == MAM_DEVICE_CURRENT || ordinal == current_device)) {
		device->context = current;
		device->ordinal = current_device;
		return mam_device_answer_of("cuCtxGetDevice", MAM_DRIVER_SUCCESS);
	}
	result = driver->device_get(&handle, ordinal == MAM_DEVICE_CURRENT ? 0 : ordinal);
	if (result != MAM_DRIVER_SUCCESS)
		return mam_device_answer_of("cuDeviceGet", result);
	result = driver->device_primary_ctx_retain(&device->context, handle);
	if (result == MAM_DRIVER_SUCCESS) {
		device->retains_primary = true;
		device->ordinal = handle;
	}
	return mam_device_answer_of("cuDevicePrimaryCtxRetain", result);
}

enum mam_status mam_device_bind(struct mam_device *device, int ordinal)
{
	enum mam_status status;

	*device = (struct mam_device){ .ordinal = -1 };
	status = mam_driver_get(&device->driver);
	if (status == MAM_OK)
		status = mam_device_status(device, find_context(device, ordinal));
	if (status == MAM_OK && device->driver->ctx_get_id)
		status =
			mam_driver_status(device->driver, "cuCtxGetId",
					  device->driver->ctx_get_id(device->context, &device->id));
	if (status == MAM_ERROR_NO_DEVICE)
		mam_device_report_none();
	if (status != MAM_OK) { /* a caller may bind it again */
		mam_device_unbind(device);
		*device = (struct mam_device){ .ordinal = -1 };
	}
	return status;
}

void mam_device_unbind(struct mam_device *device)
{
	const struct mam_driver *driver;

	if (device->retains_primary && mam_driver_get(&driver) == MAM_OK)
		driver->device_primary_ctx_release(device->ordinal);
	device->retains_primary = false;
}

unsigned int mam_context_check(const struct mam_driver *driver, struct CUctx_st *context,
			       unsigned long long id)
{
	unsigned long long now;
	unsigned int result;

	if (!id || !driver->ctx_get_id)
		return MAM_DRIVER_SUCCESS;
	result = driver->ctx_get_id(context, &now);
	if (result == MAM_DRIVER_SUCCESS && now != id)
		result = MAM_DRIVER_CONTEXT_IS_DESTROYED;
	return result;
}

struct mam_device_answer mam_device_enter(const struct mam_device *device,
					  struct mam_device_visit *visit)
{
	struct CUctx_st *current = NULL;
	const struct mam_driver *driver;
	unsigned int result;

	if (mam_driver_get(&driver) != MAM_OK)
		return mam_device_answer_of("cuInit", MAM_DRIVER_NO_DEVICE);
	visit->pushed = false;
	visit->mode = MAM_DRIVER_CAPTURE_RELAXED;
	result = mam_context_check(driver, device->context, device->id);
	if (result != MAM_DRIVER_SUCCESS)
		return mam_device_answer_of("cuCtxGetId", result);
	result = driver->ctx_get_current(&current);
	if (result != MAM_DRIVER_SUCCESS)
		return mam_device_answer_of("cuCtxGetCurrent", result);
	if (current != device->context) {
		result = driver->ctx_push_current(device->context);
		if (result != MAM_DRIVER_SUCCESS)
			return mam_device_answer_of("cuCtxPushCurrent", result);
		visit->pushed = true;
	}
	result = driver->thread_exchange_stream_capture_mode(&visit->mode);
	if (result != MAM_DRIVER_SUCCESS && visit->pushed)
		driver->ctx_pop_current(&current);
	return mam_device_answer_of("cuThreadExchangeStreamCaptureMode", result);
}

/* An error here means that another component's state was not restored. There is no recovery. */
void mam_device_leave(const struct mam_device *device, struct mam_device_visit *visit)
{
	struct CUctx_st *popped;

	device->driver->thread_exchange_stream_capture_mode(&visit->mode);
	if (visit->pushed)
		device->driver->ctx_pop_current(&popped);
}

enum mam_status mam_device_status(const struct mam_device *device, struct mam_device_answer answer)
{
	return mam_driver_status(device->driver, answer.function, answer.result);
}

enum mam_status mam_device_status_of_end(const struct mam_device *device,
					 struct mam_device_answer answer)
{
	if (answer.result == MAM_DRIVER_DEINITIALIZED)
		return MAM_OK;
	return mam_device_status(device, answer);
}

/* A small allocation, in host memory if the device has none left (marked in the lowest bit). */
static struct mam_device_answer take_ticket(const struct mam_driver *driver,
					    unsigned long long *ticket)
{
	struct mam_device_answer answer =
		mam_device_answer_of("cuMemAlloc", driver->own_mem_alloc(ticket, TICKET_BYTES));
	void *host;

	if (answer.result != MAM_DRIVER_OUT_OF_MEMORY)
		return answer;
	answer = mam_device_answer_of("cuMemHostAlloc",
				      driver->mem_host_alloc(&host, TICKET_BYTES, 0));
	if (answer.result == MAM_DRIVER_SUCCESS)
		*ticket = (uintptr_t)host | IN_HOST_MEMORY;
	return answer;
}

static struct mam_device_answer give_ticket(const struct mam_driver *driver,
					    unsigned long long ticket)
{
	if ((ticket & IN_HOST_MEMORY) == 0)
		return mam_device_answer_of("cuMemFree", driver->own_mem_free(ticket));
	return mam_device_answer_of(
		"cuMemFreeHost",
		driver->mem_free_host((void *)(uintptr_t)(ticket & ~IN_HOST_MEMORY)));
}

/* Allocate a ticket, and before it one that stays allocated if there is none yet. */
static struct mam_device_answer take_and_keep(const struct mam_driver *driver,
					      struct mam_device_kept *kept,
					      unsigned long long *ticket)
{
	struct mam_device_answer answer = take_ticket(driver, ticket);
	unsigned long long none = 0;

	if (answer.result != MAM_DRIVER_SUCCESS || (*ticket & IN_HOST_MEMORY) != 0 ||
	    kept == NULL || atomic_load_explicit(&kept->ticket, memory_order_relaxed) != 0 ||
	    !atomic_compare_exchange_strong(&kept->ticket, &none, *ticket))
		return answer;
	return take_ticket(driver, ticket);
}

enum mam_status mam_device_quiesce(const struct mam_device *device, struct mam_device_kept *kept)
{
	struct mam_device_visit visit;
	struct mam_device_answer answer = mam_device_enter(device, &visit);
	unsigned long long ticket;

	if (answer.result != MAM_DRIVER_SUCCESS)
		return mam_device_status_of_end(device, answer);
	answer = take_and_keep(device->driver, kept, &ticket);
	if (answer.result == MAM_DRIVER_SUCCESS)
		answer = give_ticket(device->driver, ticket);
	else if (answer.result == MAM_DRIVER_OUT_OF_MEMORY)
		answer =
			mam_device_answer_of("cuCtxSynchronize", device->driver->ctx_synchronize());
	mam_device_leave(device, &visit);
	return mam_device_status_of_end(device, answer);
}

void mam_device_give_kept(const struct mam_device *device, struct mam_device_kept *kept)
{
	unsigned long long ticket = atomic_exchange(&kept->ticket, 0);

	if (ticket != 0)
		(void)mam_device_quiesce_end(device, ticket);
}

enum mam_status mam_device_quiesce_begin(const struct mam_device *device,
					 unsigned long long *ticket)
{
	struct mam_device_visit visit;
	struct mam_device_answer answer = mam_device_enter(device, &visit);

	*ticket = 0;
	if (answer.result == MAM_DRIVER_SUCCESS) {
		answer = take_ticket(device->driver, ticket);
		mam_device_leave(device, &visit);
	}
	return mam_device_status_of_end(device, answer);
}

enum mam_status mam_device_quiesce_end(const struct mam_device *device, unsigned long long ticket)
{
	struct mam_device_visit visit;
	struct mam_device_answer answer = mam_device_enter(device, &visit);

	if (answer.result == MAM_DRIVER_SUCCESS) {
		answer = give_ticket(device->driver, ticket);
		mam_device_leave(device, &visit);
	}
	return mam_device_status_of_end(device, answer);
}

bool mam_device_free_bytes(const struct mam_device *device, size_t *bytes)
{
	size_t free_bytes, total_bytes;
	struct mam_device_visit visit;
	unsigned int result;

	if (mam_device_enter(device, &visit).result != MAM_DRIVER_SUCCESS)
		return false;
	result = device->driver->mem_get_info(&free_bytes, &total_bytes);
	mam_device_leave(device, &visit);
	if (result == MAM_DRIVER_SUCCESS)
		*bytes = free_bytes;
	return result == MAM_DRIVER_SUCCESS;
}

enum mam_status mam_device_total_bytes(const struct mam_device *device, size_t *bytes)
{
	return mam_driver_status(device->driver, "cuDeviceTotalMem",
				 device->driver->device_total_mem(bytes, device->ordinal));
}
