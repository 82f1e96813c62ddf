/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - how a kernel of `mam bench case` calls its allocator. A file that includes it first
 * defines
 *   CASE_ALLOC(heap, bytes, steps)   returns an object or NULL; adds the steps to *steps (uint32_t) if
 *                                    the allocator counts them
 *   CASE_FREE(heap, object, bytes)
 *   CASE_LOOKED(heap)                optional: the steps that the heap itself has counted
 *
 * Both functions are not inlined, so that code that rarely allocates does not pay for their
 * registers. Lanes of a warp that enter together leave together, as they may be served together.
 * With CASE_COUNT each request counts itself and the live bytes. That costs many atomics on few
 * words, so timed passes run without it.
 */
#ifndef MAM_TOOLS_BENCH_CASES_ASK_H
#define MAM_TOOLS_BENCH_CASES_ASK_H

#include "bench/papers/cases/told.h"
#include "bench/device/device_kit.h"

/* A kernel with at most `threads` threads per block: cases differ in block size. */
#ifdef __CUDACC__
/* The same, where an SM must hold `blocks` blocks: limits the registers. */
#define CASE_KERNEL_HELD(name, body, threads, blocks)                 \
	extern "C" __global__ void __launch_bounds__(threads, blocks) \
		name(const __grid_constant__ struct device_job job)   \
	{                                                             \
		body(&job);                                           \
	}
#define CASE_KERNEL(name, body, threads)                            \
	extern "C" __global__ void __launch_bounds__(threads)       \
		name(const __grid_constant__ struct device_job job) \
	{                                                           \
		body(&job);                                         \
	}
#else
#define CASE_KERNEL_HELD(name, body, threads, blocks) DEVICE_KERNEL(name, body)
#define CASE_KERNEL(name, body, threads) DEVICE_KERNEL(name, body)
#endif

MAM_KFN struct case_told *case_told_of(const struct device_job *job)
{
	return (struct case_told *)job->found;
}

MAM_KSLOW void *case_alloc(void *heap, struct case_told *told, uint32_t flags, uint32_t bytes)
{
	const uint32_t came = mam_warp_active();
	uint32_t steps = 0;
	void *object = CASE_ALLOC(heap, bytes, &steps);
	uint64_t live;

	if (object == NULL)
		device_report(&told->none, 1);
	if (flags & CASE_COUNT) {
		device_report(&told->asks, 1);
		device_report(&told->steps, steps);
		if (object != NULL) {
			live = mam_atomic_add64(&told->live, bytes, MAM_RELAXED, MAM_AT_DEVICE);
			device_report_max(&told->peak, live + bytes);
		}
	}
	mam_warp_sync(came);
	return object;
}

MAM_KSLOW void case_free(void *heap, struct case_told *told, uint32_t flags, void *object,
			 uint32_t bytes)
{
	const uint32_t came = mam_warp_active();

	CASE_FREE(heap, object, bytes);
	if (flags & CASE_COUNT)
		(void)mam_atomic_add64(&told->live, (uint64_t)0 - bytes, MAM_RELAXED,
				       MAM_AT_DEVICE);
	mam_warp_sync(came);
}

/*
 * Puts a heap into a used state: `occupy` fills it with one object of job->least bytes for each of
 * job->askers lanes. `thin` frees those that a hash of their number selects, job->count out of 2^16
 * of them. job->got holds the objects.
 */
MAM_KFN void case_occupy(const struct device_job *job)
{
	struct case_told *told = case_told_of(job);
	uint32_t asker;

	if (device_asks(job, &asker))
		job->got[asker] =
			(uint64_t)(uintptr_t)case_alloc(job->heap, told, job->flags, job->min);
}
CASE_KERNEL(occupy, case_occupy, DEVICE_BLOCK)

MAM_KFN void case_thin(const struct device_job *job)
{
	struct case_told *told = case_told_of(job);
	uint32_t asker;

	if (!device_asks(job, &asker) || job->got[asker] == 0)
		return;
	if (bench_mix(asker + 77u) % 65536u < job->count) {
		case_free(job->heap, told, job->flags, (void *)(uintptr_t)job->got[asker],
			  job->min);
		job->got[asker] = 0;
	} else {
		device_report(&told->count, 1);
	}
}
CASE_KERNEL(thin, case_thin, DEVICE_BLOCK)

/* The steps that the heap itself has counted, if it does; executed by one lane. */
#ifndef CASE_LOOKED
#define CASE_LOOKED(heap) ((void)(heap), (uint64_t)0)
#endif
MAM_KFN void case_looked(const struct device_job *job)
{
	if (device_thread() == 0)
		case_told_of(job)->count = CASE_LOOKED(job->heap);
}
CASE_KERNEL(looked, case_looked, DEVICE_BLOCK)

/* For the table of a simulated module. */
#define CASE_HEAP_KERNELS(each) each(occupy) each(thin) each(looked)

#endif
