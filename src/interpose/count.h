/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.h - how many calls were caught, for the report at exit (report.c).
 *
 * Numbers are kept only with MAM_STATS: eight threads that add to one counter would be slower
 * than the pool is. Calls that a replacement hands straight on (size 0, NULL, inside mam's own
 * calls) are not counted.
 */
#ifndef MAM_INTERPOSE_COUNT_H
#define MAM_INTERPOSE_COUNT_H

#include <stdint.h>

#include "interpose/init.h"

/* How a call came to us: see table.h. */
enum mam_road { MAM_ROAD_RUNTIME, MAM_ROAD_SYMBOL, MAM_ROAD_LOOKUP, MAM_ROAD_COUNT };

/* What became of it. */
enum mam_fate {
	MAM_FATE_SERVED,    /* a pool did it */
	MAM_FATE_FORWARDED, /* the real function did it: no block of ours, no pool, no ground */
	MAM_FATE_FAILED,    /* the program got an error */
	MAM_FATE_COUNT
};

void mam_count_add(enum mam_road road, enum mam_fate fate);
uint64_t mam_count_get(enum mam_road road, enum mam_fate fate);

static inline void mam_count(enum mam_road road, enum mam_fate fate)
{
	if (mam_init_wants_stats())
		mam_count_add(road, fate);
}

/* All numbers to 0, in the child of a fork. */
void mam_count_restart(void);

#endif
