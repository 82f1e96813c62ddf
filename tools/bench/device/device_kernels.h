/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kernels.h - the kernels of `mam bench device` that allocate and free objects. Included
 * after an adapter, which defines bench_malloc() and bench_free().
 *
 *   get    each asker allocates an object
 *   fill   the same, for askers that have none; failed requests are counted
 *   give   each asker frees its object
 *   share  `count` pseudorandom ones of the askers free theirs
 *
 * Objects are stored and not accessed, so that only the allocator's own time is measured.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_KERNELS_H
#define MAM_TOOLS_BENCH_DEVICE_KERNELS_H

#include "bench/device/device_kit.h"

MAM_KFN void device_get(const struct device_job *job)
{
	uint32_t asker;

	if (device_asks(job, &asker))
		job->got[asker] =
			(uint64_t)(uintptr_t)bench_malloc(job->heap, device_bytes_of(job, asker));
}

MAM_KFN void device_fill(const struct device_job *job)
{
	uint32_t asker;

	if (!device_asks(job, &asker) || job->got[asker] != 0)
		return;
	job->got[asker] = (uint64_t)(uintptr_t)bench_malloc(job->heap, device_bytes_of(job, asker));
	device_report(&job->found->none, job->got[asker] == 0);
}

DEVICE_KERNEL(get, device_get)
DEVICE_KERNEL(fill, device_fill)

#ifndef BENCH_NO_FREE
MAM_KFN void device_give(const struct device_job *job)
{
	uint32_t asker;

	if (device_asks(job, &asker))
		bench_free(job->heap, (void *)(uintptr_t)job->got[asker],
			   device_bytes_of(job, asker));
}

/* `count` of `askers`; an asker that freed its object has none. */
MAM_KFN void device_share(const struct device_job *job)
{
	const uint32_t thread = device_thread();
	uint32_t asker;

	if (thread >= job->count)
		return;
	asker = bench_place((thread + job->seed) % job->askers, job->askers);
	if (job->got[asker] != 0)
		bench_free(job->heap, (void *)(uintptr_t)job->got[asker],
			   device_bytes_of(job, asker));
	job->got[asker] = 0;
}

DEVICE_KERNEL(give, device_give)
DEVICE_KERNEL(share, device_share)
#endif

#endif
