/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.c - the allocators of `mam bench xmalloc`: CUDA's own malloc and mam's, each also with
 * XMalloc above it, coalesced only or with buffers too; a heap of pages, also coalesced; and those
 * of `mam bench device`.
 *
 * A layered heap consists of its base's heap, the buffers' metadata, and a few bytes that hold the
 * addresses of both for kernels. A kernel of one thread, which knows the metadata's layout, formats
 * it. With XMalloc's calls, as programs use them, buffers are for as many warps as the device runs,
 * and over mam's own allocator there is no layer in between.
 *
 * Buffers store 32-bit offsets, in units of 16 bytes, from a reference: 64 GiB. For mam's heap the
 * reference is its first byte. The address of CUDA's heap is not documented, and 0 is too far below
 * it: a kernel allocates a block from it, and the reference is some GiB below that, so that a heap
 * of 500 MiB is entirely above the reference, whichever end the block is from.
 */
#include <assert.h>
#include <string.h>

#include "bench/device/device_allocators.h"
#include "bench/harness/gpu.h"
#include "layers.h"
#include "xmalloc.h"

#define BELOW (UINT64_C(4) << 30)

/* own[] of a layered heap: the base has 0 and 1. */
enum { OWN_LAYERS = 2, OWN_BUFFERS = 3 };
/* own_numbers[]: the base has 0 and 1. */
enum { NUMBER_BASE = 2, NUMBER_REFERENCE = 3 };

struct device_allocator xmalloc_allocators[XMALLOC_ALLOCATORS_MAX];
size_t xmalloc_allocator_count;

/* ---- heaps ---- */

/* An allocator of `mam bench device`. */
static const struct device_allocator *find(const char *name)
{
	size_t i;

	for (i = 0; i < device_allocator_count && strcmp(device_allocators[i].name, name) != 0; i++)
		continue;
	assert(i < device_allocator_count);
	return &device_allocators[i];
}

static void end_layers(struct device_heap *heap, const struct device_allocator *base)
{
	bench_gpu_give(heap->own[OWN_LAYERS]);
	bench_gpu_give(heap->own[OWN_BUFFERS]);
	heap->own[OWN_LAYERS] = heap->own[OWN_BUFFERS] = NULL;
	heap->heap = (void *)(uintptr_t)heap->own_numbers[NUMBER_BASE];
	base->end(heap);
}

bool xmalloc_is_by_calls(const struct device_allocator *allocator)
{
	return strstr(allocator->name, "-xmc") != NULL;
}

/* The number of warps that the buffers have room for in each class; 0: as published. */
static uint32_t warps_of(const struct device_allocator *allocator)
{
	return xmalloc_is_by_calls(allocator) ? bench_gpu_warps() : 0;
}

/*
 * The size of the metadata of the most buffers, and an address in the base's heap; by the base's
 * heap.
 */
static const char *learn(struct device_heap *heap, struct device_found *found)
{
	struct device_job job = { .heap = heap->heap,
				  .askers = 1,
				  .lanes = 1,
				  .rounds = warps_of(heap->allocator),
				  .count = XMALLOC_BUFFERS_MAX };

	job.found = bench_gpu_take(sizeof(*found));
	if (job.found == NULL)
		return "there is too little free memory on the device";
	if (!bench_gpu_fill(job.found, 0, sizeof(*found)) ||
	    !device_launch_as(heap, "layers_learn", 1, DEVICE_WARP, &job, NULL) ||
	    !bench_gpu_fetch(found, job.found, sizeof(*found)))
		return bench_gpu_trouble();
	bench_gpu_give(job.found);
	return NULL;
}

/* The base's heap exists; `heap` gets its layers. */
static const char *put_layers(struct device_heap *heap)
{
	struct bench_layers layers = { .base = heap->heap };
	struct device_found found;
	const char *why;

	heap->own_numbers[NUMBER_BASE] = (uint64_t)(uintptr_t)heap->heap;
	heap->own[OWN_LAYERS] = bench_gpu_take(sizeof(layers));
	if (heap->own[OWN_LAYERS] == NULL)
		return "there is too little free memory on the device";
	heap->heap = heap->own[OWN_LAYERS];
	if (!bench_gpu_put(heap->heap, &layers, sizeof(layers)))
		return bench_gpu_trouble();
	why = learn(heap, &found);
	if (why != NULL)
		return why;
	heap->own[OWN_BUFFERS] = bench_gpu_take(found.bytes);
	if (heap->own[OWN_BUFFERS] == NULL)
		return "there is too little free memory on the device";
	heap->space_bytes += found.bytes + sizeof(layers);
	heap->own_numbers[NUMBER_REFERENCE] = heap->low > 0       ? heap->low
					      : found.low > BELOW ? found.low - BELOW
								  : 0;
	layers.buffers = heap->own[OWN_BUFFERS];
	if (!bench_gpu_fill(layers.buffers, 0, found.bytes) ||
	    !bench_gpu_put(heap->heap, &layers, sizeof(layers)))
		return bench_gpu_trouble();
	return NULL;
}

static const char *make_layers(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes,
			       const struct device_allocator *base)
{
	const char *why = base->make(heap, bytes, object_bytes);

	heap->own[OWN_LAYERS] = heap->own[OWN_BUFFERS] = NULL;
	if (why != NULL)
		return why;
	why = put_layers(heap);
	if (why != NULL)
		end_layers(heap, base);
	return why;
}

#define OVER(name, base)                                                         \
	static const char *name##_make(struct device_heap *heap, uint64_t bytes, \
				       uint64_t object_bytes)                    \
	{                                                                        \
		return make_layers(heap, bytes, object_bytes, base);             \
	}                                                                        \
	static void name##_end(struct device_heap *heap)                         \
	{                                                                        \
		end_layers(heap, base);                                          \
	}

