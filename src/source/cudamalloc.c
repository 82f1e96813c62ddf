/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudamalloc.c - chunks of device memory by the driver's cuMemAlloc: what IPC, GPUDirect and
 * registration with network libraries work on.
 *
 * A source is bound to one CUDA context when it is made: the calling thread's, if it has one on the
 * device asked for, else the device's primary context, which is then kept alive until the source
 * ends. Each later call, from whichever thread,
 *
 * 1. refuses in the child of a fork;
 * 2. makes the context current if it is not;
 * 3. puts the thread's stream captures into relaxed mode, in which allocating does not end them;
 * 4. makes its one call;
 * 5. undoes 3 and 2, so that the thread is left as it was found.
 *
 * The driver API keeps no error for later, so a failure leaves nothing behind.
 *
 * While the process exits the driver answers every call with DEINITIALIZED: then nothing runs and
 * all device memory is gone, so waiting and giving back count as done.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "source/driver.h"
#include "source/source.h"

/* What the driver maps device memory in, and aligns allocations of this size and more to. */
#define GRANULARITY ((size_t)2 << 20)

struct cuda_source {
	struct mam_source source;
	/* lock: none, all set at creation */
	const struct mam_driver *driver;
	struct CUctx_st *context;
	bool retains_primary; /* the context is the primary one, and kept alive by us */
};

/* How a thread was found. */
struct visit {
	bool pushed;       /* our context lies on top of its own */
	unsigned int mode; /* its capture mode */
};

/* A driver call's answer with the function it came from. */
struct answer {
	unsigned int result;
	const char *function;
};

static struct answer answer_of(const char *function, unsigned int result)
{
	return (struct answer){ result, function };
}

static struct answer enter(const struct mam_driver *driver, struct CUctx_st *context,
			   struct visit *visit)
{
	struct CUctx_st *current = NULL;
	unsigned int result = driver->ctx_get_current(&current);

	visit->pushed = false;
	visit->mode = MAM_DRIVER_CAPTURE_RELAXED;
	if (result != MAM_DRIVER_SUCCESS)
		return answer_of("cuCtxGetCurrent", result);
	if (current != context) {
		result = driver->ctx_push_current(context);
		if (result != MAM_DRIVER_SUCCESS)
			return answer_of("cuCtxPushCurrent", result);
		visit->pushed = true;
	}
	result = driver->thread_exchange_stream_capture_mode(&visit->mode);
	if (result != MAM_DRIVER_SUCCESS && visit->pushed)
		driver->ctx_pop_current(&current);
	return answer_of("cuThreadExchangeStreamCaptureMode", result);
}

/* What fails here failed to restore another's state; there is nothing better to do than go on. */
static void leave(const struct mam_driver *driver, struct visit *visit)
{
	struct CUctx_st *popped;

	driver->thread_exchange_stream_capture_mode(&visit->mode);
	if (visit->pushed)
		driver->ctx_pop_current(&popped);
}

static enum mam_status status_of(const struct cuda_source *cuda, struct answer answer)
{
	return mam_driver_status(cuda->driver, answer.function, answer.result);
}

static bool is_over(struct answer answer)
{
	return answer.result == MAM_DRIVER_DEINITIALIZED;
}

static enum mam_status cuda_grow(struct mam_source *source, size_t bytes, void **base)
{
	struct cuda_source *cuda = (struct cuda_source *)source;
	const struct mam_driver *driver;
	unsigned long long address = 0;
	struct answer answer;
	struct visit visit;

	if (mam_driver_get(&driver) != MAM_OK)
		return MAM_ERROR_NO_DEVICE;
	answer = enter(driver, cuda->context, &visit);
	if (answer.result != MAM_DRIVER_SUCCESS)
		return status_of(cuda, answer);
	answer = answer_of("cuMemAlloc", driver->mem_alloc(&address, bytes));
	if (answer.result == MAM_DRIVER_SUCCESS && address % GRANULARITY != 0) {
		driver->mem_free(address);
		leave(driver, &visit);
		mam_log(MAM_LOG_WARN, "the CUDA driver's cuMemAlloc gave %#llx for %zu bytes: no "
			"multiple of 2 MiB", address, bytes);
		return MAM_ERROR_DRIVER;
	}
	leave(driver, &visit);
	if (answer.result != MAM_DRIVER_SUCCESS)
		return status_of(cuda, answer);
	*base = (void *)(uintptr_t)address;
	return MAM_OK;
}

static enum mam_status cuda_shrink(struct mam_source *source, void *base, size_t bytes)
{
	struct cuda_source *cuda = (struct cuda_source *)source;
	const struct mam_driver *driver;
	struct answer answer;
	struct visit visit;

	(void)bytes;
	if (mam_driver_get(&driver) != MAM_OK)
		return MAM_ERROR_NO_DEVICE;
	answer = enter(driver, cuda->context, &visit);
	if (answer.result == MAM_DRIVER_SUCCESS) {
		answer = answer_of("cuMemFree", driver->mem_free((uintptr_t)base));
		leave(driver, &visit);
	}
	return is_over(answer) ? MAM_OK : status_of(cuda, answer);
}

