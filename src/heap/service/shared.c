/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.c - shared.h by mmap() and the driver's cuMemHostRegister, or by its cuMemHostAlloc.
 */
#include "heap/service/shared.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
/* Of CU_MEMHOSTREGISTER_ and CU_MEMHOSTALLOC_: pinned in every context, accessible to kernels. */
#define PORTABLE 1u
#define DEVICEMAP 2u

/*
 * Returns whether device and host use the same address. A driver without the query has one address
 * for both.
 */
static bool is_same_address(const struct mam_driver *driver, void *at)
{
	unsigned long long device = 0;

	if (!driver->mem_host_get_device_pointer)
		return true;
	return driver->mem_host_get_device_pointer(&device, at, 0) == MAM_DRIVER_SUCCESS &&
	       device == (uintptr_t)at;
}

/* Called inside. Returns false if the memory is not available this way. */
static bool map_ours(const struct mam_driver *driver, size_t bytes, struct mam_shared *shared)
{
	void *at;

	if (!driver->mem_host_register || !driver->mem_host_unregister)
		return false;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return false;
	if (driver->mem_host_register(at, bytes, PORTABLE | DEVICEMAP) == MAM_DRIVER_SUCCESS) {
		if (is_same_address(driver, at)) {
			*shared = (struct mam_shared){ at, bytes, true };
			return true;
		}
		driver->mem_host_unregister(at);
	}
	munmap(at, bytes);
	return false;
}

static struct mam_device_answer map_drivers(const struct mam_driver *driver, size_t bytes,
					    struct mam_shared *shared)
{
	void *at = NULL;
	unsigned int result = driver->mem_host_alloc(&at, bytes, PORTABLE | DEVICEMAP);

	if (result == MAM_DRIVER_SUCCESS) {
		memset(at, 0, bytes);
		*shared = (struct mam_shared){ at, bytes, false };
	}
	return mam_device_answer_of("cuMemHostAlloc", result);
}

enum mam_status mam_shared_map(const struct mam_device *device, size_t bytes,
			       struct mam_shared *shared)
{
	struct mam_device_visit visit;
	struct mam_device_answer answer = mam_device_enter(device, &visit);

	if (answer.result != MAM_DRIVER_SUCCESS)
		return mam_device_status(device, answer);
	bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	if (!map_ours(device->driver, bytes, shared))
		answer = map_drivers(device->driver, bytes, shared);
	mam_device_leave(device, &visit);
	return mam_device_status(device, answer);
}

void mam_shared_unmap(const struct mam_device *device, struct mam_shared *shared)
{
	const struct mam_driver *driver = device->driver;
	struct mam_device_visit visit;
	struct mam_device_answer answer = mam_device_enter(device, &visit);

	if (answer.result == MAM_DRIVER_SUCCESS) {
		if (shared->ours)
			answer = mam_device_answer_of("cuMemHostUnregister",
						      driver->mem_host_unregister(shared->at));
		else
			answer = mam_device_answer_of("cuMemFreeHost",
						      driver->mem_free_host(shared->at));
		mam_device_leave(device, &visit);
		(void)mam_device_status_of_end(device, answer);
	}
	if (shared->ours)
		munmap(shared->at, shared->bytes);
	*shared = (struct mam_shared){ 0 };
}
