/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_bump.h - an adapter of mam bench device: a bare counter, one atomic per lane. Compilers
 * combine such an add into one atomic per warp, so the counter's address is hidden from them.
 */
#ifndef MAM_BENCH_PAPERS_WALK_DEVICE_BUMP_H
#define MAM_BENCH_PAPERS_WALK_DEVICE_BUMP_H

#include "bench/papers/walk/common.h"
#include "bench/papers/walk/device_counter.h"

#define BENCH_NO_FREE

MAM_KFN void *bench_malloc(void *heap, size_t bytes)
{
	struct bench_counter *counter = (struct bench_counter *)heap;
	const uint64_t mine = bench_counter_rounded(bytes);
	uint64_t *next = mam_published_hidden(&counter->next, counter->spare);

	return bench_counter_at(counter, mam_atomic_add64(next, mine, MAM_RELAXED, MAM_AT_DEVICE),
				mine);
}

MAM_KFN void bench_free(void *heap, void *object, size_t bytes)
{
	(void)heap;
	(void)object;
	(void)bytes;
}

#endif
