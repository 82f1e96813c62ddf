/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_sim.c - gpu.h on the simulator, and the other functions of a GPU that the bench uses: a
 * driver that knows the size of CUDA's heap, and mam's heaps without the library, as kernels see
 * them.
 */
#include "device_sim.h"

#include <mam/heap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/device/device_allocators.h"
#include "bench/harness/driver.h"
#include "bench/harness/gpu.h"
#include "heap/slab/metadata.h"
#include "heap/pages/head.h"
#include "simt/simt.h"

#define CHECK_THREADS 32 /* of a check, which works with any number; fibers are slow */
#define SMS 2
#define FREE_BYTES (UINT64_C(1) << 28)
#define ALIGNMENT 65536 /* alignment of a block of a heap of objects */

#define IMAGE(name)                                              \
	extern const unsigned char mam_device_##name##_fatbin[]; \
	const unsigned char mam_device_##name##_fatbin[] = #name;
DEVICE_SIM_MODULES(IMAGE)

#define LAYERED_IMAGE(name)                                       \
	extern const unsigned char mam_xmalloc_##name##_fatbin[]; \
	const unsigned char mam_xmalloc_##name##_fatbin[] = "xmalloc_" #name;
DEVICE_SIM_LAYERED(LAYERED_IMAGE)

#define RANKS_IMAGE(name)                                     \
	extern const unsigned char mam_mpi_##name##_fatbin[]; \
	const unsigned char mam_mpi_##name##_fatbin[] = "mpi_" #name;
DEVICE_SIM_RANKS(RANKS_IMAGE)

#define SUPERBLOCKS_IMAGE(name)                               \
	extern const unsigned char mam_kma_##name##_fatbin[]; \
	const unsigned char mam_kma_##name##_fatbin[] = "kma_" #name;
DEVICE_SIM_SUPERBLOCKS(SUPERBLOCKS_IMAGE)

#define CASES_IMAGE(name)                                      \
	extern const unsigned char mam_case_##name##_fatbin[]; \
	const unsigned char mam_case_##name##_fatbin[] = "case_" #name;
DEVICE_SIM_OF_CASES(CASES_IMAGE)

#define ROW(name) { #name, device_sim_##name },
#define LAYERED_ROW(name) { "xmalloc_" #name, device_sim_xmalloc_##name },
#define RANKS_ROW(name) { "mpi_" #name, device_sim_mpi_##name },
#define SUPERBLOCKS_ROW(name) { "kma_" #name, device_sim_kma_##name },
#define CASES_ROW(name) { "case_" #name, device_sim_case_##name },
static const struct {
	const char *name;
	const struct device_sim_kernel *kernels;
} modules[] = { DEVICE_SIM_MODULES(ROW) DEVICE_SIM_LAYERED(LAYERED_ROW) DEVICE_SIM_RANKS(RANKS_ROW)
			DEVICE_SIM_SUPERBLOCKS(SUPERBLOCKS_ROW) DEVICE_SIM_OF_CASES(CASES_ROW) };

unsigned int device_sim_blocks, device_sim_base_blocks;
static unsigned int launches;
static char trouble[SIMT_TEXT_BYTES + 64];

/* ---- replacement of CUDA's malloc ---- */

/*
 * Powers of two from one piece of memory, because the bench searches for overlaps in the whole
 * range between the lowest and the highest object. Blocks of the C library, in particular under a
 * sanitizer, may be terabytes apart. The 16 bytes in front of each block contain its power.
 */
#define BASE_BYTES ((size_t)64 << 20)
#define BASE_HEAD 16u

struct base_block {
	struct base_block *next; /* of the same power, and also free */
};

static _Alignas(16) unsigned char base_space[BASE_BYTES];
static size_t base_used;
static struct base_block *base_free[64];

void *device_sim_base_alloc(size_t bytes)
{
	unsigned int power = 5;
	unsigned char *block;

	while (power < 26 && (size_t)1 << power < bytes + BASE_HEAD)
		power++;
	if (base_free[power] != NULL) {
		block = (unsigned char *)base_free[power];
		base_free[power] = base_free[power]->next;
	} else if (bytes + BASE_HEAD <= (size_t)1 << power &&
		   (size_t)1 << power <= BASE_BYTES - base_used) {
		block = base_space + base_used + BASE_HEAD;
		base_used += (size_t)1 << power;
	} else {
		return NULL;
	}
	*(unsigned int *)(void *)(block - BASE_HEAD) = power;
	device_sim_base_blocks++;
	return block;
}

