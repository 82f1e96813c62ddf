/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_data.c - the blocks of a heap map as text that the page's scripts unpack (map/data.js).
 *
 * They are base64 of variable-length numbers: 7 bits a byte, the lowest first, the high bit set on
 * all but the last. In the order of the allocations, each block has:
 *   birth        events since the block before was born
 *   life         events until its free; 0: never freed
 *   size         in units; 0: it got no memory
 *   rest         with a size: bytes it takes and did not ask for; without: bytes it asked for
 *   place        in units
 *   id, stream
 *   thread       when the trace tells threads
 *   who          when it tells origins: number of a name
 *   free stream  when it tells those
 * Behind the last block, when the trace tells times, is for each event the nanoseconds since the
 * one before. This is about 12 bytes a block and 3 an event.
 *
 * Texts of the trace are JSON strings in which no byte means anything to a parser of HTML.
 */
#include "map_data.h"

#include <string.h>

uint64_t map_data_unit(const struct map *map)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < map->trace->block_count; i++)
		if (map->sizes[i])
			all |= map->sizes[i] | map->places[i];
	return all ? all & -all : 1;
}

/* Bytes on their way to base64: three are put out as four letters. */
struct base64 {
	FILE *file;
	uint32_t bits;
	int held; /* bytes in `bits` */
	int column;
};

static void base64_flush(struct base64 *to)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char four[4];

	if (to->held == 0)
		return;
	to->bits <<= 8 * (3 - to->held);
	for (int i = 0; i < 4; i++)
		four[i] = i > to->held ? '=' : letters[(to->bits >> (18 - 6 * i)) & 63];
	fwrite(four, 1, 4, to->file);
	to->bits = 0;
	to->held = 0;
	to->column += 4;
	if (to->column < 100)
		return;
	putc('\n', to->file);
	to->column = 0;
}

static void put_number(struct base64 *to, uint64_t number)
{
	do {
		to->bits = to->bits << 8 | (uint32_t)(number & 127) | (number > 127 ? 128u : 0u);
		if (++to->held == 3)
			base64_flush(to);
		number >>= 7;
	} while (number);
}

static void put_block(struct base64 *to, const struct map *map, uint32_t i, uint64_t unit)
{
	const struct replay_trace *trace = map->trace;
	const struct replay_block *block = &trace->blocks[i];
	uint64_t size = map->sizes[i];

	put_number(to, i ? block->birth - block[-1].birth : block->birth);
	put_number(to, block->death == REPLAY_ALIVE ? 0 : block->death - block->birth);
	put_number(to, size / unit);
	put_number(to, size ? size - block->bytes : block->bytes);
	put_number(to, size ? map->places[i] / unit : 0);
	put_number(to, block->id);
	put_number(to, block->stream);
	if (trace->has_threads)
		put_number(to, trace->origins[i].thread);
	if (trace->origins)
		put_number(to, trace->origins[i].who);
	if (trace->free_streams)
		put_number(to, trace->free_streams[i]);
}

void map_data_put(FILE *file, const struct map *map)
{
	const struct replay_trace *trace = map->trace;
	const uint64_t unit = map_data_unit(map);
	struct base64 to = { .file = file };

	for (uint32_t i = 0; i < trace->block_count; i++)
		put_block(&to, map, i, unit);
	if (trace->times)
		for (uint32_t i = 0; i < trace->event_count; i++)
			put_number(&to, trace->times[i] - (i ? trace->times[i - 1] : 0));
	base64_flush(&to);
}

void map_data_text(FILE *file, const char *text)
{
	putc('"', file);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		/* U+2028 and U+2029 end a line of a script, and nobody sees them. */
		if (strncmp(text, "\342\200\250", 3) == 0 || strncmp(text, "\342\200\251", 3) == 0) {
			fprintf(file, "\\u%x", text[2] == '\250' ? 0x2028 : 0x2029);
			text += 2;
		} else if (byte < 0x20 || byte == 0x7f || strchr("\"\\<>&", byte)) {
			fprintf(file, "\\u%04x", byte);
		} else {
			putc(byte, file);
		}
	}
	putc('"', file);
}
