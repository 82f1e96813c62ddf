/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fence.c - create, record, query and keep events (fence.h).
 *
 * While the process exits, the driver returns DEINITIALIZED from every call: then no work runs any
 * more, and every fence has passed. The same holds for a fence of another context than the pool's
 * that was destroyed: its work ended with it.
 */
#include "stream/fence.h"

#include "source/source.h"

#define TIMING_OFF 2u /* cuEventCreate: CU_EVENT_DISABLE_TIMING */

static bool has_events(const struct mam_driver *driver)
{
	return driver->event_create && driver->event_destroy && driver->event_record &&
	       driver->event_query && driver->event_synchronize && driver->stream_is_capturing;
}

enum mam_status mam_fences_bind(struct mam_fences *fences, struct mam_source *source)
{
	struct mam_device device;
	enum mam_status status;

	fences->lag = mam_source_lag(source);
	if (fences->lag != NULL) {
		fences->device.context = (struct CUctx_st *)fences->lag; /* no driver sees it */
		return MAM_OK;
	}
	status = mam_source_bind(source, &device);
	if (status == MAM_OK && !has_events(device.driver)) {
		mam_device_unbind(&device);
		status = MAM_ERROR_UNSUPPORTED;
	}
	if (status == MAM_OK)
		fences->device = device;
	return status;
}

/* 0: another context than the pool's, which only a call with one of its live streams enters. */
static unsigned long long id_of(const struct mam_fences *fences, const struct CUctx_st *context)
{
	return context == fences->device.context ? fences->device.id : 0;
}

/* Make a context current in the calling thread, in relaxed capture mode. */
static bool enter(const struct mam_fences *fences, struct CUctx_st *context,
		  struct mam_device_visit *visit)
{
	struct mam_device there = { .driver = fences->device.driver,
				    .context = context,
				    .id = id_of(fences, context) };

	return mam_device_enter(&there, visit).result == MAM_DRIVER_SUCCESS;
}

static unsigned long long id_at(const struct mam_fences *fences, const struct mam_fence *fence)
{
	return fence->id != 0 ? fence->id : id_of(fences, fence->context);
}

/* An event ends with its context: no call may use it after that. */
static unsigned int check(const struct mam_fences *fences, const struct mam_fence *fence)
{
	return mam_context_check(fences->device.driver, fence->context, id_at(fences, fence));
}

/* `result` is that of check(). The memory of the pool's own context ended with it. */
static bool has_ended_elsewhere(const struct mam_fences *fences, const struct mam_fence *fence,
				unsigned int result)
{
	return (result == MAM_DRIVER_CONTEXT_IS_DESTROYED ||
		result == MAM_DRIVER_INVALID_CONTEXT) &&
	       fence->context != fences->device.context;
}

static void destroy(const struct mam_fences *fences, const struct mam_fence *fence)
{
	if (check(fences, fence) == MAM_DRIVER_SUCCESS)
		fences->device.driver->event_destroy(fence->event);
}

void mam_fences_end(struct mam_fences *fences)
{
	if (fences->lag != NULL)
		return;
	while (fences->idle_count != 0)
		destroy(fences, &fences->idle[--fences->idle_count]);
	mam_device_unbind(&fences->device);
}

