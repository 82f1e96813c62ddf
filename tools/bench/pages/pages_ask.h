/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_ask.h - the size that an asker requests, and which pages of a heap are initially free: the
 * same numbers on the host and in kernels.
 */
#ifndef MAM_TOOLS_BENCH_PAGES_ASK_H
#define MAM_TOOLS_BENCH_PAGES_ASK_H

#include "device/port.h"
#include "bench/harness/mix.h"
#include "bench/pages/pages_job.h"

MAM_KBOTH uint32_t pages_bytes_of(const struct pages_job *job, uint32_t asker)
{
	return job->min + bench_mix(asker + 1) % (job->max - job->min + 1);
}

MAM_KBOTH uint32_t pages_count_of(const struct pages_job *job, uint32_t asker)
{
	return (pages_bytes_of(job, asker) + job->page_bytes - 1) / job->page_bytes;
}

/* The page that the i-th asker of kernel open frees. */
MAM_KBOTH uint32_t pages_opened(const struct pages_job *job, uint32_t i)
{
	return bench_place(i / job->group, job->pages / job->group) * job->group + i % job->group;
}

#endif
