/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kma_superblocks.cu - the kernels of `mam bench kma` over a heap of superblocks, KMA's.
 */
#include "coalesce/base.h"
#include "kma/kma.h"

MAM_KFN void *kma_base_alloc(void *heap, size_t bytes)
{
	return mam_kma_alloc((struct mam_kma *)heap, bytes);
}

MAM_KFN bool kma_base_free(void *heap, void *block)
{
	return mam_kma_free((struct mam_kma *)heap, block);
}

MAM_KFN struct mam_kbase kma_base(void *heap)
{
	struct mam_kbase base;

	base.alloc = kma_base_alloc;
	base.free = kma_base_free;
	base.heap = heap;
	base.tries = MAM_BASE_TRIES;
	return base;
}

#define KMA_BASE(base, heap) const struct mam_kbase base = kma_base(heap)
#define KMA_OF_SUPERBLOCKS
#include "bench/papers/kma/kernels.h"
