/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kit.h - which lanes request in a kernel of `mam bench device`, and the head of a kernel:
 * on the device with the job as its parameter, under the simulator with a pointer to it.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_KIT_H
#define MAM_TOOLS_BENCH_DEVICE_KIT_H

#include "bench/device/device_job.h"

#ifdef __CUDACC__
/*
 * Minimum resident blocks per SM, 0: no minimum. A kernel needs the registers of its rarest path.
 */
#ifndef DEVICE_RESIDENT
#define DEVICE_RESIDENT 0
#endif
#define DEVICE_KERNEL(name, body)                                                   \
	extern "C" __global__ void __launch_bounds__(DEVICE_BLOCK, DEVICE_RESIDENT) \
		name(const __grid_constant__ struct device_job job)                 \
	{                                                                           \
		body(&job);                                                         \
	}
#else
#define DEVICE_KERNEL(name, body)                          \
	MAM_KERNEL(name)                                   \
	{                                                  \
		body((const struct device_job *)argument); \
	}
#endif

MAM_KFN uint32_t device_thread(void)
{
	return mam_block() * mam_block_threads() + mam_thread();
}

MAM_KFN uint32_t device_threads(void)
{
	return mam_grid_blocks() * mam_block_threads();
}

/* Returns false if this lane does not request. */
MAM_KFN bool device_asks(const struct device_job *job, uint32_t *asker)
{
	const uint32_t thread = device_thread(), lane = thread % DEVICE_WARP;

	*asker = thread / DEVICE_WARP * job->lanes + lane;
	return lane < job->lanes && *asker < job->askers;
}

MAM_KFN void device_report(uint64_t *where, uint64_t n)
{
	if (n > 0)
		(void)mam_atomic_add64(where, n, MAM_RELAXED, MAM_AT_DEVICE);
}

/* An atomic maximum. */
MAM_KFN void device_report_max(uint64_t *where, uint64_t n)
{
	uint64_t was = mam_atomic_load64(where, MAM_RELAXED, MAM_AT_DEVICE), now;

	while (was < n) {
		now = mam_atomic_cas64(where, was, n, MAM_RELAXED, MAM_AT_DEVICE);
		if (now == was)
			return;
		was = now;
	}
}

#endif
