/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.h - how many calls were caught: by function, road and fate, and why a pool missed some.
 *
 * Numbers are kept only with MAM_STATS, and in a block of each thread's own, so that threads do not
 * pull one cache line back and forth:
 *   1. A thread's first call takes a block that a thread which ended left behind, or a new one.
 *   2. Counting is a load, an addition and a store, without a locked instruction.
 *   3. At its end the thread leaves the block, numbers and all, to the next.
 *   4. A sum is taken over all blocks there ever were.
 * Bound: one block of 7 KiB for each thread that lives at the same time. Measured: 2 ns a call.
 * A thread for which there is no memory counts in a block that is shared and atomic.
 * Calls that a replacement hands straight on (size 0, NULL, inside mam's own calls) are not
 * counted.
 */
#ifndef MAM_INTERPOSE_COUNT_H
#define MAM_INTERPOSE_COUNT_H

#include <stdint.h>

#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

void mam_count_call(const struct mam_watch_call *call);

/* As above, of all threads. */
struct mam_count_sums {
	uint64_t calls[MAM_TABLE_COUNT][MAM_ROAD_COUNT][MAM_FATE_COUNT];
	uint64_t bytes[MAM_TABLE_COUNT]; /* asked for, by allocations that succeeded */
	uint64_t why[MAM_WHY_COUNT];     /* calls that a pool did not do */
};
void mam_count_sum(struct mam_count_sums *sums);

/* A word for a program and one for people: "asleep", "no CUDA context was current". */
const char *mam_count_why_key(enum mam_why why);
const char *mam_count_why_text(enum mam_why why);

/* From now on, if statistics are wanted. */
void mam_count_start(void);

/* All numbers to 0, in the child of a fork. */
void mam_count_restart(void);

#endif