/*
 * Waits as cudaFree does. Unlike cudaFree in relaxed mode it is not allowed while a stream of the
 * context is in capture: the driver then refuses and ends the capture.
 */
static enum mam_status cuda_quiesce(struct mam_source *source)
{
	struct cuda_source *cuda = (struct cuda_source *)source;
	const struct mam_driver *driver;
	struct answer answer;
	struct visit visit;

	if (mam_driver_get(&driver) != MAM_OK)
		return MAM_ERROR_NO_DEVICE;
	answer = enter(driver, cuda->context, &visit);
	if (answer.result == MAM_DRIVER_SUCCESS) {
		answer = answer_of("cuCtxSynchronize", driver->ctx_synchronize());
		leave(driver, &visit);
	}
	return is_over(answer) ? MAM_OK : status_of(cuda, answer);
}

static void cuda_destroy(struct mam_source *source)
{
	struct cuda_source *cuda = (struct cuda_source *)source;
	const struct mam_driver *driver;

	if (cuda->retains_primary && mam_driver_get(&driver) == MAM_OK)
		driver->device_primary_ctx_release(cuda->source.properties.device);
	free(cuda);
}

static const struct mam_source_ops cuda_ops = {
	.grow = cuda_grow,
	.shrink = cuda_shrink,
	.quiesce = cuda_quiesce,
	.destroy = cuda_destroy,
};

/*
 * Sets the source's context and device: the current context where that fits `device`, else the
 * primary context of the device, which is the first where none is asked for.
 */
static struct answer bind(struct cuda_source *cuda, int device)
{
	const struct mam_driver *driver = cuda->driver;
	struct CUctx_st *current = NULL;
	unsigned int result = driver->ctx_get_current(&current);
	int current_device = -1, handle;

	if (result != MAM_DRIVER_SUCCESS)
		return answer_of("cuCtxGetCurrent", result);
	if (current) {
		result = driver->ctx_get_device(&current_device);
		if (result != MAM_DRIVER_SUCCESS)
			return answer_of("cuCtxGetDevice", result);
	}
	if (current && (device == MAM_DEVICE_CURRENT || device == current_device)) {
		cuda->context = current;
		cuda->source.properties.device = current_device;
		return answer_of("cuCtxGetDevice", MAM_DRIVER_SUCCESS);
	}
	result = driver->device_get(&handle, device == MAM_DEVICE_CURRENT ? 0 : device);
	if (result != MAM_DRIVER_SUCCESS)
		return answer_of("cuDeviceGet", result);
	result = driver->device_primary_ctx_retain(&cuda->context, handle);
	if (result == MAM_DRIVER_SUCCESS) {
		cuda->retains_primary = true;
		cuda->source.properties.device = handle;
	}
	return answer_of("cuDevicePrimaryCtxRetain", result);
}

/* Once: later failures have the same reason. */
static void report_no_device(void)
{
	static _Atomic bool reported;

	if (!atomic_exchange(&reported, true))
		mam_log(MAM_LOG_WARN, "no CUDA device can be used: %s", mam_driver_reason());
}

enum mam_status mam_cudamalloc_create(int device, struct mam_source **source)
{
	struct cuda_source *cuda = calloc(1, sizeof(*cuda));
	struct mam_source_properties *properties;
	enum mam_status status;

	if (!cuda)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	properties = &cuda->source.properties;
	cuda->source.ops = &cuda_ops;
	*properties = (struct mam_source_properties){
		.name = "cudamalloc",
		.granularity = GRANULARITY,
		.alignment = GRANULARITY,
		.survives_fork = false,
	};
	status = mam_driver_get(&cuda->driver);
	if (status == MAM_OK)
		status = status_of(cuda, bind(cuda, device));
	if (status == MAM_OK)
		status = mam_driver_status(cuda->driver, "cuDeviceTotalMem",
					   cuda->driver->device_total_mem(&properties->total_bytes,
									  properties->device));
	if (status == MAM_ERROR_NO_DEVICE)
		report_no_device();
	if (status != MAM_OK) {
		cuda_destroy(&cuda->source);
		return status;
	}
	*source = &cuda->source;
	return MAM_OK;
}

bool mam_cudamalloc_room(struct mam_source *source, size_t *bytes)
{
	struct cuda_source *cuda = (struct cuda_source *)source;
	const struct mam_driver *driver;
	size_t free_bytes, total_bytes;
	struct visit visit;

	if (source->ops != &cuda_ops)
		return false;
	if (mam_driver_get(&driver) != MAM_OK ||
	    enter(driver, cuda->context, &visit).result != MAM_DRIVER_SUCCESS)
		return true; /* the caller's guess stays: the grow will say what is wrong */
	if (driver->mem_get_info(&free_bytes, &total_bytes) == MAM_DRIVER_SUCCESS)
		*bytes = free_bytes;
	leave(driver, &visit);
	return true;
}
