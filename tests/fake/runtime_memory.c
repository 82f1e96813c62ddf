/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_memory.c - the fake runtime's allocations, copies and fills.
 *
 * Where runtime and driver differ, this file implements the runtime's rules: cudaMalloc of 0 bytes
 * succeeds with a null address, and a cudaMalloc that fails writes one; cudaFree and cudaFreeHost
 * of a null address succeed and still initialize the context.
 */
#include "runtime.h"

#define INVALID_DIRECTION 21

int cudaMalloc(void **address, size_t bytes)
{
	unsigned long long found = 0;
	int result = address ? runtime_ready() : cudaErrorInvalidValue;

	if (result == cudaSuccess && bytes)
		result = runtime_driver.cuMemAlloc(&found, bytes);
	if (address)
		*address = result == cudaSuccess ? (void *)(uintptr_t)found : NULL;
	return runtime_remember(result);
}

int cudaFree(void *address)
{
	int result = runtime_ready();

	if (result == cudaSuccess && address)
		result = runtime_driver.cuMemFree((uintptr_t)address);
	return runtime_remember(result);
}

int cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
	unsigned long long found = 0;
	int result = address && pitch ? runtime_ready() : cudaErrorInvalidValue;

	if (result == cudaSuccess && width && height)
		result = runtime_driver.cuMemAllocPitch(&found, pitch, width, height, 4);
	if (result == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return runtime_remember(result);
}

int cudaMallocManaged(void **address, size_t bytes, unsigned int flags)
{
	unsigned long long found = 0;
	int result = address ? runtime_ready() : cudaErrorInvalidValue;

	if (result == cudaSuccess)
		result = runtime_driver.cuMemAllocManaged(&found, bytes, flags);
	if (result == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return runtime_remember(result);
}

int cudaHostAlloc(void **address, size_t bytes, unsigned int flags)
{
	void *found = NULL;
	int result = address ? runtime_ready() : cudaErrorInvalidValue;

	if (result == cudaSuccess && bytes)
		result = runtime_driver.cuMemHostAlloc(&found, bytes, flags);
	if (result == cudaSuccess)
		*address = found;
	return runtime_remember(result);
}

int cudaMallocHost(void **address, size_t bytes)
{
	return cudaHostAlloc(address, bytes, 0);
}

int cudaFreeHost(void *address)
{
	int result = runtime_ready();

	if (result == cudaSuccess && address)
		result = runtime_driver.cuMemFreeHost(address);
	return runtime_remember(result);
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = runtime_driver.cuMemGetInfo(free_bytes, total_bytes);
	return runtime_remember(result);
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	uintptr_t target = (uintptr_t)to, source = (uintptr_t)from;
	int result = runtime_ready();

	if (result != cudaSuccess || bytes == 0)
		return runtime_remember(result);
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return runtime_remember(runtime_driver.cuMemcpyHtoD(target, from, bytes));
	case cudaMemcpyDeviceToHost:
		return runtime_remember(runtime_driver.cuMemcpyDtoH(to, source, bytes));
	case cudaMemcpyDeviceToDevice:
		return runtime_remember(runtime_driver.cuMemcpyDtoD(target, source, bytes));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return runtime_remember(runtime_driver.cuMemcpy(target, source, bytes));
	default: return runtime_remember(INVALID_DIRECTION);
	}
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, struct CUstream_st *stream)
{
	uintptr_t target = (uintptr_t)to, source = (uintptr_t)from;
	int result = runtime_ready();

	if (result != cudaSuccess || bytes == 0)
		return runtime_remember(result);
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return runtime_remember(
			runtime_driver.cuMemcpyHtoDAsync(target, from, bytes, stream));
	case cudaMemcpyDeviceToHost:
		return runtime_remember(
			runtime_driver.cuMemcpyDtoHAsync(to, source, bytes, stream));
	case cudaMemcpyDeviceToDevice:
		return runtime_remember(
			runtime_driver.cuMemcpyDtoDAsync(target, source, bytes, stream));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return runtime_remember(
			runtime_driver.cuMemcpyAsync(target, source, bytes, stream));
	default: return runtime_remember(INVALID_DIRECTION);
	}
}

int cudaMemset(void *to, int value, size_t bytes)
{
	int result = runtime_ready();

	if (result == cudaSuccess && bytes)
		result = runtime_driver.cuMemsetD8((uintptr_t)to, value, bytes);
	return runtime_remember(result);
}

int cudaMemsetAsync(void *to, int value, size_t bytes, struct CUstream_st *stream)
{
	int result = runtime_ready();

	if (result == cudaSuccess && bytes)
		result = runtime_driver.cuMemsetD8Async((uintptr_t)to, value, bytes, stream);
	return runtime_remember(result);
}
