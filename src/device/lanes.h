/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.h - sums over the lanes of a warp that are active together.
 *
 * 1. If all have the same number, a lane's rank gives the sum of the lanes below it.
 * 2. Otherwise one shuffle per lane, of which each lane adds those below it.
 *
 * Bound: one match, or as many shuffles as lanes.
 */
#ifndef MAM_DEVICE_LANES_H
#define MAM_DEVICE_LANES_H

#include "device/port.h"
#include "device/port_global.h"

/* The sums over the lanes of `mask`. */
struct mam_klanes {
	uint64_t before; /* sum over the lanes below the caller */
	uint64_t total;  /* sum over all; the same in all */
	bool same;       /* all have the same number; the same in all */
};

/* The lowest lane of `mask`, which is not 0. */
MAM_KFN uint32_t mam_lanes_leader(uint32_t mask)
{
	return mam_ffs32(mask) - 1;
}

/* How many lanes of `mask` are below the caller. */
MAM_KFN uint32_t mam_lanes_rank(uint32_t mask)
{
	return mam_popc32(mask & ((1u << mam_lane()) - 1));
}

/* For the lanes of `mask`, all of which must call. */
MAM_KFN struct mam_klanes mam_lanes_sum(uint32_t mask, uint64_t number)
{
	uint64_t first = mam_warp_shuffle64(mask, number, mam_lanes_leader(mask)), one;
	struct mam_klanes sum;
	uint32_t rest;

	sum.same = mam_warp_ballot(mask, number == first) == mask;
	if (sum.same) {
		sum.before = first * mam_lanes_rank(mask);
		sum.total = first * mam_popc32(mask);
		return sum;
	}
	sum.before = 0;
	sum.total = 0;
	MAM_ROLLED
	for (rest = mask; rest; rest &= rest - 1) {
		one = mam_warp_shuffle64(mask, number, mam_ffs32(rest) - 1);
		sum.total += one;
		if (mam_lane() > mam_ffs32(rest) - 1)
			sum.before += one;
	}
	return sum;
}

#endif
