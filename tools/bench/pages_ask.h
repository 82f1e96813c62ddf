/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_ask.h - how much an asker asks for, and which pages of a heap are free before it does: the
 * same numbers on the host and in kernels.
 */
#ifndef MAM_TOOLS_BENCH_PAGES_ASK_H
#define MAM_TOOLS_BENCH_PAGES_ASK_H

#include "heap/port.h"
#include "bench/pages_job.h"

MAM_KBOTH uint32_t pages_mix(uint32_t x)
{
	x = (x ^ (x >> 16)) * 0x7feb352du;
	x = (x ^ (x >> 15)) * 0x846ca68bu;
	return x ^ (x >> 16);
}

MAM_KBOTH uint32_t pages_bytes_of(const struct pages_job *job, uint32_t asker)
{
	return job->least + pages_mix(asker + 1) % (job->most - job->least + 1);
}

MAM_KBOTH uint32_t pages_count_of(const struct pages_job *job, uint32_t asker)
{
	return (pages_bytes_of(job, asker) + job->page_bytes - 1) / job->page_bytes;
}

/*
 * Which of `count` places is the i-th of a fixed random order; i below count, no place comes twice.
 * Multiplication by an odd number, and a shift to the right folded in, lose nothing of a number of
 * so many bits; what falls on no place is moved again.
 */
MAM_KBOTH uint32_t pages_place(uint32_t i, uint32_t count)
{
	uint32_t mask = 1, bits = 1, half;

	for (; mask < count - 1; bits++)
		mask = mask * 2 + 1;
	half = (bits + 1) / 2;
	do {
		i = (i * 0x9e3779b1u + 0x3c6ef372u) & mask;
		i ^= i >> half;
		i = (i * 0x85ebca6bu) & mask;
		i ^= i >> half;
		i = (i * 0xc2b2ae35u) & mask;
		i ^= i >> half;
	} while (i >= count);
	return i;
}

/* The page that the i-th asker of kernel open gives back. */
MAM_KBOTH uint32_t pages_opened(const struct pages_job *job, uint32_t i)
{
	return pages_place(i / job->group, job->pages / job->group) * job->group + i % job->group;
}

#endif
