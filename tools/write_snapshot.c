/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_snapshot.c - a replay as a snapshot of memory, as PyTorch's allocator would give it.
 *
 * 1. `segments`, what there is after the last event: one for each chunk that a block ever lay in,
 *    as long as it was used; in it its blocks, and what lies between them, without a gap.
 * 2. `device_traces`, what happened: each event of the trace at the address its block had here.
 *    Before the first block of a chunk stands segment_alloc, and an allocation that failed is oom.
 *    A free has its two halves at once: PyTorch asks for it and later has it; here the pool's plan
 *    of streams decides, and no block of another one comes to lie there before.
 *
 * Viewers go backwards from the segments through the trace, so that both must fit together: every
 * block lies in a segment at any time. Blocks of size 0 have no address and are left out.
 *
 * Who asked is a stack of one frame: FILE:LINE:NAME or FILE:LINE comes apart, all else is a name.
 * A stack is spelt out once. Times are microseconds.
 */
#include "export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "pickle_put.h"

/* A block that was never freed. */
struct rest {
	uint64_t place; /* in the map */
	uint32_t block;
};

struct snapshot {
	const struct export *export;
	struct pickle_put put;
	struct rest *rest; /* blocks that were never freed, the lowest first */
	uint32_t rest_count;
	bool *is_spelt; /* of each name: its stack was put */
	bool *is_open;  /* of each chunk: its segment_alloc was put */
};

