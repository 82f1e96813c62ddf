/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kernels_more.h - kernels of `mam bench device` beyond plain allocation and free. Every
 * module has them, each over its own allocator's bench_malloc().
 *
 *   churn, churn_check       W4: malloc, write of a word, free, repeatedly; the same, but the whole
 *                            object is written, and read before it is freed
 *   missed                   W6: number of failed requests
 *   latency                  W7: the cycles of a malloc and of a free, seen by the first lane
 *   turn                     fragmentation: half of the askers exchange their object for another
 *   site, site_packed        a malloc and a store, to measure its cost in registers
 * and those of device_kernels_graph.h, device_kernels_reuse.h, device_kernels_use.h and
 * device_kernels_work.h.
 *
 * Written with port.h's primitives, so that tests run them under the simulator.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_KERNELS_MORE_H
#define MAM_TOOLS_BENCH_DEVICE_KERNELS_MORE_H

#include "bench/device/device_kernels_graph.h"
#include "bench/device/device_kernels_reuse.h"
#include "bench/device/device_kernels_use.h"
#include "bench/device/device_kernels_work.h"

/* ---- W4 ---- */

MAM_KFN void device_churn(const struct device_job *job)
{
	uint64_t none = 0;
	uint32_t asker, bytes, round;
	void *object;

	if (!device_asks(job, &asker))
		return;
	bytes = device_bytes_of(job, asker);
	for (round = 0; round < job->rounds; round++) {
		object = bench_malloc(job->heap, bytes);
		if (object == NULL) {
			none++;
			continue;
		}
		device_stain(object, 4, asker);
		device_drop(job, object, bytes);
	}
	device_report(&job->found->none, none);
}
DEVICE_KERNEL(churn, device_churn)

MAM_KFN void device_churn_check(const struct device_job *job)
{
	uint64_t none = 0, corrupt = 0;
	uint32_t asker, bytes, round;
	void *object;

	if (!device_asks(job, &asker))
		return;
	bytes = device_bytes_of(job, asker);
	for (round = 0; round < job->rounds; round++) {
		const uint32_t color = bench_mix(asker + round * job->askers);

		object = bench_malloc(job->heap, bytes);
		if (object == NULL) {
			none++;
			continue;
		}
		device_stain(object, bytes, color);
		mam_nanosleep(color % 256);
		corrupt += !device_is_stained(object, bytes, color);
		device_drop(job, object, bytes);
	}
	device_report(&job->found->none, none);
	device_report(&job->found->corrupt, corrupt);
}
DEVICE_KERNEL(churn_check, device_churn_check)

/* ---- W6: number of failed requests ---- */

MAM_KFN void device_missed(const struct device_job *job)
{
	uint32_t asker;

	if (device_asks(job, &asker))
		device_report(&job->found->none, job->got[asker] == 0);
}
DEVICE_KERNEL(missed, device_missed)

/* ---- W7 ---- */

MAM_KFN void device_latency(const struct device_job *job)
{
	const uint32_t mask = job->lanes < DEVICE_WARP ? (1u << job->lanes) - 1 : ~0u;
	uint64_t cycles[2] = { 0, 0 }, before;
	uint32_t asker, bytes, round, none = 0;
	void *object;

	if (!device_asks(job, &asker))
		return;
	bytes = device_bytes_of(job, asker);
	for (round = 0; round < job->rounds; round++) {
		mam_warp_sync(mask);
		before = mam_clock();
		object = bench_malloc(job->heap, bytes);
		/* The vote needs the object, and the clock is read after it. */
		none += mam_popc32(mask & ~mam_warp_ballot(mask, object != NULL));
		cycles[0] += mam_clock() - before;
		mam_warp_sync(mask);
		before = mam_clock();
		if (object != NULL)
			device_drop(job, object, bytes);
		mam_warp_sync(mask);
		cycles[1] += mam_clock() - before;
	}
	if (mam_lane() == 0) {
		device_report(&job->found->cycles[0], cycles[0]);
		device_report(&job->found->cycles[1], cycles[1]);
		device_report(&job->found->warps, 1);
		device_report(&job->found->none, none);
	}
}
DEVICE_KERNEL(latency, device_latency)

/* ---- fragmentation: `seed` is the round; `numbers` has the bytes of an object ---- */

MAM_KFN void device_turn(const struct device_job *job)
{
	uint32_t asker, bytes;
	void *object;

	if (!device_asks(job, &asker))
		return;
	object = (void *)job->got[asker];
	if (object != NULL) {
		if (bench_mix(asker ^ job->seed * 0x9e3779b9u) % 2)
			return;
		bytes = job->numbers[asker];
		device_report(&job->found->corrupt, !device_is_stained(object, bytes, asker));
		device_drop(job, object, bytes);
	}
	bytes = device_bytes_of(job, asker) / 4 * 4;
	object = bench_malloc(job->heap, bytes);
	job->got[asker] = (uint64_t)object;
	job->numbers[asker] = bytes;
	if (object != NULL)
		device_stain(object, bytes, asker);
	else
		device_report(&job->found->none, 1);
}
DEVICE_KERNEL(turn, device_turn)

/* ---- registers ---- */

/* One-dimensional, so that only the allocator's registers are added. It is never launched. */
MAM_KFN void device_site(const struct device_job *job)
{
	const uint32_t thread = mam_block_x() * mam_block_dim_x() + mam_thread_x();

	job->got[thread] = (uint64_t)bench_malloc(job->heap, job->min);
}

#ifdef __CUDACC__
extern "C" __global__ void site(const __grid_constant__ struct device_job job)
{
	device_site(&job);
}

/* Full occupancy of an SM: the larger GPUs' have 2,048 threads, the others' fewer. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ < 1100
#define DEVICE_PACKED 8
#else
#define DEVICE_PACKED 4
#endif
extern "C" __global__ void __launch_bounds__(DEVICE_BLOCK, DEVICE_PACKED)
	site_packed(const __grid_constant__ struct device_job job)
{
	device_site(&job);
}
#else
DEVICE_KERNEL(site, device_site)
DEVICE_KERNEL(site_packed, device_site)
#endif

#endif
