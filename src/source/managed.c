/* SPDX-License-Identifier: Apache-2.0 */
/*
 * managed.c - chunks of managed memory from the driver's cuMemAllocManaged: host and device use one
 * address, and pages migrate to the processor that accesses them. whole.c describes how chunks are
 * allocated.
 *
 * The driver allocates more of it than a device has, and a program that then uses all of it can
 * make the GPU unusable for minutes. So this source never allocates more than is free on the
 * device. Since untouched memory does not show as used there, the source assumes that all its
 * chunks are untouched. In the worst case, when all of it is on the device, it stops at half of the
 * possible amount.
 */
#include "source/whole.h"

/* Any stream on any device may use the memory: CU_MEM_ATTACH_GLOBAL. */
#define ATTACH_GLOBAL 1u

/* The driver's page size, and the smallest alignment that it guarantees. */
#define ALIGNMENT ((size_t)4096)

#define PLACES 64u

static atomic_size_t asked[PLACES];

static unsigned int alloc(const struct mam_driver *driver, size_t bytes,
			  unsigned long long *address)
{
	return driver->mem_alloc_managed(address, bytes, ATTACH_GLOBAL);
}

static unsigned int give_back(const struct mam_driver *driver, unsigned long long address)
{
	return driver->mem_free(address);
}

static const struct mam_whole_kind managed = {
	.name = "managed",
	.alignment = ALIGNMENT,
	.alloc_name = "cuMemAllocManaged",
	.alloc = alloc,
	.free_name = "cuMemFree",
	.free = give_back,
	.total = mam_device_total_bytes,
	.room = mam_device_free_bytes,
	.asked = asked,
	.places = PLACES,
	.asked_stays = true,
};

enum mam_status mam_managed_create(int device, struct mam_source **source)
{
	return mam_whole_create(&managed, device, source);
}
