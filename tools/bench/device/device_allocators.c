/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_allocators.c - the object allocators, in the order of columns: mam's own, the published
 * ones, CUDA's own malloc, and bare counters, which hand out each byte once and are a lower bound
 * on time. device_ours.c makes mam's heap, device_added.c those of --adapter.
 *
 * A heap of the published ones and of the counters is one block: first the pages, which therefore
 * have the alignment of the driver's blocks, then, aligned to a line, the argument of the kernels
 * with the metadata.
 */
#include "device_allocators.h"

#include <stdio.h>
#include <string.h>

#include "bench/papers/walk/device_counter.h"
#include "bench/papers/walk/device_pages.h"
#include "bench/harness/driver.h"
#include "bench/harness/gpu.h"
#include "bench/papers/walk/corw.h"
#include "bench/papers/walk/crw.h"
#include "bench/papers/walk/rw.h"
#include "bench/papers/walk/rwmalloc.h"

#define LINE 128u
/*
 * The share of free pages, per mille, below which the published ones give up, which as published
 * they never do.
 */
#define LOW_PUBLISHED 1
#define MIXED_BYTES 256     /* a unit if sizes are mixed */
#define LIMIT_MALLOC_HEAP 2 /* CU_LIMIT_MALLOC_HEAP_SIZE */

static const char too_little[] = "there is too little free memory on the device";

static uint64_t lines(uint64_t bytes)
{
	return (bytes + LINE - 1) / LINE * LINE;
}

void device_heap_end_block(struct device_heap *heap)
{
	bench_gpu_give(heap->own[0]);
	heap->own[0] = heap->heap = NULL;
}

/* ---- pages of one size ---- */

/* An allocator's header and its first line: everything that is not initially zero. */
struct start {
	struct bench_pages pages;
	unsigned char header[LINE];
};

/* Bytes that `count` pages take, including metadata. */
static uint64_t pages_total(size_t (*metadata)(uint32_t count), uint32_t page_bytes, uint32_t count)
{
	return lines((uint64_t)count * page_bytes) + sizeof(struct bench_pages) + metadata(count);
}

