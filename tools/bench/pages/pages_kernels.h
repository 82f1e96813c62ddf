/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_kernels.h - the allocator-independent kernels of `mam bench pages`: the sizes of requests,
 * and the checks.
 *
 * 1. Every asker's pages are marked in a shadow map, one counter per page: a counter that was not
 *    zero means a page handed out twice. Invalid page numbers and failed requests are counted.
 * 2. Every asker writes its number at both ends of each of its pages; a later kernel reads them. An
 *    asker that shares a page with another, in whole or in part, finds the other's number.
 * 3. The used pages according to the heap itself are counted: the count before, plus the pages that
 *    were allocated, is the count after.
 * 4. After all pages were freed, the heap's words must equal those of the image it was restored
 *    from.
 *
 * Written with port.h's primitives, so that tests run them under the simulator. A kernel gets a
 * struct pages_job; PAGES_KERNEL makes the kernel, on the device with the job as its parameter.
 */
#ifndef MAM_TOOLS_BENCH_PAGES_KERNELS_H
#define MAM_TOOLS_BENCH_PAGES_KERNELS_H

#include "bench/pages/pages_ask.h"

#ifdef __CUDACC__
/*
 * Minimum resident blocks per SM, 0: no minimum. A kernel needs the registers of its rarest path.
 */
#ifndef PAGES_RESIDENT
#define PAGES_RESIDENT 0
#endif
#define PAGES_KERNEL(name, body)                                                  \
	extern "C" __global__ void __launch_bounds__(PAGES_BLOCK, PAGES_RESIDENT) \
		name(const __grid_constant__ struct pages_job job)                \
	{                                                                         \
		body(&job);                                                       \
	}
#else
#define PAGES_KERNEL(name, body)                          \
	MAM_KERNEL(name)                                  \
	{                                                 \
		body((const struct pages_job *)argument); \
	}
#endif

MAM_KFN uint32_t pages_thread(void)
{
	return mam_block() * mam_block_threads() + mam_thread();
}

MAM_KFN uint32_t pages_threads(void)
{
	return mam_grid_blocks() * mam_block_threads();
}

/* Returns false if this lane does not request. */
MAM_KFN bool pages_asks(const struct pages_job *job, uint32_t *asker)
{
	const uint32_t thread = pages_thread(), lane = thread % PAGES_WARP;

	*asker = thread / PAGES_WARP * job->lanes + lane;
	return lane < job->lanes && *asker < job->askers;
}

MAM_KFN void pages_report(uint64_t *where, uint64_t n)
{
	if (n > 0)
		(void)mam_atomic_add64(where, n, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KFN bool pages_is_inside(const struct pages_job *job, uint32_t page, uint32_t n)
{
	return page < job->pages && n <= job->pages - page;
}

MAM_KFN void pages_mark(const struct pages_job *job)
{
	uint64_t none = 0, pages = 0, bytes = 0, twice = 0, beyond = 0;
	uint32_t asker, n, k;

	for (asker = pages_thread(); asker < job->askers; asker += pages_threads()) {
		const uint32_t page = job->got[asker];

		n = pages_count_of(job, asker);
		if (page == PAGES_NONE) {
			none++;
			continue;
		}
		if (!pages_is_inside(job, page, n)) {
			beyond++;
			continue;
		}
		for (k = 0; k < n; k++)
			twice += mam_atomic_add32(&job->shadow[page + k], 1, MAM_RELAXED,
						  MAM_AT_DEVICE) != 0;
		pages += n;
		bytes += pages_bytes_of(job, asker);
	}
	pages_report(&job->found->none, none);
	pages_report(&job->found->pages, pages);
	pages_report(&job->found->bytes, bytes);
	pages_report(&job->found->twice, twice);
	pages_report(&job->found->beyond, beyond);
}

/* The two ends of a page, as numbers. */
MAM_KFN uint64_t *pages_first(const struct pages_job *job, uint32_t page)
{
	return (uint64_t *)(job->space + (uint64_t)page * job->stride);
}

MAM_KFN uint64_t *pages_last(const struct pages_job *job, uint32_t page)
{
	return (uint64_t *)(job->space + (uint64_t)(page + 1) * job->stride - 8);
}

MAM_KFN void pages_write(const struct pages_job *job)
{
	uint32_t asker, n, k;

	for (asker = pages_thread(); asker < job->askers; asker += pages_threads()) {
		const uint32_t page = job->got[asker];

		n = pages_count_of(job, asker);
		for (k = 0; page != PAGES_NONE && pages_is_inside(job, page, n) && k < n; k++) {
			*pages_first(job, page + k) = asker;
			*pages_last(job, page + k) = ~(uint64_t)asker;
		}
	}
}

MAM_KFN void pages_read(const struct pages_job *job)
{
	uint64_t corrupt = 0;
	uint32_t asker, n, k;

	for (asker = pages_thread(); asker < job->askers; asker += pages_threads()) {
		const uint32_t page = job->got[asker];

		n = pages_count_of(job, asker);
		for (k = 0; page != PAGES_NONE && pages_is_inside(job, page, n) && k < n; k++)
			corrupt += *pages_first(job, page + k) != asker ||
				   *pages_last(job, page + k) != ~(uint64_t)asker;
	}
	pages_report(&job->found->corrupt, corrupt);
}

MAM_KFN void pages_count(const struct pages_job *job)
{
	uint64_t taken = 0, i;

	for (i = pages_thread(); i < job->word_count; i += pages_threads()) {
		const uint64_t word = job->words[i];

		if (job->flags)
			taken += ((uint32_t)word != 0) + ((uint32_t)(word >> 32) != 0);
		else
			taken += mam_popc64(word);
	}
	pages_report(&job->found->taken, taken);
}

MAM_KFN void pages_compare(const struct pages_job *job)
{
	uint64_t differ = 0, i;

	for (i = pages_thread(); i < job->word_count; i += pages_threads())
		differ += job->words[i] != job->image[i];
	pages_report(&job->found->differ, differ);
}

#endif