static int64_t at_most(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

static void put_key_number(struct snapshot *snapshot, const char *key, int64_t number)
{
	pickle_put_word(&snapshot->put, key);
	pickle_put_number(&snapshot->put, number);
}

static void put_key_word(struct snapshot *snapshot, const char *key, const char *word)
{
	pickle_put_word(&snapshot->put, key);
	pickle_put_word(&snapshot->put, word);
}

static void put_key_bool(struct snapshot *snapshot, const char *key, bool is)
{
	pickle_put_word(&snapshot->put, key);
	pickle_put_bool(&snapshot->put, is);
}

/* FILE:LINE:NAME, FILE:LINE or NAME, taken apart in place. */
static void split_who(char *who, const char **file, int64_t *line, const char **name)
{
	for (char *colon = strchr(who, ':'); colon; colon = strchr(colon + 1, ':')) {
		size_t digits = strspn(colon + 1, "0123456789");
		char *end = colon + 1 + digits;

		if (digits == 0 || digits > 9 || (*end != ':' && *end != '\0') || colon == who)
			continue;
		*line = strtol(colon + 1, NULL, 10);
		*name = *end ? end + 1 : "";
		*file = who;
		*colon = '\0';
		return;
	}
	*file = "";
	*line = 0;
	*name = who;
}

static void put_frame(struct snapshot *snapshot, const char *who)
{
	char *copy = strdup(who);
	const char *file, *name;
	int64_t line;

	if (!copy) {
		snapshot->put.no_memory = true;
		return;
	}
	split_who(copy, &file, &line, &name);
	pickle_put_open_dict(&snapshot->put);
	pickle_put_word(&snapshot->put, "filename");
	pickle_put_word(&snapshot->put, file);
	put_key_number(snapshot, "line", line);
	pickle_put_word(&snapshot->put, "name");
	pickle_put_word(&snapshot->put, name);
	pickle_put_close_dict(&snapshot->put);
	free(copy);
}

/* The stack of a block, or an empty one. */
static void put_frames(struct snapshot *snapshot, uint32_t block)
{
	const struct replay_trace *trace = snapshot->export->trace;
	uint32_t who = trace->origins ? trace->origins[block].who : 0;

	pickle_put_word(&snapshot->put, "frames");
	if (who == 0) {
		pickle_put_open_list(&snapshot->put);
	} else if (snapshot->is_spelt[who]) {
		pickle_put_again(&snapshot->put, who);
	} else {
		pickle_put_open_list(&snapshot->put);
		put_frame(snapshot, trace->names[who]);
		pickle_put_item(&snapshot->put);
		pickle_put_keep(&snapshot->put, who);
		snapshot->is_spelt[who] = true;
	}
}

/* One block of a segment: of block `number`, or of nobody's ground. */
static void put_ground(struct snapshot *snapshot, uint64_t address, uint64_t bytes, uint32_t number)
{
	const struct replay_trace *trace = snapshot->export->trace;
	bool active = number != REPLAY_NOBODY;

	pickle_put_open_dict(&snapshot->put);
	put_key_number(snapshot, "address", at_most(address));
	put_key_number(snapshot, "size", at_most(bytes));
	put_key_number(snapshot, "requested_size",
		       at_most(active ? trace->blocks[number].bytes : 0));
	put_key_word(snapshot, "state", active ? "active_allocated" : "inactive");
	if (active) {
		put_frames(snapshot, number);
	} else {
		pickle_put_word(&snapshot->put, "frames");
		pickle_put_open_list(&snapshot->put);
	}
	pickle_put_close_dict(&snapshot->put);
	pickle_put_item(&snapshot->put);
}

/* The blocks of one chunk, from number `first` of those that were never freed; the next number. */
static uint32_t put_grounds(struct snapshot *snapshot, const struct map_chunk *chunk,
			    uint32_t first)
{
	const struct map *map = snapshot->export->map;
	uint64_t at = 0;
	uint32_t i = first;

	pickle_put_word(&snapshot->put, "blocks");
	pickle_put_open_list(&snapshot->put);
	for (; i < snapshot->rest_count; i++) {
		uint32_t block = snapshot->rest[i].block;
		uint64_t offset = snapshot->rest[i].place - chunk->place;

		if (offset >= chunk->used)
			break;
		if (offset > at)
			put_ground(snapshot, chunk->base + at, offset - at, REPLAY_NOBODY);
		put_ground(snapshot, chunk->base + offset, map->sizes[block], block);
		at = offset + map->sizes[block];
	}
	if (at < chunk->used)
		put_ground(snapshot, chunk->base + at, chunk->used - at, REPLAY_NOBODY);
	return i;
}

static uint32_t put_segment(struct snapshot *snapshot, const struct map_chunk *chunk,
			    uint32_t first)
{
	const struct export *export = snapshot->export;
	uint64_t active = 0, requested = 0;

	for (uint32_t i = first; i < snapshot->rest_count; i++) {
		uint32_t block = snapshot->rest[i].block;

		if (snapshot->rest[i].place - chunk->place >= chunk->used)
			break;
		active += export->map->sizes[block];
		requested += export->trace->blocks[block].bytes;
	}
	pickle_put_open_dict(&snapshot->put);
	put_key_number(snapshot, "device", 0);
	put_key_number(snapshot, "address", at_most(chunk->base));
	put_key_number(snapshot, "total_size", at_most(chunk->used));
	put_key_number(snapshot, "allocated_size", at_most(active));
	put_key_number(snapshot, "active_size", at_most(active));
	put_key_number(snapshot, "requested_size", at_most(requested));
	put_key_number(snapshot, "stream", 0);
	put_key_word(snapshot, "segment_type", "large");
	pickle_put_word(&snapshot->put, "segment_pool_id");
	pickle_put_number(&snapshot->put, 0);
	pickle_put_number(&snapshot->put, 0);
	pickle_put_pair(&snapshot->put);
	put_key_bool(snapshot, "is_expandable", strcmp(export->settings->source, "vmm") == 0);
	pickle_put_word(&snapshot->put, "frames");
	pickle_put_open_list(&snapshot->put);
	first = put_grounds(snapshot, chunk, first);
	pickle_put_close_dict(&snapshot->put);
	pickle_put_item(&snapshot->put);
	return first;
}

static void put_segments(struct snapshot *snapshot)
{
	const struct map *map = snapshot->export->map;
	uint32_t next = 0;

	pickle_put_word(&snapshot->put, "segments");
	pickle_put_open_list(&snapshot->put);
	for (size_t i = 0; i < map->chunk_count; i++)
		next = put_segment(snapshot, &map->chunks[i], next);
}

static void put_entry(struct snapshot *snapshot, const char *action, uint64_t address,
		      uint64_t bytes, uint64_t stream, uint32_t event)
{
	pickle_put_open_dict(&snapshot->put);
	put_key_word(snapshot, "action", action);
	put_key_number(snapshot, strcmp(action, "oom") == 0 ? "device_free" : "addr",
		       at_most(address));
	put_key_number(snapshot, "size", at_most(bytes));
	put_key_number(snapshot, "stream", (int64_t)stream);
	put_key_number(snapshot, "time_us",
		       at_most(export_ns(snapshot->export->trace, event) / 1000));
}

static void end_entry(struct snapshot *snapshot, uint32_t block)
{
	if (block != REPLAY_NOBODY) {
		put_frames(snapshot, block);
	} else {
		pickle_put_word(&snapshot->put, "frames");
		pickle_put_open_list(&snapshot->put);
	}
	pickle_put_close_dict(&snapshot->put);
	pickle_put_item(&snapshot->put);
}

/* What the viewer shows beside a block: how the trace called it, and where. */
static void put_label(struct snapshot *snapshot, uint32_t number)
{
	const struct replay_trace *trace = snapshot->export->trace;
	const struct replay_block *block = &trace->blocks[number];
	char text[120];
	int length;

	length = snprintf(text, sizeof(text), "block %" PRIu64 ", %s %" PRIu32, block->id,
			  trace->place, trace->lines[block->birth]);
	if (trace->has_threads && length < (int)sizeof(text))
		snprintf(text + length, sizeof(text) - (size_t)length, ", thread %" PRIu64,
			 trace->origins[number].thread);
	pickle_put_word(&snapshot->put, "user_metadata");
	pickle_put_text(&snapshot->put, text);
}

static void put_event(struct snapshot *snapshot, uint32_t event)
{
	static const char *const halves[] = { "free_requested", "free_completed" };
	const struct export *export = snapshot->export;
	const struct map *map = export->map;
	uint32_t what = export->trace->events[event], number = what >> 1;
	const struct replay_block *block = &export->trace->blocks[number];
	const struct map_chunk *chunk;
	uint64_t address;

	if (map->places[number] == MAP_NOWHERE) {
		if (!(what & 1) && block->bytes > 0) {
			put_entry(snapshot, "oom", 0, block->bytes, block->stream, event);
			end_entry(snapshot, number);
		}
		return;
	}
	address = export_address(map, number);
	if (what & 1) {
		uint64_t stream = export->trace->free_streams ? export->trace->free_streams[number]
							      : block->stream;

		for (int i = 0; i < 2; i++) {
			put_entry(snapshot, halves[i], address, block->bytes, stream, event);
			end_entry(snapshot, number);
		}
		return;
	}
	chunk = map_chunk_of(map, map->places[number]);
	if (!snapshot->is_open[chunk - map->chunks]) {
		snapshot->is_open[chunk - map->chunks] = true;
		put_entry(snapshot, "segment_alloc", chunk->base, chunk->used, 0, event);
		end_entry(snapshot, REPLAY_NOBODY);
	}
	put_entry(snapshot, "alloc", address, block->bytes, block->stream, event);
	put_label(snapshot, number);
	end_entry(snapshot, number);
}

static void put_traces(struct snapshot *snapshot)
{
	pickle_put_word(&snapshot->put, "device_traces");
	pickle_put_open_list(&snapshot->put);
	pickle_put_open_list(&snapshot->put);
	for (uint32_t event = 0; event < snapshot->export->trace->event_count; event++) {
		export_progress(snapshot->export, event);
		put_event(snapshot, event);
	}
	pickle_put_item(&snapshot->put);
}

/* PyTorch's settings, as far as they say something here, and whence all this is. */
static void put_settings(struct snapshot *snapshot)
{
	const struct export *export = snapshot->export;

	pickle_put_word(&snapshot->put, "allocator_settings");
	pickle_put_open_dict(&snapshot->put);
	put_key_word(snapshot, "PYTORCH_CUDA_ALLOC_CONF", "");
	put_key_bool(snapshot, "expandable_segments", strcmp(export->settings->source, "vmm") == 0);
	put_key_word(snapshot, "mam", mam_version());
	put_key_word(snapshot, "mam_trace", format_name(export->trace->path, 39).text);
	put_key_word(snapshot, "mam_source", export->settings->source);
	pickle_put_close_dict(&snapshot->put);
	pickle_put_word(&snapshot->put, "external_annotations");
	pickle_put_open_list(&snapshot->put);
}

static int compare_places(const void *a, const void *b)
{
	const struct rest *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

/* Find the blocks that were never freed. */
static void collect_rest(struct snapshot *snapshot)
{
	const struct export *export = snapshot->export;

	for (uint32_t i = 0; i < export->trace->block_count; i++)
		if (export->trace->blocks[i].death == REPLAY_ALIVE &&
		    export->map->places[i] != MAP_NOWHERE)
			snapshot->rest[snapshot->rest_count++] =
				(struct rest){ export->map->places[i], i };
	qsort(snapshot->rest, snapshot->rest_count, sizeof(*snapshot->rest), compare_places);
}

bool write_snapshot(const struct export *export)
{
	struct snapshot snapshot = { .export = export };
	bool good = false;

	snapshot.rest = malloc(((size_t)export->trace->block_count + 1) * sizeof(*snapshot.rest));
	snapshot.is_spelt = calloc((size_t)export->trace->name_count + 1, sizeof(bool));
	snapshot.is_open = calloc(export->map->chunk_count + 1, sizeof(bool));
	if (snapshot.rest && snapshot.is_spelt && snapshot.is_open &&
	    pickle_put_begin(&snapshot.put, export->file)) {
		collect_rest(&snapshot);
		pickle_put_open_dict(&snapshot.put);
		put_segments(&snapshot);
		put_traces(&snapshot);
		put_settings(&snapshot);
		pickle_put_close_dict(&snapshot.put);
		good = pickle_put_end(&snapshot.put);
	}
	free(snapshot.rest);
	free(snapshot.is_spelt);
	free(snapshot.is_open);
	return good;
}
