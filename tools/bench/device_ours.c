/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_ours.c - mam's heap for `mam bench device`, made as any program makes one: a heap of
 * objects on a pool. The pool is the heap's own and takes its ground by cudaMalloc, so that nothing
 * is left of it when the heap ends.
 */
#include <mam/heap.h>
#include <mam/mam.h>

#include "device_allocators.h"
#include "driver.h"
#include "gpu.h"
#include "heap/books.h"

#define BLOCK ((uint64_t)1 << MAM_BLOCK_SHIFT)

/* Blocks of a heap that takes so many bytes in all: its books are about a thirtieth. */
static uint32_t count_blocks(uint64_t bytes)
{
	uint64_t low = 0, high = bytes / BLOCK + 1;

	if (high > UINT32_MAX / MAM_BLOCK_UNITS)
		high = UINT32_MAX / MAM_BLOCK_UNITS;
	while (high - low > 1) {
		const uint32_t middle = (uint32_t)((low + high) / 2);

		if (middle * BLOCK + mam_books_plan_of(middle, mam_books_columns(middle)).end <=
		    bytes)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low;
}

void device_ours_end(struct device_heap *heap)
{
	if (heap->own[0] != NULL && bench_gpu_trouble()[0] == '\0' &&
	    mam_heap_destroy(heap->own[0]) != MAM_OK)
		bench_gpu_fail("mam_heap_destroy() failed");
	if (heap->own[1] != NULL && bench_gpu_trouble()[0] == '\0' &&
	    mam_pool_destroy(heap->own[1]) != MAM_OK)
		bench_gpu_fail("mam_pool_destroy() failed");
	heap->own[0] = heap->own[1] = heap->heap = NULL;
}

const char *device_ours_make(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	struct mam_pool_attr pool_attr = MAM_POOL_ATTR_INIT;
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap_info info = { .size = sizeof(info) };
	struct mam_pool *pool = NULL;
	struct mam_heap *made = NULL;
	enum mam_status status;

	(void)object_bytes;
	heap->own[0] = heap->own[1] = heap->heap = NULL;
	attr.bytes = (size_t)(count_blocks(bytes) * BLOCK);
	if (attr.bytes == 0)
		return "so small a heap has no block";
	pool_attr.source = "cudamalloc";
	pool_attr.device = 0;
	pool_attr.name = "bench";
	status = mam_pool_create(&pool_attr, &pool);
	heap->own[1] = pool;
	if (status == MAM_OK)
		status = mam_heap_create(pool, &attr, &made);
	heap->own[0] = made;
	if (status == MAM_OK)
		status = mam_heap_stats(made, bench_driver_stream(0), &info);
	if (status != MAM_OK) {
		device_ours_end(heap);
		return status == MAM_ERROR_OUT_OF_MEMORY
			       ? "there is too little free memory on the device"
			       : mam_strerror(status);
	}
	heap->heap = mam_heap_device(made);
	heap->ground_bytes = info.ground_bytes;
	/* The head lies right behind the blocks. */
	heap->high = (uint64_t)(uintptr_t)heap->heap;
	heap->low = heap->high - attr.bytes;
	return NULL;
}

bool device_ours_reset(struct device_heap *heap)
{
	if (mam_heap_reset(heap->own[0], bench_driver_stream(0)) == MAM_OK)
		return true;
	bench_gpu_fail("mam_heap_reset() failed");
	return false;
}