/* Not of an ended context whose handle is that of another one by now. */
static bool take_idle(struct mam_fences *fences, const struct CUctx_st *context,
		      unsigned long long id, struct mam_fence *fence)
{
	for (unsigned int i = fences->idle_count; i-- != 0;) {
		if (fences->idle[i].context != context || fences->idle[i].id != id)
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
	const struct mam_driver *driver = fences->device.driver;
	unsigned long long id = id_of(fences, context);

	if (context != fences->device.context && driver->ctx_get_id &&
	    driver->ctx_get_id(context, &id) != MAM_DRIVER_SUCCESS)
		id = 0;
	if (take_idle(fences, context, id, fence))
		return true;
	if (driver->event_create(&fence->event, TIMING_OFF) != MAM_DRIVER_SUCCESS)
		return false;
	fence->context = context;
	fence->id = id;
	fences->created++;
	return true;
}

void mam_fence_drop(struct mam_fences *fences, struct mam_fence *fence)
{
	if (fence->event == NULL)
		return;
	fence->id = id_at(fences, fence);
	if (fences->lag == NULL && fences->idle_count < MAM_FENCES_IDLE)
		fences->idle[fences->idle_count++] = *fence;
	else if (fences->lag == NULL)
		destroy(fences, fence);
	fence->event = NULL;
}

bool mam_fence_record(struct mam_fences *fences, struct CUctx_st *context,
		      struct CUstream_st *stream, struct mam_fence *fence)
{
	const struct mam_driver *driver = fences->device.driver;
	struct mam_fence taken;
	struct mam_device_visit visit;
	bool good;

	if (fences->lag != NULL) {
		fence->event = (struct CUevent_st *)(uintptr_t)mam_lag_end(fences->lag);
		fence->context = context;
		return true;
	}
	if (!enter(fences, context, &visit))
		return false;
	good = take(fences, context, &taken);
	if (good && driver->event_record(taken.event, stream) != MAM_DRIVER_SUCCESS) {
		mam_fence_drop(fences, &taken);
		good = false;
	}
	mam_device_leave(&fences->device, &visit);
	if (good)
		*fence = taken;
	return good;
}

static enum mam_fence_state state_of(unsigned int result)
{
	switch (result) {
	case MAM_DRIVER_SUCCESS:
	case MAM_DRIVER_DEINITIALIZED: return MAM_FENCE_PASSED;
	case MAM_DRIVER_NOT_READY: return MAM_FENCE_PENDING;
	default: return MAM_FENCE_FAULTY;
	}
}

enum mam_fence_state mam_fence_look(const struct mam_fences *fences, const struct mam_fence *fence)
{
	const struct mam_driver *driver = fences->device.driver;
	unsigned int mode = MAM_DRIVER_CAPTURE_RELAXED;
	unsigned int result;

	if (fences->lag != NULL)
		return mam_lag_is_over(fences->lag, (uintptr_t)fence->event) ? MAM_FENCE_PASSED
									     : MAM_FENCE_PENDING;
	result = check(fences, fence);
	if (has_ended_elsewhere(fences, fence, result))
		return MAM_FENCE_PASSED;
	if (result != MAM_DRIVER_SUCCESS)
		return state_of(result);
	result = driver->thread_exchange_stream_capture_mode(&mode);
	if (result == MAM_DRIVER_SUCCESS) {
		result = driver->event_query(fence->event);
		driver->thread_exchange_stream_capture_mode(&mode);
	}
	/* The calling thread's context was destroyed, not that of the fence. */
	return result == MAM_DRIVER_CONTEXT_IS_DESTROYED ? MAM_FENCE_PENDING : state_of(result);
}

bool mam_fence_wait(const struct mam_fences *fences, const struct mam_fence *fence)
{
	const struct mam_driver *driver = fences->device.driver;
	unsigned int mode = MAM_DRIVER_CAPTURE_RELAXED;
	unsigned int result;

	if (fences->lag != NULL) {
		mam_lag_wait(fences->lag, (uintptr_t)fence->event);
		return true;
	}
	result = check(fences, fence);
	if (has_ended_elsewhere(fences, fence, result))
		return true;
	if (result == MAM_DRIVER_SUCCESS)
		result = driver->thread_exchange_stream_capture_mode(&mode);
	if (result == MAM_DRIVER_SUCCESS) {
		result = driver->event_synchronize(fence->event);
		driver->thread_exchange_stream_capture_mode(&mode);
	}
	return state_of(result) == MAM_FENCE_PASSED;
}

/* A default stream is that of the current context; the event may be of any context. */
bool mam_fence_order(const struct mam_fences *fences, const struct mam_fence *fence,
		     struct CUstream_st *stream)
{
	const struct mam_driver *driver = fences->device.driver;
	struct mam_device_visit visit;
	unsigned int result;

	if (fences->lag != NULL)
		return true;
	if (driver->stream_wait_event == NULL || !enter(fences, fences->device.context, &visit))
		return false;
	result = check(fences, fence);
	if (has_ended_elsewhere(fences, fence, result))
		result = MAM_DRIVER_SUCCESS;
	else if (result == MAM_DRIVER_SUCCESS)
		result = driver->stream_wait_event(stream, fence->event, 0);
	mam_device_leave(&fences->device, &visit);
	return result == MAM_DRIVER_SUCCESS;
}

bool mam_fences_may_wait(const struct mam_fences *fences, bool captures, unsigned long long *ticket)
{
	enum mam_status status;

	*ticket = 0;
	if (fences->lag != NULL)
		return true;
	status = mam_device_quiesce_begin(&fences->device, ticket);
	return status == MAM_OK || (status == MAM_ERROR_OUT_OF_MEMORY && !captures);
}

/* Uses an event of its own: this is rare, and another lock protects the idle ones. */
bool mam_fences_wait_all(struct mam_fences *fences, unsigned long long ticket)
{
	const struct mam_driver *driver = fences->device.driver;
	struct CUevent_st *event = NULL;
	struct mam_device_visit visit;
	unsigned int result;

	if (fences->lag != NULL) {
		mam_lag_wait(fences->lag, mam_lag_end(fences->lag));
		return true;
	}
	if (ticket != 0)
		return mam_device_quiesce_end(&fences->device, ticket) == MAM_OK;
	result = mam_device_enter(&fences->device, &visit).result;
	if (result != MAM_DRIVER_SUCCESS)
		return state_of(result) == MAM_FENCE_PASSED;
	if (driver->ctx_record_event == NULL) {
		result = driver->ctx_synchronize();
	} else {
		result = driver->event_create(&event, TIMING_OFF);
		if (result == MAM_DRIVER_SUCCESS)
			result = driver->ctx_record_event(fences->device.context, event);
		if (result == MAM_DRIVER_SUCCESS)
			result = driver->event_synchronize(event);
		if (event != NULL)
			driver->event_destroy(event);
	}
	mam_device_leave(&fences->device, &visit);
	return state_of(result) == MAM_FENCE_PASSED;
}
