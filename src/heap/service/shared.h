/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.h - host memory that kernels read and write at the same address while they run.
 *
 * Pages of our own, which the driver pins and maps to the device. The driver's own pinned memory
 * would disappear with its context while a thread polls it; these pages stay. They are a shared
 * mapping: after a fork the pages of a private mapping might be copied, and then the device would
 * continue with one copy and the host with the other. If the driver cannot map them, or only at
 * another address, the driver's own memory is used after all.
 */
#ifndef MAM_HEAP_SERVICE_SHARED_H
#define MAM_HEAP_SERVICE_SHARED_H

#include "source/device.h"

struct mam_shared {
	void *at;     /* zeros at first; aligned to 4096 */
	size_t bytes; /* whole pages */
	bool ours;    /* pages of our own */
};

/*
 * mam_shared_map - returns OUT_OF_MEMORY, OUT_OF_HOST_MEMORY, NO_DEVICE or DRIVER on failure;
 * nothing is allocated then.
 */
enum mam_status mam_shared_map(const struct mam_device *device, size_t bytes,
			       struct mam_shared *shared);

/*
 * mam_shared_unmap - pre: no kernel uses it. Waits for the context, as cudaFreeHost does. In the
 * child of a fork the device's mapping is left alone.
 */
void mam_shared_unmap(const struct mam_device *device, struct mam_shared *shared);

#endif
