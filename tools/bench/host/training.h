/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training.h - the allocations of a synthetic transformer training, the same in every call.
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
	size_t slots;      /* slots for simultaneously live blocks */
	size_t peak_bytes; /* peak live bytes, as requested */
	size_t steps;      /* begun */
};

/* training_make - return false if memory ran out */
bool training_make(struct training *training);
void training_fini(struct training *training);
/* training_print - print as a trace, mam-trace(5); returns false if it could not be written */
bool training_print(const struct training *training, FILE *file);

#endif
