/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.c - how many calls were caught, by road and fate.
 */
#include "interpose/count.h"

#include <stdatomic.h>

#include "interpose/watch.h"

static _Atomic uint64_t counts[MAM_ROAD_COUNT][MAM_FATE_COUNT]; /* atomic */

void mam_count_add(enum mam_road road, enum mam_fate fate)
{
	atomic_fetch_add_explicit(&counts[road][fate], 1, memory_order_relaxed);
}

uint64_t mam_count_get(enum mam_road road, enum mam_fate fate)
{
	return atomic_load_explicit(&counts[road][fate], memory_order_relaxed);
}

void mam_count_call(const struct mam_watch_call *call)
{
	mam_count_add(call->road, call->fate);
}

void mam_count_restart(void)
{
	for (int road = 0; road < MAM_ROAD_COUNT; road++)
		for (int fate = 0; fate < MAM_FATE_COUNT; fate++)
			atomic_store_explicit(&counts[road][fate], 0, memory_order_relaxed);
}
