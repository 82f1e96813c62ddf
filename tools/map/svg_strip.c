/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_strip.c - the heap after one event, by address, chunk after chunk.
 *
 * 1. The addresses of the whole map are in rows, one below the other: as many as are needed, up to
 *    a limit, so that few blocks and free blocks are thinner than two pixels. A row is a round
 *    number of bytes.
 * 2. Blocks of at least a pixel are drawn exactly, smaller ones merged (svg_grid.h), in the colors
 *    of sizes. Free blocks are hatched. Each free block has a tick below it, however small it is;
 *    those of one pixel share a tick.
 * 3. The largest free block has a bracket with its size and address above the row that contains
 *    most of it.
 */
#include "map/svg_view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kit/format.h"

#define ROWS_MAX 8
#define THIN 2.0     /* pixels */
#define THIN_SHARE 4 /* one in this many blocks and free blocks may be thinner */
#define STRIP 26.0   /* the height of a row's strip */
#define ABOVE 20.0   /* part of it: the bracket and the names of chunks */
#define BELOW 26.0   /* for ticks and their labels */
#define FIGURES 50.0 /* for the text below */
#define PITCH (ABOVE + STRIP + BELOW)

struct strip {
	const struct svg *svg;
	const struct map_heap *heap;
	double top;       /* bytes in all rows */
	double row_bytes; /* in each except the last */
	int rows;
};

/* One row: its addresses, and the y coordinate of its strip. */
struct row {
	double from, to; /* bytes */
	double y;
};

/* The smallest round number of bytes with which at most `rows` rows are needed. */
static double round_up(double bytes, int rows)
{
	double rough = bytes / rows, unit = exp2(floor(log2(rough))) / 8;

	return ceil(rough / unit) * unit;
}

/* The number of thin blocks and free blocks with the current bytes per row. */
static size_t count_thin(const struct strip *strip)
{
	const struct map_heap *heap = strip->heap;
	double bytes = THIN / SVG_PLOT * strip->row_bytes;
	size_t thin = 0;

	for (size_t i = 0; i < heap->block_count; i++)
		thin += (double)strip->svg->map->sizes[heap->blocks[i]] < bytes;
	for (size_t i = 0; i < heap->free_block_count; i++)
		thin += (double)heap->free_blocks[i].bytes < bytes;
	return thin;
}

static struct strip lay_out(const struct svg *svg, const struct map_heap *heap)
{
	struct strip strip = { .svg = svg, .heap = heap };
	int rows = 1;

	strip.top = svg->map->top ? (double)svg->map->top : 4096;
	strip.row_bytes = strip.top;
	while (rows < ROWS_MAX &&
	       count_thin(&strip) > (heap->block_count + heap->free_block_count) / THIN_SHARE)
		strip.row_bytes = round_up(strip.top, rows *= 2);
	strip.rows = (int)ceil(strip.top / strip.row_bytes);
	return strip;
}

double svg_strip_height(const struct svg *svg, const struct map_heap *heap)
{
	return FIGURES + lay_out(svg, heap).rows * PITCH;
}

/* The part of a range that is in a row, in pixels. False: there is none. */
static bool part_of(const struct strip *strip, const struct row *row, uint64_t place,
		    uint64_t bytes, struct svg_rect *rect)
{
	double low = fmax((double)place, row->from), high = fmin((double)(place + bytes), row->to);

	if (high <= low)
		return false;
	*rect = (struct svg_rect){
		.x0 = (low - row->from) / strip->row_bytes * SVG_PLOT,
		.x1 = (high - row->from) / strip->row_bytes * SVG_PLOT,
		.y0 = 0,
		.y1 = 1,
	};
	return true;
}

static void put_range(struct svg_path *path, const struct row *row, struct svg_rect rect)
{
	svg_box(path, SVG_LEFT + rect.x0, row->y, rect.x1 - rect.x0, STRIP);
}

static void put_free_blocks(const struct strip *strip, const struct row *row)
{
	const struct map_heap *heap = strip->heap;
	struct svg_path hatched = { .file = strip->svg->file, .fill = "url(#free_blocks)" };
	struct svg_path ticks = { .file = strip->svg->file, .look = "bad", .width = 3 };
	struct svg_rect rect;
	double last = -1;

	for (size_t i = 0; i < heap->free_block_count; i++) {
		if (part_of(strip, row, heap->free_blocks[i].place, heap->free_blocks[i].bytes,
			    &rect) &&
		    rect.x1 - rect.x0 >= 0.5)
			put_range(&hatched, row, rect);
	}
	svg_path_end(&hatched);
	for (size_t i = 0; i < heap->free_block_count; i++) {
		if (!part_of(strip, row, heap->free_blocks[i].place, heap->free_blocks[i].bytes,
			     &rect) ||
		    rect.x1 <= last)
			continue;
		rect.x0 = fmax(rect.x0, last);
		rect.x1 = fmax(rect.x1, rect.x0 + 1);
		svg_draw(&ticks, "Mh", SVG_LEFT + rect.x0, row->y + STRIP + 3.5, rect.x1 - rect.x0);
		last = rect.x1;
	}
	svg_path_end(&ticks);
}

