/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_mam.h - an adapter of mam bench device: mam's own objects.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_MAM_H
#define MAM_TOOLS_BENCH_DEVICE_MAM_H

#include "heap/objects/objects.h"

MAM_KFN void *bench_malloc(void *heap, size_t bytes)
{
	return mam_objects_alloc((struct mam_kheap *)heap, bytes);
}

MAM_KFN void bench_free(void *heap, void *object, size_t bytes)
{
	(void)bytes;
	(void)mam_objects_free((struct mam_kheap *)heap, object);
}

#endif
