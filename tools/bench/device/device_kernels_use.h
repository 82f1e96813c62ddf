/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kernels_use.h - kernels in which a worker keeps objects for as long as it needs them.
 *
 *   use    each asker allocates an object, writes a word, reads it, and frees the object
 *   hold   each asker allocates as many objects as there are rounds, and keeps them
 *   drop   frees them, in a different order in each lane: objects that lanes allocated together are not
 *          freed together
 *
 * An asker's k-th object is that of asker k * askers + asker of a job with correspondingly more
 * askers and no rounds, so that the checks of objects also work on these.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_KERNELS_USE_H
#define MAM_TOOLS_BENCH_DEVICE_KERNELS_USE_H

#include "bench/device/device_kernels_touch.h"

MAM_KFN void device_use(const struct device_job *job)
{
	uint32_t asker, bytes;
	bool same = true;
	void *object;

	if (!device_asks(job, &asker))
		return;
	bytes = device_bytes_of(job, asker);
	object = bench_malloc(job->heap, bytes);
	if (object != NULL) {
		device_stain(object, 4, asker);
		same = device_is_stained(object, 4, asker);
		device_drop(job, object, bytes);
	}
	device_report(&job->found->none, object == NULL);
	device_report(&job->found->corrupt, !same);
}
DEVICE_KERNEL(use, device_use)

MAM_KFN void device_hold(const struct device_job *job)
{
	uint32_t asker, round, at;

	if (!device_asks(job, &asker))
		return;
	for (round = 0; round < job->rounds; round++) {
		at = round * job->askers + asker;
		job->got[at] =
			(uint64_t)(uintptr_t)bench_malloc(job->heap, device_bytes_of(job, at));
	}
}
DEVICE_KERNEL(hold, device_hold)

#ifndef BENCH_NO_FREE
MAM_KFN void device_let_go(const struct device_job *job)
{
	uint32_t asker, round, at;

	if (!device_asks(job, &asker))
		return;
	for (round = 0; round < job->rounds; round++) {
		at = (round + bench_mix(asker)) % job->rounds * job->askers + asker;
		if (job->got[at] != 0)
			bench_free(job->heap, (void *)(uintptr_t)job->got[at],
				   device_bytes_of(job, at));
	}
}
DEVICE_KERNEL(drop, device_let_go)
#endif

#endif
