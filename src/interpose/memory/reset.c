/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reset.c - functions that destroy a context, and with it the memory of its pool.
 *
 * The pool is abandoned first, without a driver call: its chunks are gone once the real function has
 * succeeded, and another thread may get their addresses from the driver before it returns. Addresses
 * in the pool are unknown from then on: the driver receives them and returns its own error. If the
 * real function fails, the driver serves the context, and the chunks stay until it is destroyed. Only
 * the driver knows which release or detach is the last one, so after these the pool is abandoned
 * later. A primary context is identified by its device, one that a program created by its handle.
 *
 * There is no guard here: the real cudaDeviceReset reaches these functions again through the driver
 * API, and dropping a pool twice has no effect.
 */
#include <stdbool.h>
#include <stdint.h>

#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/peer.h"
#include "interpose/memory/pools.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

/*
 * Returns the primary context of a device if memory on the account, a capture or a link of peers
 * may belong to it; otherwise NULL. Must be called before the context is destroyed.
 */
static void *noted_primary(int device)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *context = NULL;
	unsigned int flags;
	int active = 0;

	if (driver == NULL || mam_init_passes() ||
	    !(mam_account_has_notes() || mam_capture_alive() || mam_peer_exists()) ||
	    driver->primary_state(device, &flags, &active) != MAM_CUDA_SUCCESS || !active ||
	    driver->primary_retain(&context, device) != MAM_CUDA_SUCCESS)
		return NULL;
	driver->primary_release(device);
	return context;
}

int cudaDeviceReset(void)
{
	MAM_GATE_PASS();
	__typeof__(&cudaDeviceReset) real = MAM_TABLE_ORIGINAL(cudaDeviceReset);
	const struct mam_real_runtime *runtime = mam_real_runtime();
	void *context = NULL;
	uint64_t captures;
	int device = -1, answer;

	if (real == NULL)
		return MAM_CUDA_INSUFFICIENT_DRIVER;
	if (mam_init_passes())
		return real();
	/*
	 * Only if there is something to drop: querying the device must not be the program's first
	 * CUDA call.
	 */
	if ((mam_pools_exist() || mam_capture_alive() || mam_peer_exists()) && runtime != NULL &&
	    runtime->get_device(&device) != MAM_CUDA_SUCCESS)
		device = -1;
	if (device >= 0)
		context = noted_primary(device);
	captures = mam_capture_context_ending(context);
	if (device >= 0)
		mam_pools_end_primary(device);
	answer = real();
	mam_capture_context_ended(context, captures, answer == MAM_CUDA_SUCCESS);
	if (answer == MAM_CUDA_SUCCESS && device >= 0) {
		mam_pools_drop_primary(device);
		mam_peer_context_gone(context);
	}
	return answer;
}

static void primary_gone(int device, void *context)
{
	mam_pools_drop_primary(device);
	mam_account_context_gone(context);
	mam_peer_context_gone(context);
}

static int primary_reset(__typeof__(&cuDevicePrimaryCtxReset_v2) real, int device)
{
	MAM_GATE_PASS();
	void *context = noted_primary(device);
	uint64_t captures = mam_capture_context_ending(context);
	int answer;

	if (real != NULL && !mam_init_passes())
		mam_pools_end_primary(device);
	answer = real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(device);
	mam_capture_context_ended(context, captures, answer == MAM_CUDA_SUCCESS);
	if (answer == MAM_CUDA_SUCCESS && !mam_init_passes())
		primary_gone(device, context);
	return answer;
}

int cuDevicePrimaryCtxReset(int device)
{
	return primary_reset(MAM_TABLE_ORIGINAL(cuDevicePrimaryCtxReset), device);
}

int cuDevicePrimaryCtxReset_v2(int device)
{
	return primary_reset(MAM_TABLE_ORIGINAL(cuDevicePrimaryCtxReset_v2), device);
}

/* The primary context of a device, before a call that may release it. */
struct released {
	void *context; /* of noted_primary() */
	uint64_t captures;
};

