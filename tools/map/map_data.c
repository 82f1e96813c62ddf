/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_data.c - the blocks of a heap map as text that the page's scripts unpack (map/data.js).
 *
 * The text is base64 of variable-length numbers: 7 bits per byte, the lowest first; the high bit is
 * set in all bytes except the last. In the order of the allocations, each block has:
 *   birth        events since the birth of the previous block
 *   life         events until its free; 0: never freed
 *   size         in units; 0: failed
 *   rest         with a size: bytes beyond the requested size; without: requested size
 *   place        in units
 *   id, stream
 *   thread       if the trace has threads
 *   who          if it has origins: index of a name
 *   free stream  if it has those
 * After the last block, if the trace has times, follow for each event the nanoseconds since the
 * previous one. The last part is the call stacks, if there are any (replay_stacks_put()). In all, this is about 12 bytes per block and 3 per event.
 *
 * Texts of the trace are JSON strings without any byte that an HTML parser would interpret.
 */
#include "map/map_data.h"

#include "kit/page.h"
#include "replay/replay_stacks.h"

uint64_t map_data_unit(const struct map *map)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < map->trace->block_count; i++)
		if (map->sizes[i])
			all |= map->sizes[i] | map->places[i];
	return all ? all & -all : 1;
}

static void put_block(struct page_numbers *to, const struct map *map, uint32_t i, uint64_t unit)
{
	const struct replay_trace *trace = map->trace;
	const struct replay_block *block = &trace->blocks[i];
	uint64_t size = map->sizes[i];

	page_numbers_put(to, i ? block->birth - block[-1].birth : block->birth);
	page_numbers_put(to, block->death == REPLAY_ALIVE ? 0 : block->death - block->birth);
	page_numbers_put(to, size / unit);
	page_numbers_put(to, size ? size - block->bytes : block->bytes);
	page_numbers_put(to, size ? map->places[i] / unit : 0);
	page_numbers_put(to, block->id);
	page_numbers_put(to, block->stream);
	if (trace->has_threads)
		page_numbers_put(to, trace->origins[i].thread);
	if (trace->origins)
		page_numbers_put(to, trace->origins[i].who);
	if (trace->free_streams)
		page_numbers_put(to, trace->free_streams[i]);
}

void map_data_put(FILE *file, const struct map *map)
{
	const struct replay_trace *trace = map->trace;
	const uint64_t unit = map_data_unit(map);
	struct page_numbers to;

	page_numbers_begin(&to, file);
	for (uint32_t i = 0; i < trace->block_count; i++)
		put_block(&to, map, i, unit);
	if (trace->times)
		for (uint32_t i = 0; i < trace->event_count; i++)
			page_numbers_put(&to, trace->times[i] - (i ? trace->times[i - 1] : 0));
	if (map->stacks)
		replay_stacks_put(&to, map->stacks, trace->block_count);
	page_numbers_end(&to);
}
