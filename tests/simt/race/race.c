/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race.c - the interface of the race checker to the simulator.
 *
 * 1. An atomic read first acquires what it may (race_sync.h), so that it is ordered after the
 *    accesses it synchronizes with.
 * 2. The access is compared with the tracks of its bytes (race_shadow.h). An access that conflicts
 *    with an earlier one and is not ordered after it is a race, and the text is written
 *    (race_report.h).
 * 3. An atomic write then leaves its heads. The access is recorded in a track.
 * 4. A release ends the lane's epoch.
 *
 * Bound: each pair of accesses that race is found at the second access, unless an earlier race was
 * found. Accesses after the first race are still checked, but the result may be wrong either way.
 */
#include "simt/race/race.h"

#include <stdlib.h>
#include <string.h>

#include "simt/race/race_past.h"
#include "simt/race/race_report.h"
#include "simt/race/race_shadow.h"

#define RACE_TEXT_BYTES 1536

static const char no_memory[] = "race: no memory to check accesses with; use fewer lanes";

struct race {
	struct race_lane *lanes;
	uint32_t count;
	struct race_memory memory;
	struct race_shadow shadow;
	struct race_head *fences; /* of seq_cst fences */
	struct race_clock meeting;
	race_name *name;
	bool starved; /* out of memory: the next access reports it */
	char text[RACE_TEXT_BYTES];
};

/* Room for `count` lanes; new ones belong to block 0. */
static bool lanes_reach(struct race *race, uint32_t count)
{
	struct race_lane *lanes;

	if (count <= race->count)
		return true;
	if (count > RACE_LANES_MAX)
		return false;
	if (race->count && count < 2 * race->count && race->count <= RACE_LANES_MAX / 2)
		count = 2 * race->count;
	lanes = realloc(race->lanes, count * sizeof(*lanes));
	if (!lanes)
		return false;
	memset(lanes + race->count, 0, (count - race->count) * sizeof(*lanes));
	race->lanes = lanes;
	race->count = count;
	return true;
}

/* The lane, whose clock has an entry of its own; NULL: out of memory. */
static struct race_lane *lane_of(struct race *race, uint32_t id)
{
	struct race_lane *lane;

	if (id >= RACE_LANES_MAX || !lanes_reach(race, id + 1))
		goto starved;
	lane = &race->lanes[id];
	if (lane->now.set)
		return lane;
	if (!race_clock_reach(&race->memory, &lane->now, race->count))
		goto starved;
	lane->now.set = true;
	lane->now.at[id] = 1;
	return lane;

starved:
	race->starved = true;
	return NULL;
}

struct race *race_create(unsigned int lanes)
{
	struct race *race = calloc(1, sizeof(*race));

	if (!race)
		return NULL;
	if (!lanes_reach(race, lanes ? lanes : 1)) {
		free(race);
		return NULL;
	}
	race_shadow_reset(&race->shadow);
	return race;
}

void race_destroy(struct race *race)
{
	if (!race)
		return;
	race_shadow_fini(&race->shadow);
	race_memory_fini(&race->memory);
	free(race->lanes);
	free(race);
}

void race_reset(struct race *race)
{
	for (uint32_t i = 0; i < race->count; i++) {
		uint32_t group = race->lanes[i].group;

		memset(&race->lanes[i], 0, sizeof(race->lanes[i]));
		race->lanes[i].group = group;
	}
	race_memory_reset(&race->memory);
	race_shadow_reset(&race->shadow);
	race->fences = NULL;
	memset(&race->meeting, 0, sizeof(race->meeting));
	race->starved = false;
}

void race_place(struct race *race, unsigned int lane, unsigned int block, bool host)
{
	if (lane >= RACE_LANES_MAX || !lanes_reach(race, lane + 1)) {
		race->starved = true;
		return;
	}
	race->lanes[lane].group = host ? RACE_HOST | lane : block & ~RACE_HOST;
}

void race_names(struct race *race, void (*name)(unsigned int lane, char *text, size_t bytes))
{
	race->name = name;
}

static const char *starve(struct race *race)
{
	race->starved = true;
	return no_memory;
}

/* Compares one granule's part of an access with earlier accesses. NULL: no race. */
static const char *judge(struct race *race, const struct race_granule *granule,
			 const struct race_access *access)
{
	const struct race_record *record;
	const struct race_track *track;

	record = race_granule_conflict(granule, race->lanes, access, &track);
	if (!record)
		return NULL;
	race_report(race->text, sizeof(race->text), race->lanes, race->name, track, record, access);
	return race->text;
}

const char *race_plain(struct race *race, unsigned int lane, const volatile void *where,
		       size_t bytes, bool write, const char *site)
{
	struct race_lane *self = lane_of(race, lane);
	uintptr_t from = (uintptr_t)where, end = from + bytes;
	struct race_access access;

	if (race->starved)
		return no_memory;
	access = (struct race_access){
		.site = site, .now = &self->now, .lane = lane, .group = self->group, .write = write
	};
	while (from < end) {
		struct race_granule *granule =
			race_shadow_reach(&race->shadow, from / RACE_GRANULE);
		const char *text;

		if (!granule)
			return starve(race);
		from += race_granule_cut(from, end, &access.mask);
		text = judge(race, granule, &access);
		if (text)
			return text;
		if (!race_granule_add(&race->shadow, &race->memory, granule, race->lanes,
				      race->count, &access))
			return starve(race);
	}
	return NULL;
}

