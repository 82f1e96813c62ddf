/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_past.c - a list per location, newest first. The oldest write becomes the next one's memory.
 */
#include "simt/race/race_past.h"

#include <string.h>

/* An entry for the next write, at the front of the list. */
static struct race_past *push(struct race_memory *memory, struct race_sync *sync)
{
	struct race_past **link = &sync->past, *past;
	uint32_t length = 0;

	for (; *link && length < RACE_PAST_MAX - 1; link = &(*link)->older)
		length++;
	past = *link;
	if (past)
		*link = NULL;
	else
		past = race_memory_take(memory, sizeof(*past));
	if (!past)
		return NULL;
	if (past->seen)
		memset(past->seen, 0, past->lanes * sizeof(*past->seen));
	past->known = false;
	past->older = sync->past;
	sync->past = past;
	return past;
}

bool race_past_see(struct race_memory *memory, const struct race_lane *lanes, uint32_t count,
		   struct race_past *past, uint32_t id)
{
	uint32_t *seen;

	if (past->known)
		return true;
	if (id >= past->lanes) {
		seen = race_memory_take(memory, count * sizeof(*seen));
		if (!seen)
			return false;
		if (past->lanes)
			memcpy(seen, past->seen, past->lanes * sizeof(*seen));
		past->seen = seen;
		past->lanes = count;
	}
	if (!past->seen[id])
		past->seen[id] = race_clock_of(&lanes[id].now, id);
	return true;
}

bool race_past_add(struct race_memory *memory, const struct race_lane *lanes, uint32_t count,
		   struct race_sync *sync, uint32_t id, uint64_t before, uint64_t after)
{
	struct race_past *past;

	if (!sync->past || sync->past->value != before) {
		sync->past = NULL;
		past = push(memory, sync);
		if (!past)
			return false;
		past->value = before;
		past->known = true;
	}
	past = push(memory, sync);
	if (!past || !race_sync_copy(memory, &past->write, sync) ||
	    !race_past_see(memory, lanes, count, past, id))
		return false;
	past->value = after;
	/* The epoch of the write: a release has ended it since. */
	past->seen[id] = sync->epoch;
	return true;
}

static bool knows(const struct race_clock *now, const struct race_past *past)
{
	for (uint32_t i = 0; !past->known && i < past->lanes; i++)
		if (past->seen[i] && past->seen[i] <= race_clock_of(now, i))
			return true;
	return past->known;
}

uint32_t race_past_older(const struct race_lane *lanes, uint32_t id, const struct race_sync *sync,
			 uint64_t now)
{
	const struct race_past *past = sync->past;
	uint32_t older = 0;

	if (!past || past->value != now)
		return 0;
	for (; !knows(&lanes[id].now, past) && past->older; past = past->older)
		older++;
	return older;
}
