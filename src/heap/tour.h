/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tour.h - the order in which a scan goes through a heap: every unit of words once, scattered.
 *
 * Those who scan at the same time would trail each other in plain order, each over ground that
 * the one before has just taken. With as many numbers as the next power of two of the units,
 * number i stands for unit (i * odd + first) modulo that power: each once, in an order of its
 * own for each (odd, first), which come from the walk's generator. Numbers that stand for no
 * unit are skipped: fewer than half.
 */
#ifndef MAM_HEAP_TOUR_H
#define MAM_HEAP_TOUR_H

#include "heap/walk.h"

#define MAM_TOUR_END 0xffffffffu

/*
 * The first word of the next unit, of 1 << shift words, or MAM_TOUR_END. `next` is 0 at first;
 * `order` is a random number, the same during one tour.
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
