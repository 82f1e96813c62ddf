/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_ours.c - mam's heaps for `mam bench device` and related benches, made as in any program:
 * of objects, or of pages, on a pool. The heap has its own pool, which gets its memory by
 * cudaMalloc, so that all of it is released when the heap ends.
 */
#include <mam/heap.h>
#include <mam/mam.h>

#include "device_allocators.h"
#include "bench/harness/driver.h"
#include "bench/harness/gpu.h"
#include "heap/slab/metadata.h"
#include "heap/pages/head.h"

#define BLOCK ((uint64_t)1 << MAM_BLOCK_SHIFT)

/* Blocks of a heap of `bytes` in total: its metadata takes about a thirtieth. */
static uint32_t count_blocks(uint64_t bytes)
{
	uint64_t low = 0, high = bytes / BLOCK + 1;

	if (high > UINT32_MAX / MAM_BLOCK_UNITS)
		high = UINT32_MAX / MAM_BLOCK_UNITS;
	while (high - low > 1) {
		const uint32_t middle = (uint32_t)((low + high) / 2);

		if (middle * BLOCK +
			    mam_metadata_plan_of(middle, mam_metadata_columns(middle)).end <=
		    bytes)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low;
}

/* The same for pages: the head and metadata of no pages, and then one bit each. */
static uint64_t count_pages(uint64_t bytes, uint32_t page_bytes)
{
	const uint64_t none = mam_head_bytes(0);
	const uint64_t pages =
		bytes > none ? (bytes - none) * 8 / (8 * (uint64_t)page_bytes + 1) : 0;

	return pages < MAM_PAGES_COUNT_MAX ? pages : MAM_PAGES_COUNT_MAX;
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

/* attr->bytes are available to kernels, in whole blocks or pages. */
static const char *make(struct device_heap *heap, const struct mam_heap_attr *attr)
{
	struct mam_pool_attr pool_attr = MAM_POOL_ATTR_INIT;
	struct mam_heap_info info = { .size = sizeof(info) };
	struct mam_pool *pool = NULL;
	struct mam_heap *made = NULL;
	enum mam_status status;

	heap->own[0] = heap->own[1] = heap->heap = NULL;
	if (attr->bytes == 0)
		return attr->kind == MAM_HEAP_PAGES ? "so small a heap has no page"
						    : "so small a heap has no block";
	pool_attr.source = "cudamalloc";
	pool_attr.device = 0;
	pool_attr.name = "bench";
	status = mam_pool_create(&pool_attr, &pool);
	heap->own[1] = pool;
	if (status == MAM_OK)
		status = mam_heap_create(pool, attr, &made);
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
	heap->space_bytes = info.space_bytes;
	/* The head directly follows the blocks, or the pages. */
	heap->high = (uint64_t)(uintptr_t)heap->heap;
	heap->low = heap->high - attr->bytes;
	return NULL;
}

const char *device_ours_make(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;

	(void)object_bytes;
	attr.bytes = (size_t)(count_blocks(bytes) * BLOCK);
	return make(heap, &attr);
}

const char *device_ours_make_pages(struct device_heap *heap, uint64_t bytes, uint32_t page_bytes)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;

	attr.kind = MAM_HEAP_PAGES;
	attr.page_bytes = page_bytes;
	attr.bytes = (size_t)(count_pages(bytes, page_bytes) * page_bytes);
	return make(heap, &attr);
}

bool device_ours_reset(struct device_heap *heap)
{
	if (mam_heap_reset(heap->own[0], bench_driver_stream(0)) == MAM_OK)
		return true;
	bench_gpu_fail("mam_heap_reset() failed");
	return false;
}