const char *race_atomic(struct race *race, unsigned int lane, const volatile void *where,
			size_t bytes, enum simt_op op, bool wrote, enum simt_order order,
			enum simt_scope scope, const char *site)
{
	struct race_lane *self = lane_of(race, lane);
	struct race_side side = { site, order, scope };
	uintptr_t from = (uintptr_t)where;
	struct race_granule *granule;
	struct race_access access;
	struct race_sync *sync;
	const char *text;
	bool good = true;

	if (race->starved)
		return no_memory;
	if (!bytes || bytes > RACE_GRANULE || (bytes & (bytes - 1)) || from % bytes)
		return "race: an atomic access that is not aligned to its size";
	access = (struct race_access){ .site = site,
				       .now = &self->now,
				       .lane = lane,
				       .group = self->group,
				       .write = wrote,
				       .atomic = true,
				       .op = op,
				       .order = order,
				       .scope = scope };
	race_granule_cut(from, from + bytes, &access.mask);
	granule = race_shadow_reach(&race->shadow, from / RACE_GRANULE);
	sync = granule ? race_granule_sync(&race->memory, granule, access.mask) : NULL;
	if (!sync)
		return starve(race);
	if (op != SIMT_STORE)
		good = race_sync_read(&race->memory, race->lanes, lane, sync, &side);
	text = judge(race, granule, &access);
	if (text)
		return text;
	if (wrote)
		good = race_sync_write(&race->memory, race->lanes, lane, sync, &side,
				       op != SIMT_STORE) &&
		       good;
	good = race_granule_add(&race->shadow, &race->memory, granule, race->lanes, race->count,
				&access) &&
	       good;
	if (wrote && race_releases(order))
		race_sync_tick(self, lane);
	return good ? NULL : starve(race);
}

/* The location of an aligned atomic access; NULL: out of memory. */
static struct race_sync *sync_of(struct race *race, const volatile void *where, size_t bytes)
{
	uintptr_t from = (uintptr_t)where;
	struct race_granule *granule = race_shadow_reach(&race->shadow, from / RACE_GRANULE);
	uint8_t mask;

	race_granule_cut(from, from + bytes, &mask);
	return granule ? race_granule_sync(&race->memory, granule, mask) : NULL;
}

uint32_t race_older(struct race *race, unsigned int lane, const volatile void *where, size_t bytes,
		    uint64_t value)
{
	struct race_sync *sync = lane_of(race, lane) ? sync_of(race, where, bytes) : NULL;

	if (!sync)
		race->starved = true;
	return sync ? race_past_older(race->lanes, lane, sync, value) : 0;
}

void race_stale(struct race *race, unsigned int lane, const volatile void *where, size_t bytes,
		uint64_t *value, enum simt_order order, enum simt_scope scope, const char *site,
		uint32_t which)
{
	struct race_side side = { site, order, scope };
	struct race_sync *sync = lane_of(race, lane) ? sync_of(race, where, bytes) : NULL;
	struct race_past *past;

	if (!sync) {
		race->starved = true;
		return;
	}
	past = sync->past;
	if (!past || past->value != *value)
		return;
	for (uint32_t i = 0; i < which; i++)
		past = past->older;
	*value = past->value;
	if (!race_past_see(&race->memory, race->lanes, race->count, past, lane) ||
	    (which != 0 && !race_sync_read(&race->memory, race->lanes, lane, &past->write, &side)))
		race->starved = true;
}

void race_keep(struct race *race, unsigned int lane, const volatile void *where, size_t bytes,
	       uint64_t before, uint64_t after, bool wrote)
{
	struct race_sync *sync = sync_of(race, where, bytes);

	if (!sync)
		race->starved = true;
	else if (wrote)
		race->starved |= !race_past_add(&race->memory, race->lanes, race->count, sync, lane,
						before, after);
	else if (sync->past && sync->past->value == before)
		race->starved |=
			!race_past_see(&race->memory, race->lanes, race->count, sync->past, lane);
}

void race_fence(struct race *race, unsigned int lane, enum simt_order order, enum simt_scope scope)
{
	if (lane_of(race, lane) &&
	    !race_sync_fence(&race->memory, race->lanes, lane, &race->fences, order, scope))
		race->starved = true;
}

void race_order(struct race *race, unsigned int from, unsigned int to)
{
	struct race_lane *giver = lane_of(race, from);
	struct race_lane *taker = lane_of(race, to);

	if (!giver || !taker || from == to)
		return;
	/* Creating the second lane may have moved the first one. */
	giver = &race->lanes[from];
	if (!race_clock_join(&race->memory, &taker->now, &giver->now))
		race->starved = true;
	race_sync_tick(giver, from);
}

void race_meet(struct race *race, const unsigned int *lanes, unsigned int count)
{
	struct race_clock *all = &race->meeting;

	all->set = false;
	for (unsigned int i = 0; i < count; i++) {
		struct race_lane *lane = lane_of(race, lanes[i]);

		if (!lane || !race_clock_join(&race->memory, all, &lane->now)) {
			race->starved = true;
			return;
		}
	}
	for (unsigned int i = 0; i < count; i++) {
		struct race_lane *lane = &race->lanes[lanes[i]];

		if (!race_clock_copy(&race->memory, &lane->now, all))
			race->starved = true;
		race_sync_tick(lane, lanes[i]);
	}
}

void race_forget(struct race *race, const volatile void *where, size_t bytes)
{
	race_shadow_forget(&race->shadow, (uintptr_t)where, (uintptr_t)where + bytes);
}
