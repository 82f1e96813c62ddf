/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_broken.cu - an allocator that returns the same four addresses again and again, which the
 * checks of `mam bench device` must detect.
 */
#include "device/port.h"

MAM_KFN void *bench_malloc(void *heap, size_t bytes)
{
	(void)bytes;
	return (unsigned char *)heap + 4096 * (mam_thread() % 4 + 1);
}

MAM_KFN void bench_free(void *heap, void *object, size_t bytes)
{
	(void)heap;
	(void)object;
	(void)bytes;
}

#include "bench/device/device_kernels.h"
#include "bench/device/device_kernels_more.h"
