/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training.h - the allocations of a transformer's training, made up, the same at every call.
 */
#ifndef MAM_TOOLS_BENCH_TRAINING_H
#define MAM_TOOLS_BENCH_TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* bytes > 0: allocate them and keep the block at `slot`; 0: free the block at `slot` */
struct training_event {
	size_t bytes;
	uint32_t slot;
};

struct training {
	struct training_event *events;
	size_t count;
	size_t slots;      /* places for blocks that are needed at once */
	size_t peak_bytes; /* most live, in bytes asked for */
	size_t steps;      /* begun */
};

/* training_make - false: no memory */
bool training_make(struct training *training);
void training_fini(struct training *training);
/* training_print - as a trace, mam-trace(5); false: it could not be written */
bool training_print(const struct training *training, FILE *file);

#endif
