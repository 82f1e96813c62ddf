/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribute.c - the driver's attributes of an address.
 *
 * A single attribute of an unknown address is an error; a list of attributes returns null values,
 * and -2 as the device. VMM memory has no context and refuses SYNC_MEMOPS. Small blocks share a
 * mapping of 2 MiB.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <sys/mman.h>

#define PAGE 4096
#define RANGE_DMA_BUF 1

static uintptr_t mapping_base(const struct fake_block *block)
{
	return block->kind == FAKE_DEVICE ? block->base & ~(FAKE_SLAB - 1) : block->base;
}

static size_t mapping_bytes(const struct fake_block *block)
{
	size_t unit = block->kind == FAKE_DEVICE ? FAKE_SLAB : 4096;
	uintptr_t end = (block->base + block->rounded + unit - 1) & ~(unit - 1);

	return end - mapping_base(block);
}

static bool is_exportable(const struct fake_block *block)
{
	const struct fake_block *physical =
		block->origin == FAKE_MAPPED ? fake_memory_of_id(block->physical) : NULL;

	return physical && physical->exportable;
}

static int attribute_of(const struct fake_block *block, int attribute, unsigned long long address,
			void *data)
{
	switch (attribute) {
	case POINTER_CONTEXT: *(struct CUctx_st **)data = block->context; return CUDA_SUCCESS;
	case POINTER_MEMORY_TYPE:
		*(unsigned int *)data = block->kind == FAKE_HOST ? 1 : 2;
		return CUDA_SUCCESS;
	case POINTER_DEVICE_POINTER: *(unsigned long long *)data = address; return CUDA_SUCCESS;
	case POINTER_HOST_POINTER:
		if (block->kind == FAKE_DEVICE)
			return CUDA_ERROR_INVALID_VALUE;
		*(unsigned long long *)data = address;
		return CUDA_SUCCESS;
	case POINTER_SYNC_MEMOPS:
		if (block->origin == FAKE_MAPPED && !fake_knobs.sync_memops)
			return CUDA_ERROR_NOT_SUPPORTED;
		*(unsigned int *)data = block->sync_memops;
		return CUDA_SUCCESS;
	case POINTER_BUFFER_ID: *(unsigned long long *)data = block->id; return CUDA_SUCCESS;
	case POINTER_IS_MANAGED:
		*(unsigned int *)data = block->kind == FAKE_MANAGED;
		return CUDA_SUCCESS;
	case POINTER_DEVICE_ORDINAL: *(int *)data = block->device; return CUDA_SUCCESS;
	case POINTER_IPC_CAPABLE:
		*(unsigned int *)data = block->kind == FAKE_DEVICE && block->origin == FAKE_PLAIN;
		return CUDA_SUCCESS;
	case POINTER_RANGE_START: *(unsigned long long *)data = block->base; return CUDA_SUCCESS;
	case POINTER_RANGE_SIZE: *(size_t *)data = block->bytes; return CUDA_SUCCESS;
	case POINTER_MAPPED: *(unsigned int *)data = 1; return CUDA_SUCCESS;
	case POINTER_HANDLE_TYPES:
		*(unsigned long long *)data = is_exportable(block);
		return CUDA_SUCCESS;
	case POINTER_MAPPING_SIZE: *(size_t *)data = mapping_bytes(block); return CUDA_SUCCESS;
	case POINTER_MAPPING_BASE:
		*(unsigned long long *)data = mapping_base(block);
		return CUDA_SUCCESS;
	default: return CUDA_ERROR_NOT_SUPPORTED;
	}
}

int cuPointerGetAttribute(void *data, int attribute, unsigned long long address)
{
	struct fake_block *block;
	int result = fake_enter("cuPointerGetAttribute");

	if (result == CUDA_SUCCESS) {
		block = fake_memory_find(address);
		result = block && data ? attribute_of(block, attribute, address, data)
				       : CUDA_ERROR_INVALID_VALUE;
	}
	return fake_leave("cuPointerGetAttribute", result, "attribute=%d address=%#llx", attribute,
			  address);
}

