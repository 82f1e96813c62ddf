/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kernels_touch.h - accesses of kernels of `mam bench device` to their objects: write one,
 * check that it is unchanged, and free it if its allocator supports that.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_KERNELS_TOUCH_H
#define MAM_TOOLS_BENCH_DEVICE_KERNELS_TOUCH_H

#include "bench/device/device_kernels.h"

/*
 * Writes an object of this many bytes, 4 or more, with its owner's color; and checks that it is
 * unchanged: by accesses that the compiler must not remove.
 */
MAM_KFN void device_stain(void *object, uint32_t bytes, uint32_t color)
{
	uint32_t *const words = (uint32_t *)object;
	uint32_t k;

	for (k = 0; k < bytes / 4; k++)
		mam_atomic_store32(&words[k], color, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KFN bool device_is_stained(void *object, uint32_t bytes, uint32_t color)
{
	uint32_t *const words = (uint32_t *)object;
	bool same = true;
	uint32_t k;

	for (k = 0; k < bytes / 4; k++)
		same &= mam_atomic_load32(&words[k], MAM_RELAXED, MAM_AT_DEVICE) == color;
	return same;
}

MAM_KFN void device_drop(const struct device_job *job, void *object, uint32_t bytes)
{
#ifdef BENCH_NO_FREE
	(void)job;
	(void)object;
	(void)bytes;
#else
	bench_free(job->heap, object, bytes);
#endif
}

#endif
