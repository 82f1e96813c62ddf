/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_track.c - records as a list and as a table.
 */
#include "simt/race/race_track.h"

#include <string.h>

#define LIST_ROOM 2

/*
 * The maximum length of a list; up to `lanes` places, a table is scanned faster than a longer list.
 */
static uint32_t list_max(uint32_t lanes)
{
	return 8 + lanes / 32;
}

const struct race_record *race_track_conflict(const struct race_track *track,
					      const struct race_lane *lanes,
					      const struct race_access *access)
{
	bool same = track->atomic && access->atomic && track->mask == access->mask;
	enum simt_scope wide =
		track->hosts || access->group & RACE_HOST ? MAM_AT_SYSTEM : MAM_AT_DEVICE;

	/* The common case for atomics: no scan is needed. */
	if (same && track->scope >= wide && access->scope >= wide)
		return NULL;
	for (uint32_t i = 0; i < track->count; i++) {
		const struct race_record *record = &track->records[i];

		if (record->epoch <= race_clock_of(access->now, record->lane))
			continue;
		if (same && race_covers(track->scope, lanes[record->lane].group, access->scope,
					access->group))
			continue;
		return record;
	}
	return NULL;
}

static bool list_grow(struct race_memory *memory, struct race_track *track)
{
	uint32_t room = track->room ? 2 * track->room : LIST_ROOM;
	struct race_record *records = race_memory_take(memory, room * sizeof(*records));

	if (!records)
		return false;
	if (track->count)
		memcpy(records, track->records, track->count * sizeof(*records));
	track->records = records;
	track->room = room;
	return true;
}

/* A list becomes a table, or a table one for more lanes. */
static bool table_grow(struct race_memory *memory, struct race_track *track, uint32_t lanes)
{
	struct race_record *records = race_memory_take(memory, lanes * sizeof(*records));

	if (!records)
		return false;
	for (uint32_t i = 0; i < track->count; i++)
		records[track->records[i].lane] = track->records[i];
	track->records = records;
	track->room = track->count = lanes;
	track->table = true;
	return true;
}

/* Does `access` replace the record? */
static bool stands_for(const struct race_record *record, const struct race_lane *lanes,
		       const struct race_access *access)
{
	if (access->atomic && lanes[record->lane].group != access->group)
		return false;
	return record->epoch <= race_clock_of(access->now, record->lane);
}

bool race_track_add(struct race_memory *memory, struct race_track *track,
		    const struct race_lane *lanes, uint32_t lanes_count,
		    const struct race_access *access)
{
	struct race_record record = { access->site, race_clock_of(access->now, access->lane),
				      access->lane, access->order, access->op };
	uint32_t kept = 0;

	track->hosts |= (access->group & RACE_HOST) != 0;
	if (!track->table) {
		for (uint32_t i = 0; i < track->count; i++)
			if (!stands_for(&track->records[i], lanes, access))
				track->records[kept++] = track->records[i];
		track->count = kept;
		if (kept < list_max(lanes_count)) {
			if (kept == track->room && !list_grow(memory, track))
				return false;
			track->records[track->count++] = record;
			return true;
		}
	}
	if ((!track->table || track->count <= access->lane) &&
	    !table_grow(memory, track, lanes_count))
		return false;
	track->records[access->lane] = record;
	return true;
}
