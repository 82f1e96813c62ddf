/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_heap.h - the heap of a map after one event: its blocks by place, and the free blocks between
 * them.
 */
#ifndef TOOLS_MAP_HEAP_H
#define TOOLS_MAP_HEAP_H

#include "map/map.h"

/* A free block: free space below a live block of its chunk. */
struct map_free_block {
	uint64_t place;
	uint64_t bytes;
};

struct map_heap {
	uint32_t *blocks; /* indices of the live blocks, by place */
	size_t block_count;
	struct map_free_block *free_blocks; /* by place */
	size_t free_block_count;
	size_t largest;       /* index of the first of the largest free blocks; 0 without any */
	uint64_t asked_bytes; /* of the live blocks, as requested */
	uint64_t taken_bytes; /* of the live blocks, rounded up */
	uint64_t free_block_bytes;
};

/*
 * map_heap_at - the heap after event `event`. False: out of memory, and nothing needs to be freed.
 */
bool map_heap_at(const struct map *map, uint32_t event, struct map_heap *heap);
void map_heap_fini(struct map_heap *heap);

#endif
