/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_pages.c - runs the group-by of `mam bench case` in one pass per run, with lists of pages
 * (group.h).
 *
 * Before a run, the host allocates the maximum that its words may need. After it, the host reads
 * how many lists and units there are for the next run. Lists and words of a run stay if some are
 * part of the result.
 */
#include <string.h>

#include "bench/harness/gpu.h"
#include "group_play.h"

/* Minimum tiles of a unit of the last run: each unit leaves one partly filled page per group. */
#define LAST_TILES 16u

struct run {
	struct group_work work;
	struct group_totals totals;
	struct group_memory lists, words, smalls;
};

struct play {
	struct group_case *group;
	struct run runs[GROUP_RUNS];
	unsigned int count; /* of runs that have words */
	uint32_t parents, unit_count;
	struct group_memory units; /* of the next run */
};

static uint32_t divide(uint64_t n, uint64_t by)
{
	return (uint32_t)((n + by - 1) / by);
}

/* Tiles of a unit, so that all blocks run at once. */
static uint32_t tiles_of(const struct group_case *group, bool last)
{
	const uint32_t tiles = divide(group->count, GROUP_TILE);
	const uint32_t each = divide(tiles, group->resident > 0 ? group->resident : 1);

	return last && each < LAST_TILES ? LAST_TILES : each;
}

static bool is_last(const struct group_case *group, unsigned int i)
{
	return (i + 1) * GROUP_BITS >= group->domain;
}

/* Sorts the lists' words, and makes the next run's units. */
static bool put_in_order(struct play *play, struct run *run, struct group_memory *next)
{
	struct group_case *group = play->group;
	struct group_work *work = &run->work;

	work->next = next->at;
	if (!group_run(group, "group_lists", work->parents, work) ||
	    !group_come_to(group, &run->totals))
		return false;
	if (run->totals.pages > 0 &&
	    !group_run(group, "group_words", group_blocks(run->totals.pages), work))
		return false;
	if (run->totals.none > 0 || run->totals.smalls == 0)
		return true;
	return group_run(group, "group_finish", run->totals.smalls, work);
}

/* One run. If memory ran out, play.none or totals.none is set. */
static bool run_once(struct play *play, unsigned int i)
{
	struct group_case *group = play->group;
	struct run *run = &play->runs[i];
	struct group_work *work = &run->work;
	struct group_memory table = { NULL, 0 }, owner = table, next = table;
	const bool last = is_last(group, i);
	const uint32_t room = last ? GROUP_ROWS : GROUP_TUPLES;
	bool good = group_begin(group, work, i);

	work->flags = last ? GROUP_LAST | (group->exactly ? GROUP_EXACTLY : 0) : 0;
	work->parents = play->parents;
	work->tiles = tiles_of(group, last);
	if (i == 0)
		play->unit_count = divide(group->count, (uint64_t)work->tiles * GROUP_TILE);
	else
		work->from = play->runs[i - 1].words.at;
	work->units = play->units.at;
	work->room = divide(group->count, room) + play->unit_count * GROUP_BLOCK;
	work->unit_room = last ? 0 : divide(group->count, GROUP_TILE) * 2 + 1;
	if (good &&
	    group_take(group, &run->lists,
		       sizeof(struct group_list) * GROUP_BLOCK * (uint64_t)play->parents) &&
	    group_take(group, &run->smalls,
		       sizeof(uint32_t) * GROUP_BLOCK * (uint64_t)play->parents) &&
	    group_take(group, &next, sizeof(struct group_unit) * (uint64_t)work->unit_room) &&
	    group_take(group, &run->words, sizeof(uint64_t) * (uint64_t)work->room) &&
	    group_take(group, &table, sizeof(uint64_t) * (uint64_t)work->room) &&
	    group_take(group, &owner, sizeof(uint32_t) * (uint64_t)work->room)) {
		work->lists = run->lists.at;
		work->smalls = run->smalls.at;
		work->table = table.at;
		work->owner = owner.at;
		work->words = run->words.at;
		play->count++;
		good = group_zero(group, &run->lists) &&
		       group_run(group, "group_spread", play->unit_count, work);
		work->tiles = tiles_of(group, is_last(group, i + 1));
		good = good && put_in_order(play, run, &next);
	}
	group_give(group, &table);
	group_give(group, &owner);
	group_give(group, &play->units);
	play->units = next;
	play->parents = run->totals.parents;
	play->unit_count = run->totals.units;
	return good;
}

/* Reads the result; then frees all memory of the lists. */
static bool end(struct play *play, bool whole)
{
	struct group_case *group = play->group;
	bool good = true;
	unsigned int i;

	for (i = 0; i < play->count && whole; i++)
		good = good && group_beside(group, "group_digests", play->runs[i].work.parents,
					    &play->runs[i].work);
	for (i = 0; i < play->count; i++) {
		group->job.count = !whole && i + 1 == play->count;
		good = good && group_beside(group, "group_release",
					    group_blocks((uint64_t)play->runs[i].work.parents *
							 GROUP_BLOCK * DEVICE_WARP),
					    &play->runs[i].work);
	}
	return good;
}

bool group_play_pages(struct group_case *group)
{
	struct play play = { .group = group, .parents = 1 };
	bool good = true, whole = true;
	unsigned int i;

	for (i = 0; good && whole && play.parents > 0; i++) {
		good = run_once(&play, i);
		whole = !group->play.none && play.runs[i].totals.none == 0;
		if (i > 0 && play.runs[i - 1].totals.smalls == 0 && good && whole) {
			/* All its lists continue in the next run. */
			group_give(group, &play.runs[i - 1].words);
			play.runs[i - 1].work.parents = 0;
		}
		if (is_last(group, i))
			break;
	}
	if (good)
		good = end(&play, whole);
	for (i = 0; i < GROUP_RUNS; i++) {
		group_give(group, &play.runs[i].lists);
		group_give(group, &play.runs[i].words);
		group_give(group, &play.runs[i].smalls);
	}
	group_give(group, &play.units);
	return good;
}
