/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.c - copy.h: the driver's asynchronous calls, one after the other until one fails.
 */
#include "heap/service/copy.h"

#define STREAM_LEGACY ((struct CUstream_st *)1)
#define STREAM_NON_BLOCKING 1u
#define EVENT_WITHOUT_TIME 2u
#define MEMORY_TYPE 2u /* cuPointerGetAttribute: CU_POINTER_ATTRIBUTE_MEMORY_TYPE */

static bool has_functions(const struct mam_driver *driver)
{
	return driver->memset_d8_async && driver->memcpy_htod_async && driver->memcpy_dtoh_async &&
	       driver->stream_create && driver->stream_destroy && driver->stream_synchronize &&
	       driver->stream_is_capturing && driver->pointer_get_attribute &&
	       driver->event_create && driver->event_destroy && driver->event_record &&
	       driver->event_synchronize;
}

enum mam_status mam_copy_bind(struct mam_copy *reach, struct mam_source *source)
{
	struct mam_device device;
	enum mam_status status;

	if (source->properties.device < 0)
		return MAM_ERROR_UNSUPPORTED;
	status = mam_source_bind(source, &device);
	if (status == MAM_OK && !has_functions(device.driver)) {
		mam_device_unbind(&device);
		status = MAM_ERROR_UNSUPPORTED;
	}
	if (status == MAM_OK)
		reach->device = device;
	return status;
}

void mam_copy_unbind(struct mam_copy *reach)
{
	mam_device_unbind(&reach->device);
}

enum mam_status mam_copy_knows(const struct mam_copy *reach, const void *address)
{
	const struct mam_driver *driver = reach->device.driver;
	unsigned int type, result;

	result = driver->pointer_get_attribute(&type, MEMORY_TYPE, (uintptr_t)address);
	if (result == MAM_DRIVER_INVALID_VALUE)
		return MAM_ERROR_UNSUPPORTED;
	return mam_driver_status(driver, "cuPointerGetAttribute", result);
}

bool mam_copy_good(const struct mam_copy_visit *visit)
{
	return visit->answer.result == MAM_DRIVER_SUCCESS;
}

static enum mam_status enter(const struct mam_copy *reach, struct mam_copy_visit *visit)
{
	*visit = (struct mam_copy_visit){ .reach = reach };
	visit->answer = mam_device_enter(&reach->device, &visit->inside);
	return mam_copy_good(visit) ? MAM_OK : mam_device_status(&reach->device, visit->answer);
}

/*
 * Returns whether the visit may use the stream. Called inside: the default streams belong to the
 * context.
 */
static enum mam_status may_use(const struct mam_driver *driver, struct CUstream_st *stream,
			       bool waits)
{
	unsigned int capture = 0, result;

	result = driver->stream_is_capturing(stream ? stream : STREAM_LEGACY, &capture);
	switch (result) {
	case MAM_DRIVER_SUCCESS: return capture != 0 && waits ? MAM_ERROR_WOULD_WAIT : MAM_OK;
	case MAM_DRIVER_CAPTURE_IMPLICIT: return MAM_ERROR_WOULD_WAIT;
	case MAM_DRIVER_INVALID_HANDLE:
	case MAM_DRIVER_INVALID_VALUE: return MAM_ERROR_INVALID_VALUE;
	default: return mam_driver_status(driver, "cuStreamIsCapturing", result);
	}
}

enum mam_status mam_copy_begin(const struct mam_copy *reach, struct CUstream_st *stream, bool waits,
			       struct mam_copy_visit *visit)
{
	enum mam_status status = enter(reach, visit);

	if (status != MAM_OK)
		return status;
	visit->stream = stream;
	status = may_use(reach->device.driver, stream, waits);
	if (status != MAM_OK)
		mam_device_leave(&reach->device, &visit->inside);
	return status;
}

enum mam_status mam_copy_begin_apart(const struct mam_copy *reach, struct mam_copy_visit *visit)
{
	enum mam_status status = enter(reach, visit);

	if (status != MAM_OK)
		return status;
	visit->answer = mam_device_answer_of(
		"cuStreamCreate",
		reach->device.driver->stream_create(&visit->stream, STREAM_NON_BLOCKING));
	visit->own = mam_copy_good(visit);
	return visit->own ? MAM_OK : mam_copy_end(visit);
}

void mam_copy_fill(struct mam_copy_visit *visit, uintptr_t at, unsigned char value, size_t bytes)
{
	if (mam_copy_good(visit) && bytes != 0)
		visit->answer = mam_device_answer_of("cuMemsetD8Async",
						     visit->reach->device.driver->memset_d8_async(
							     at, value, bytes, visit->stream));
}

void mam_copy_write(struct mam_copy_visit *visit, uintptr_t at, const void *from, size_t bytes)
{
	if (mam_copy_good(visit))
		visit->answer = mam_device_answer_of("cuMemcpyHtoDAsync",
						     visit->reach->device.driver->memcpy_htod_async(
							     at, from, bytes, visit->stream));
}

void mam_copy_read(struct mam_copy_visit *visit, void *to, uintptr_t at, size_t bytes)
{
	if (mam_copy_good(visit))
		visit->answer = mam_device_answer_of("cuMemcpyDtoHAsync",
						     visit->reach->device.driver->memcpy_dtoh_async(
							     to, at, bytes, visit->stream));
}

void mam_copy_wait(struct mam_copy_visit *visit)
{
	if (mam_copy_good(visit))
		visit->answer = mam_device_answer_of(
			"cuStreamSynchronize",
			visit->reach->device.driver->stream_synchronize(visit->stream));
}

void mam_copy_mark(struct mam_copy_visit *visit)
{
	const struct mam_driver *driver = visit->reach->device.driver;

	if (mam_copy_good(visit))
		visit->answer = mam_device_answer_of(
			"cuEventCreate", driver->event_create(&visit->mark, EVENT_WITHOUT_TIME));
	if (mam_copy_good(visit))
		visit->answer = mam_device_answer_of(
			"cuEventRecord", driver->event_record(visit->mark, visit->stream));
}

void mam_copy_wait_mark(struct mam_copy_visit *visit)
{
	if (mam_copy_good(visit))
		visit->answer = mam_device_answer_of(
			"cuEventSynchronize",
			visit->reach->device.driver->event_synchronize(visit->mark));
}

enum mam_status mam_copy_end(struct mam_copy_visit *visit)
{
	const struct mam_device *device = &visit->reach->device;

	if (visit->mark)
		device->driver->event_destroy(visit->mark);
	/* Copies before the failure still use memory that the caller may release now. */
	if (visit->own && !mam_copy_good(visit))
		(void)device->driver->stream_synchronize(visit->stream);
	if (visit->own)
		device->driver->stream_destroy(visit->stream);
	mam_device_leave(device, &visit->inside);
	return mam_device_status(device, visit->answer);
}
