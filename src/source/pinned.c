/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinned.c - chunks of pinned host memory by the driver's cuMemHostAlloc: copies to and from it
 * need no stop-over, and kernels reach it at the same address, in every context. How they are asked
 * for: whole.c.
 *
 * Pinned pages cannot be swapped out, and a machine without any others stops. So a quarter of the
 * host's memory, or of what its control group allows, is always left to the rest of the machine.
 *
 * A freed block may still be read by a copy in flight, as device memory may: the strict policy
 * waits for the context here too, as cudaFreeHost does.
 */
#include "source/hostmem.h"
#include "source/whole.h"

/* Of CU_MEMHOSTALLOC_: pinned in every context, and within reach of kernels. */
#define PORTABLE 1u
#define DEVICEMAP 2u

#define ALIGNMENT ((size_t)4096)

/* What is being asked for just now; once given it is missing from what the host has. */
static atomic_size_t asked;

static unsigned int alloc(const struct mam_driver *driver, size_t bytes,
			  unsigned long long *address)
{
	void *block = NULL;
	unsigned int result = driver->mem_host_alloc(&block, bytes, PORTABLE | DEVICEMAP);

	*address = (uintptr_t)block;
	return result;
}

static unsigned int give_back(const struct mam_driver *driver, unsigned long long address)
{
	return driver->mem_free_host((void *)(uintptr_t)address);
}

static enum mam_status total(const struct mam_device *device, size_t *bytes)
{
	struct mam_hostmem host;

	(void)device; /* the host is every device's */
	*bytes = mam_hostmem_read("", &host) ? host.total_bytes : 0;
	return MAM_OK;
}

static bool room(const struct mam_device *device, size_t *bytes)
{
	struct mam_hostmem host;

	(void)device;
	if (!mam_hostmem_read("", &host))
		return false;
	*bytes = mam_hostmem_room(&host);
	return true;
}

static const struct mam_whole_kind pinned = {
	.name = "pinned",
	.alignment = ALIGNMENT,
	.alloc_name = "cuMemHostAlloc",
	.alloc = alloc,
	.free_name = "cuMemFreeHost",
	.free = give_back,
	.total = total,
	.room = room,
	.asked = &asked,
	.places = 1,
	.asked_stays = false,
};

enum mam_status mam_pinned_create(int device, struct mam_source **source)
{
	return mam_whole_create(&pinned, device, source);
}
