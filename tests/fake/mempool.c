/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mempool.c - stream-ordered allocation, and its pools.
 *
 * A pool has a device, and a number of bytes that it caches: freed memory, when the work before the
 * free is done, up to its release threshold, which is initially 0. Cached bytes have no addresses;
 * the next allocation from the pool uses them first. The blocks of a pool outlive it.
 */
#include "fake.h"

#include <stdlib.h>

struct CUmemPoolHandle_st {
	struct CUmemPoolHandle_st *next; /* list of all pools that were created and not destroyed */
	int device;
	size_t max_bytes; /* 0: limited by the device only */
	size_t threshold; /* maximum of cached bytes */
	size_t kept;      /* cached bytes */
};

static struct CUmemPoolHandle_st defaults[FAKE_DEVICES];  /* lock: fake */
static struct CUmemPoolHandle_st *currents[FAKE_DEVICES]; /* lock: fake; NULL: the default one */
static struct CUmemPoolHandle_st *pools;                  /* lock: fake */

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

static struct CUmemPoolHandle_st *default_of(int device)
{
	defaults[device].device = device;
	return &defaults[device];
}

static struct CUmemPoolHandle_st *current_of(int device)
{
	return currents[device] ? currents[device] : default_of(device);
}

static int get(const char *name, struct CUmemPoolHandle_st *(*pool_of)(int device),
	       struct CUmemPoolHandle_st **pool, int device)
{
	int result = fake_enter(name);

	if (result == CUDA_SUCCESS && !pool)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS)
		*pool = pool_of(device);
	return fake_leave(name, result, "device=%d", device);
}

int cuDeviceGetDefaultMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	return get("cuDeviceGetDefaultMemPool", default_of, pool, device);
}

int cuDeviceGetMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	return get("cuDeviceGetMemPool", current_of, pool, device);
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
			made->max_bytes = wanted->max_bytes;
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
			if (currents[pool->device] == pool)
				currents[pool->device] = NULL;
			fake_memory_uncharge(pool->device, pool->kept);
			free(pool);
		} else {
			result = CUDA_ERROR_INVALID_VALUE;
		}
	}
	return fake_leave("cuMemPoolDestroy", result, "pool=%p", (void *)pool);
}

static bool is_pool(const struct CUmemPoolHandle_st *pool)
{
	return pool && (*find(pool) || is_default(pool));
}

int cuDeviceSetMemPool(int device, struct CUmemPoolHandle_st *pool)
{
	int result = fake_enter("cuDeviceSetMemPool");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS && (!is_pool(pool) || pool->device != device))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		currents[device] = pool;
	return fake_leave("cuDeviceSetMemPool", result, "device=%d pool=%p", device, (void *)pool);
}

int cuMemPoolSetAttribute(struct CUmemPoolHandle_st *pool, int attribute, void *value)
{
	int result = fake_enter("cuMemPoolSetAttribute");

	if (result == CUDA_SUCCESS &&
	    (!is_pool(pool) || attribute != POOL_RELEASE_THRESHOLD || !value))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		pool->threshold = *(const uint64_t *)value;
	return fake_leave("cuMemPoolSetAttribute", result, "pool=%p attribute=%d", (void *)pool,
			  attribute);
}

/* The cached bytes; unlike with the real driver, live blocks are not included. */
int cuMemPoolGetAttribute(struct CUmemPoolHandle_st *pool, int attribute, void *value)
{
	int result = fake_enter("cuMemPoolGetAttribute");

	if (result == CUDA_SUCCESS && (!is_pool(pool) || attribute != POOL_RESERVED_NOW || !value))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*(uint64_t *)value = pool->kept;
	return fake_leave("cuMemPoolGetAttribute", result, "pool=%p attribute=%d", (void *)pool,
			  attribute);
}

int cuMemPoolTrimTo(struct CUmemPoolHandle_st *pool, size_t min_bytes)
{
	int result = fake_enter("cuMemPoolTrimTo");

	if (result == CUDA_SUCCESS && !is_pool(pool))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && pool->kept > min_bytes) {
		fake_memory_uncharge(pool->device, pool->kept - min_bytes);
		pool->kept = min_bytes;
	}
	return fake_leave("cuMemPoolTrimTo", result, "pool=%p least=%zu", (void *)pool, min_bytes);
}

void fake_mempool_released(const struct fake_block *block)
{
	struct CUmemPoolHandle_st *pool = block->pool;

	if (is_pool(pool) && block->rounded <= pool->threshold &&
	    pool->kept <= pool->threshold - block->rounded &&
	    fake_memory_charge(pool->device, block->rounded) == CUDA_SUCCESS)
		pool->kept += block->rounded;
}

/* Memory of the device, part of which may come from the pool's cache. */
static int take(struct CUctx_st *context, struct CUmemPoolHandle_st *pool, size_t bytes,
		uintptr_t *found)
{
	size_t kept = pool->kept, used;
	int result;

	used = kept < bytes ? kept : bytes;
	fake_memory_uncharge(pool->device, used);
	result = fake_memory_alloc(context, pool->device, FAKE_DEVICE, bytes, found);
	if (result == CUDA_SUCCESS)
		pool->kept -= used;
	else
		fake_memory_charge(pool->device, used);
	return result;
}

/* `pool` NULL: the current one of the stream's device. */
static int allocate(unsigned long long *address, size_t bytes, struct CUmemPoolHandle_st *pool,
		    struct CUstream_st *stream)
{
	struct CUctx_st *context;
	uintptr_t found = 0;
	int result = fake_stream_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!address || (pool && !is_pool(pool)))
		return CUDA_ERROR_INVALID_VALUE;
	result = fake_capture_refuse_legacy(context, stream);
	if (result != CUDA_SUCCESS)
		return result;
	if (fake_capture_alive(stream))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (pool && pool->max_bytes && bytes > pool->max_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!pool)
		pool = current_of(context->device);
	result = take(context, pool, bytes, &found);
	if (result == CUDA_SUCCESS) {
		fake_memory_find(found)->origin = FAKE_ORDERED;
		fake_memory_find(found)->pool = pool;
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
	/* A graph can only free its own memory, and the fake's graphs have none. */
	if (result == CUDA_SUCCESS && fake_capture_alive(stream))
		result = block->origin == FAKE_ORDERED ? CUDA_ERROR_NOT_SUPPORTED
						       : CUDA_ERROR_INVALID_VALUE;
	else if (result == CUDA_SUCCESS && block->origin != FAKE_ORDERED)
		result = fake_capture_refuse(); /* as cuMemFree */
	if (result == CUDA_SUCCESS)
		result = fake_stream_end(context, stream, &end_ns);
	if (result == CUDA_SUCCESS)
		result = fake_timeline_release(end_ns, block->id);
	if (result == CUDA_SUCCESS)
		block->freed = true;
	return fake_leave("cuMemFreeAsync", result, "address=%#llx stream=%p", address,
			  (void *)stream);
}
