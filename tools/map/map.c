/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.c - record where each block of a replay was placed, and write the picture's file.
 *
 * 1. After an allocation, query the pool for the block's segment, and record its place: its chunk's
 *    place in the picture plus its offset in the chunk.
 * 2. After each event, record the pool's own counts if they changed.
 * 3. At the end, cut off the unused parts of chunks that were hardly used, and move everything
 *    above them down.
 * 4. Write the picture, completely or not at all (whole_file.h).
 */
#include "map/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kit/message.h"
#include "kit/whole_file.h"
#include "replay/replay_stacks.h"

#define CHUNKS_STEP 16
#define UNUSED_SHARE 8 /* a chunk that was used to less than this fraction is cut */

/* The formats, by the suffix of the file name. */
static const struct kind {
	const char *suffix;
	bool (*draw)(FILE *file, const struct map *map, const struct replay_settings *settings,
		     const struct replay_result *result);
} kinds[] = {
	{ ".html", map_html },
	{ ".svg", map_svg },
};

static const struct kind *find_kind(const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t bytes = strlen(kinds[i].suffix);

		if (length > bytes && strcmp(path + length - bytes, kinds[i].suffix) == 0)
			return &kinds[i];
	}
	return NULL;
}

bool map_kind_known(const char *path)
{
	if (!find_kind(path))
		message_error("cannot draw a map to '%s': the suffix must be .html or .svg", path);
	return find_kind(path) != NULL;
}

static void *say_no_memory(void)
{
	message_error("out of memory for the map");
	return NULL;
}

struct map *map_create(const struct replay_trace *trace)
{
	struct map *map = calloc(1, sizeof(*map));

	if (!map)
		return say_no_memory();
	map->trace = trace;
	map->places = malloc(((size_t)trace->block_count + 1) * sizeof(*map->places));
	map->sizes = calloc((size_t)trace->block_count + 1, sizeof(*map->sizes));
	if (!map->places || !map->sizes) {
		map_destroy(map);
		return say_no_memory();
	}
	for (uint32_t i = 0; i < trace->block_count; i++)
		map->places[i] = MAP_NOWHERE;
	return map;
}

void map_destroy(struct map *map)
{
	if (!map)
		return;
	replay_stacks_destroy(map->stacks);
	free(map->places);
	free(map->sizes);
	free(map->chunks);
	free(map->steps);
	free(map);
}

const struct map_chunk *map_chunk_of(const struct map *map, uint64_t place)
{
	const struct map_chunk *chunk = map->chunks + map->chunk_count - 1;

	while (chunk > map->chunks && place < chunk->place)
		chunk--;
	return chunk;
}

/* The chunk of a block, added if it is new. The newest one is the likeliest. */
static struct map_chunk *place_chunk(struct map *map, const struct mam_segment_info *segment)
{
	struct map_chunk *chunk;

	for (size_t i = map->chunk_count; i-- > 0;)
		if (map->chunks[i].base == (uintptr_t)segment->chunk_base)
			return &map->chunks[i];
	if (map->chunk_count % CHUNKS_STEP == 0) {
		chunk = realloc(map->chunks, (map->chunk_count + CHUNKS_STEP) * sizeof(*chunk));
		if (!chunk)
			return NULL;
		map->chunks = chunk;
	}
	chunk = &map->chunks[map->chunk_count];
	*chunk = (struct map_chunk){ .base = (uintptr_t)segment->chunk_base,
				     .bytes = segment->chunk_bytes };
	if (map->chunk_count)
		chunk->place = chunk[-1].place + chunk[-1].bytes;
	map->chunk_count++;
	return chunk;
}

static bool note_block(struct map *map, uint32_t block, const void *address)
{
	struct mam_segment_info segment = { .size = sizeof(segment) };
	struct map_chunk *chunk;
	uint64_t end;

	if (mam_owner(address, NULL, &segment) != MAM_OK)
		return true; /* the source returned memory that it does not own: skip the block */
	chunk = place_chunk(map, &segment);
	if (!chunk)
		return false;
	end = (uintptr_t)segment.base + segment.bytes - chunk->base;
	if (end > chunk->used)
		chunk->used = end;
	if (chunk->place + end > map->top)
		map->top = chunk->place + end;
	map->places[block] = chunk->place + (uintptr_t)segment.base - chunk->base;
	map->sizes[block] = segment.bytes;
	return true;
}

static bool note_step(struct map *map, uint32_t event, struct mam_pool *pool, uint64_t waits)
{
	const struct map_step *last = map->step_count ? &map->steps[map->step_count - 1] : NULL;
	struct mam_stats stats = { .size = sizeof(stats) };
	struct map_step *wider;

	if (mam_pool_stats(pool, &stats) != MAM_OK)
		return true;
	if (last && last->reserved_bytes == stats.reserved_bytes &&
	    last->high_water_bytes == stats.high_water_bytes &&
	    last->physical_bytes == stats.physical_bytes && last->waits == waits)
		return true;
	if (map->step_count == map->step_room) {
		size_t room = map->step_room ? 2 * map->step_room : 256;

		wider = realloc(map->steps, room * sizeof(*wider));
		if (!wider)
			return false;
		map->steps = wider;
		map->step_room = room;
	}
	map->steps[map->step_count++] = (struct map_step){
		.event = event,
		.reserved_bytes = stats.reserved_bytes,
		.high_water_bytes = stats.high_water_bytes,
		.physical_bytes = stats.physical_bytes,
		.waits = waits,
	};
	return true;
}

bool map_note(struct map *map, uint32_t event, struct mam_pool *pool, const void *address,
	      uint64_t waits)
{
	if (address && !note_block(map, map->trace->events[event] >> 1, address)) {
		say_no_memory();
		return false;
	}
	if (!note_step(map, event, pool, waits)) {
		say_no_memory();
		return false;
	}
	return true;
}

void map_finish(struct map *map)
{
	uint64_t place = 0;

	for (size_t i = 0; i < map->chunk_count; i++) {
		struct map_chunk *chunk = &map->chunks[i];

		chunk->shown =
			chunk->used < chunk->bytes / UNUSED_SHARE ? chunk->used : chunk->bytes;
		chunk->down = chunk->place - place;
		place += chunk->shown;
	}
	for (uint32_t i = 0; i < map->trace->block_count; i++)
		if (map->places[i] != MAP_NOWHERE)
			map->places[i] -= map_chunk_of(map, map->places[i])->down;
	map->top = 0;
	for (size_t i = 0; i < map->chunk_count; i++) {
		struct map_chunk *chunk = &map->chunks[i];

		chunk->place -= chunk->down;
		if (chunk->used)
			map->top = chunk->place + chunk->used;
	}
}

bool map_write(const struct map *map, const struct replay_settings *settings,
	       const struct replay_result *result, const char *path)
{
	const struct kind *kind = find_kind(path);
	struct whole_file whole;
	FILE *file = whole_file_open(&whole, path, "a map");

	assert(kind != NULL); /* map_kind_known() */
	return file && whole_file_close(&whole, kind->draw(file, map, settings, result));
}
