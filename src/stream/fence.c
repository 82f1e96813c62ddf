/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fence.c - events: made, recorded, asked, kept (fence.h).
 *
 * While the process exits the driver answers every call with DEINITIALIZED: then nothing runs any
 * more, and every fence has passed.
 */
#include "stream/fence.h"

#define TIMING_OFF 2u /* cuEventCreate: CU_EVENT_DISABLE_TIMING */

bool mam_visit_begin(const struct mam_driver *driver, struct CUctx_st *context,
		     struct mam_visit *visit)
{
	struct CUctx_st *current = NULL;

	visit->pushed = false;
	visit->mode = MAM_DRIVER_CAPTURE_RELAXED;
	if (driver->ctx_get_current(&current) != MAM_DRIVER_SUCCESS)
		return false;
	if (current != context) {
		if (driver->ctx_push_current(context) != MAM_DRIVER_SUCCESS)
			return false;
		visit->pushed = true;
	}
	if (driver->thread_exchange_stream_capture_mode(&visit->mode) == MAM_DRIVER_SUCCESS)
		return true;
	if (visit->pushed)
		driver->ctx_pop_current(&current);
	return false;
}

void mam_visit_end(const struct mam_driver *driver, const struct mam_visit *visit)
{
	struct CUctx_st *popped;
	unsigned int mode = visit->mode;

	driver->thread_exchange_stream_capture_mode(&mode);
	if (visit->pushed)
		driver->ctx_pop_current(&popped);
}

static bool has_events(const struct mam_driver *driver)
{
	return driver->event_create && driver->event_destroy && driver->event_record &&
	       driver->event_query && driver->event_synchronize && driver->stream_is_capturing;
}

enum mam_status mam_fences_bind(struct mam_fences *fences, int device)
{
	const struct mam_driver *driver;
	struct CUctx_st *current = NULL;
	int on = -1, handle;
	unsigned int result;

	if (mam_driver_get(&driver) != MAM_OK)
		return MAM_ERROR_NO_DEVICE;
	if (!has_events(driver))
		return MAM_ERROR_UNSUPPORTED;
	result = driver->ctx_get_current(&current);
	if (result == MAM_DRIVER_SUCCESS && current)
		result = driver->ctx_get_device(&on);
	if (result != MAM_DRIVER_SUCCESS)
		return mam_driver_status(driver, "cuCtxGetCurrent", result);
	if (!current || on != device) {
		result = driver->device_get(&handle, device);
		if (result == MAM_DRIVER_SUCCESS)
			result = driver->device_primary_ctx_retain(&current, handle);
		if (result != MAM_DRIVER_SUCCESS)
			return mam_driver_status(driver, "cuDevicePrimaryCtxRetain", result);
		fences->retains_primary = true;
	}
	fences->driver = driver;
	fences->device = device;
	fences->context = current;
	return MAM_OK;
}

static void destroy(const struct mam_fences *fences, const struct mam_fence *fence)
{
	fences->driver->event_destroy(fence->event);
}

void mam_fences_end(struct mam_fences *fences)
{
	while (fences->idle_count != 0)
		destroy(fences, &fences->idle[--fences->idle_count]);
	if (fences->retains_primary)
		fences->driver->device_primary_ctx_release(fences->device);
	fences->retains_primary = false;
	fences->context = NULL;
}

static bool take_idle(struct mam_fences *fences, const struct CUctx_st *context,
		      struct mam_fence *fence)
{
	for (unsigned int i = fences->idle_count; i-- != 0;) {
		if (fences->idle[i].context != context)
			continue;
		*fence = fences->idle[i];
		fences->idle[i] = fences->idle[--fences->idle_count];
		return true;
	}
	return false;
}

/* pre: the visit has begun */
static bool take(struct mam_fences *fences, struct CUctx_st *context, struct mam_fence *fence)
{
	if (take_idle(fences, context, fence))
		return true;
	if (fences->driver->event_create(&fence->event, TIMING_OFF) != MAM_DRIVER_SUCCESS)
		return false;
	fence->context = context;
	fences->created++;
	return true;
}

void mam_fence_drop(struct mam_fences *fences, struct mam_fence *fence)
{
	if (fence->event == NULL)
		return;
	if (fences->idle_count < MAM_FENCES_IDLE)
		fences->idle[fences->idle_count++] = *fence;
	else
		destroy(fences, fence);
	fence->event = NULL;
}

bool mam_fence_record(struct mam_fences *fences, struct CUctx_st *context,
		      struct CUstream_st *stream, struct mam_fence *fence)
{
	const struct mam_driver *driver = fences->driver;
	struct mam_fence taken;
	struct mam_visit visit;
	bool good;

	if (!mam_visit_begin(driver, context, &visit))
		return false;
	good = take(fences, context, &taken);
	if (good && driver->event_record(taken.event, stream) != MAM_DRIVER_SUCCESS) {
		mam_fence_drop(fences, &taken);
		good = false;
	}
	mam_visit_end(driver, &visit);
	if (good)
		*fence = taken;
	return good;
}

static enum mam_fence_state state_of(unsigned int result)
{
	switch (result) {
	case MAM_DRIVER_SUCCESS:
	case MAM_DRIVER_DEINITIALIZED:
		return MAM_FENCE_PASSED;
	case MAM_DRIVER_NOT_READY:
		return MAM_FENCE_PENDING;
	default:
		return MAM_FENCE_FAULTY;
	}
}

enum mam_fence_state mam_fence_look(const struct mam_fences *fences, const struct mam_fence *fence)
{
	const struct mam_driver *driver = fences->driver;
	unsigned int mode = MAM_DRIVER_CAPTURE_RELAXED;
	unsigned int result = driver->thread_exchange_stream_capture_mode(&mode);

	if (result == MAM_DRIVER_SUCCESS) {
		result = driver->event_query(fence->event);
		driver->thread_exchange_stream_capture_mode(&mode);
	}
	return state_of(result);
}

bool mam_fence_wait(const struct mam_fences *fences, const struct mam_fence *fence)
{
	const struct mam_driver *driver = fences->driver;
	unsigned int mode = MAM_DRIVER_CAPTURE_RELAXED;
	unsigned int result = driver->thread_exchange_stream_capture_mode(&mode);

	if (result == MAM_DRIVER_SUCCESS) {
		result = driver->event_synchronize(fence->event);
		driver->thread_exchange_stream_capture_mode(&mode);
	}
	return state_of(result) == MAM_FENCE_PASSED;
}

/* An event of its own: this is rare, and the idle ones are another lock's. */
bool mam_fences_wait_all(struct mam_fences *fences)
{
	const struct mam_driver *driver = fences->driver;
	struct CUevent_st *event = NULL;
	struct mam_visit visit;
	unsigned int result;

	if (!mam_visit_begin(driver, fences->context, &visit))
		return false;
	if (driver->ctx_record_event == NULL) {
		result = driver->ctx_synchronize();
	} else {
		result = driver->event_create(&event, TIMING_OFF);
		if (result == MAM_DRIVER_SUCCESS)
			result = driver->ctx_record_event(fences->context, event);
		if (result == MAM_DRIVER_SUCCESS)
			result = driver->event_synchronize(event);
		if (event != NULL)
			driver->event_destroy(event);
	}
	mam_visit_end(driver, &visit);
	return state_of(result) == MAM_FENCE_PASSED;
}
