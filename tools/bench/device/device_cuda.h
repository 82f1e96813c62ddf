/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_cuda.h - an adapter of mam bench device: CUDA's own malloc in kernels. The heap belongs to
 * the context and keeps the size it had before the first kernel.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_CUDA_H
#define MAM_TOOLS_BENCH_DEVICE_CUDA_H

#include "device/port.h"

MAM_KFN void *bench_malloc(void *heap, size_t bytes)
{
	(void)heap;
	return malloc(bytes);
}

MAM_KFN void bench_free(void *heap, void *object, size_t bytes)
{
	(void)heap;
	(void)bytes;
	free(object);
}

#endif
