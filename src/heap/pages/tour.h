/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tour.h - the order of a scan through a heap: every group of words once, scattered.
 *
 * Concurrent scans in plain order would trail each other, each over memory that the one before has
 * just allocated. With as many numbers as the next power of two of the groups, number i stands for
 * group (i * odd + first) modulo that power: each once, in an order of its own for each (odd,
 * first), which come from the search's generator. Numbers that stand for no group are skipped:
 * fewer than half.
 */
#ifndef MAM_HEAP_PAGES_TOUR_H
#define MAM_HEAP_PAGES_TOUR_H

#include "heap/pages/walk.h"

#define MAM_TOUR_END 0xffffffffu

/*
 * Returns the first word of the next group, of 1 << shift words, or MAM_TOUR_END. `next` is 0 at
 * first; `order` is a random number, constant during one scan.
 */
MAM_KFN uint32_t mam_tour_next(uint32_t words, uint32_t shift, uint32_t order, uint32_t *next)
{
	uint32_t units = ((words - 1) >> shift) + 1, unit;
	uint32_t last = units > 1 ? (uint32_t)(MAM_WORD_FULL >> mam_clz64(units - 1)) : 0;

	MAM_ROLLED
	while (*next <= last) {
		unit = (*next * (order >> 9 | 1) + (order >> 3)) & last;
		++*next;
		if (unit < units)
			return unit << shift;
	}
	return MAM_TOUR_END;
}

#endif
