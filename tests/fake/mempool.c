/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mempool.c - allocation in the order of a stream, and the pools it comes from.
 *
 * A pool is a name for a device: it keeps nothing back, and what is freed is the device's again
 * as soon as the work before the free is done. The blocks of a pool outlive it.
 */
#include "fake.h"

#include <stdlib.h>

struct CUmemPoolHandle_st {
	struct CUmemPoolHandle_st *next; /* all pools that were made and not destroyed */
	int device;
	size_t most_bytes; /* 0: as much as the device has */
};

static struct CUmemPoolHandle_st defaults[FAKE_DEVICES]; /* lock: fake */
static struct CUmemPoolHandle_st *pools;                 /* lock: fake */

static struct CUmemPoolHandle_st **find(const struct CUmemPoolHandle_st *pool)
{
	struct CUmemPoolHandle_st **link = &pools;

	while (*link && *link != pool)
		link = &(*link)->next;
	return link;
}

static bool is_default(const struct CUmemPoolHandle_st *pool)
{
	for (int i = 0; i < fake_knobs.devices; i++)
		if (pool == &defaults[i])
			return true;
	return false;
}

static int get_default(const char *name, struct CUmemPoolHandle_st **pool, int device)
{
	int result = fake_enter(name);

	if (result == CUDA_SUCCESS && !pool)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS) {
		defaults[device].device = device;
		*pool = &defaults[device];
	}
	return fake_leave(name, result, "device=%d", device);
}

int cuDeviceGetDefaultMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	return get_default("cuDeviceGetDefaultMemPool", pool, device);
}

int cuDeviceGetMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	return get_default("cuDeviceGetMemPool", pool, device);
}

int cuMemPoolCreate(struct CUmemPoolHandle_st **pool, const struct cu_pool_properties *wanted)
{
	struct CUmemPoolHandle_st *made;
	int result = fake_enter("cuMemPoolCreate");

	if (result == CUDA_SUCCESS &&
	    (!pool || !wanted || wanted->type != 1 || wanted->location.type != 1))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && !fake_device_valid(wanted->location.id))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS) {
		made = calloc(1, sizeof(*made));
		if (made) {
			made->device = wanted->location.id;
			made->most_bytes = wanted->most_bytes;
			made->next = pools;
			*pool = pools = made;
		} else {
			result = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	return fake_leave("cuMemPoolCreate", result, "pool=%p",
			  result == CUDA_SUCCESS ? (void *)*pool : NULL);
}

int cuMemPoolDestroy(struct CUmemPoolHandle_st *pool)
{
	struct CUmemPoolHandle_st **link;
	int result = fake_enter("cuMemPoolDestroy");

	if (result == CUDA_SUCCESS) {
		link = find(pool);
		if (*link) {
			*link = pool->next;
			free(pool);
		} else {
			result = CUDA_ERROR_INVALID_VALUE;
		}
	}
	return fake_leave("cuMemPoolDestroy", result, "pool=%p", (void *)pool);
}

/* `pool` NULL: the default one of the stream's device. */
static int allocate(unsigned long long *address, size_t bytes, struct CUmemPoolHandle_st *pool,
		    struct CUstream_st *stream)
{
	struct CUctx_st *context;
	uintptr_t found = 0;
	int device, result = fake_stream_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!address || (pool && !*find(pool) && !is_default(pool)))
		return CUDA_ERROR_INVALID_VALUE;
	result = fake_capture_refuse_legacy(context, stream);
	if (result != CUDA_SUCCESS)
		return result;
	if (fake_capture_alive(stream))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (pool && pool->most_bytes && bytes > pool->most_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	device = pool ? pool->device : context->device;
	result = fake_memory_alloc(context, device, FAKE_DEVICE, bytes, &found);
	if (result == CUDA_SUCCESS) {
		fake_memory_find(found)->origin = FAKE_ORDERED;
		*address = found;
	}
	return result;
}

int cuMemAllocAsync(unsigned long long *address, size_t bytes, struct CUstream_st *stream)
{
	int result = fake_enter("cuMemAllocAsync");

	if (result == CUDA_SUCCESS)
		result = allocate(address, bytes, NULL, stream);
	return fake_leave("cuMemAllocAsync", result, "bytes=%zu stream=%p address=%#llx", bytes,
			  (void *)stream, result == CUDA_SUCCESS ? *address : 0);
}

int cuMemAllocFromPoolAsync(unsigned long long *address, size_t bytes,
			    struct CUmemPoolHandle_st *pool, struct CUstream_st *stream)
{
	int result = fake_enter("cuMemAllocFromPoolAsync");

	if (result == CUDA_SUCCESS && !pool)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = allocate(address, bytes, pool, stream);
	return fake_leave("cuMemAllocFromPoolAsync", result,
			  "bytes=%zu pool=%p stream=%p address=%#llx", bytes, (void *)pool,
			  (void *)stream, result == CUDA_SUCCESS ? *address : 0);
}

int cuMemFreeAsync(unsigned long long address, struct CUstream_st *stream)
{
	struct CUctx_st *context;
	struct fake_block *block;
	uint64_t end_ns;
	int result = fake_enter("cuMemFreeAsync");

	if (result == CUDA_SUCCESS)
		result = fake_stream_context(stream, &context);
	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse_legacy(context, stream);
	if (result == CUDA_SUCCESS) {
		block = fake_memory_find(address);
		if (!block || block->base != address || block->kind == FAKE_HOST ||
		    block->origin > FAKE_ORDERED || block->freed)
			result = CUDA_ERROR_INVALID_VALUE;
	}
	/* Only a graph's own memory can be freed in it, and the fake's graphs have none. */
	if (result == CUDA_SUCCESS && fake_capture_alive(stream))
		result = block->origin == FAKE_ORDERED ? CUDA_ERROR_NOT_SUPPORTED
						       : CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = fake_stream_end(context, stream, &end_ns);
	if (result == CUDA_SUCCESS)
		result = fake_timeline_release(end_ns, block->id);
	if (result == CUDA_SUCCESS)
		block->freed = true;
	return fake_leave("cuMemFreeAsync", result, "address=%#llx stream=%p", address,
			  (void *)stream);
}
