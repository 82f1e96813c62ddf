/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key.c - from handles to keys (key.h).
 *
 * Why a handle and an occasional query of the id are enough. Ids are unique in a process, and a
 * handle stands for one stream at a time. So if a handle had the same id at two moments, it stood
 * for that stream at all moments between. Blocks that were freed on the handle between the two were
 * freed on that stream. Hence a free need not query the id. An allocation, which must know it,
 * queries it: if it differs from the last one, everything freed since is treated as another
 * stream's.
 *
 * A handle is passed to the driver only in the call that received it. Later its stream may be
 * destroyed, and the driver does not document what it does with handles of destroyed streams.
 */
#include "stream/key.h"

#include <stdatomic.h>

/* As in tcache.c: the default model would call a function at each access. */
static uint64_t this_thread(void)
{
	static _Atomic uint64_t threads; /* atomic; count of assigned numbers */
	static _Thread_local uint64_t number __attribute__((tls_model("initial-exec")));

	if (number == 0)
		number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
	return number;
}

struct mam_stream_key mam_key_of_thread(void)
{
	return (struct mam_stream_key){ .stream = MAM_STREAM_PER_THREAD, .thread = this_thread() };
}

static enum mam_status status_of(const struct mam_driver *driver, unsigned int result)
{
	if (result == MAM_DRIVER_INVALID_HANDLE || result == MAM_DRIVER_INVALID_VALUE)
		return MAM_ERROR_INVALID_VALUE;
	return mam_driver_status(driver, "cuStreamIsCapturing", result);
}

/*
 * The thread's own stream depends on the current context: make the pool's current for the query, unless
 * it has ended. If it is current, the query itself fails then.
 */
static unsigned int ask(const struct mam_fences *fences, struct CUstream_st *stream,
			unsigned int *status)
{
	const struct mam_driver *driver = fences->device.driver;
	struct CUctx_st *current = NULL, *popped;
	unsigned int result;

	if (stream != MAM_STREAM_PER_THREAD && stream != MAM_STREAM_LEGACY)
		return driver->stream_is_capturing(stream, status);
	result = driver->ctx_get_current(&current);
	if (result == MAM_DRIVER_SUCCESS && current != fences->device.context) {
		result = mam_context_check(driver, fences->device.context, fences->device.id);
		if (result == MAM_DRIVER_SUCCESS)
			result = driver->ctx_push_current(fences->device.context);
	}
	if (result != MAM_DRIVER_SUCCESS)
		return result;
	result = driver->stream_is_capturing(stream, status);
	if (current != fences->device.context)
		driver->ctx_pop_current(&popped);
	return result;
}

static uint64_t capture_of(const struct mam_fences *fences, struct CUstream_st *stream)
{
	const struct mam_driver *driver = fences->device.driver;
	uint64_t capture = MAM_CAPTURE_UNKNOWN;
	struct mam_device_visit visit;
	unsigned int status = 0;

	if (driver->stream_get_capture_info == NULL ||
	    mam_device_enter(&fences->device, &visit).result != MAM_DRIVER_SUCCESS)
		return MAM_CAPTURE_UNKNOWN;
	if (driver->stream_get_capture_info(stream, &status, &capture, NULL, NULL, NULL, NULL) !=
		    MAM_DRIVER_SUCCESS ||
	    status != MAM_DRIVER_CAPTURE_ACTIVE || capture == 0)
		capture = MAM_CAPTURE_UNKNOWN;
	mam_device_leave(&fences->device, &visit);
	return capture;
}

enum mam_status mam_key_of(const struct mam_fences *fences, struct CUstream_st *stream,
			   struct mam_stream_key *key)
{
	unsigned int status = 0, result;

	*key = (struct mam_stream_key){ .stream = stream };
	if (fences->lag != NULL)
		mam_lag_tick(fences->lag);
	if (stream == NULL || stream == MAM_STREAM_LEGACY) {
		key->stream = MAM_STREAM_LEGACY;
		return MAM_OK;
	}
	if (stream == MAM_STREAM_PER_THREAD)
		key->thread = this_thread();
	if (fences->lag != NULL)
		return MAM_OK;
	result = ask(fences, stream, &status);
	if (result != MAM_DRIVER_SUCCESS && result != MAM_DRIVER_DEINITIALIZED)
		return status_of(fences->device.driver, result);
	if (result == MAM_DRIVER_SUCCESS && status != 0)
		key->capture = capture_of(fences, stream);
	return MAM_OK;
}

bool mam_key_id(const struct mam_fences *fences, const struct mam_stream_key *key,
		unsigned long long *id)
{
	const struct mam_driver *driver = fences->device.driver;

	if (fences->lag != NULL) {
		*id = (uintptr_t)key->stream;
		return true;
	}
	return driver->stream_get_id != NULL &&
	       driver->stream_get_id(key->stream, id) == MAM_DRIVER_SUCCESS;
}

bool mam_key_recordable(const struct mam_fences *fences, const struct mam_stream_key *key)
{
	unsigned int status = 0;

	return fences->lag != NULL || key->stream != MAM_STREAM_LEGACY ||
	       (ask(fences, key->stream, &status) == MAM_DRIVER_SUCCESS && status == 0);
}
