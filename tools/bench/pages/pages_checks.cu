/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_checks.cu - the kernels of `mam bench pages` that check the allocators' results, and an
 * empty one, to measure the cost of a launch.
 */
#include "bench/pages/pages_kernels.h"

PAGES_KERNEL(check_mark, pages_mark)
PAGES_KERNEL(check_write, pages_write)
PAGES_KERNEL(check_read, pages_read)
PAGES_KERNEL(check_count, pages_count)
PAGES_KERNEL(check_compare, pages_compare)

MAM_KFN void pages_nothing(const struct pages_job *job)
{
	uint32_t asker;

	if (job->got == NULL && pages_asks(job, &asker)) /* never true: uses the job */
		job->steps[asker] = asker;
}

PAGES_KERNEL(check_nothing, pages_nothing)
