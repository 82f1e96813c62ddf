/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_async.c - stream-ordered allocation of the fake runtime.
 *
 * Each function exists twice: the version with _ptsz is for code compiled for per-thread default
 * streams, and calls the driver's function for those.
 */
#include "runtime.h"

static int allocate(__typeof__(cuMemAllocAsync) *driver, void **address, size_t bytes,
		    struct CUstream_st *stream)
{
	unsigned long long found = 0;
	int result = address ? cudaSuccess : cudaErrorInvalidValue;

	if (result == cudaSuccess && bytes)
		result = driver(&found, bytes, stream);
	if (result == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return result;
}

static int allocate_from(__typeof__(cuMemAllocFromPoolAsync) *driver, void **address, size_t bytes,
			 struct CUmemPoolHandle_st *pool, struct CUstream_st *stream)
{
	unsigned long long found = 0;
	int result = address ? cudaSuccess : cudaErrorInvalidValue;

	if (result == cudaSuccess && bytes)
		result = driver(&found, bytes, pool, stream);
	if (result == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return result;
}

static int release(__typeof__(cuMemFreeAsync) *driver, void *address, struct CUstream_st *stream)
{
	return address ? driver((uintptr_t)address, stream) : cudaSuccess;
}

/* The driver's functions are only known once the runtime is initialized. */
#define TWICE(name, declared, function, driver, ...)                                  \
	int name declared                                                             \
	{                                                                             \
		int result = runtime_ready();                                         \
                                                                                      \
		if (result == cudaSuccess)                                            \
			result = function(runtime_driver.driver, __VA_ARGS__);        \
		return runtime_remember(result);                                      \
	}                                                                             \
	int name##_ptsz declared                                                      \
	{                                                                             \
		int result = runtime_ready();                                         \
                                                                                      \
		if (result == cudaSuccess)                                            \
			result = function(runtime_driver.driver##_ptsz, __VA_ARGS__); \
		return runtime_remember(result);                                      \
	}

TWICE(cudaMallocAsync, (void **address, size_t bytes, struct CUstream_st *stream), allocate,
      cuMemAllocAsync, address, bytes, stream)
TWICE(cudaMallocFromPoolAsync,
      (void **address, size_t bytes, struct CUmemPoolHandle_st *pool, struct CUstream_st *stream),
      allocate_from, cuMemAllocFromPoolAsync, address, bytes, pool, stream)
TWICE(cudaFreeAsync, (void *address, struct CUstream_st *stream), release, cuMemFreeAsync, address,
      stream)

int cudaDeviceGetDefaultMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	int result = runtime_load();

	if (result == cudaSuccess)
		result = runtime_driver.cuDeviceGetDefaultMemPool(pool, device);
	return runtime_remember(result);
}
