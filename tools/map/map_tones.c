/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_tones.c - the color of each block in a static map: by size, stream, thread or age.
 *
 * Kinds: 1. Number the values in the order of their first block and count their blocks.
 *        2. The MAP_KINDS values with most blocks (on a tie, the earlier ones) get a tone each,
 *           most blocks first.
 * The page uses the same order (map/colors.js), so a stream has the same color in both.
 *
 * O(blocks + values * MAP_KINDS).
 */
#include "map/map_tones.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kit/format.h"
#include "kit/idtable.h"

struct value {
	uint64_t value;
	uint64_t blocks;
	uint64_t peak_bytes;
	unsigned char tone;
};

static unsigned char tone_of_age(const struct replay_block *block)
{
	if (block->death == REPLAY_ALIVE)
		return MAP_AGES;
	return (unsigned char)map_color_of_age(block->death - block->birth);
}

static void make_scale(const struct map *map, enum map_view view, struct map_tones *tones)
{
	bool age = view == MAP_VIEW_AGE;

	tones->count = age ? MAP_AGES + 1 : MAP_COLORS;
	tones->rgb = age ? map_color_age_rgb : map_color_rgb;
	for (uint32_t i = 0; i < map->trace->block_count; i++)
		tones->of[i] = age ? tone_of_age(&map->trace->blocks[i])
				   : (unsigned char)map_color_of(map->sizes[i]);
}

static uint64_t value_of(const struct replay_trace *trace, enum map_view view, uint32_t block)
{
	return view == MAP_VIEW_STREAM ? trace->blocks[block].stream : trace->origins[block].thread;
}

static uint64_t bytes_at_peak(const struct map *map, uint32_t block)
{
	const struct replay_block *b = &map->trace->blocks[block];

	if (!map->sizes[block] || b->birth > map->trace->peak_event ||
	    (b->death != REPLAY_ALIVE && b->death <= map->trace->peak_event))
		return 0;
	return b->bytes;
}

/* Number the values. Returns their count; IDTABLE_NONE: out of memory. */
static uint32_t count_values(const struct map *map, enum map_view view, struct value *values,
			     struct idtable *table)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < map->trace->block_count; i++) {
		uint64_t value = value_of(map->trace, view, i);
		uint32_t *at = idtable_at(table, value);

		if (!at)
			return IDTABLE_NONE;
		if (*at == IDTABLE_NONE) {
			values[count] = (struct value){ .value = value, .tone = MAP_KINDS };
			*at = count++;
		}
		values[*at].blocks++;
		values[*at].peak_bytes += bytes_at_peak(map, i);
	}
	return count;
}

/* The value with most blocks among those without a tone; NULL: all have one. */
static struct value *max_used(struct value *values, uint32_t count)
{
	struct value *max = NULL;

	for (uint32_t i = 0; i < count; i++)
		if (values[i].tone == MAP_KINDS && (!max || values[i].blocks > max->blocks))
			max = &values[i];
	return max;
}

static void name_kinds(struct value *values, uint32_t count, const char *what,
		       struct map_tones *tones)
{
	struct map_kind *others = &tones->kinds[MAP_KINDS];
	struct value *max;

	for (unsigned int tone = 0; tone < MAP_KINDS; tone++) {
		max = max_used(values, count);
		if (!max)
			break;
		max->tone = (unsigned char)tone;
		tones->kinds[tone].blocks = max->blocks;
		tones->kinds[tone].peak_bytes = max->peak_bytes;
		snprintf(tones->kinds[tone].name, sizeof(others->name), "%s %" PRIu64, what,
			 max->value);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (values[i].tone != MAP_KINDS)
			continue;
		others->blocks += values[i].blocks;
		others->peak_bytes += values[i].peak_bytes;
	}
	snprintf(others->name, sizeof(others->name), "%s",
		 format_counted(count > MAP_KINDS ? count - MAP_KINDS : 0, "other").text);
	tones->distinct = count;
}

static bool make_kinds(const struct map *map, enum map_view view, struct map_tones *tones)
{
	struct value *values = malloc(((size_t)map->trace->block_count + 1) * sizeof(*values));
	struct idtable table = { 0 };
	uint32_t count = IDTABLE_NONE;

	tones->count = MAP_KINDS + 1;
	tones->rgb = map_color_kind_rgb;
	if (values)
		count = count_values(map, view, values, &table);
	if (count != IDTABLE_NONE) {
		name_kinds(values, count, view == MAP_VIEW_STREAM ? "stream" : "thread", tones);
		for (uint32_t i = 0; i < map->trace->block_count; i++)
			tones->of[i] =
				values[idtable_find(&table, value_of(map->trace, view, i))].tone;
	}
	idtable_fini(&table);
	free(values);
	return count != IDTABLE_NONE;
}

bool map_tones_make(const struct map *map, enum map_view view, struct map_tones *tones)
{
	*tones = (struct map_tones){ .of = malloc((size_t)map->trace->block_count + 1) };
	if (!tones->of)
		return false;
	if (view == MAP_VIEW_SIZE || view == MAP_VIEW_AGE) {
		make_scale(map, view, tones);
	} else if (view == MAP_VIEW_THREAD && !map->trace->has_threads) {
		memset(tones->of, MAP_KINDS, map->trace->block_count);
		tones->count = MAP_KINDS + 1;
		tones->rgb = map_color_kind_rgb;
		tones->unknown = true;
	} else if (!make_kinds(map, view, tones)) {
		map_tones_fini(tones);
		return false;
	}
	return true;
}

void map_tones_fini(struct map_tones *tones)
{
	free(tones->of);
	tones->of = NULL;
}
