/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_dump_write.c - write a dump: it becomes a trace of one allocation per block, in the order of
 * their addresses, and a heap map in which each block has the place that it has in the process. The
 * writers of `mam replay` do the rest.
 */
#include "ctl/ctl_dump.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/format.h"
#include "kit/message.h"
#include "map/map.h"
#include "map/map_data.h"
#include "write/export.h"

static const struct kind {
	const char *suffix;
	bool is_map;
} kinds[] = {
	{ ".html", true },   { ".svg", true },       { ".pickle", false },
	{ ".trace", false }, { ".trace.gz", false },
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

/* The kind of a file that ctl_dump_known() has accepted. */
static const struct kind *kind_of(const char *path)
{
	const struct kind *kind = find_kind(path);

	assert(kind != NULL);
	return kind;
}

bool ctl_dump_known(const char *path)
{
	if (!find_kind(path))
		message_error(
			"cannot write a dump to '%s': the suffix must be .html, .svg, .pickle, "
			".trace or .trace.gz",
			path);
	else if (strchr(path, ',')) /* it separates files for the writers of mam replay */
		message_error("cannot write a dump to '%s': the name contains a comma", path);
	else
		return true;
	return false;
}

static void fill_trace(const struct ctl_dump *dump, struct replay_trace *trace)
{
	uint32_t count = 0;

	for (size_t i = 0; i < dump->chunk_count; i++) {
		const struct ctl_dump_chunk *chunk = &dump->chunks[i];

		for (size_t j = 0; chunk->device == trace->device && j < chunk->count; j++) {
			const struct ctl_dump_block *block = &dump->blocks[chunk->first + j];

			trace->events[count] = count << 1;
			trace->lines[count] = count + 1;
			trace->blocks[count] = (struct replay_block){
				.id = count,
				.bytes = block->requested ? block->requested : block->bytes,
				.birth = count,
				.death = REPLAY_ALIVE,
			};
			if (trace->origins)
				trace->origins[count].who = block->tag;
			count++;
		}
	}
	trace->event_count = trace->block_count = count;
	trace->peak_event = count ? count - 1 : 0;
}

/* False: out of memory (reported). */
static bool make_trace(const struct ctl_dump *dump, struct replay_trace *trace)
{
	trace->events = calloc(dump->block_count + 1, sizeof(*trace->events));
	trace->lines = calloc(dump->block_count + 1, sizeof(*trace->lines));
	trace->blocks = calloc(dump->block_count + 1, sizeof(*trace->blocks));
	if (dump->has_tags) {
		trace->origins = calloc(dump->block_count + 1, sizeof(*trace->origins));
		trace->names = dump->tags.texts;
		trace->name_count = dump->tags.count;
	}
	if (!trace->events || !trace->lines || !trace->blocks ||
	    (dump->has_tags && !trace->origins)) {
		message_error("out of memory");
		return false;
	}
	fill_trace(dump, trace);
	return true;
}

/* The blocks of one chunk; `number` is the first one's in the trace. */
static void place_blocks(const struct ctl_dump *dump, const struct ctl_dump_chunk *from,
			 uint32_t number, struct map_chunk *chunk, struct map *map)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct ctl_dump_block *block = &dump->blocks[from->first + i];

		map->places[number + i] = chunk->place + (block->base - chunk->base);
		map->sizes[number + i] = block->bytes;
		chunk->used = block->base - chunk->base + block->bytes;
	}
}

static void fill_map(const struct ctl_dump *dump, struct map *map)
{
	uint64_t place = 0, used = 0;
	uint32_t number = 0;

	for (size_t i = 0; i < dump->chunk_count; i++) {
		const struct ctl_dump_chunk *from = &dump->chunks[i];
		struct map_chunk *chunk = &map->chunks[map->chunk_count];

		if (from->device != map->trace->device)
			continue;
		*chunk = (struct map_chunk){ .base = from->base,
					     .bytes = from->bytes,
					     .place = place };
		place_blocks(dump, from, number, chunk, map);
		number += (uint32_t)from->count;
		place += from->bytes;
		used += chunk->used;
		map->chunk_count++;
	}
	map->steps[0] = (struct map_step){ .reserved_bytes = place,
					   .high_water_bytes = used,
					   .physical_bytes = place };
	map->step_count = map->step_room = 1;
	map_finish(map);
}

