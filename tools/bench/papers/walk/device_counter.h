/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_counter.h - the ceilings of mam bench device: a counter of allocated bytes, which cannot
 * be freed.
 */
#ifndef MAM_BENCH_PAPERS_WALK_DEVICE_COUNTER_H
#define MAM_BENCH_PAPERS_WALK_DEVICE_COUNTER_H

#include "device/port.h"

#define BENCH_COUNTER_GRAIN 16u

struct bench_counter {
	unsigned char *space; /* this and the following fields never change */
	uint64_t bytes;       /* of the memory */
	uint32_t spare[28];   /* zeros */
	uint64_t next;        /* requested bytes; atomic, on a line of its own */
	uint64_t away[15];
};

MAM_KBOTH void bench_counter_format(struct bench_counter *counter, unsigned char *space,
				    uint64_t bytes)
{
	counter->space = space;
	counter->bytes = bytes;
	counter->next = 0;
}

MAM_KBOTH uint64_t bench_counter_rounded(size_t bytes)
{
	return (bytes + BENCH_COUNTER_GRAIN - 1) & ~(uint64_t)(BENCH_COUNTER_GRAIN - 1);
}

/* The object at this offset; NULL if it does not end inside the memory. */
MAM_KBOTH void *bench_counter_at(const struct bench_counter *counter, uint64_t offset,
				 uint64_t bytes)
{
	return offset + bytes <= counter->bytes ? counter->space + offset : NULL;
}

#endif