/* How many pages fit into `bytes`: a multiple of 64, which suits every kind of metadata. */
static uint32_t count_pages(size_t (*metadata)(uint32_t count), uint32_t page_bytes, uint64_t bytes)
{
	uint64_t high = bytes / page_bytes / 64 + 1, low = 0;

	if (high > UINT32_MAX / 64)
		high = UINT32_MAX / 64;
	while (high - low > 1) {
		const uint64_t middle = (low + high) / 2;

		if (pages_total(metadata, page_bytes, (uint32_t)middle * 64) <= bytes)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low * 64;
}

static bool reset_pages(struct device_heap *heap)
{
	return bench_gpu_fill((unsigned char *)heap->heap + sizeof(struct start), 0,
			      heap->own_numbers[0] - sizeof(struct start));
}

static const char *make_pages(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes,
			      size_t (*metadata)(uint32_t count),
			      void (*format)(void *header, uint32_t count))
{
	const uint64_t wanted = object_bytes > 0 ? object_bytes : MIXED_BYTES;
	const uint32_t page_bytes =
		(uint32_t)((wanted + BENCH_PAGE_GRAIN - 1) / BENCH_PAGE_GRAIN * BENCH_PAGE_GRAIN);
	const uint32_t count = count_pages(metadata, page_bytes, bytes);
	const uint64_t space = lines((uint64_t)count * page_bytes);
	struct start start;

	if (count == 0)
		return "so small a heap has no page";
	heap->space_bytes = pages_total(metadata, page_bytes, count);
	heap->own[0] = bench_gpu_take(heap->space_bytes);
	if (heap->own[0] == NULL)
		return too_little;
	heap->heap = (unsigned char *)heap->own[0] + space;
	heap->own_numbers[0] = heap->space_bytes - space;
	heap->low = (uint64_t)(uintptr_t)heap->own[0];
	heap->high = heap->low + (uint64_t)count * page_bytes;
	memset(&start, 0, sizeof(start));
	bench_pages_format(&start.pages, heap->own[0], page_bytes);
	format(start.header, count);
	if (!reset_pages(heap) || !bench_gpu_put(heap->heap, &start, sizeof(start)))
		return bench_gpu_trouble();
	return NULL;
}

/* clang-format off */
#define PAGES(name)                                                                        \
	static size_t name##_metadata(uint32_t count)                                         \
	{                                                                                  \
		return mam_##name##_bytes(count);                                          \
	}                                                                                  \
	static void name##_format(void *header, uint32_t count)                            \
	{                                                                                  \
		_Static_assert(sizeof(struct mam_##name) == LINE, "one line");             \
		mam_##name##_format(header, count, LOW_PUBLISHED);                         \
	}                                                                                  \
	static const char *name##_make(struct device_heap *heap, uint64_t bytes,           \
				       uint64_t object_bytes)                              \
	{                                                                                  \
		return make_pages(heap, bytes, object_bytes, name##_metadata, name##_format); \
	}
/* clang-format on */

PAGES(rw)
PAGES(crw)
PAGES(corw)
PAGES(rwmalloc)

/* ---- counters ---- */

static bool reset_counter(struct device_heap *heap)
{
	struct bench_counter counter;

	memset(&counter, 0, sizeof(counter));
	bench_counter_format(&counter, heap->own[0], heap->high - heap->low);
	return bench_gpu_put(heap->heap, &counter, sizeof(counter));
}

static const char *make_counter(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	const uint64_t space = bytes > 2 * sizeof(struct bench_counter)
				       ? (bytes - sizeof(struct bench_counter)) / LINE * LINE
				       : LINE;

	(void)object_bytes;
	heap->space_bytes = space + sizeof(struct bench_counter);
	heap->own[0] = bench_gpu_take(heap->space_bytes);
	if (heap->own[0] == NULL)
		return too_little;
	heap->heap = (unsigned char *)heap->own[0] + space;
	heap->low = (uint64_t)(uintptr_t)heap->own[0];
	heap->high = heap->low + space;
	return reset_counter(heap) ? NULL : bench_gpu_trouble();
}

/* ---- CUDA's own: one heap per context ---- */

static const char *make_cuda(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	size_t limit = 0;

	(void)object_bytes;
	if (bench_driver.limit_get == NULL ||
	    bench_driver.limit_get(&limit, LIMIT_MALLOC_HEAP) != 0)
		return "the driver does not report the size of CUDA's own heap";
	if (limit < bytes)
		return "CUDA's own heap has one size for the whole run, and a smaller one than "
		       "this";
	heap->heap = NULL;
	heap->space_bytes = limit;
	heap->low = heap->high = 0;
	return NULL;
}

static void end_nothing(struct device_heap *heap)
{
	(void)heap;
}

/* ---- the list ---- */

#ifdef MAM_HAVE_BENCH_KERNELS
#define MODULE(name) mam_device_##name##_fatbin
extern const unsigned char MODULE(mam)[], MODULE(rw)[], MODULE(crw)[], MODULE(corw)[],
	MODULE(rwmalloc)[], MODULE(cuda)[], MODULE(bump)[], MODULE(bumpw)[];
#else
#define MODULE(name) NULL
#endif

#define PUBLISHED(title, name, one_size)                                                   \
	{                                                                                  \
		title, DEVICE_PUBLISHED, MODULE(name), one_size, true, false, name##_make, \
			device_heap_end_block, reset_pages                                 \
	}

#define CEILING(name)                                                                   \
	{                                                                               \
#name, DEVICE_CEILING, MODULE(name), false, false, false, make_counter, \
			device_heap_end_block, reset_counter                            \
	}

const struct device_allocator device_allocators[] = {
	{ "mam", DEVICE_OURS, MODULE(mam), false, true, false, device_ours_make, device_ours_end,
	  device_ours_reset },
	PUBLISHED("rw", rw, true),
	PUBLISHED("crw", crw, true),
	PUBLISHED("corw", corw, true),
	PUBLISHED("rw-malloc", rwmalloc, false),
	{ "cuda-malloc", DEVICE_SYSTEM, MODULE(cuda), false, true, true, make_cuda, end_nothing,
	  NULL },
	CEILING(bump),
	CEILING(bumpw),
};

const size_t device_allocator_count = sizeof(device_allocators) / sizeof(device_allocators[0]);
