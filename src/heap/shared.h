/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.h - host memory that kernels read and write at the same address while they run.
 *
 * Pages of our own, that the driver pins and maps to the device. Its own pinned memory would go
 * with its context, under the feet of a thread that looks at it; these pages stay. They are shared
 * ones: after a fork those of a private mapping might be copied, and then the device would go on
 * with one copy and the host with the other. Where the driver cannot map them, or only elsewhere,
 * it is the driver's own memory after all.
 */
#ifndef MAM_HEAP_SHARED_H
#define MAM_HEAP_SHARED_H

#include "source/device.h"

struct mam_shared {
	void *at;     /* zeros at first; at a multiple of 4096 */
	size_t bytes; /* whole pages */
	bool ours;    /* pages of our own */
};

/* mam_shared_map - OUT_OF_MEMORY, OUT_OF_HOST_MEMORY, NO_DEVICE, DRIVER: nothing was taken. */
enum mam_status mam_shared_map(const struct mam_device *device, size_t bytes,
			       struct mam_shared *shared);

/*
 * mam_shared_unmap - pre: no kernel uses it. It waits for the context, as cudaFreeHost does. In the
 * child of a fork the device's side is left alone.
 */
void mam_shared_unmap(const struct mam_device *device, struct mam_shared *shared);

#endif
