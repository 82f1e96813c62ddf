/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_pages.cl - kernels for opencl_pages.c: allocations and frees of pages in OpenCL C.
 *
 * Each page has a word in `owners`, which is 0 while the page has no owner. A work item that
 * allocates a page writes its number there and must find 0; one that frees it must find its own
 * number.
 */
#include "heap/pages/pages.h"

static bool change(__global uint *owners, uint page, uint n, uint from, uint to)
{
	bool alone = true;
	uint i;

	for (i = page; i < page + n; i++)
		alone &= mam_atomic_xchg32(&owners[i], to, MAM_RELAXED, MAM_AT_DEVICE) == from;
	return alone;
}

static bool enter(__global uint *owners, uint page, uint n, uint self)
{
	return change(owners, page, n, 0, self);
}

static bool leave(__global uint *owners, uint page, uint n, uint self)
{
	return change(owners, page, n, self, 0);
}

/* counts: 0: pages with two owners, 1: failed requests, 2: failed frees. */
static void note(__global uint *counts, uint which)
{
	(void)mam_atomic_add32(&counts[which], 1, MAM_RELAXED, MAM_AT_DEVICE);
}

__kernel void churn(__global struct mam_pages *pages, __global uint *owners, __global uint *counts,
		    uint rounds, uint max)
{
	uint self = (uint)get_global_id(0) + 1, round, page, n;
	struct mam_kwalk walk;

	mam_kwalk_start(&walk, pages);
	for (round = 0; round < rounds; round++) {
		n = 1 + (self * 7 + round) % max;
		page = n == 1 ? mam_pages_take(pages, &walk) : mam_pages_take_run(pages, &walk, n);
		if (page == MAM_NO_PAGE) {
			note(counts, 1);
			continue;
		}
		if (!enter(owners, page, n, self) || !leave(owners, page, n, self))
			note(counts, 0);
		if (!(n == 1 ? mam_pages_give(pages, page) : mam_pages_give_run(pages, page, n)))
			note(counts, 2);
	}
}

__kernel void keep(__global struct mam_pages *pages, __global uint *owners, __global uint *counts,
		   __global uint *kept)
{
	uint self = (uint)get_global_id(0) + 1, page;
	struct mam_kwalk walk;

	mam_kwalk_start(&walk, pages);
	page = mam_pages_take(pages, &walk);
	kept[get_global_id(0)] = page;
	if (page == MAM_NO_PAGE)
		note(counts, 1);
	else if (!enter(owners, page, 1, self))
		note(counts, 0);
}

/* Frees each page twice: the second free fails. */
__kernel void give(__global struct mam_pages *pages, __global uint *owners, __global uint *counts,
		   __global uint *kept)
{
	uint self = (uint)get_global_id(0) + 1, page = kept[get_global_id(0)];

	if (page == MAM_NO_PAGE)
		return;
	if (!leave(owners, page, 1, self))
		note(counts, 0);
	if (!mam_pages_give(pages, page))
		note(counts, 2);
	if (mam_pages_give(pages, page))
		note(counts, 0);
}

__kernel void words(__global uint *answers)
{
	uint i;

	answers[0] = mam_ffs32(0) + mam_ffs64(0);
	answers[1] = mam_clz64(0);
	for (i = 0; i < 64; i++) {
		answers[2 + i] = mam_ffs64((ulong)5 << i) + (mam_clz64((ulong)1 << i) << 8) +
				 (mam_popc64(((ulong)1 << i) - 1) << 16);
		if (i < 32)
			answers[2 + i] += mam_ffs32(3u << i) << 24;
	}
}

/* Each work item writes its linear number where the host expects it. */
__kernel void numbers(__global uint *answers)
{
	size_t row = get_global_size(0), layer = row * get_global_size(1);

	answers[get_global_id(0) + row * get_global_id(1) + layer * get_global_id(2)] =
		mam_block() * mam_block_threads() + mam_thread();
	if (mam_block_leader() != (mam_thread() == 0))
		answers[0] = ~0u;
}
