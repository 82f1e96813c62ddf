/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kma_poor.cu - the kernels of `mam bench kma` over the poor man's heap of KMA's section 5.3.
 */
#include "bench/papers/kma/bodies.h"
#include "examples/edges_ring.h"

#define KMA_BASE(base, heap)                                                   \
	struct edges_keep base##_keep = { (struct edges_ring *)(heap), NULL }; \
	const struct mam_kbase base = edges_ring_base(&base##_keep)
#define KMA_OF_RING
#include "bench/papers/kma/kernels.h"
