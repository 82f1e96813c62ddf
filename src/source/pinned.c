/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinned.c - chunks of pinned host memory from the driver's cuMemHostAlloc: copies to and from it
 * need no staging buffer, and kernels access it at the same address, in every context. whole.c
 * describes how chunks are allocated.
 *
 * Pinned pages cannot be swapped out, and a machine stops without other pages. So a quarter of the
 * host's memory, or of the limit of its control group, is always left to the rest of the machine.
 *
 * A copy in flight may still read a freed block, as with device memory. So the strict policy waits
 * for the context here too, as cudaFreeHost does.
 */
#include "source/hostmem.h"
#include "source/whole.h"

/* CU_MEMHOSTALLOC_ flags: pinned in every context, and accessible by kernels. */
#define PORTABLE 1u
#define DEVICEMAP 2u

#define ALIGNMENT ((size_t)4096)

/* Bytes of requests in progress. Once allocated, they are no longer available host memory. */
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

	(void)device; /* all devices share the host */
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
