/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heaps.c - the allocators of `mam bench case`: mam's objects and pages, the two random walks,
 * CUDA's own malloc, and the variants without an allocator; how a heap is brought into a used state
 * before a case begins, and how many steps requests took.
 *
 * A used heap: almost all of it is allocated in objects of the case's page size, then as many at
 * random places are freed as make the cell's share free. This models a long-lived heap: free blocks
 * everywhere, none of them large.
 */
#include <mam/heap.h>
#include <string.h>

#include "bench/device/device_allocators.h"
#include "bench/harness/gpu.h"
#include "cases.h"

#define FILLED_PERMILLE 990u /* of the capacity, at first: the last requests are slow */
#define FILL_STEPS 500u

/* ---- heaps ---- */

/* Makes a heap as `mam bench device` does. */
static const char *make_as(const char *name, struct device_heap *heap, uint64_t bytes,
			   uint64_t object_bytes)
{
	size_t i;

	for (i = 0; i < device_allocator_count; i++) {
		if (strcmp(device_allocators[i].name, name) == 0)
			return device_allocators[i].make(heap, bytes, object_bytes);
	}
	return "it is not in this build";
}

static const char *make_rw(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	return make_as("rw", heap, bytes, object_bytes);
}

static const char *make_corw(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	return make_as("corw", heap, bytes, object_bytes);
}

static const char *make_cuda(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	return make_as("cuda-malloc", heap, bytes, object_bytes);
}

/* A page is a power of two. */
static const char *make_pages(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	uint32_t page = MAM_HEAP_PAGE_MIN;

	while (page < object_bytes && page < 1u << 30)
		page *= 2;
	return device_ours_make_pages(heap, bytes, page);
}

static const char *make_nothing(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	(void)bytes;
	(void)object_bytes;
	heap->heap = NULL;
	heap->space_bytes = heap->low = heap->high = 0;
	return NULL;
}

static void end_nothing(struct device_heap *heap)
{
	(void)heap;
}

#ifdef MAM_HAVE_BENCH_KERNELS
#define MODULE(name) mam_case_##name##_fatbin
extern const unsigned char MODULE(mam)[], MODULE(pages)[], MODULE(corw)[], MODULE(rw)[],
	MODULE(cuda)[], MODULE(reserved)[];
#else
#define MODULE(name) NULL
#endif

const struct device_allocator case_allocators[] = {
	{ CASE_MAM, DEVICE_OURS, MODULE(mam), false, true, false, device_ours_make, device_ours_end,
	  NULL },
	{ CASE_MAM_PAGES, DEVICE_OURS, MODULE(pages), true, true, false, make_pages,
	  device_ours_end, NULL },
	{ "corw", DEVICE_PUBLISHED, MODULE(corw), true, true, false, make_corw,
	  device_heap_end_block, NULL },
	{ "rw", DEVICE_PUBLISHED, MODULE(rw), true, true, false, make_rw, device_heap_end_block,
	  NULL },
	{ CASE_RESERVED, DEVICE_CEILING, MODULE(reserved), false, false, false, make_nothing,
	  end_nothing, NULL },
	{ CASE_COMPACT, DEVICE_CEILING, MODULE(reserved), false, false, false, make_nothing,
	  end_nothing, NULL },
	{ "cuda-malloc", DEVICE_SYSTEM, MODULE(cuda), false, true, true, make_cuda, end_nothing,
	  NULL },
};

const size_t case_allocator_count = sizeof(case_allocators) / sizeof(case_allocators[0]);

bool case_is_reserved(const struct device_allocator *allocator)
{
	return allocator->role == DEVICE_CEILING;
}

/* ---- used heaps ---- */

static bool launch(struct device_run *run, const struct device_heap *heap, const char *kernel,
		   const struct device_job *job, struct case_told *told)
{
	struct device_found found;

	if (!device_count_begin(run) || !device_launch(heap, kernel, job, NULL) ||
	    !device_count_end(run, &found))
		return false;
	memcpy(told, &found, sizeof(*told));
	return true;
}

/*
 * Fills a heap in increments, as a request to a full heap searches everywhere. Returns the number
 * of objects that fit, which are in the first places of run->got, or among more places if some
 * requests failed.
 */
static bool fill(struct device_run *run, const struct device_heap *heap, struct device_job *job,
		 uint32_t max, uint32_t *got)
{
	const uint32_t step = max / FILL_STEPS / DEVICE_WARP * DEVICE_WARP + DEVICE_WARP;
	struct case_told told = { .none = 0 };
	uint32_t done = 0;

	*got = 0;
	while (done < max && told.none == 0) {
		job->askers = max - done < step ? max - done : step;
		job->got = run->got + done;
		if (!launch(run, heap, "occupy", job, &told))
			return false;
		*got += job->askers - (uint32_t)told.none;
		done += job->askers;
	}
	job->got = run->got;
	job->askers = done;
	return true;
}

bool case_occupy(struct device_run *run, struct device_heap *heap, const struct device_cell *cell)
{
	const uint64_t pages = (heap->high - heap->low) / cell->min;
	uint64_t max = pages * FILLED_PERMILLE / 1000, room;
	struct device_job job = case_job(run, heap, cell);
	struct case_told told;
	uint32_t got, stay;

	if (cell->share >= 1000 || case_is_reserved(heap->allocator))
		return true;
	if (max > run->askers_max)
		max = run->askers_max;
	if (!fill(run, heap, &job, (uint32_t)max, &got))
		return false;
	/* Space that could not be allocated counts neither as capacity nor as free. */
	room = job.askers == max && got == max ? pages : got;
	stay = (uint32_t)(room * (1000 - cell->share) / 1000);
	job.count = got > stay ? (uint32_t)(65536 - (uint64_t)stay * 65536 / got) : 0;
	if (!launch(run, heap, "thin", &job, &told))
		return false;
	device_row(run, heap, cell, "free_percent",
		   room > 0 ? 100 - 100.0 * (double)told.count / (double)room : 0);
	return true;
}

/* ---- steps ---- */

double case_looks(struct device_run *run, const struct device_heap *heap)
{
	struct device_job job = { .heap = heap->heap, .askers = 1, .lanes = 1 };
	struct case_told told;

	if (heap->allocator->role != DEVICE_OURS || heap->allocator->one_size)
		return 0;
	job.found = run->found;
	return launch(run, heap, "looked", &job, &told) ? (double)told.count : 0;
}

double case_steps(const struct device_heap *heap, const struct case_told *told, double looks)
{
	if (told->asks == 0)
		return -1;
	if (heap->allocator->one_size)
		return (double)told->steps / (double)told->asks;
	return heap->allocator->role == DEVICE_OURS ? 1 + looks / (double)told->asks : -1;
}
