/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_bumpw.h - an adapter of mam bench device: a bare counter, one atomic for the lanes of a
 * warp that allocate together; each lane's place is the sum of the lower lanes' sizes.
 */
#ifndef MAM_BENCH_PAPERS_WALK_DEVICE_BUMPW_H
#define MAM_BENCH_PAPERS_WALK_DEVICE_BUMPW_H

#include "bench/papers/walk/rwmalloc.h"
#include "bench/papers/walk/device_counter.h"

#define BENCH_NO_FREE

/* The sum of the sizes of the lanes of `active` up to this one; no size reaches 2^32 / 32 bytes. */
MAM_KFN uint32_t bench_sum(uint32_t active, uint32_t mine)
{
	if (mam_warp_match32(active, mine) == active)
		return mine * (mam_popc32(active & ((1u << mam_lane()) - 1)) + 1);
	return mam_rwmalloc_sum(active, mine);
}

MAM_KFN void *bench_malloc(void *heap, size_t bytes)
{
	struct bench_counter *counter = (struct bench_counter *)heap;
	const uint32_t active = mam_warp_active(), mine = (uint32_t)bench_counter_rounded(bytes);
	const uint32_t sum = bench_sum(active, mine), last = 63 - mam_clz64(active);
	uint64_t base = 0;

	if (mam_lane() == last)
		base = mam_atomic_add64(&counter->next, sum, MAM_RELAXED, MAM_AT_DEVICE);
	base = mam_warp_shuffle64(active, base, last);
	return bench_counter_at(counter, base + sum - mine, mine);
}

MAM_KFN void bench_free(void *heap, void *object, size_t bytes)
{
	(void)heap;
	(void)object;
	(void)bytes;
}

#endif
