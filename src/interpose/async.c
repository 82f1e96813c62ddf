/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async.c - stream-ordered memory.
 */
#include "interpose/hooks.h"
#include "interpose/table.h"

int cuMemAllocAsync(unsigned long long *block, size_t bytes, void *stream)
{
	__typeof__(&cuMemAllocAsync) real = MAM_TABLE_ORIGINAL(cuMemAllocAsync);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, stream);
}

int mam_by_lookup_cuMemAllocAsync(unsigned long long *block, size_t bytes, void *stream)
{
	__typeof__(&cuMemAllocAsync) real = MAM_TABLE_ORIGINAL(cuMemAllocAsync);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, stream);
}

int cuMemAllocAsync_ptsz(unsigned long long *block, size_t bytes, void *stream)
{
	__typeof__(&cuMemAllocAsync_ptsz) real = MAM_TABLE_ORIGINAL(cuMemAllocAsync_ptsz);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, stream);
}

int mam_by_lookup_cuMemAllocAsync_ptsz(unsigned long long *block, size_t bytes, void *stream)
{
	__typeof__(&cuMemAllocAsync_ptsz) real = MAM_TABLE_ORIGINAL(cuMemAllocAsync_ptsz);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, stream);
}

int cuMemAllocFromPoolAsync(unsigned long long *block, size_t bytes, void *pool, void *stream)
{
	__typeof__(&cuMemAllocFromPoolAsync) real = MAM_TABLE_ORIGINAL(cuMemAllocFromPoolAsync);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, pool, stream);
}

int mam_by_lookup_cuMemAllocFromPoolAsync(unsigned long long *block, size_t bytes, void *pool,
					  void *stream)
{
	__typeof__(&cuMemAllocFromPoolAsync) real = MAM_TABLE_ORIGINAL(cuMemAllocFromPoolAsync);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, pool, stream);
}

int cuMemAllocFromPoolAsync_ptsz(unsigned long long *block, size_t bytes, void *pool,
				 void *stream)
{
	__typeof__(&cuMemAllocFromPoolAsync_ptsz) real = MAM_TABLE_ORIGINAL(cuMemAllocFromPoolAsync_ptsz);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, pool, stream);
}

int mam_by_lookup_cuMemAllocFromPoolAsync_ptsz(unsigned long long *block, size_t bytes,
					       void *pool, void *stream)
{
	__typeof__(&cuMemAllocFromPoolAsync_ptsz) real = MAM_TABLE_ORIGINAL(cuMemAllocFromPoolAsync_ptsz);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, pool, stream);
}
