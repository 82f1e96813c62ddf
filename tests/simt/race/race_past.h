/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_past.h - the last few atomic writes of a location, for loads that return older values.
 *
 * Source: the memory order of C11 as in Mark Batty et al., Mathematizing C++ Concurrency, POPL 2011;
 * a list of writes for each location as in Brian Norris and Brian Demsky, CDSChecker, OOPSLA 2013.
 *
 * 1. Each atomic write is kept with the heads that it left (race_sync.h), and with the epoch in which
 *    each lane first saw its value.
 * 2. A load may return any kept value that is not older than the newest one that is known to its
 *    lane: one that a lane wrote or saw, in an epoch that the loading lane knows.
 * 3. The lane acquires the heads of the write whose value it got.
 * 4. Read-modify-writes, also those that fail, see the newest value.
 *
 * So a value may be older than one that another lane saw in the meantime; order, fences and scopes
 * decide when that must end. A lane's own loads of one location never go back. Plain writes are not
 * kept: a location whose value has changed otherwise starts again with that value.
 *
 * It does not include writes that become visible in another order than they were made in (only loads
 * are delayed), so two lanes that each load before the other one stores.
 */
#ifndef MAM_TESTS_SIMT_RACE_PAST_H
#define MAM_TESTS_SIMT_RACE_PAST_H

#include "simt/race/race_sync.h"

#define RACE_PAST_MAX 4 /* writes kept of a location, at least 2 */

struct race_past {
	struct race_past *older;
	uint64_t value;
	struct race_sync write; /* the location as this write left it; heads are copies */
	uint32_t *seen;         /* for each lane: the epoch in which it first saw it, or 0 */
	uint32_t lanes;         /* capacity of `seen` */
	bool known;             /* to all lanes */
};

/*
 * The location's value changed from `before` to `after`: by an atomic write of lane `id`, the newest
 * one of `sync`. Returns false if out of memory, as race_past_see().
 */
bool race_past_add(struct race_memory *memory, const struct race_lane *lanes, uint32_t count,
		   struct race_sync *sync, uint32_t id, uint64_t before, uint64_t after);
/* The number of older writes that the lane may see in place of the newest one, whose value is `now`. */
uint32_t race_past_older(const struct race_lane *lanes, uint32_t id, const struct race_sync *sync,
			 uint64_t now);
/* The lane saw this write, or the newest one. `count`: the number of lanes. */
bool race_past_see(struct race_memory *memory, const struct race_lane *lanes, uint32_t count,
		   struct race_past *past, uint32_t id);

#endif
