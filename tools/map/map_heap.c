/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_heap.c - the heap of a map after one event: its blocks by place, and the free blocks between
 * them.
 *
 * 1. Collect the blocks that were allocated at that event or before and not yet freed, and sort
 *    them by place.
 * 2. Scan them and the chunks from the lowest place up: the range between the end of all blocks
 *    below (or the start of the chunk) and the next block is a free block. Free space above a
 *    chunk's last block is not counted.
 *
 * O(blocks + live log live). At most one free block ends at each live block.
 */
#include "map/map_heap.h"

#include <stdlib.h>

struct entry {
	uint64_t place;
	uint32_t block;
};

static int by_place(const void *a, const void *b)
{
	uint64_t one = ((const struct entry *)a)->place, other = ((const struct entry *)b)->place;

	return (one > other) - (one < other);
}

static bool is_live(const struct map *map, uint32_t block, uint32_t event)
{
	const struct replay_block *b = &map->trace->blocks[block];

	return map->sizes[block] && b->birth <= event &&
	       (b->death == REPLAY_ALIVE || b->death > event);
}

static size_t count_live(const struct map *map, uint32_t event)
{
	size_t count = 0;

	for (uint32_t i = 0; i < map->trace->block_count; i++)
		count += is_live(map, i, event);
	return count;
}

static void list_live(const struct map *map, uint32_t event, struct entry *entries)
{
	for (uint32_t i = 0; i < map->trace->block_count; i++)
		if (is_live(map, i, event))
			*entries++ = (struct entry){ map->places[i], i };
}

static void add_free_block(struct map_heap *heap, uint64_t low, uint64_t high)
{
	if (high - low > (heap->free_block_count ? heap->free_blocks[heap->largest].bytes : 0))
		heap->largest = heap->free_block_count;
	heap->free_blocks[heap->free_block_count++] = (struct map_free_block){ low, high - low };
	heap->free_block_bytes += high - low;
}

static void walk_up(const struct map *map, const struct entry *entries, struct map_heap *heap)
{
	uint64_t above = 0;
	size_t chunk = 0;

	for (size_t i = 0; i < heap->block_count; i++) {
		uint64_t low = entries[i].place, end = low + map->sizes[entries[i].block];

		for (; chunk < map->chunk_count && low >= map->chunks[chunk].place; chunk++)
			above = map->chunks[chunk].place;
		if (low > above)
			add_free_block(heap, above, low);
		if (end > above)
			above = end;
		heap->blocks[i] = entries[i].block;
		heap->asked_bytes += map->trace->blocks[entries[i].block].bytes;
		heap->taken_bytes += map->sizes[entries[i].block];
	}
}

bool map_heap_at(const struct map *map, uint32_t event, struct map_heap *heap)
{
	size_t count = count_live(map, event);
	struct entry *entries = malloc((count + 1) * sizeof(*entries));

	*heap = (struct map_heap){ .block_count = count };
	heap->blocks = malloc((count + 1) * sizeof(*heap->blocks));
	heap->free_blocks = malloc((count + 1) * sizeof(*heap->free_blocks));
	if (!entries || !heap->blocks || !heap->free_blocks) {
		free(entries);
		map_heap_fini(heap);
		return false;
	}
	list_live(map, event, entries);
	qsort(entries, count, sizeof(*entries), by_place);
	walk_up(map, entries, heap);
	free(entries);
	return true;
}

void map_heap_fini(struct map_heap *heap)
{
	free(heap->blocks);
	free(heap->free_blocks);
}
