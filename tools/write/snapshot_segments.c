/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_segments.c - write the state after the last event. Each chunk that ever contained a
 * block is a segment, up to the highest end of a block in it. The segment contains the blocks that
 * were never freed and the free space between them, without gaps.
 *
 * The blocks are sorted by their places in the map, in which chunks follow one another, so each
 * segment gets the next blocks of the list.
 */
#include "write/snapshot.h"

#include <stdlib.h>
#include <string.h>

/* A block that was never freed. */
struct rest {
	uint64_t place; /* in the map */
	uint32_t block;
};

/* Write one block of a segment: block `number`, or free space. */
static void put_space(struct snapshot *snapshot, uint64_t address, uint64_t bytes, uint32_t number)
{
	const struct replay_trace *trace = snapshot->job->trace;
	bool active = number != SNAPSHOT_NOBODY;

	pickle_put_open_dict(&snapshot->put);
	snapshot_put_number(snapshot, "address", snapshot_number(address));
	snapshot_put_number(snapshot, "size", snapshot_number(bytes));
	snapshot_put_number(snapshot, "requested_size",
			    snapshot_number(active ? trace->blocks[number].bytes : 0));
	snapshot_put_word(snapshot, "state", active ? "active_allocated" : "inactive");
	snapshot_put_frames(snapshot, number);
	pickle_put_close_dict(&snapshot->put);
	pickle_put_item(&snapshot->put);
}

/* Write the blocks of a chunk that were never freed, and the free space between them. */
static void put_spaces(struct snapshot *snapshot, const struct map_chunk *chunk,
		       const struct rest *rest, uint32_t count)
{
	const struct map *map = snapshot->job->map;
	uint64_t at = 0;

	pickle_put_word(&snapshot->put, "blocks");
	pickle_put_open_list(&snapshot->put);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t block = rest[i].block;
		uint64_t offset = rest[i].place - chunk->place;

		if (offset > at)
			put_space(snapshot, chunk->base + at, offset - at, SNAPSHOT_NOBODY);
		put_space(snapshot, chunk->base + offset, map->sizes[block], block);
		at = offset + map->sizes[block];
	}
	if (at < chunk->used)
		put_space(snapshot, chunk->base + at, chunk->used - at, SNAPSHOT_NOBODY);
}

static void put_segment(struct snapshot *snapshot, const struct map_chunk *chunk,
			const struct rest *rest, uint32_t count)
{
	const struct export_job *job = snapshot->job;
	uint64_t active = 0, requested = 0;

	for (uint32_t i = 0; i < count; i++) {
		active += job->map->sizes[rest[i].block];
		requested += job->trace->blocks[rest[i].block].bytes;
	}
	pickle_put_open_dict(&snapshot->put);
	snapshot_put_number(snapshot, "device", 0);
	snapshot_put_number(snapshot, "address", snapshot_number(chunk->base));
	snapshot_put_number(snapshot, "total_size", snapshot_number(chunk->used));
	snapshot_put_number(snapshot, "allocated_size", snapshot_number(active));
	snapshot_put_number(snapshot, "active_size", snapshot_number(active));
	snapshot_put_number(snapshot, "requested_size", snapshot_number(requested));
	snapshot_put_number(snapshot, "stream", 0);
	snapshot_put_word(snapshot, "segment_type", "large");
	pickle_put_word(&snapshot->put, "segment_pool_id");
	pickle_put_number(&snapshot->put, 0);
	pickle_put_number(&snapshot->put, 0);
	pickle_put_pair(&snapshot->put);
	snapshot_put_bool(snapshot, "is_expandable", strcmp(job->settings->source, "vmm") == 0);
	snapshot_put_frames(snapshot, SNAPSHOT_NOBODY);
	put_spaces(snapshot, chunk, rest, count);
	pickle_put_close_dict(&snapshot->put);
	pickle_put_item(&snapshot->put);
}

static int compare_places(const void *a, const void *b)
{
	const struct rest *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

/* The blocks that were never freed, by address; the caller frees the array. NULL: out of memory. */
static struct rest *collect_rest(const struct export_job *job, uint32_t *count)
{
	struct rest *rest = malloc(((size_t)job->trace->block_count + 1) * sizeof(*rest));

	*count = 0;
	if (!rest)
		return NULL;
	for (uint32_t i = 0; i < job->trace->block_count; i++)
		if (job->trace->blocks[i].death == REPLAY_ALIVE &&
		    job->map->places[i] != MAP_NOWHERE)
			rest[(*count)++] = (struct rest){ job->map->places[i], i };
	qsort(rest, *count, sizeof(*rest), compare_places);
	return rest;
}

bool snapshot_put_segments(struct snapshot *snapshot)
{
	const struct map *map = snapshot->job->map;
	uint32_t count, from = 0, to = 0;
	struct rest *rest = collect_rest(snapshot->job, &count);

	if (!rest)
		return false;
	pickle_put_word(&snapshot->put, "segments");
	pickle_put_open_list(&snapshot->put);
	for (size_t i = 0; i < map->chunk_count; i++) {
		const struct map_chunk *chunk = &map->chunks[i];

		while (to < count && rest[to].place - chunk->place < chunk->used)
			to++;
		put_segment(snapshot, chunk, rest + from, to - from);
		from = to;
	}
	free(rest);
	return true;
}
