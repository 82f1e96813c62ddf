/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_granule.c - one granule's tracks and locations.
 *
 * A plain write drops the tracks of the bytes that it covers: all accesses in them are ordered
 * before it, so an access that would race with them races with the write. A plain read adds nothing
 * if its own lane has a plain access in the same epoch.
 */
#include "simt/race/race_shadow.h"

struct race_sync *race_granule_sync(struct race_memory *memory, struct race_granule *granule,
				    uint8_t mask)
{
	struct race_sync *sync;

	for (sync = granule->syncs; sync; sync = sync->next)
		if (sync->mask == mask)
			return sync;
	sync = race_memory_take(memory, sizeof(*sync));
	if (!sync)
		return NULL;
	sync->mask = mask;
	sync->next = granule->syncs;
	granule->syncs = sync;
	return sync;
}

const struct race_record *race_granule_conflict(const struct race_granule *granule,
						const struct race_lane *lanes,
						const struct race_access *access,
						const struct race_track **found)
{
	for (const struct race_track *track = granule->tracks; track; track = track->next) {
		const struct race_record *record;

		if (!(track->live & access->mask) || !(track->write || access->write))
			continue;
		record = race_track_conflict(track, lanes, access);
		if (record) {
			*found = track;
			return record;
		}
	}
	return NULL;
}

/* Tracks without live bytes outside `mask` become spare. */
static void drop_covered(struct race_shadow *shadow, struct race_granule *granule, uint8_t mask)
{
	struct race_track **link = &granule->tracks;

	while (*link) {
		struct race_track *track = *link;

		if (track->live & ~mask) {
			link = &track->next;
			continue;
		}
		*link = track->next;
		track->next = shadow->spare;
		shadow->spare = track;
	}
}

static struct race_track *track_make(struct race_shadow *shadow, struct race_memory *memory,
				     const struct race_access *access)
{
	struct race_track *track = shadow->spare;

	if (track) {
		shadow->spare = track->next;
	} else {
		track = race_memory_take(memory, sizeof(*track));
		if (!track)
			return NULL;
	}
	track->mask = track->live = access->mask;
	track->write = access->write;
	track->atomic = access->atomic;
	track->scope = access->atomic ? access->scope : MAM_AT_SYSTEM;
	track->table = track->hosts = false;
	track->count = 0;
	return track;
}

/*
 * The same lane has a plain access of these bytes in the same epoch; tracks rarely have more than
 * one record.
 */
static bool seen_just_now(const struct race_granule *granule, const struct race_access *access)
{
	for (const struct race_track *track = granule->tracks; track; track = track->next)
		if (!track->atomic && !(access->mask & ~track->live) && track->count &&
		    track->records[0].lane == access->lane &&
		    track->records[0].epoch == race_clock_of(access->now, access->lane))
			return true;
	return false;
}

bool race_granule_add(struct race_shadow *shadow, struct race_memory *memory,
		      struct race_granule *granule, const struct race_lane *lanes,
		      uint32_t lanes_count, const struct race_access *access)
{
	struct race_track *track;

	if (!access->atomic) {
		if (access->write)
			drop_covered(shadow, granule, access->mask);
		else if (seen_just_now(granule, access))
			return true;
	}
	for (track = granule->tracks; track; track = track->next)
		if (race_track_suits(track, access))
			break;
	if (!track) {
		track = track_make(shadow, memory, access);
		if (!track)
			return false;
		track->next = granule->tracks;
		granule->tracks = track;
	}
	return race_track_add(memory, track, lanes, lanes_count, access);
}

void race_granule_forget(struct race_shadow *shadow, struct race_granule *granule, uint8_t mask)
{
	drop_covered(shadow, granule, mask);
	for (struct race_track *track = granule->tracks; track; track = track->next)
		track->live &= (uint8_t)~mask;
	for (struct race_sync *sync = granule->syncs; sync; sync = sync->next)
		if (sync->mask & mask)
			race_sync_break(sync);
}
