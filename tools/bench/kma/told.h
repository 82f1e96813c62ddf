/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told.h - what the bodies of `mam bench kma` are asked and what they tell, as the host and kernels both
 * see it.
 */
#ifndef MAM_TOOLS_BENCH_KMA_TOLD_H
#define MAM_TOOLS_BENCH_KMA_TOLD_H

#ifndef __OPENCL_C_VERSION__
#include <stdint.h>
#endif

#define KMA_LOOK 1u
#define KMA_SEED 1u /* of a list of edges */

/* What lanes are asked for. */
struct kma_ask {
	uint32_t lanes;       /* that ask */
	uint32_t rounds;      /* of each */
	uint32_t least, most; /* bytes */
	uint32_t flags;
	uint32_t edges, nodes; /* of a graph */
};

/* What they tell: zeroed before, added to. */
struct kma_told {
	uint64_t none;  /* requests that got nothing */
	uint64_t wrong; /* what must not be */
	uint64_t nodes; /* of a graph; or elements of a list, blocks in use, superblocks */
	uint64_t links; /* of a graph; or bytes up to the first superblock */
	uint64_t sum;   /* of a graph; or bytes of a heap */
	uint64_t shift, entries_shift; /* of a heap */
};

#endif