void device_sim_base_free(void *block)
{
	struct base_block *one = block;
	unsigned int power;

	if (one == NULL)
		return;
	power = *(unsigned int *)(void *)((unsigned char *)block - BASE_HEAD);
	one->next = base_free[power];
	base_free[power] = one;
	device_sim_base_blocks--;
}

/* ---- the driver ---- */

static int limit_get(size_t *value, int limit)
{
	(void)limit;
	*value = FREE_BYTES;
	return 0;
}

static int function_attribute(int *value, int attribute, void *function)
{
	(void)attribute;
	(void)function;
	*value = 8;
	return 0;
}

struct bench_driver bench_driver = { .limit_get = limit_get,
				     .function_attribute = function_attribute };

bool bench_cuda_facts(char *gpu, size_t gpu_bytes, char *driver, size_t driver_bytes)
{
	snprintf(gpu, gpu_bytes, "simulated");
	snprintf(driver, driver_bytes, "none");
	return true;
}

/* ---- mam's heaps ---- */

enum { NUMBER_PAGE = 0 }; /* of own_numbers: bytes per page; 0: a heap of objects */

/* `space` bytes for kernels, followed by metadata. */
static const char *make(struct device_heap *heap, uint64_t space, uint64_t metadata)
{
	heap->space_bytes = space + metadata;
	heap->own[0] = space > 0 ? bench_gpu_take(heap->space_bytes) : NULL;
	if (heap->own[0] == NULL)
		return "there is no memory";
	heap->heap = (unsigned char *)heap->own[0] + space;
	heap->low = (uint64_t)(uintptr_t)heap->own[0];
	heap->high = heap->low + space;
	return device_ours_reset(heap) ? NULL : "it failed";
}

const char *device_ours_make(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	const uint32_t blocks = (uint32_t)(bytes / 10 * 8 >> MAM_BLOCK_SHIFT);
	const uint32_t columns = mam_metadata_columns(blocks);

	(void)object_bytes;
	heap->own_numbers[NUMBER_PAGE] = 0;
	return make(heap, (uint64_t)blocks << MAM_BLOCK_SHIFT,
		    mam_metadata_plan_of(blocks, columns).end);
}

const char *device_ours_make_pages(struct device_heap *heap, uint64_t bytes, uint32_t page_bytes)
{
	const uint32_t pages = (uint32_t)(bytes / 10 * 8 / page_bytes);

	heap->own_numbers[NUMBER_PAGE] = page_bytes;
	return make(heap, (uint64_t)pages * page_bytes, mam_head_bytes(pages));
}

void device_ours_end(struct device_heap *heap)
{
	device_heap_end_block(heap);
}

bool device_ours_reset(struct device_heap *heap)
{
	const uint64_t page = heap->own_numbers[NUMBER_PAGE], space = heap->high - heap->low;
	const uint32_t blocks = (uint32_t)(space >> MAM_BLOCK_SHIFT);
	/* Of pages; with layers the kernels get another pointer than the heap. */
	struct mam_kheap *head = (void *)((unsigned char *)heap->own[0] + space);

	memset(head, 0, heap->space_bytes - space);
	if (page == 0) {
		mam_metadata_format(head, heap->own[0], blocks, mam_metadata_columns(blocks));
		return true;
	}
	head->space = heap->own[0];
	head->pages = (uint32_t)(space / page);
	head->shift = (uint32_t)__builtin_ctzll(page);
	head->layout = MAM_HEAP_LAYOUT;
	mam_pages_format((struct mam_pages *)(head + 1), head->pages, MAM_HEAP_LOW_DEFAULT);
	return true;
}

/* ---- gpu.h ---- */

bool bench_gpu_start(uint64_t heap_bytes, char *why, size_t why_bytes)
{
	(void)heap_bytes;
	snprintf(why, why_bytes, "%s", "");
	return true;
}

bool bench_gpu_warm(void)
{
	return true;
}

