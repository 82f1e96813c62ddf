/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_shadow.h - what is known of memory, found by address.
 *
 * 1. Memory is seen in granules of 8 bytes. A hash table (open addressing, linear probing, at most
 *    half full) leads from a granule's number to its tracks (race_track.h) and locations
 *    (race_sync.h).
 * 2. Entries carry the number of the generation that made them: a reset begins a new one, and
 *    entries of older ones are free places. Nothing is cleared.
 * 3. An access is cut at granules; in each, a mask says which bytes are meant, so that neighbours
 *    in one granule are told apart.
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
	uint64_t generation; /* another than the table's: a free place */
	struct race_track *tracks;
	struct race_sync *syncs;
};

/* All zero is an empty one, but for `generation`, which race_shadow_reset() sets. */
struct race_shadow {
	struct race_granule *places;
	size_t room;  /* a power of two, or 0 */
	size_t count; /* of this generation */
	uint64_t generation;
	struct race_track *spare;
};

/* Forgets everything; the memory that tracks came from is reset by the caller. */
void race_shadow_reset(struct race_shadow *shadow);
void race_shadow_fini(struct race_shadow *shadow);
/* The granule of this number, made if need be; good until the next call. NULL: no memory. */
struct race_granule *race_shadow_reach(struct race_shadow *shadow, uint64_t number);
/* The same, or NULL if nothing is known of it. */
struct race_granule *race_shadow_find(const struct race_shadow *shadow, uint64_t number);
/* Bytes [from, end) of memory lose their past. */
void race_shadow_forget(struct race_shadow *shadow, uintptr_t from, uintptr_t end);

/* The first bytes of [from, end): how many are in from's granule, and which ones they are. */
static inline size_t race_granule_cut(uintptr_t from, uintptr_t end, uint8_t *mask)
{
	size_t first = from % RACE_GRANULE;
	size_t bytes = RACE_GRANULE - first;

	if (end - from < bytes)
		bytes = end - from;
	*mask = (uint8_t)(((1u << bytes) - 1) << first);
	return bytes;
}

/* The location of these bytes; NULL if there is no memory for it. */
struct race_sync *race_granule_sync(struct race_memory *memory, struct race_granule *granule,
				    uint8_t mask);
/* An earlier access that races with this one and its track, or NULL. */
const struct race_record *race_granule_conflict(const struct race_granule *granule,
						const struct race_lane *lanes,
						const struct race_access *access,
						const struct race_track **track);
/* Keeps the access, which raced with none, in mind. False: no memory. */
bool race_granule_add(struct race_shadow *shadow, struct race_memory *memory,
		      struct race_granule *granule, const struct race_lane *lanes,
		      uint32_t lanes_count, const struct race_access *access);
void race_granule_forget(struct race_shadow *shadow, struct race_granule *granule, uint8_t mask);

#endif