static bool put_small(const struct strip *strip, const struct row *row)
{
	const struct map *map = strip->svg->map;
	FILE *file = strip->svg->file;
	struct svg_grid grid;
	struct svg_rect rect;
	char scale[60];

	if (!svg_grid_init(&grid, SVG_PLOT, 1))
		return false;
	for (size_t i = 0; i < strip->heap->block_count; i++) {
		uint32_t block = strip->heap->blocks[i];

		if (part_of(strip, row, map->places[block], map->sizes[block], &rect) &&
		    rect.x1 - rect.x0 < 1)
			svg_grid_paint(&grid, rect, map->sizes[block],
				       (unsigned char)map_color_of(map->sizes[block]));
	}
	/* A row of cells ten units high is stretched to the height of the strip. */
	snprintf(scale, sizeof(scale), "translate(%g %.1f) scale(.1 %g)", SVG_LEFT, row->y,
		 STRIP / 10);
	svg_open(file, "g", NULL, "", 0);
	svg_attribute(file, "transform", scale);
	svg_inside(file);
	for (unsigned int tone = 0; tone < MAP_COLORS; tone++) {
		const struct map_color_text color = map_color_text(map_color_rgb(tone));
		struct svg_path path = { .file = file, .stroke = color.text, .width = 10 };

		svg_grid_put(&grid, (unsigned char)tone, &path);
		svg_path_end(&path);
	}
	svg_close(file, "g");
	svg_grid_fini(&grid);
	return true;
}

static void put_large(const struct strip *strip, const struct row *row, unsigned int tone)
{
	const struct map *map = strip->svg->map;
	const struct map_color_text color = map_color_text(map_color_rgb(tone));
	struct svg_path path = { .file = strip->svg->file,
				 .look = "edge thin",
				 .fill = color.text };
	struct svg_rect rect;

	for (size_t i = 0; i < strip->heap->block_count; i++) {
		uint32_t block = strip->heap->blocks[i];

		if (map_color_of(map->sizes[block]) == tone &&
		    part_of(strip, row, map->places[block], map->sizes[block], &rect) &&
		    rect.x1 - rect.x0 >= 1)
			put_range(&path, row, rect);
	}
	svg_path_end(&path);
}

static void put_numbers(const struct strip *strip, const struct row *row)
{
	double step = svg_tick_step(strip->row_bytes, 11, true);
	struct svg_bytes bytes = svg_bytes_of(strip->top, step);
	char text[60];

	for (double at = ceil(row->from / step) * step; at <= row->to; at += step) {
		double x = SVG_LEFT + (at - row->from) / strip->row_bytes * SVG_PLOT;

		/* The label at the end of a row is that of the next row's start. */
		if (at >= row->from + strip->row_bytes && row->to < strip->top)
			break;
		snprintf(text, sizeof(text), "%.*f %s", bytes.digits, at / bytes.scale, bytes.unit);
		svg_line(strip->svg->file, "tick", x, row->y + STRIP + 6, 0, 5);
		svg_text(strip->svg->file, x, row->y + STRIP + 23, "middle", text);
	}
}

static void put_chunks(const struct strip *strip, const struct row *row, bool bracketed)
{
	const struct map *map = strip->svg->map;
	double last = -100;
	char text[60];

	for (size_t i = 0; i < map->chunk_count && map->chunk_count > 1; i++) {
		double at = (double)map->chunks[i].place, x;

		if (at < row->from || at >= row->to)
			continue;
		x = SVG_LEFT + (at - row->from) / strip->row_bytes * SVG_PLOT;
		if (x - last < 2)
			continue;
		svg_line(strip->svg->file, "mark", x, row->y - 4, 0, STRIP + 8);
		snprintf(text, sizeof(text), "chunk %zu", i + 1);
		if (!bracketed && x - last > 70)
			svg_text(strip->svg->file, x + 4, row->y - 5, "small", text);
		last = x;
	}
}

static uint64_t address_of(const struct map *map, uint64_t place)
{
	const struct map_chunk *chunk = map_chunk_of(map, place);

	return chunk->base + (place - chunk->place);
}

/* The row that contains most of the largest free block. */
static int bracket_row(const struct strip *strip)
{
	const struct map_free_block *free_block = &strip->heap->free_blocks[strip->heap->largest];

	if (strip->heap->free_block_count == 0)
		return -1;
	return (int)(((double)free_block->place + (double)free_block->bytes / 2) /
		     strip->row_bytes);
}

