/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_html.c - the heap map as a page: map/page.html with the marks in it replaced.
 *
 * The blocks go in as base64 of variable-length numbers (7 bits a byte, the lowest first, the high
 * bit set on all but the last). In the order of the allocations, each has:
 *   birth     events since the block before was born
 *   life      events until its free; 0: never freed
 *   size      in units; 0: it got no memory
 *   rest      with a size: bytes it takes and did not ask for; without: bytes it asked for
 *   place     in units
 *   id, stream
 * The unit is the largest power of two that divides all sizes and places. This is about 12 bytes a
 * block. map/data.js, unpack(), reads it.
 *
 * Whatever comes from outside - names of files - goes through put_markup().
 */
#include "map.h"

#include <inttypes.h>
#include <string.h>

#include "format.h"
#include "map_color.h"
#include "map_text.h"

struct page {
	FILE *file;
	const struct map *map;
	const struct replay_settings *settings;
	const struct replay_result *result;
};

/* Text between tags and in attributes. Bytes a terminal or a parser might obey become '?'. */
static void put_markup(FILE *file, const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte == 0x7f)
			putc('?', file);
		else if (strchr("<>&\"'", byte))
			fprintf(file, "&#%d;", byte);
		else
			putc(byte, file);
	}
}

static void put_title(struct page *page)
{
	put_markup(page->file, format_name(page->map->trace->path, 39).text);
}

static void put_css(struct page *page)
{
	fputs(map_page_css, page->file);
}

static void put_js(struct page *page)
{
	fputs(map_words_js, page->file);
	fputs(map_data_js, page->file);
	fputs(map_view_js, page->file);
	fputs(map_hands_js, page->file);
}

static void put_fact(FILE *file, const char *name, const char *value, const char *aside)
{
	fprintf(file, "<div><dt>%s</dt><dd>%s%s%s%s</dd></div>\n", name, value,
		*aside ? " <small>" : "", aside, *aside ? "</small>" : "");
}

static void put_summary(struct page *page)
{
	const struct replay_result *r = page->result;
	struct format_text none = { "" };

	put_fact(page->file, "events", format_count(page->map->trace->event_count).text, none.text);
	put_fact(page->file, "allocations", format_count(page->map->trace->block_count).text,
		 none.text);
	put_fact(page->file, "peak live", format_bytes(r->end.peak_live_bytes).text, none.text);
	put_fact(page->file, "high water", format_bytes(r->end.high_water_bytes).text,
		 format_ratio(r->high_water_ratio).text);
	if (r->peak.size)
		put_fact(page->file, "holes at the peak", format_count(r->peak.holes).text,
			 format_bytes(r->peak.hole_bytes).text);
	if (r->failures)
		put_fact(page->file, "failed allocations", format_count(r->failures).text,
			 none.text);
}

static void put_footer(struct page *page)
{
	const struct replay_settings *settings = page->settings;

	fprintf(page->file, "mam %s, source %s, blocks in steps of %s", mam_version(),
		settings->source, format_bytes(settings->granule).text);
	if (settings->threads > 1)
		fputs("; drawn from one thread alone", page->file);
	fputs(". Each rectangle is one block: as tall as its size, as long as its life.",
	      page->file);
}

static void put_colors(FILE *file)
{
	for (unsigned int i = 0; i < MAP_COLORS; i++) {
		struct map_rgb rgb = map_color_rgb(i);

		fprintf(file, "%s\"#%02x%02x%02x\"", i ? "," : "", rgb.red, rgb.green, rgb.blue);
	}
}

static uint64_t unit_of(const struct map *map)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < map->trace->block_count; i++)
		if (map->sizes[i])
			all |= map->sizes[i] | map->places[i];
	return all ? all & -all : 1;
}

/* What the scripts need beside the blocks. Numbers only: nothing of it is the trace's text. */
static void put_meta(struct page *page)
{
	const struct map *map = page->map;
	FILE *file = page->file;

	fprintf(file,
		"{\"events\":%" PRIu32 ",\"blocks\":%" PRIu32 ",\"unit\":%" PRIu64
		",\"top\":%" PRIu64 ",\n\"color_first\":%d,\"color_per_power\":%d,\"colors\":[",
		map->trace->event_count, map->trace->block_count, unit_of(map), map->top,
		MAP_COLOR_FIRST, MAP_COLOR_PER_POWER);
	put_colors(file);
	fputs("],\n\"chunks\":[", file);
	for (size_t i = 0; i < map->chunk_count; i++)
		fprintf(file, "%s[%" PRIu64 ",%" PRIu64 ",\"0x%" PRIx64 "\"]", i ? "," : "",
			map->chunks[i].place, map->chunks[i].shown, map->chunks[i].base);
	fputs("],\n\"steps\":[", file);
	for (size_t i = 0; i < map->step_count; i++)
		fprintf(file, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
			map->steps[i].event, map->steps[i].reserved_bytes,
			map->steps[i].high_water_bytes);
	fputs("]}", file);
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

static void put_data(struct page *page)
{
	const struct map *map = page->map;
	const uint64_t unit = unit_of(map);
	struct base64 to = { .file = page->file };
	uint32_t birth = 0;

	for (uint32_t i = 0; i < map->trace->block_count; i++) {
		const struct replay_block *block = &map->trace->blocks[i];
		uint64_t size = map->sizes[i];

		put_number(&to, block->birth - birth);
		birth = block->birth;
		put_number(&to, block->death == REPLAY_ALIVE ? 0 : block->death - birth);
		put_number(&to, size / unit);
		put_number(&to, size ? size - block->bytes : block->bytes);
		put_number(&to, size ? map->places[i] / unit : 0);
		put_number(&to, block->id);
		put_number(&to, block->stream);
	}
	base64_flush(&to);
}

static const struct {
	const char *name;
	void (*put)(struct page *page);
} marks[] = {
	{ "@TITLE@", put_title }, { "@CSS@", put_css },   { "@SUMMARY@", put_summary },
	{ "@META@", put_meta },   { "@DATA@", put_data }, { "@FOOTER@", put_footer },
	{ "@JS@", put_js },
};

/* What the mark at `text` stands for; NULL: it is an ordinary '@'. */
static size_t put_mark(struct page *page, const char *text)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		size_t length = strlen(marks[i].name);

		if (strncmp(text, marks[i].name, length) == 0) {
			marks[i].put(page);
			return length;
		}
	}
	putc(*text, page->file);
	return 1;
}

bool map_html(FILE *file, const struct map *map, const struct replay_settings *settings,
	      const struct replay_result *result)
{
	struct page page = { file, map, settings, result };
	const char *text = map_page_html;

	while (*text) {
		size_t plain = strcspn(text, "@");

		fwrite(text, 1, plain, file);
		text += plain;
		if (*text)
			text += put_mark(&page, text);
	}
	return !ferror(file);
}