static struct released before_release(int device)
{
	struct released primary = { .context = noted_primary(device) };

	primary.captures = mam_capture_context_ending(primary.context);
	return primary;
}

/* The last release destroys the context; only the driver knows whether it was the last. */
static void after_release(int device, const struct released *primary, int answer)
{
	const struct mam_real_driver *driver = mam_real_driver();
	unsigned int flags;
	int active = 1;
	bool gone;

	gone = answer == MAM_CUDA_SUCCESS && !mam_init_passes() &&
	       (primary->context != NULL || mam_pools_exist()) && driver != NULL &&
	       driver->primary_state(device, &flags, &active) == MAM_CUDA_SUCCESS && !active;
	mam_capture_context_ended(primary->context, primary->captures, gone);
	if (gone)
		primary_gone(device, primary->context);
}

static int primary_release(__typeof__(&cuDevicePrimaryCtxRelease_v2) real, int device)
{
	MAM_GATE_PASS();
	const struct released primary = before_release(device);
	int answer = real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(device);

	after_release(device, &primary, answer);
	return answer;
}

int cuDevicePrimaryCtxRelease(int device)
{
	return primary_release(MAM_TABLE_ORIGINAL(cuDevicePrimaryCtxRelease), device);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	return primary_release(MAM_TABLE_ORIGINAL(cuDevicePrimaryCtxRelease_v2), device);
}

/*
 * A detach destroys the context, which is current, if it was attached no more often than detached.
 */
static bool is_detached(void *context)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *current = NULL;
	int device;

	return driver != NULL && driver->ctx_current(&current) == MAM_CUDA_SUCCESS &&
	       (current != context || driver->ctx_device(&device) == MAM_CUDA_CONTEXT_IS_DESTROYED);
}

static int destroy(__typeof__(&cuCtxDestroy_v2) real, void *context, bool detach)
{
	MAM_GATE_PASS();
	uint64_t captures = mam_init_passes() ? 0 : mam_capture_context_ending(context);
	int answer;
	bool gone;

	if (real != NULL && !detach && !mam_init_passes())
		mam_pools_end(context);
	answer = real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(context);
	gone = answer == MAM_CUDA_SUCCESS && !mam_init_passes() &&
	       (!detach || is_detached(context));
	mam_capture_context_ended(context, captures, gone);
	if (gone) {
		mam_pools_drop(context);
		mam_account_context_gone(context);
		mam_peer_context_gone(context);
	}
	return answer;
}

int cuCtxDestroy(void *context)
{
	return destroy(MAM_TABLE_ORIGINAL(cuCtxDestroy), context, false);
}

int cuCtxDestroy_v2(void *context)
{
	return destroy(MAM_TABLE_ORIGINAL(cuCtxDestroy_v2), context, false);
}

int cuCtxDetach(void *context)
{
	return destroy(MAM_TABLE_ORIGINAL(cuCtxDetach), context, true);
}

static int device_count(void)
{
	const struct mam_real_driver *driver = mam_real_driver();
	int count;

	if (driver == NULL || driver->device_count == NULL || mam_init_passes() ||
	    driver->device_count(&count) != MAM_CUDA_SUCCESS)
		return 0;
	return count < MAM_WATCH_DEVICES_MAX ? count : MAM_WATCH_DEVICES_MAX;
}

/* A green context releases the primary context of its device, which is unknown here. */
int cuGreenCtxDestroy(void *green)
{
	MAM_GATE_PASS();
	__typeof__(&cuGreenCtxDestroy) real = MAM_TABLE_ORIGINAL(cuGreenCtxDestroy);
	struct released primaries[MAM_WATCH_DEVICES_MAX];
	int count = device_count(), answer;

	for (int device = 0; device < count; device++)
		primaries[device] = before_release(device);
	answer = real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(green);
	for (int device = 0; device < count; device++)
		after_release(device, &primaries[device], answer);
	if (answer == MAM_CUDA_SUCCESS && !mam_init_passes())
		mam_pools_drop_aliases();
	return answer;
}
