/* SPDX-License-Identifier: Apache-2.0 */
/*
 * free_async.c - cuMemFreeAsync: freed once a stream has come so far.
 */
#include "interpose/hooks.h"
#include "interpose/table.h"

int cuMemFreeAsync(unsigned long long block, void *stream)
{
	__typeof__(&cuMemFreeAsync) real = MAM_TABLE_ORIGINAL(cuMemFreeAsync);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, stream);
}

int mam_by_lookup_cuMemFreeAsync(unsigned long long block, void *stream)
{
	__typeof__(&cuMemFreeAsync) real = MAM_TABLE_ORIGINAL(cuMemFreeAsync);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, stream);
}

int cuMemFreeAsync_ptsz(unsigned long long block, void *stream)
{
	__typeof__(&cuMemFreeAsync_ptsz) real = MAM_TABLE_ORIGINAL(cuMemFreeAsync_ptsz);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, stream);
}

int mam_by_lookup_cuMemFreeAsync_ptsz(unsigned long long block, void *stream)
{
	__typeof__(&cuMemFreeAsync_ptsz) real = MAM_TABLE_ORIGINAL(cuMemFreeAsync_ptsz);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, stream);
}
