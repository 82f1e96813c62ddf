/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zero.c - zero.h by cuMemcpyHtoDAsync and cuStreamQuery.
 */
#include "heap/service/zero.h"

#define STREAM_NON_BLOCKING 1u

static const struct mam_driver *driver_of(const struct mam_zero *zero)
{
	return zero->reach->device.driver;
}

enum mam_status mam_zero_open(struct mam_zero *zero, const struct mam_copy *reach,
			      const void *zeros)
{
	struct mam_device_visit visit;
	struct mam_device_answer answer;

	*zero = (struct mam_zero){ .reach = reach, .zeros = zeros };
	if (!driver_of(zero)->stream_query)
		return MAM_ERROR_UNSUPPORTED;
	answer = mam_device_enter(&reach->device, &visit);
	if (answer.result != MAM_DRIVER_SUCCESS)
		return mam_device_status(&reach->device, answer);
	answer = mam_device_answer_of(
		"cuStreamCreate",
		driver_of(zero)->stream_create(&zero->stream, STREAM_NON_BLOCKING));
	mam_device_leave(&reach->device, &visit);
	return mam_device_status(&reach->device, answer);
}

/* Called inside. */
static struct mam_device_answer look(struct mam_zero *zero)
{
	const unsigned int result = driver_of(zero)->stream_query(zero->stream);

	if (result != MAM_DRIVER_NOT_READY)
		zero->at = 0;
	return mam_device_answer_of("cuStreamQuery", result);
}

/* Called inside. After a failure nothing is being copied any more. */
static struct mam_device_answer start(struct mam_zero *zero, uintptr_t at, size_t bytes)
{
	struct mam_device_answer answer = { 0 };
	size_t done, part;

	for (done = 0; done < bytes; done += part) {
		part = bytes - done < MAM_ZERO_BYTES ? bytes - done : MAM_ZERO_BYTES;
		answer = mam_device_answer_of("cuMemcpyHtoDAsync",
					      driver_of(zero)->memcpy_htod_async(
						      at + done, zero->zeros, part, zero->stream));
		if (answer.result != MAM_DRIVER_SUCCESS) {
			driver_of(zero)->stream_synchronize(zero->stream);
			return answer;
		}
	}
	zero->at = at;
	return answer;
}

enum mam_status mam_zero_memory(struct mam_zero *zero, uintptr_t at, size_t bytes)
{
	const bool begun = zero->at == at;
	struct mam_device_visit visit;
	struct mam_device_answer answer = mam_device_enter(&zero->reach->device, &visit);

	if (answer.result != MAM_DRIVER_SUCCESS)
		return mam_device_status(&zero->reach->device, answer);
	if (zero->at != 0)
		answer = look(zero);
	if (!begun && answer.result == MAM_DRIVER_SUCCESS) {
		answer = start(zero, at, bytes);
		if (answer.result == MAM_DRIVER_SUCCESS)
			answer = look(zero);
	}
	mam_device_leave(&zero->reach->device, &visit);
	return answer.result == MAM_DRIVER_NOT_READY
		       ? MAM_ERROR_WOULD_WAIT
		       : mam_device_status(&zero->reach->device, answer);
}

void mam_zero_wait(struct mam_zero *zero)
{
	struct mam_device_visit visit;

	if (zero->at == 0 ||
	    mam_device_enter(&zero->reach->device, &visit).result != MAM_DRIVER_SUCCESS)
		return;
	driver_of(zero)->stream_synchronize(zero->stream);
	mam_device_leave(&zero->reach->device, &visit);
	zero->at = 0;
}

void mam_zero_close(struct mam_zero *zero)
{
	struct mam_device_visit visit;

	mam_zero_wait(zero);
	if (mam_device_enter(&zero->reach->device, &visit).result != MAM_DRIVER_SUCCESS)
		return;
	driver_of(zero)->stream_destroy(zero->stream);
	mam_device_leave(&zero->reach->device, &visit);
}
