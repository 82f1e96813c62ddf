/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - how a kernel of `mam bench case` asks its allocator. Before it stand
 *   CASE_ALLOC(heap, bytes, steps)   answers an object or NULL; *steps (uint32_t) is added to, where
 *                                    the allocator counts them
 *   CASE_FREE(heap, object, bytes)
 *   CASE_LOOKED(heap)                steps that the heap has counted itself; may be left out
 *
 * Both are functions that are not inlined: what asks seldom must not be charged the registers of it.
 * Lanes of a warp that come together leave together, as they may be served together. With CASE_COUNT
 * each request says that it was there, and how much is live: many atomics on few words, so passes
 * that are timed go without.
 */
#ifndef MAM_TOOLS_BENCH_CASES_ASK_H
#define MAM_TOOLS_BENCH_CASES_ASK_H

#include "bench/cases/told.h"
#include "bench/device_kit.h"

/* A kernel of so many threads a block at most: those of cases differ. */
#ifdef __CUDACC__
/* The same, so many blocks of which an SM is to hold: it must do with fewer registers. */
#define CASE_KERNEL_HELD(name, body, threads, blocks)                   \
	extern "C" __global__ void __launch_bounds__(threads, blocks)   \
		name(const __grid_constant__ struct device_job job)     \
	{                                                               \
		body(&job);                                             \
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
		device_tell(&told->none, 1);
	if (flags & CASE_COUNT) {
		device_tell(&told->asks, 1);
		device_tell(&told->steps, steps);
		if (object != NULL) {
			live = mam_atomic_add64(&told->live, bytes, MAM_RELAXED, MAM_AT_DEVICE);
			device_tell_most(&told->peak, live + bytes);
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
 * Makes a heap that is in use: `occupy` fills it, an object of job->least bytes for each of
 * job->askers lanes; `thin` gives back those whose number says so, job->count of 2^16 of them. Which
 * got one stands in job->got.
 */
MAM_KFN void case_occupy(const struct device_job *job)
{
	struct case_told *told = case_told_of(job);
	uint32_t asker;

	if (device_asks(job, &asker))
		job->got[asker] =
			(uint64_t)(uintptr_t)case_alloc(job->heap, told, job->flags, job->least);
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
			  job->least);
		job->got[asker] = 0;
	} else {
		device_tell(&told->count, 1);
	}
}
CASE_KERNEL(thin, case_thin, DEVICE_BLOCK)

/* What the heap itself has counted of steps, where it does; by one lane. */
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
