/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.h - counts intercepted calls by function, interface and result, by device, and why a pool
 * did not serve some of them.
 *
 * Calls are counted only with MAM_STATS, in one block of counters per thread, so that threads do
 * not share cache lines:
 *   1. A thread's first call takes the block of a thread that has ended, or a new one.
 *   2. Counting is a load, an addition and a store, without a locked instruction.
 *   3. When the thread ends, it leaves the block with its numbers to the next.
 *   4. A sum covers all blocks that ever existed.
 * Those by device are on the statistics page (<mam/statpage.h>), where other processes can read them
 * even after this one was killed. From the 64th thread on, threads share them.
 * Bound: one block of 7 KiB per thread alive at the same time. Measured: 2 ns per call, and two
 * thirds more for the numbers of devices.
 *
 * A thread for which there is no memory counts in a block that is shared and atomic. Calls that a
 * replacement forwards directly (size 0, NULL, inside mam's own calls) are not counted.
 */
#ifndef MAM_INTERPOSE_COUNT_H
#define MAM_INTERPOSE_COUNT_H

#include <stdint.h>

#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

void mam_count_call(const struct mam_watch_call *call);

/* The same counters, summed over all threads. */
struct mam_count_sums {
	uint64_t calls[MAM_TABLE_COUNT][MAM_ROAD_COUNT][MAM_FATE_COUNT];
	uint64_t bytes[MAM_TABLE_COUNT]; /* requested by allocations that succeeded */
	uint64_t why[MAM_WHY_COUNT];     /* calls that a pool did not serve */
};
void mam_count_sum(struct mam_count_sums *sums);

/* The same for one device below MAM_WATCH_DEVICES_MAX, of the calls whose device is known. */
struct mam_count_device {
	uint64_t calls[MAM_FATE_COUNT];
	uint64_t bytes; /* requested by allocations that succeeded */
};
void mam_count_sum_device(int device, struct mam_count_device *sums);

/* A key for programs and a text for people: "asleep", "no CUDA context was current". */
const char *mam_count_why_key(enum mam_why why);
const char *mam_count_why_text(enum mam_why why);

/* Starts counting, if statistics are enabled. */
void mam_count_start(void);

/* Sets all numbers to 0, in the child of a fork. */
void mam_count_restart(void);

#endif
