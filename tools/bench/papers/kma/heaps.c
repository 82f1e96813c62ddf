/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heaps.c - the allocators of `mam bench kma`: KMA in CUDA, mam's objects, CUDA's own malloc, and
 * the poor man's heap. The OpenCL ones are named here, and a separate program runs them.
 *
 * A heap of superblocks, and the poor man's, is one block of device memory that a kernel
 * initializes: kernels know its layout.
 */
#include <string.h>

#include "bench/device/device_allocators.h"
#include "bench/harness/gpu.h"
#include "kma.h"
#include "told.h"

#define MAKERS 4096u /* lanes that initialize a heap together */

static const char too_little[] = "there is too little free memory on the device";

/* ---- superblocks ---- */

bool kma_format(const struct device_heap *heap, uint32_t lanes, double *us)
{
	struct device_job job = { .heap = heap->heap, .askers = lanes, .lanes = DEVICE_WARP };

	job.own[0] = heap->own_numbers[0];
	job.own[1] = heap->own_numbers[1];
	job.own[2] = heap->own_numbers[2];
	return device_launch_as(heap, "make", (lanes + DEVICE_BLOCK - 1) / DEVICE_BLOCK,
				DEVICE_BLOCK, &job, us);
}

/*
 * Queries the kernels for the layout of a heap of `bytes` bytes or, if that is not 0, of `count`
 * superblocks.
 */
static const char *learn(struct device_heap *heap, uint64_t bytes, uint32_t count,
			 struct kma_told *told)
{
	struct device_job job = { .askers = 1, .lanes = 1 };
	const char *why = NULL;

	job.own[0] = bytes;
	job.own[1] = count > 0 ? KMA_SHIFT : 0;
	job.own[2] = KMA_ENTRIES_SHIFT;
	job.own[3] = count;
	job.found = bench_gpu_take(sizeof(*job.found));
	if (job.found == NULL)
		return too_little;
	if (!bench_gpu_fill(job.found, 0, sizeof(*job.found)) ||
	    !device_launch_as(heap, "learn", 1, 1, &job, NULL) ||
	    !bench_gpu_fetch(told, job.found, sizeof(*told)))
		why = bench_gpu_trouble();
	bench_gpu_give(job.found);
	return why;
}

const char *kma_make(struct device_heap *heap, uint64_t bytes, uint32_t count)
{
	struct kma_told told;
	const char *why = learn(heap, bytes, count, &told);

	heap->own[0] = heap->heap = NULL;
	if (why != NULL)
		return why;
	if (told.nodes == 0)
		return "so small a heap has no superblock";
	heap->own[0] = heap->heap = bench_gpu_take(told.sum);
	if (heap->heap == NULL)
		return too_little;
	heap->space_bytes = heap->own_numbers[0] = told.sum;
	heap->low = (uint64_t)(uintptr_t)heap->heap + told.links;
	heap->own_numbers[1] = told.shift;
	heap->own_numbers[2] = told.entries_shift;
	heap->high = heap->low + (told.nodes << told.shift);
	if (kma_format(heap, MAKERS, NULL))
		return NULL;
	device_heap_end_block(heap);
	return bench_gpu_trouble();
}

static const char *make_superblocks(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	(void)object_bytes;
	return kma_make(heap, bytes, 0);
}

static bool reset_superblocks(struct device_heap *heap)
{
	return kma_format(heap, MAKERS, NULL);
}

/* ---- the poor man's ---- */

static bool reset_poor(struct device_heap *heap)
{
	struct device_job job = { .heap = heap->heap, .askers = 1, .lanes = 1 };

	job.own[0] = heap->space_bytes;
	return device_launch_as(heap, "make", 1, 1, &job, NULL);
}

static const char *make_poor(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	(void)object_bytes;
	heap->own[0] = heap->heap = bench_gpu_take(bytes);
	if (heap->heap == NULL)
		return too_little;
	heap->space_bytes = bytes;
	heap->low = (uint64_t)(uintptr_t)heap->heap;
	heap->high = heap->low + bytes;
	if (reset_poor(heap))
		return NULL;
	device_heap_end_block(heap);
	return bench_gpu_trouble();
}

/* ---- CUDA's own, of which a process has only one ---- */

static const char *make_cuda(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	(void)object_bytes;
	heap->heap = NULL;
	heap->space_bytes = bytes;
	heap->low = heap->high = 0;
	return NULL;
}

static void end_cuda(struct device_heap *heap)
{
	(void)heap;
}

/* ---- the list ---- */

#ifdef MAM_HAVE_BENCH_KERNELS
#define MODULE(name) mam_kma_##name##_fatbin
extern const unsigned char MODULE(superblocks)[], MODULE(mam)[], MODULE(cuda)[], MODULE(poor)[];
#else
#define MODULE(name) NULL
#endif

const struct device_allocator kma_allocators[] = {
	{ "kma", DEVICE_OURS, MODULE(superblocks), false, true, false, make_superblocks,
	  device_heap_end_block, reset_superblocks },
	{ "mam_kmalloc", DEVICE_OURS, MODULE(mam), false, true, false, device_ours_make,
	  device_ours_end, device_ours_reset },
	{ "poor", DEVICE_CEILING, MODULE(poor), false, false, false, make_poor,
	  device_heap_end_block, reset_poor },
	{ KMA_OPENCL, DEVICE_OURS, NULL, false, true, false, NULL, NULL, NULL },
	{ KMA_OPENCL_POOR, DEVICE_CEILING, NULL, false, false, false, NULL, NULL, NULL },
	{ "cuda", DEVICE_SYSTEM, MODULE(cuda), false, true, true, make_cuda, end_cuda, NULL },
};

const size_t kma_allocator_count = sizeof(kma_allocators) / sizeof(kma_allocators[0]);

bool kma_is_superblocks(const struct device_allocator *allocator)
{
	return strcmp(allocator->name, "kma") == 0;
}
