/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - the heap map: a picture of where and when each block of a replay was placed.
 *
 *   map.c        records the places while the replay runs, and writes the file
 *   map_html.c   an interactive page; its parts are in map/
 *   map_svg.c    static pictures of its views (svg_view.h)
 *   map_color.c  the color of a size, in both
 *
 * In the picture, chunks are stacked in the order of their first use, independent of their
 * addresses. A chunk that is mostly unused address range (a source that maps on demand reserves a
 * lot) is shown only up to its highest block.
 */
#ifndef TOOLS_MAP_H
#define TOOLS_MAP_H

#include <stdio.h>

#include "replay/replay.h"

struct replay_stacks;

#define MAP_NOWHERE UINT64_MAX /* as the place of a block: none */

struct map_chunk {
	uint64_t base; /* its address */
	uint64_t bytes;
	uint64_t place; /* its start in the picture */
	uint64_t used;  /* the highest end of a block in it, relative to its base */
	uint64_t shown; /* bytes of it in the picture, from its base */
	uint64_t down;  /* for map_finish(): how far it moves */
};

/* The state from event `event` on until the next step. */
struct map_step {
	uint32_t event;
	uint64_t reserved_bytes;
	uint64_t high_water_bytes;
	uint64_t physical_bytes; /* allocated from the driver; for chunks, the reserved bytes */
	uint64_t waits;          /* count: waits for all streams so far */
};

struct map {
	const struct replay_trace *trace;
	struct replay_stacks *stacks; /* NULL: unknown, or not needed */
	uint64_t *places; /* of each block, in the picture; MAP_NOWHERE: failed, or size 0 */
	uint64_t *sizes;  /* of each block, rounded up; 0: not placed */
	struct map_chunk *chunks;
	size_t chunk_count;
	struct map_step *steps; /* only events that changed one of its numbers */
	size_t step_count;
	size_t step_room;
	uint64_t top; /* the end of the highest block in the picture */
};

/* map_kind_known - whether the suffix of a file name is that of a map. False: no (reported). */
bool map_kind_known(const char *path);

/* map_create - NULL: out of memory (reported). */
struct map *map_create(const struct replay_trace *trace);
void map_destroy(struct map *map);

/*
 * map_note - record that event `event` was played; `address` is that of the block that it
 * allocated, or NULL; `waits` is as in a step. False: out of memory (reported).
 */
bool map_note(struct map *map, uint32_t event, struct mam_pool *pool, const void *address,
	      uint64_t waits);

/* map_finish - call it after the replay: cut the unused parts of chunks from the picture. */
void map_finish(struct map *map);

/*
 * map_write - draw the map into `path`, completely or not at all. False: the file is not writable
 * (reported).
 */
bool map_write(const struct map *map, const struct replay_settings *settings,
	       const struct replay_result *result, const char *path);

/* The two formats. False: writing failed, and errno has the reason. */
bool map_html(FILE *file, const struct map *map, const struct replay_settings *settings,
	      const struct replay_result *result);
bool map_svg(FILE *file, const struct map *map, const struct replay_settings *settings,
	     const struct replay_result *result);

/* map_chunk_of - the chunk that contains a place of the picture. */
const struct map_chunk *map_chunk_of(const struct map *map, uint64_t place);

#endif