static const char *make_pages(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	(void)object_bytes;
	return device_ours_make_pages(heap, bytes, XMALLOC_PAGE);
}

/* Not one of `mam bench device`'s: a base only, without objects of other sizes. */
static const struct device_allocator pages = { .make = make_pages, .end = device_ours_end };

OVER(over_cuda, find("cuda-malloc"))
OVER(over_mam, find("mam"))
OVER(over_pages, &pages)

/* ---- the list ---- */

#ifdef MAM_HAVE_BENCH_KERNELS
#define MODULE(name) mam_xmalloc_##name##_fatbin
extern const unsigned char MODULE(cuda_coalesce)[], MODULE(cuda_buffers)[], MODULE(cuda_calls)[],
	MODULE(mam_coalesce)[], MODULE(mam_buffers)[], MODULE(mam_calls)[], MODULE(pages)[],
	MODULE(pages_coalesce)[];
#else
#define MODULE(name) NULL
#endif

static const struct device_allocator layered[] = {
	{ "mam-coalesce", DEVICE_OURS, MODULE(mam_coalesce), false, true, false, over_mam_make,
	  over_mam_end, NULL },
	{ "mam-xmalloc", DEVICE_OURS, MODULE(mam_buffers), false, true, false, over_mam_make,
	  over_mam_end, NULL },
	{ "mam-xmc", DEVICE_OURS, MODULE(mam_calls), false, true, false, over_mam_make,
	  over_mam_end, NULL },
	{ "pages", DEVICE_OURS, MODULE(pages), false, true, false, over_pages_make, over_pages_end,
	  NULL },
	{ "pages-coalesce", DEVICE_OURS, MODULE(pages_coalesce), false, true, false,
	  over_pages_make, over_pages_end, NULL },
	{ "cuda-coalesce", DEVICE_OURS, MODULE(cuda_coalesce), false, true, true, over_cuda_make,
	  over_cuda_end, NULL },
	{ "cuda-xmalloc", DEVICE_OURS, MODULE(cuda_buffers), false, true, true, over_cuda_make,
	  over_cuda_end, NULL },
	{ "cuda-xmc", DEVICE_OURS, MODULE(cuda_calls), false, true, true, over_cuda_make,
	  over_cuda_end, NULL },
};

#define LAYERED (sizeof(layered) / sizeof(layered[0]))

static void add(const struct device_allocator *allocator, const char *name)
{
	if (allocator == NULL || xmalloc_allocator_count == XMALLOC_ALLOCATORS_MAX)
		return;
	xmalloc_allocators[xmalloc_allocator_count] = *allocator;
	xmalloc_allocators[xmalloc_allocator_count++].name = name;
}

/* In the order of columns: each base next to its layered allocators. */
void xmalloc_allocators_make(void)
{
	size_t i;

	xmalloc_allocator_count = 0;
	add(find("mam"), "mam");
	for (i = 0; i < LAYERED; i++) {
		if (layered[i].make == over_cuda_make && layered[i - 1].make != over_cuda_make)
			add(find("cuda-malloc"), "cuda");
		add(&layered[i], layered[i].name);
	}
	for (i = 0; i < device_allocator_count; i++) {
		const struct device_allocator *other = &device_allocators[i];

		if (other->role != DEVICE_OURS && other->role != DEVICE_SYSTEM)
			add(other, other->name);
	}
}

bool xmalloc_is_layered(const struct device_allocator *allocator)
{
	size_t i;

	for (i = 0; i < LAYERED; i++) {
		if (strcmp(layered[i].name, allocator->name) == 0)
			return true;
	}
	return false;
}

bool xmalloc_over_cuda(const struct device_allocator *allocator)
{
	return strncmp(allocator->name, "cuda", 4) == 0;
}

bool xmalloc_is_page_each(const struct device_allocator *allocator)
{
	return strcmp(allocator->name, "pages") == 0;
}

uint64_t xmalloc_pages_of(const struct device_heap *heap)
{
	return heap->allocator->make == over_pages_make ? (heap->high - heap->low) / XMALLOC_PAGE
							: 0;
}

bool xmalloc_is_coalesced(const struct device_allocator *allocator)
{
	return strstr(allocator->name, "-coalesce") != NULL;
}

bool xmalloc_has_buffers(const struct device_allocator *allocator)
{
	return xmalloc_is_layered(allocator) && strstr(allocator->name, "-xmalloc") != NULL;
}

bool xmalloc_format(struct device_run *run, struct device_heap *heap, uint32_t count)
{
	struct device_job job = { .heap = heap->heap,
				  .askers = 1,
				  .lanes = 1,
				  .rounds = warps_of(heap->allocator),
				  .count = xmalloc_is_by_calls(heap->allocator)
						   ? XMALLOC_BUFFERS_MAX
						   : count,
				  .more = heap->own[OWN_BUFFERS],
				  .found = run->found };

	if (!xmalloc_is_layered(heap->allocator))
		return true;
	job.own[0] = heap->own_numbers[NUMBER_REFERENCE];
	return device_launch_as(heap, "layers_format", 1, DEVICE_WARP, &job, NULL);
}

bool xmalloc_drain(struct device_run *run, struct device_heap *heap)
{
	const struct device_job job = { .heap = heap->heap, .found = run->found };

	return !xmalloc_is_layered(heap->allocator) ||
	       device_launch_as(heap, "layers_drain", 4, DEVICE_BLOCK, &job, NULL);
}
