/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c - the driver's allocation calls, on top of the table of allocations in memory.c. */
#include "fake.h"

static int allocate(enum fake_kind kind, size_t bytes, uintptr_t *address)
{
	struct CUctx_st *context;
	int result = fake_context_current(&context);

	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse();
	if (result == CUDA_SUCCESS)
		result = fake_memory_alloc(context, context->device, kind, bytes, address);
	return result;
}

/*
 * A free waits for all work of the block's context, in any stream. The block is looked up again
 * after the wait, as another thread may have freed it meanwhile.
 */
static int release(uintptr_t address, bool host)
{
	struct CUctx_st *context;
	struct fake_block *block;
	int result = fake_context_current(&context);

	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse();
	for (int pass = 0; pass < 2 && result == CUDA_SUCCESS; pass++) {
		block = fake_memory_find(address);
		if (!block || block->base != address || (block->kind == FAKE_HOST) != host ||
		    block->origin > FAKE_ORDERED || block->freed)
			return CUDA_ERROR_INVALID_VALUE;
		if (pass == 0 && block->origin == FAKE_PLAIN)
			fake_timeline_wait(block->context->all_ns);
	}
	if (result == CUDA_SUCCESS)
		fake_memory_release(block);
	return result;
}

int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
	uintptr_t found = 0;
	int result = fake_enter("cuMemAlloc");

	if (result == CUDA_SUCCESS && !address)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = allocate(FAKE_DEVICE, bytes, &found);
	if (result == CUDA_SUCCESS)
		*address = found;
	return fake_leave("cuMemAlloc", result, "bytes=%zu address=%#zx", bytes, (size_t)found);
}

int cuMemFree_v2(unsigned long long address)
{
	int result = fake_enter("cuMemFree");

	/* The null address: a no-op, as cudaFree(NULL) expects. */
	if (result == CUDA_SUCCESS && address)
		result = release(address, false);
	return fake_leave("cuMemFree", result, "address=%#llx", address);
}

int cuMemAllocPitch_v2(unsigned long long *address, size_t *pitch, size_t width, size_t height,
		       unsigned int element)
{
	uintptr_t found = 0;
	size_t row = (width + FAKE_GRANULE - 1) & ~(FAKE_GRANULE - 1);
	int result = fake_enter("cuMemAllocPitch");

	if (result == CUDA_SUCCESS &&
	    (!address || !pitch || (element != 4 && element != 8 && element != 16)))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && row != 0 && height > SIZE_MAX / row)
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (result == CUDA_SUCCESS)
		result = allocate(FAKE_DEVICE, row * height, &found);
	if (result == CUDA_SUCCESS) {
		*address = found;
		*pitch = row;
	}
	return fake_leave("cuMemAllocPitch", result, "width=%zu height=%zu address=%#zx", width,
			  height, (size_t)found);
}

int cuMemAllocManaged(unsigned long long *address, size_t bytes, unsigned int flags)
{
	uintptr_t found = 0;
	int result = fake_enter("cuMemAllocManaged");

	if (result == CUDA_SUCCESS && (!address || (flags != 1 && flags != 2)))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = allocate(FAKE_MANAGED, bytes, &found);
	if (result == CUDA_SUCCESS)
		*address = found;
	return fake_leave("cuMemAllocManaged", result, "bytes=%zu address=%#zx", bytes,
			  (size_t)found);
}

int cuMemHostAlloc(void **address, size_t bytes, unsigned int flags)
{
	uintptr_t found = 0;
	int result = fake_enter("cuMemHostAlloc");

	if (result == CUDA_SUCCESS && !address)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = allocate(FAKE_HOST, bytes, &found);
	if (result == CUDA_SUCCESS)
		*address = (void *)found;
	return fake_leave("cuMemHostAlloc", result, "bytes=%zu flags=%u address=%#zx", bytes, flags,
			  (size_t)found);
}

int cuMemAllocHost_v2(void **address, size_t bytes)
{
	return cuMemHostAlloc(address, bytes, 0);
}

int cuMemFreeHost(void *address)
{
	int result = fake_enter("cuMemFreeHost");

	if (result == CUDA_SUCCESS)
		result = release((uintptr_t)address, true);
	return fake_leave("cuMemFreeHost", result, "address=%p", address);
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	struct CUctx_st *context;
	int result = fake_enter("cuMemGetInfo");

	if (result == CUDA_SUCCESS)
		result = fake_context_current(&context);
	if (result == CUDA_SUCCESS) {
		*total_bytes = fake_knobs.memory[context->device];
		*free_bytes = *total_bytes - fake_devices[context->device].used;
	}
	return fake_leave("cuMemGetInfo", result, "%s", "");
}

int cuMemGetAddressRange_v2(unsigned long long *base, size_t *bytes, unsigned long long address)
{
	struct fake_block *block;
	int result = fake_enter("cuMemGetAddressRange");

	if (result == CUDA_SUCCESS) {
		block = fake_memory_find(address);
		if (!block)
			result = CUDA_ERROR_INVALID_VALUE;
	}
	if (result == CUDA_SUCCESS && base)
		*base = block->base;
	if (result == CUDA_SUCCESS && bytes)
		*bytes = block->bytes;
	return fake_leave("cuMemGetAddressRange", result, "address=%#llx", address);
}
