/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom_advice.h - what would have let an allocation succeed, computed from the state at its failure.
 *
 * Statements are exact for that state: all blocks stay where they are. The one about --source=vmm is
 * a necessary condition, and says "may": with it, blocks would be elsewhere, and pieces may be
 * larger. Only a replay of a trace is exact. Where a number is unknown, the statements that need it
 * are omitted.
 */
#ifndef MAM_INTERPOSE_OOM_ADVICE_H
#define MAM_INTERPOSE_OOM_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/watch/watch.h"

/* Sizes are in bytes. "The pool" is that of the context of the request. */
struct mam_oom_facts {
	uint64_t requested;
	uint64_t taken;   /* the same as the driver rounds it */
	enum mam_why why; /* why no pool served it */

	bool has_gpu; /* the next two are known */
	uint64_t gpu_total, gpu_free;
	uint64_t charged; /* toward the limit: of this process, and of others that share it */
	uint64_t limit;   /* 0: none */

	uint64_t free;         /* free blocks of the pool */
	uint64_t largest_free; /* the largest of them */
	bool has_heap;         /* all segments of the pool were visited: the next two are known */
	uint64_t whole_pieces; /* the parts of free blocks that --source=vmm could move */
	uint64_t largest_run;  /* of adjacent memory that is free, or waits for the GPU */
	bool is_mapped;        /* the pool has the source vmm */
};

#define MAM_OOM_ADVICE_MAX 4
#define MAM_OOM_ADVICE_BYTES 200

struct mam_oom_advice {
	size_t count;
	char lines[MAM_OOM_ADVICE_MAX][MAM_OOM_ADVICE_BYTES];
};

/* The smallest piece in which --source=vmm maps memory. */
#define MAM_OOM_PIECE ((uint64_t)2 << 20)

void mam_oom_advise(const struct mam_oom_facts *facts, struct mam_oom_advice *advice);

/* A size as text with one decimal place: sums that nearly fit must be distinguishable. */
struct mam_oom_size {
	char text[24];
};
struct mam_oom_size mam_oom_size(uint64_t bytes);

#endif
