/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told.h - inputs and outputs of the bodies of `mam bench kma`, shared by the host and the kernels.
 */
#ifndef MAM_TOOLS_BENCH_KMA_TOLD_H
#define MAM_TOOLS_BENCH_KMA_TOLD_H

#ifndef __OPENCL_C_VERSION__
#include <stdint.h>
#endif

#define KMA_LOOK 1u
#define KMA_SEED 1u /* of a list of edges */

/* The requests of the lanes. */
struct kma_ask {
	uint32_t lanes;    /* number of requesting lanes */
	uint32_t rounds;   /* per lane */
	uint32_t min, max; /* bytes */
	uint32_t flags;
	uint32_t edges, nodes; /* of a graph */
};

/* Their counters: zeroed before, added to. */
struct kma_told {
	uint64_t none;  /* failed requests */
	uint64_t wrong; /* number of errors */
	uint64_t nodes; /* of a graph; or elements of a list, blocks in use, superblocks */
	uint64_t links; /* of a graph; or bytes up to the first superblock */
	uint64_t sum;   /* of a graph; or bytes of a heap */
	uint64_t shift, entries_shift; /* of a heap */
};

#endif
