/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pitch.c - pitched memory.
 */
#include "interpose/hooks.h"
#include "interpose/table.h"

int cuMemAllocPitch_v2(unsigned long long *block, size_t *pitch, size_t width, size_t height,
		       unsigned int element)
{
	__typeof__(&cuMemAllocPitch_v2) real = MAM_TABLE_ORIGINAL(cuMemAllocPitch_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, pitch, width, height, element);
}

int mam_by_lookup_cuMemAllocPitch_v2(unsigned long long *block, size_t *pitch, size_t width,
				     size_t height, unsigned int element)
{
	__typeof__(&cuMemAllocPitch_v2) real = MAM_TABLE_ORIGINAL(cuMemAllocPitch_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, pitch, width, height, element);
}
