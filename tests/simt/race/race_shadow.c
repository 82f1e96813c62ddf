/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_shadow.c - the table of granules.
 */
#include "simt/race/race_shadow.h"

#include <stdlib.h>

#define FIRST_ROOM ((size_t)1024)

void race_shadow_reset(struct race_shadow *shadow)
{
	shadow->generation++;
	shadow->count = 0;
	shadow->spare = NULL;
}

void race_shadow_fini(struct race_shadow *shadow)
{
	free(shadow->places);
	shadow->places = NULL;
	shadow->room = shadow->count = 0;
}

static size_t hash(uint64_t number, size_t room)
{
	number *= 0x9e3779b97f4a7c15u;
	return (number ^ number >> 32) & (room - 1);
}

/* The granule's place, or the free place where it would be. */
static struct race_granule *place_of(struct race_granule *places, size_t room, uint64_t generation,
				     uint64_t number)
{
	size_t i = hash(number, room);

	while (places[i].generation == generation && places[i].number != number)
		i = (i + 1) & (room - 1);
	return &places[i];
}

static bool grow(struct race_shadow *shadow)
{
	size_t room = shadow->room ? 2 * shadow->room : FIRST_ROOM;
	struct race_granule *places = calloc(room, sizeof(*places));

	if (!places)
		return false;
	for (size_t i = 0; i < shadow->room; i++) {
		const struct race_granule *granule = &shadow->places[i];

		if (granule->generation == shadow->generation)
			*place_of(places, room, shadow->generation, granule->number) = *granule;
	}
	free(shadow->places);
	shadow->places = places;
	shadow->room = room;
	return true;
}

struct race_granule *race_shadow_reach(struct race_shadow *shadow, uint64_t number)
{
	struct race_granule *granule;

	if (2 * shadow->count >= shadow->room && !grow(shadow))
		return NULL;
	granule = place_of(shadow->places, shadow->room, shadow->generation, number);
	if (granule->generation != shadow->generation) {
		granule->number = number;
		granule->generation = shadow->generation;
		granule->tracks = NULL;
		granule->syncs = NULL;
		shadow->count++;
	}
	return granule;
}

struct race_granule *race_shadow_find(const struct race_shadow *shadow, uint64_t number)
{
	struct race_granule *granule;

	if (!shadow->count)
		return NULL;
	granule = place_of(shadow->places, shadow->room, shadow->generation, number);
	return granule->generation == shadow->generation ? granule : NULL;
}

/* A range of more granules than the table has is handled by a scan of the table. */
void race_shadow_forget(struct race_shadow *shadow, uintptr_t from, uintptr_t end)
{
	bool by_table = (end - from) / RACE_GRANULE > shadow->room;
	uint8_t mask;

	for (size_t i = 0; by_table && i < shadow->room; i++) {
		struct race_granule *granule = &shadow->places[i];
		uintptr_t start = granule->number * RACE_GRANULE;
		uintptr_t past = start + RACE_GRANULE;

		if (granule->generation != shadow->generation || past <= from || start >= end)
			continue;
		race_granule_cut(start > from ? start : from, past < end ? past : end, &mask);
		race_granule_forget(shadow, granule, mask);
	}
	while (!by_table && from < end) {
		struct race_granule *granule = race_shadow_find(shadow, from / RACE_GRANULE);

		from += race_granule_cut(from, end, &mask);
		if (granule)
			race_granule_forget(shadow, granule, mask);
	}
}