static void put_bracket(const struct strip *strip, const struct row *row)
{
	const struct map_free_block *free_block = &strip->heap->free_blocks[strip->heap->largest];
	struct svg_path path = { .file = strip->svg->file, .look = "bad", .width = 1.5 };
	struct svg_rect rect;
	double half, middle;
	char text[120];

	if (!part_of(strip, row, free_block->place, free_block->bytes, &rect))
		return;
	svg_draw(&path, "MvHv", SVG_LEFT + rect.x0, row->y - 2, -3,
		 SVG_LEFT + fmax(rect.x1, rect.x0 + 1), 3);
	svg_path_end(&path);
	snprintf(text, sizeof(text), "largest free block %s at 0x%" PRIx64,
		 format_bytes(free_block->bytes).text,
		 address_of(strip->svg->map, free_block->place));
	half = svg_width(text) / 2;
	middle = SVG_LEFT + (rect.x0 + rect.x1) / 2;
	middle = fmax(SVG_LEFT + half, fmin(middle, SVG_LEFT + SVG_PLOT - half));
	svg_text(strip->svg->file, middle, row->y - 8, "badtext middle", text);
}

static bool put_row(const struct strip *strip, int number, double y)
{
	bool bracketed = number == bracket_row(strip);
	struct row row = {
		.from = number * strip->row_bytes,
		.to = fmin((number + 1) * strip->row_bytes, strip->top),
		.y = y + ABOVE,
	};

	svg_frame(strip->svg->file, row.y, (row.to - row.from) / strip->row_bytes * SVG_PLOT,
		  STRIP);
	put_free_blocks(strip, &row);
	if (!put_small(strip, &row))
		return false;
	for (unsigned int tone = 0; tone < MAP_COLORS; tone++)
		put_large(strip, &row, tone);
	put_chunks(strip, &row, bracketed);
	put_numbers(strip, &row);
	if (bracketed)
		put_bracket(strip, &row);
	return true;
}

/* The last step at an event or before. */
static uint64_t physical_at(const struct map *map, uint32_t event)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < map->step_count && map->steps[i].event <= event; i++)
		bytes = map->steps[i].physical_bytes;
	return bytes;
}

static double put_figure(const struct strip *strip, double x, double y, const char *name,
			 const char *value)
{
	svg_text(strip->svg->file, x, y + 14, NULL, name);
	svg_text(strip->svg->file, x, y + 33, "head", value);
	return x + fmax(svg_width(name), svg_width(value) * 1.12) + 26;
}

static void put_percent(char *text, size_t bytes, double part)
{
	snprintf(text, bytes, part > 0 && part < 0.01 ? "%.2f %%" : "%.1f %%", 100 * part);
}

static void put_figures(const struct strip *strip, uint32_t event, double y)
{
	const struct map_heap *heap = strip->heap;
	const struct svg *svg = strip->svg;
	uint64_t largest = heap->free_block_count ? heap->free_blocks[heap->largest].bytes : 0;
	uint64_t idle = heap->free_block_bytes;
	double x = SVG_LEFT;
	char text[160];

	snprintf(text, sizeof(text), "%s in %s", format_bytes(heap->asked_bytes).text,
		 format_counted(heap->block_count, "block").text);
	x = put_figure(strip, x, y, "live", text);
	x = put_figure(strip, x, y, "taken", format_bytes(heap->taken_bytes).text);
	x = put_figure(strip, x, y, "free blocks", format_count(heap->free_block_count).text);
	x = put_figure(strip, x, y, "free bytes", format_bytes(heap->free_block_bytes).text);
	x = put_figure(strip, x, y, "largest free block",
		       largest ? format_bytes(largest).text : "none");
	put_percent(text, sizeof(text),
		    largest ? 1 - (double)largest / (double)heap->free_block_bytes : 0);
	x = put_figure(strip, x, y, "of free bytes, outside the largest", text);
	/*
	 * If memory is mapped on demand, most free blocks have none: print the memory that is not
	 * in use.
	 */
	if (strcmp(svg->settings->source, "vmm") == 0) {
		idle = physical_at(svg->map, event);
		idle = idle > heap->taken_bytes ? idle - heap->taken_bytes : 0;
		x = put_figure(strip, x, y, "memory idle", format_bytes(idle).text);
	}
	put_percent(text, sizeof(text),
		    idle ? (double)idle / (double)(idle + heap->taken_bytes) : 0);
	put_figure(strip, x, y, "fragmentation", text);
}

bool svg_strip(const struct svg *svg, const struct map_heap *heap, uint32_t event, double y)
{
	struct strip strip = lay_out(svg, heap);

	for (int i = 0; i < strip.rows; i++)
		if (!put_row(&strip, i, y + i * PITCH))
			return false;
	put_figures(&strip, event, y + strip.rows * PITCH + 8);
	return true;
}