void bench_gpu_stop(void)
{
}

const char *bench_gpu_trouble(void)
{
	return trouble;
}

void bench_gpu_fail(const char *sentence)
{
	if (trouble[0] == '\0')
		snprintf(trouble, sizeof(trouble), "%s", sentence);
}

void *bench_gpu_module(const void *image, char *why, size_t why_bytes)
{
	size_t i;

	for (i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		if (strcmp(modules[i].name, image) == 0)
			return (void *)(uintptr_t)modules[i].kernels;
	}
	snprintf(why, why_bytes, "there is no such module");
	return NULL;
}

void *bench_gpu_kernel(void *module, const char *name)
{
	const struct device_sim_kernel *kernel = module;

	for (; kernel->name != NULL; kernel++) {
		if (strcmp(kernel->name, name) == 0)
			return (void *)(uintptr_t)kernel;
	}
	return NULL;
}

unsigned int bench_gpu_registers(void *kernel)
{
	return kernel != NULL ? 32 : 0;
}

unsigned int bench_gpu_sms(void)
{
	return SMS;
}

/* More than the published number of buffers. */
unsigned int bench_gpu_warps(void)
{
	return 600;
}

unsigned int bench_gpu_resident(void *kernel, unsigned int threads)
{
	return kernel != NULL ? SMS * 1024 / threads : 0;
}

uint64_t bench_gpu_free_bytes(void)
{
	return FREE_BYTES;
}

void *bench_gpu_take(uint64_t bytes)
{
	void *memory = NULL;

	if (bytes > FREE_BYTES || posix_memalign(&memory, ALIGNMENT, (size_t)bytes) != 0)
		return NULL;
	device_sim_blocks++;
	return memory;
}

void bench_gpu_give(void *memory)
{
	device_sim_blocks -= memory != NULL;
	free(memory);
}

bool bench_gpu_fill(void *memory, unsigned char value, uint64_t bytes)
{
	memset(memory, value, (size_t)bytes);
	return trouble[0] == '\0';
}

bool bench_gpu_put(void *to, const void *from, uint64_t bytes)
{
	memcpy(to, from, (size_t)bytes);
	return trouble[0] == '\0';
}

bool bench_gpu_fetch(void *to, const void *from, uint64_t bytes)
{
	return bench_gpu_put(to, from, bytes);
}

bool bench_gpu_copy(void *to, const void *from, uint64_t bytes)
{
	return bench_gpu_put(to, from, bytes);
}

bool bench_gpu_run_shape(void *kernel, const char *name, struct bench_gpu_dims grid,
			 struct bench_gpu_dims block, const void *job, double *us)
{
	struct simt_config config = { .seed = ++launches,
				      .policy = SIMT_BY_WARP,
				      .steps_max = 50000000,
				      .block = { block.x, block.y, block.z },
				      .grid = { grid.x, grid.y, grid.z } };
	unsigned int blocks = grid.x * grid.y * grid.z, threads = block.x * block.y * block.z;
	const struct device_sim_kernel *const which = kernel;
	struct device_job copy = *(const struct device_job *)job;
	struct simt_result result;

	if (trouble[0] != '\0')
		return false;
	if (which == NULL) {
		snprintf(trouble, sizeof(trouble), "there is no kernel %s", name);
		return false;
	}
	if (strncmp(which->name, "check_", 6) == 0) {
		blocks = 1;
		threads = CHECK_THREADS;
		config.block.x = config.grid.x = 0;
	}
	if (simt_launch(&config, which->run, blocks, threads, &copy, &result) != SIMT_FINE) {
		snprintf(trouble, sizeof(trouble), "%s: %s: %s", name,
			 simt_verdict_name(result.verdict), result.text);
		return false;
	}
	if (us != NULL)
		*us = 1 + (double)result.steps / 1000; /* any value above 0 */
	return true;
}

bool bench_gpu_run(void *kernel, const char *name, unsigned int blocks, unsigned int threads,
		   const void *job, double *us)
{
	return bench_gpu_run_shape(kernel, name, (struct bench_gpu_dims){ blocks, 1, 1 },
				   (struct bench_gpu_dims){ threads, 1, 1 }, job, us);
}
