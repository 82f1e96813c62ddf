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

/* Why a pool did not do it. */
enum mam_why {
	MAM_WHY_NONE,     /* it did, or the call is none for a pool */
	MAM_WHY_ASLEEP,   /* no context, or CUDA is not started */
	MAM_WHY_FOREIGN,  /* a pointer that is no block of a pool's */
	MAM_WHY_CAPTURE,  /* a stream was in capture: the driver judged */
	MAM_WHY_LARGE,    /* above --pass-above */
	MAM_WHY_DEDICATED, /* --ipc=dedicated */
	MAM_WHY_LIMIT,    /* over --limit */
	MAM_WHY_MEMORY,   /* the driver had no more for the pool */
	MAM_WHY_BROKEN,   /* the context has a sticky error: the driver answers */
	MAM_WHY_MISTAKE,  /* freed twice, or not the start of a block */
	MAM_WHY_NO_POOL,  /* none could be made */
	MAM_WHY_KIND,     /* memory that mam leaves to the driver */
	MAM_WHY_COUNT
};

struct mam_watch_call;
void mam_count_call(const struct mam_watch_call *call);

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
