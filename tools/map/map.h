/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - the heap map: where each block of a replay lay and when, as a picture.
 *
 *   map.c        collects it while the replay runs, and writes the file
 *   map_html.c   a page to look into; its parts lie in map/
 *   map_svg.c    stills of its views (svg_view.h)
 *   map_color.c  which colour a size has, in both
 *
 * Chunks lie one upon the other in the picture, in the order of their first use, wherever the
 * source really put them. One that is mostly a range of addresses nobody used (a source that maps
 * as it goes reserves many) is in the picture up to its highest block alone.
 */
#ifndef TOOLS_MAP_H
#define TOOLS_MAP_H

#include <stdio.h>

#include "replay/replay.h"

#define MAP_NOWHERE UINT64_MAX /* as the place of a block: it has none */

struct map_chunk {
	uint64_t base; /* its address */
	uint64_t bytes;
	uint64_t place; /* where it begins in the picture */
	uint64_t used;  /* the highest end of a block in it, from its base */
	uint64_t shown; /* bytes of it in the picture, from its base */
	uint64_t down;  /* map_settle's: how far it moves */
};

/* From event `event` on, until the next step. */
struct map_step {
	uint32_t event;
	uint64_t reserved_bytes;
	uint64_t high_water_bytes;
	uint64_t physical_bytes; /* what the driver gave; of chunks, what is reserved */
	uint64_t waits; /* count: times so far that all streams were waited for */
};

struct map {
	const struct replay_trace *trace;
	uint64_t *places; /* of each block, in the picture; MAP_NOWHERE: failed or of size 0 */
	uint64_t *sizes;  /* of each block, rounded up; 0: nowhere */
	struct map_chunk *chunks;
	size_t chunk_count;
	struct map_step *steps; /* only where one of its numbers changed */
	size_t step_count;
	size_t step_room;
	uint64_t top; /* where the highest block ends in the picture */
};

/* map_kind_known - may a map go into a file of this name? False: no, and that was said. */
bool map_kind_known(const char *path);

/* map_create - NULL: no memory, which was said. */
struct map *map_create(const struct replay_trace *trace);
void map_destroy(struct map *map);

/*
 * map_note - event `event` was played; `address` is of the block it allocated, or NULL; `waits`:
 * as in a step. False: no memory, which was said.
 */
bool map_note(struct map *map, uint32_t event, struct mam_pool *pool, const void *address,
	      uint64_t waits);

/* map_settle - the replay is over: cut from the picture what of chunks was never used. */
void map_settle(struct map *map);

/*
 * map_write - draw it into `path`, whole or not at all. False: it cannot be written, which was
 * said.
 */
bool map_write(const struct map *map, const struct replay_settings *settings,
	       const struct replay_result *result, const char *path);

/* The two kinds of picture. False: writing failed, errno says why. */
bool map_html(FILE *file, const struct map *map, const struct replay_settings *settings,
	      const struct replay_result *result);
bool map_svg(FILE *file, const struct map *map, const struct replay_settings *settings,
	     const struct replay_result *result);

/* map_chunk_of - the chunk a place of the picture lies in. */
const struct map_chunk *map_chunk_of(const struct map *map, uint64_t place);

#endif
