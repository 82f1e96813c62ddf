/* SPDX-License-Identifier: Apache-2.0 */
/*
 * register.c - the program's own host memory, registered with the driver.
 *
 * While it is registered, it has the attributes of pinned memory, and copies to it do not wait.
 * Only cuMemHostUnregister of its first address ends that.
 */
#include "fake.h"

int cuMemHostRegister_v2(void *address, size_t bytes, unsigned int flags)
{
	struct fake_block block = { .base = (uintptr_t)address,
				    .bytes = bytes,
				    .rounded = bytes,
				    .kind = FAKE_HOST,
				    .origin = FAKE_REGISTERED };
	struct CUctx_st *context;
	int result = fake_enter("cuMemHostRegister");

	if (result == CUDA_SUCCESS &&
	    (!address || bytes == 0 || bytes > UINTPTR_MAX - block.base || flags > 15))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = fake_context_current(&context);
	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse();
	if (result == CUDA_SUCCESS && fake_memory_overlaps(block.base, bytes))
		result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	if (result == CUDA_SUCCESS) {
		block.context = fake_context_owner(context);
		block.device = context->device;
		result = fake_memory_add(&block);
	}
	return fake_leave("cuMemHostRegister", result, "address=%p bytes=%zu flags=%u", address,
			  bytes, flags);
}

int cuMemHostUnregister(void *address)
{
	struct CUctx_st *context;
	struct fake_block *block;
	int result = fake_enter("cuMemHostUnregister");

	if (result == CUDA_SUCCESS)
		result = fake_context_current(&context);
	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse();
	for (int pass = 0; pass < 2 && result == CUDA_SUCCESS; pass++) {
		block = fake_memory_find((uintptr_t)address);
		if (!block || block->base != (uintptr_t)address || block->origin != FAKE_REGISTERED)
			result = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
		else if (pass == 0)
			fake_timeline_wait(block->context->all_ns);
		else
			fake_memory_release(block);
	}
	return fake_leave("cuMemHostUnregister", result, "address=%p", address);
}
