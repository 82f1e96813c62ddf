/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.cl - kernels that use the whole heap of superblocks, as OpenCL C and as CUDA.
 */
#include "kma/kma.h"
#include "kma/report.h"

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#else
#define KERNEL __kernel void
#endif

KERNEL make(MAM_GLOBAL struct mam_kma *heap, uint64_t bytes, uint32_t shift, uint32_t entries_shift)
{
	struct mam_kma_terms terms;

	terms.bytes = bytes;
	terms.shift = shift;
	terms.entries_shift = entries_shift;
	terms.search = 0;
	terms.counted = 1;
	(void)mam_kma_format(heap, terms, mam_kma_self(), mam_block_threads() * mam_grid_blocks());
}

/* counts: 0 failed requests, 1 refused frees, 2 blocks that also had another owner. */
KERNEL churn(MAM_GLOBAL struct mam_kma *heap, MAM_GLOBAL uint32_t *counts, uint32_t rounds,
	     uint32_t max)
{
	uint32_t self = mam_kma_self() + 1, round, bytes;
	MAM_GLOBAL uint32_t *block;

	for (round = 0; round < rounds; round++) {
		bytes = 4 + mam_kma_mix(self + round * 77) % max;
		block = (MAM_GLOBAL uint32_t *)mam_kma_alloc(heap, bytes);
		if (!block) {
			(void)mam_atomic_add32(&counts[0], 1, MAM_RELAXED, MAM_AT_DEVICE);
			continue;
		}
		*block = self;
		block[bytes / 4 - 1] = self;
		if (*block != self || block[bytes / 4 - 1] != self)
			(void)mam_atomic_add32(&counts[2], 1, MAM_RELAXED, MAM_AT_DEVICE);
		if (!mam_kma_free(heap, block))
			(void)mam_atomic_add32(&counts[1], 1, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

KERNEL report(MAM_GLOBAL struct mam_kma *heap, MAM_GLOBAL struct mam_kma_stats *stats)
{
	mam_kma_report(heap, stats, mam_kma_self(), mam_block_threads() * mam_grid_blocks());
}
