/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_counts.c - runs the group-by of `mam bench case` without an allocator, in two passes per
 * run (group_counted.h): with counters of all values, as published, and with counters of existing
 * lists.
 *
 * Tuples move from one array to the other and back, as their number is known; the last run writes
 * rows.
 */
#include <string.h>

#include "bench/harness/gpu.h"
#include "group_play.h"

#define PIECE (2 * 16 * GROUP_BLOCK) /* counters that a block adds up */

static uint32_t divide(uint64_t n, uint64_t by)
{
	return (uint32_t)((n + by - 1) / by);
}

static bool is_last(const struct group_case *group, unsigned int i)
{
	return (i + 1) * GROUP_BITS >= group->domain;
}

/* Sets the input and output of run `i`. */
static bool begin(struct group_case *group, struct group_work *work, unsigned int i,
		  const struct group_memory arrays[2])
{
	const bool good = group_begin(group, work, i);

	work->flags = is_last(group, i) ? GROUP_LAST : 0;
	work->from = i > 0 ? arrays[(i + 1) % 2].at : NULL;
	work->words = arrays[i % 2].at;
	return good;
}

/* ---- counters of all values ---- */

static bool all_once(struct group_case *group, struct group_work *work, unsigned int i,
		     const struct group_memory arrays[2], const struct group_memory *counters)
{
	const unsigned int bits = (i + 1) * GROUP_BITS;
	struct group_memory sums = { NULL, 0 }, now = *counters;
	bool good = begin(group, work, i, arrays);
	uint32_t tiles = divide(group->count, GROUP_TILE);

	work->counter_count = UINT64_C(1) << (bits < group->domain ? bits : group->domain);
	now.bytes = sizeof(uint32_t) * work->counter_count;
	work->room = divide(work->counter_count, PIECE);
	if (good && group_take(group, &sums, sizeof(uint32_t) * (uint64_t)work->room)) {
		work->counters = now.at;
		work->owner = sums.at;
		good = group_zero(group, &now) && group_run(group, "group_count", tiles, work) &&
		       group_run(group, "group_sums", work->room, work) &&
		       group_run(group, "group_tops", 1, work) &&
		       group_run(group, "group_starts", work->room, work) &&
		       group_run(group, "group_place", tiles, work);
	}
	group_give(group, &sums);
	return good;
}

static bool play_all(struct group_case *group, const struct group_memory arrays[2])
{
	struct group_memory counters = { NULL, 0 };
	struct group_work work;
	bool good = true;
	unsigned int i;

	/* The last run needs the largest number of counters. */
	if (!group_take(group, &counters, sizeof(uint32_t) << group->domain))
		return true;
	for (i = 0; good && !group->play.none; i++) {
		good = all_once(group, &work, i, arrays, &counters);
		if (is_last(group, i))
			break;
	}
	if (good && !group->play.none)
		good = group_beside(group, "group_counted_digests",
				    group_blocks(work.counter_count), &work);
	group_give(group, &counters);
	return good;
}

/* ---- counters of existing lists ---- */

struct run {
	struct group_work work;
	struct group_memory lists, smalls;
};

struct play {
	struct group_case *group;
	struct run runs[GROUP_RUNS];
	uint32_t parents, unit_count;
	struct group_memory units, begins; /* of the next run */
};

static bool some_once(struct play *play, unsigned int i, const struct group_memory arrays[2])
{
	struct group_case *group = play->group;
	struct run *run = &play->runs[i];
	struct group_work *work = &run->work;
	struct group_memory next = { NULL, 0 }, begins = next;
	struct group_totals totals = { .none = 0 };
	bool good = begin(group, work, i, arrays);

	work->parents = play->parents;
	work->tiles =
		divide(divide(group->count, GROUP_TILE), group->resident > 0 ? group->resident : 1);
	if (i == 0)
		play->unit_count = divide(group->count, (uint64_t)work->tiles * GROUP_TILE);
	work->units = play->units.at;
	work->begins = play->begins.at;
	work->unit_room = divide(group->count, GROUP_TILE) * 2 + 1;
	if (good &&
	    group_take(group, &run->lists,
		       sizeof(struct group_list) * GROUP_BLOCK * (uint64_t)play->parents) &&
	    group_take(group, &run->smalls,
		       sizeof(uint32_t) * GROUP_BLOCK * (uint64_t)play->parents) &&
	    group_take(group, &next, sizeof(struct group_unit) * (uint64_t)work->unit_room) &&
	    group_take(group, &begins, sizeof(uint32_t) * (uint64_t)work->unit_room)) {
		work->lists = run->lists.at;
		work->smalls = run->smalls.at;
		work->next = next.at;
		work->next_begins = begins.at;
		good = group_zero(group, &run->lists) &&
		       group_run(group, "group_tally", play->unit_count, work) &&
		       group_run(group, "group_split", work->parents, work) &&
		       group_come_to(group, &totals) &&
		       group_run(group, "group_move", play->unit_count, work) &&
		       group_run(group, "group_sort", totals.smalls, work);
	}
	group_give(group, &play->units);
	group_give(group, &play->begins);
	play->units = next;
	play->begins = begins;
	play->parents = totals.parents;
	play->unit_count = totals.units;
	return good;
}

static bool play_some(struct group_case *group, const struct group_memory arrays[2])
{
	struct play play = { .group = group, .parents = 1 };
	unsigned int i, count = 0;
	bool good = true;

	while (good && !group->play.none && play.parents > 0) {
		good = some_once(&play, count, arrays);
		if (is_last(group, count++))
			break;
	}
	for (i = 0; i < count && !group->play.none; i++)
		good = good && group_beside(group, "group_sorted_digests",
					    play.runs[i].work.parents, &play.runs[i].work);
	for (i = 0; i < count; i++) {
		group_give(group, &play.runs[i].lists);
		group_give(group, &play.runs[i].smalls);
	}
	group_give(group, &play.units);
	group_give(group, &play.begins);
	return good;
}

bool group_play_counts(struct group_case *group, bool compact)
{
	const uint64_t bytes = sizeof(uint64_t) * (uint64_t)group->count;
	struct group_memory arrays[2] = { { NULL, 0 }, { NULL, 0 } };
	bool good = true;

	if (group_take(group, &arrays[0], bytes) && group_take(group, &arrays[1], bytes))
		good = compact ? play_some(group, arrays) : play_all(group, arrays);
	group_give(group, &arrays[0]);
	group_give(group, &arrays[1]);
	return good;
}
