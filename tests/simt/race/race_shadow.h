/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_shadow.h - the checker's data about memory, by address.
 *
 * 1. Memory is divided into granules of 8 bytes. A hash table (open addressing, linear probing, at
 *    most half full) maps a granule's number to its tracks (race_track.h) and locations
 *    (race_sync.h).
 * 2. Each entry has the number of the generation that created it: a reset starts a new one, and
 *    entries of older ones are free places. Nothing is cleared.
 * 3. An access is split at granules; a mask of bytes per granule distinguishes neighbors in one
 *    granule.
 */
#ifndef MAM_TESTS_SIMT_RACE_SHADOW_H
#define MAM_TESTS_SIMT_RACE_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simt/race/race_track.h"

#define RACE_GRANULE 8

struct race_granule {
	uint64_t number;     /* address / RACE_GRANULE */
	uint64_t generation; /* differs from the table's: a free place */
	struct race_track *tracks;
	struct race_sync *syncs;
};

/* A zeroed struct is an empty table, except for `generation`, which race_shadow_reset() sets. */
struct race_shadow {
	struct race_granule *places;
	size_t room;  /* a power of two, or 0 */
	size_t count; /* of this generation */
	uint64_t generation;
	struct race_track *spare;
};

/* Discards everything; the caller resets the memory of the tracks. */
void race_shadow_reset(struct race_shadow *shadow);
void race_shadow_fini(struct race_shadow *shadow);
/*
 * The granule of this number, created if necessary; valid until the next call. NULL: out of memory.
 */
struct race_granule *race_shadow_reach(struct race_shadow *shadow, uint64_t number);
/* The same, or NULL if there are no data about it. */
struct race_granule *race_shadow_find(const struct race_shadow *shadow, uint64_t number);
/* Discards the past accesses of bytes [from, end). */
void race_shadow_forget(struct race_shadow *shadow, uintptr_t from, uintptr_t end);

/* The first bytes of [from, end): their number in from's granule, and their mask. */
static inline size_t race_granule_cut(uintptr_t from, uintptr_t end, uint8_t *mask)
{
	size_t first = from % RACE_GRANULE;
	size_t bytes = RACE_GRANULE - first;

	if (end - from < bytes)
		bytes = end - from;
	*mask = (uint8_t)(((1u << bytes) - 1) << first);
	return bytes;
}

/* The location of these bytes; NULL: out of memory. */
struct race_sync *race_granule_sync(struct race_memory *memory, struct race_granule *granule,
				    uint8_t mask);
/* An earlier access that races with this one and its track, or NULL. */
const struct race_record *race_granule_conflict(const struct race_granule *granule,
						const struct race_lane *lanes,
						const struct race_access *access,
						const struct race_track **track);
/* Records the access, which raced with none. False: out of memory. */
bool race_granule_add(struct race_shadow *shadow, struct race_memory *memory,
		      struct race_granule *granule, const struct race_lane *lanes,
		      uint32_t lanes_count, const struct race_access *access);
void race_granule_forget(struct race_shadow *shadow, struct race_granule *granule, uint8_t mask);

#endif
