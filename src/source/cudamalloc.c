/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudamalloc.c - chunks of device memory from the driver's cuMemAlloc: the memory that IPC,
 * GPUDirect and registration with network libraries support. whole.c describes how chunks are
 * allocated.
 */
#include "source/whole.h"

static unsigned int alloc(const struct mam_driver *driver, size_t bytes,
			  unsigned long long *address)
{
	return driver->mem_alloc(address, bytes);
}

static unsigned int give_back(const struct mam_driver *driver, unsigned long long address)
{
	return driver->mem_free(address);
}

static const struct mam_whole_kind cudamalloc = {
	.name = "cudamalloc",
	.alignment = (size_t)2 << 20,
	.alloc_name = "cuMemAlloc",
	.alloc = alloc,
	.free_name = "cuMemFree",
	.free = give_back,
	.total = mam_device_total_bytes,
	.room = mam_device_free_bytes,
	.maps = true,
};

enum mam_status mam_cudamalloc_create(int device, struct mam_source **source)
{
	return mam_whole_create(&cudamalloc, device, source);
}