/* Writes the null value of an attribute, in its own size; false: the attribute does not exist. */
static bool write_null(int attribute, void *data)
{
	switch (attribute) {
	case POINTER_CONTEXT:
	case POINTER_DEVICE_POINTER:
	case POINTER_HOST_POINTER:
	case POINTER_BUFFER_ID:
	case POINTER_RANGE_START:
	case POINTER_RANGE_SIZE:
	case POINTER_HANDLE_TYPES:
	case POINTER_MAPPING_SIZE:
	case POINTER_MAPPING_BASE: *(unsigned long long *)data = 0; return true;
	case POINTER_MEMORY_TYPE:
	case POINTER_SYNC_MEMOPS:
	case POINTER_IS_MANAGED:
	case POINTER_IPC_CAPABLE:
	case POINTER_MAPPED: *(unsigned int *)data = 0; return true;
	case POINTER_DEVICE_ORDINAL: *(int *)data = -2; return true;
	default: return false;
	}
}

int cuPointerGetAttributes(unsigned int count, int *attributes, void **data,
			   unsigned long long address)
{
	struct fake_block *block;
	int result = fake_enter("cuPointerGetAttributes");

	if (result == CUDA_SUCCESS && (count == 0 || !attributes || !data))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		block = fake_memory_find(address);
		for (unsigned int i = 0; i < count && result == CUDA_SUCCESS; i++) {
			if (!write_null(attributes[i], data[i]))
				result = CUDA_ERROR_INVALID_VALUE;
			else if (block)
				attribute_of(block, attributes[i], address, data[i]);
		}
	}
	return fake_leave("cuPointerGetAttributes", result, "count=%u address=%#llx", count,
			  address);
}

int cuPointerSetAttribute(const void *value, int attribute, unsigned long long address)
{
	struct fake_block *block = NULL;
	int result = fake_enter("cuPointerSetAttribute");

	if (result == CUDA_SUCCESS) {
		block = fake_memory_find(address);
		if (!block || !value || attribute != POINTER_SYNC_MEMOPS ||
		    block->kind != FAKE_DEVICE)
			result = CUDA_ERROR_INVALID_VALUE;
		else if (block->origin == FAKE_MAPPED)
			result = CUDA_ERROR_NOT_SUPPORTED;
	}
	if (result == CUDA_SUCCESS)
		block->sync_memops = *(const unsigned int *)value != 0;
	return fake_leave("cuPointerSetAttribute", result, "attribute=%d address=%#llx value=%u",
			  attribute, address, value ? *(const unsigned int *)value : 0);
}

/* Whether all bytes are device memory, in one block or in adjacent mappings of one device. */
static bool is_device_memory(uintptr_t address, size_t bytes)
{
	const struct fake_block *first = fake_memory_find(address), *block = first;

	while (block && block->kind == FAKE_DEVICE && block->device == first->device) {
		size_t left = block->base + block->bytes - address;

		if (bytes <= left)
			return true;
		if (block->origin != FAKE_MAPPED)
			return false;
		address += left;
		bytes -= left;
		block = fake_memory_find(address);
	}
	return false;
}

/* The descriptor of a dma-buf is that of an empty file: no device is there to read it. */
int cuMemGetHandleForAddressRange(void *handle, unsigned long long address, size_t bytes, int type,
				  unsigned long long flags)
{
	int result = fake_enter("cuMemGetHandleForAddressRange"), file = -1;

	if (result == CUDA_SUCCESS &&
	    (!handle || type != RANGE_DMA_BUF || flags || bytes == 0 || (address | bytes) % PAGE ||
	     !is_device_memory(address, bytes)))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		file = memfd_create("fake-cuda-dma-buf", MFD_CLOEXEC);
		if (file < 0)
			result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (result == CUDA_SUCCESS)
		*(int *)handle = file;
	return fake_leave("cuMemGetHandleForAddressRange", result,
			  "address=%#llx bytes=%zu type=%d flags=%#llx", address, bytes, type,
			  flags);
}
