/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_track.h - which lanes made accesses of one kind to the same bytes, and which of those can
 * still race.
 *
 * Source: Cormac Flanagan and Stephen N. Freund, FastTrack: Efficient and Precise Dynamic Race
 * Detection, PLDI 2009: one epoch while accesses are ordered, and one per lane when they are not.
 * Here atomic accesses have tracks too, one per size and scope, since two of them may race.
 *
 * 1. A track consists of records: a lane, its epoch, a site. A lane has at most one, its newest.
 * 2. A new record drops those that it replaces: those of its own lane, and older ones ordered
 *    before it, of any lane if plain, of its own group if atomic (whose scope covers the same lanes
 *    then).
 * 3. A few records are a list; more are a table with a place per lane. An access that would race
 *    with a dropped record races with the one that replaced it.
 */
#ifndef MAM_TESTS_SIMT_RACE_TRACK_H
#define MAM_TESTS_SIMT_RACE_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "device/port_simt.h"
#include "simt/race/race_sync.h"

/* One access, as the checker sees it; `mask` has the bytes of a granule. */
struct race_access {
	const char *site;
	const struct race_clock *now;
	uint32_t lane, group;
	uint8_t mask;
	bool write, atomic;
	enum simt_op op; /* the fields from here on are for atomics */
	enum simt_order order;
	enum simt_scope scope;
};

struct race_record {
	const char *site;
	uint32_t epoch; /* 0: none */
	uint32_t lane : 24;
	uint32_t order : 4;
	uint32_t op : 4;
};

#define RACE_LANES_MAX (1u << 24)

struct race_track {
	struct race_track *next; /* of the granule, or of the spare ones */
	struct race_record *records;
	uint32_t count; /* existing records, or the table's places */
	uint32_t room;
	uint8_t mask; /* bytes of each access */
	uint8_t live; /* the bytes of `mask` that were not discarded */
	bool write, atomic, table;
	bool hosts; /* some record is, or was, one of a host thread */
	uint8_t scope;
};

static inline bool race_track_suits(const struct race_track *track,
				    const struct race_access *access)
{
	return track->mask == access->mask && track->live == access->mask &&
	       track->write == access->write && track->atomic == access->atomic &&
	       (!access->atomic || track->scope == access->scope);
}

/*
 * The record that races with `access`, or NULL. The track's live bytes overlap the access's, and
 * one of the two writes.
 */
const struct race_record *race_track_conflict(const struct race_track *track,
					      const struct race_lane *lanes,
					      const struct race_access *access);
/* Returns false if out of memory. `lanes_count`: the number of lanes. */
bool race_track_add(struct race_memory *memory, struct race_track *track,
		    const struct race_lane *lanes, uint32_t lanes_count,
		    const struct race_access *access);

#endif
