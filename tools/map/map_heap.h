/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_heap.h - the heap of a map after one event: its blocks by place, and the holes between them.
 */
#ifndef TOOLS_MAP_HEAP_H
#define TOOLS_MAP_HEAP_H

#include "map/map.h"

/* Free ground with a block above it in its chunk. */
struct map_hole {
	uint64_t place;
	uint64_t bytes;
};

struct map_heap {
	uint32_t *blocks; /* numbers of the live ones, from the lowest place up */
	size_t block_count;
	struct map_hole *holes; /* from the lowest place up */
	size_t hole_count;
	size_t largest;       /* number of the first of the largest holes; 0 without holes */
	uint64_t asked_bytes; /* of the live blocks, as asked for */
	uint64_t taken_bytes; /* as cut */
	uint64_t hole_bytes;
};

/* map_heap_at - after event `event`. False: no memory, nothing to give back. */
bool map_heap_at(const struct map *map, uint32_t event, struct map_heap *heap);
void map_heap_fini(struct map_heap *heap);

#endif
