/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_clock.c - the loops over a clock's entries.
 *
 * Lengths are multiples of eight, so that the compiler's vector code has no remainder. Each call
 * costs one pass over the longer clock.
 */
#include "simt/race/race_clock.h"

#include <string.h>

#include "simt/race/race_memory.h"

#define STEP 8

bool race_clock_reach(struct race_memory *memory, struct race_clock *clock, uint32_t lanes)
{
	uint32_t *at;

	if (lanes <= clock->lanes)
		return true;
	lanes = (lanes + STEP - 1) / STEP * STEP;
	at = race_memory_take(memory, lanes * sizeof(*at));
	if (!at)
		return false;
	if (clock->lanes)
		memcpy(at, clock->at, clock->lanes * sizeof(*at));
	clock->at = at;
	clock->lanes = lanes;
	return true;
}

bool race_clock_copy(struct race_memory *memory, struct race_clock *to,
		     const struct race_clock *from)
{
	if (!race_clock_reach(memory, to, from->lanes))
		return false;
	memcpy(to->at, from->at, from->lanes * sizeof(*to->at));
	memset(to->at + from->lanes, 0, (to->lanes - from->lanes) * sizeof(*to->at));
	to->set = true;
	return true;
}

bool race_clock_join(struct race_memory *memory, struct race_clock *to,
		     const struct race_clock *from)
{
	uint32_t *restrict mine;
	const uint32_t *restrict theirs = from->at;

	if (!to->set)
		return race_clock_copy(memory, to, from);
	if (!race_clock_reach(memory, to, from->lanes))
		return false;
	mine = to->at;
	for (uint32_t i = 0; i < from->lanes; i += STEP)
		for (uint32_t j = i; j < i + STEP; j++)
			mine[j] = mine[j] > theirs[j] ? mine[j] : theirs[j];
	return true;
}
