/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kernels.h - the kernels of `mam bench device` that ask an allocator for objects and give
 * them back. Before it an adapter has said what that is: bench_malloc() and bench_free().
 *
 *   get    each asker takes an object
 *   fill   the same, of those that have none; who gets none is counted
 *   give   each asker gives its object back
 *   share  so many of the askers, which ones looks like chance, give theirs back
 *
 * What an allocator answers is stored and not looked at, so that its own time is what is measured.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_KERNELS_H
#define MAM_TOOLS_BENCH_DEVICE_KERNELS_H

#include "bench/device_kit.h"

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
	device_tell(&job->found->none, job->got[asker] == 0);
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

/* `count` of `askers`; who gave its object back has none. */
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