/* NULL: out of memory (reported). */
static struct map *make_map(const struct ctl_dump *dump, const struct replay_trace *trace)
{
	struct map *map = map_create(trace);

	if (!map)
		return NULL;
	map->chunks = calloc(dump->chunk_count + 1, sizeof(*map->chunks));
	map->steps = calloc(1, sizeof(*map->steps));
	if (!map->chunks || !map->steps) {
		message_error("out of memory");
		map_destroy(map);
		return NULL;
	}
	fill_map(dump, map);
	return map;
}

static struct replay_settings settings_of(const struct ctl_dump *dump, const struct map *map,
					  const char *path)
{
	struct replay_settings settings;

	replay_settings_begin(&settings);
	settings.source = "unknown";
	for (size_t i = dump->chunk_count; i-- > 0;)
		if (dump->chunks[i].device == map->trace->device)
			settings.source = dump->chunks[i].source;
	settings.granule = map_data_unit(map);
	settings.growth_bytes = 0;
	settings.view = "strip";
	settings.map = path;
	return settings;
}

static struct replay_result result_of(const struct map *map)
{
	struct replay_result result = { .trace = map->trace };
	uint64_t live = 0;

	for (uint32_t i = 0; i < map->trace->block_count; i++)
		live += map->trace->blocks[i].bytes;
	result.end.peak_live_bytes = result.end.live_bytes = live;
	result.end.high_water_bytes = map->steps[0].high_water_bytes;
	result.high_water_ratio = format_quotient(result.end.high_water_bytes, live);
	return result;
}

static bool write_map(const struct ctl_dump *dump, const struct map *map, const char *path)
{
	const struct replay_settings settings = settings_of(dump, map, path);
	const struct replay_result result = result_of(map);
	bool good = kind_of(path)->is_map ? map_write(map, &settings, &result, path)
					  : export_write(map, &settings, path);

	if (good)
		printf("%s: %s, %s\n", path, format_counted(map->trace->block_count, "block").text,
		       format_bytes(result.end.live_bytes).text);
	return good;
}

static bool write_device(const struct ctl_dump *dump, const struct replay_trace *heading,
			 const char *path)
{
	struct replay_trace trace = *heading;
	struct map *map = NULL;
	bool good = false;

	if (make_trace(dump, &trace))
		map = make_map(dump, &trace);
	if (map)
		good = write_map(dump, map, path);
	map_destroy(map);
	free(trace.events);
	free(trace.lines);
	free(trace.blocks);
	free(trace.origins);
	return good;
}

static uint64_t devices_of(const struct ctl_dump *dump)
{
	uint64_t devices = 0;

	for (size_t i = 0; i < dump->chunk_count; i++)
		if (dump->chunks[i].count)
			devices |= UINT64_C(1) << dump->chunks[i].device;
	return devices;
}

bool ctl_dump_write(const struct ctl_dump *dump, const char *title, const char *path)
{
	struct replay_trace heading = { .path = title, .place = "block", .stream_count = 1 };
	const char *suffix = kind_of(path)->suffix;
	const uint64_t devices = devices_of(dump);
	const size_t bytes = strlen(path) + 8;
	char *name = malloc(bytes);
	bool good = name && devices;

	if (!good)
		message_error(name ? "the process has no live blocks" : "out of memory");
	heading.device_count = (uint64_t)__builtin_popcountll(devices);
	for (uint32_t device = 0; good && device < CTL_DUMP_DEVICES_MAX; device++) {
		if ((devices >> device & 1) == 0)
			continue;
		heading.device = device;
		if (heading.device_count == 1)
			snprintf(name, bytes, "%s", path);
		else
			snprintf(name, bytes, "%.*s.%u%s", (int)(strlen(path) - strlen(suffix)),
				 path, device, suffix);
		good = write_device(dump, &heading, name);
	}
	free(name);
	return good;
}
