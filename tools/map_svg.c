/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_svg.c - the heap map as a still picture that needs no script.
 *
 * 1. A block that covers enough of the picture is drawn as it is.
 * 2. All others are painted into a grid of small cells, the largest block of a cell winning, and
 *    neighbouring cells of one colour are drawn as one bar.
 * 3. Both counts are bounded: until they fit, "enough" and the cells are made larger. So a trace of
 *    any length gives a file of a few hundred KiB, and the caption says what was merged.
 * 4. Rectangles of one colour are one path, in tenths of a pixel.
 */
#include "map.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "map_color.h"

#define WIDTH 1200
#define HEIGHT 760
#define PLOT_X 90.0
#define PLOT_Y 104.0
#define PLOT_W 1074.0
#define PLOT_H 440.0
#define CURVE_Y 596.0
#define CURVE_H 96.0

#define EXACT_MOST 12000  /* rectangles */
#define MERGED_MOST 12000 /* bars */
#define NO_COLOR 0xff

#define INK "#1c2330"
#define SOFT "#5c6779"
#define LINE "#d9dee6"

struct rect {
	double x0, x1, y0, y1; /* in the plot, y downwards */
};

struct grid {
	unsigned char *colors; /* NO_COLOR: nothing there */
	int columns, rows;
	double cell; /* pixels */
};

struct svg {
	FILE *file;
	const struct map *map;
	const struct replay_result *result;
	double events;   /* along x */
	double top;      /* bytes along y */
	double exact;    /* blocks with both sides at least so many pixels are drawn as they are */
	uint64_t merged; /* count: blocks that were not */
};

static bool is_drawn(const struct map *map, uint32_t block)
{
	return map->sizes[block] != 0;
}

static struct rect rect_of(const struct svg *svg, uint32_t block)
{
	const struct replay_block *b = &svg->map->trace->blocks[block];
	double death = b->death == REPLAY_ALIVE ? svg->events : b->death;
	double place = (double)svg->map->places[block], size = (double)svg->map->sizes[block];

	return (struct rect){
		.x0 = b->birth / svg->events * PLOT_W,
		.x1 = death / svg->events * PLOT_W,
		.y0 = PLOT_H - (place + size) / svg->top * PLOT_H,
		.y1 = PLOT_H - place / svg->top * PLOT_H,
	};
}

static bool is_exact(const struct svg *svg, struct rect rect)
{
	return rect.x1 - rect.x0 >= svg->exact && rect.y1 - rect.y0 >= svg->exact;
}

/* Find how large a block must be so that not too many are drawn as they are. */
static void choose_exact(struct svg *svg)
{
	uint64_t exact;

	svg->exact = 0.5;
	do {
		svg->exact *= 2;
		exact = 0;
		svg->merged = 0;
		for (uint32_t i = 0; i < svg->map->trace->block_count; i++) {
			if (is_drawn(svg->map, i) && is_exact(svg, rect_of(svg, i)))
				exact++;
			else if (is_drawn(svg->map, i))
				svg->merged++;
		}
	} while (exact > EXACT_MOST);
}

static int cell_of(double at, double cell, int count)
{
	int number = (int)(at / cell);

	if (number < 0)
		return 0;
	return number < count ? number : count - 1;
}

/* Colours rise with size, so the larger of two blocks has the larger number. */
static void paint(struct grid *grid, struct rect rect, unsigned char color)
{
	int x0 = cell_of(rect.x0, grid->cell, grid->columns);
	int x1 = cell_of(rect.x1 - 1e-6, grid->cell, grid->columns);
	int y0 = cell_of(rect.y0, grid->cell, grid->rows);
	int y1 = cell_of(rect.y1 - 1e-6, grid->cell, grid->rows);

	for (int y = y0; y <= y1; y++) {
		for (int x = x0; x <= x1; x++) {
			unsigned char *at = &grid->colors[y * grid->columns + x];

			if (*at == NO_COLOR || *at < color)
				*at = color;
		}
	}
}

/* How many bars a grid is drawn as. */
static int bars_of(const struct grid *grid)
{
	int bars = 0;

	for (int y = 0; y < grid->rows; y++) {
		unsigned char before = NO_COLOR;

		for (int x = 0; x < grid->columns; x++) {
			unsigned char now = grid->colors[y * grid->columns + x];

			bars += now != NO_COLOR && now != before;
			before = now;
		}
	}
	return bars;
}

static void fill_grid(const struct svg *svg, struct grid *grid)
{
	grid->columns = (int)ceil(PLOT_W / grid->cell);
	grid->rows = (int)ceil(PLOT_H / grid->cell);
	memset(grid->colors, NO_COLOR, (size_t)(grid->columns * grid->rows));
	for (uint32_t i = 0; i < svg->map->trace->block_count; i++) {
		struct rect rect = rect_of(svg, i);

		if (is_drawn(svg->map, i) && !is_exact(svg, rect))
			paint(grid, rect, (unsigned char)map_color_of(svg->map->sizes[i]));
	}
}

static bool make_grid(const struct svg *svg, struct grid *grid)
{
	grid->cell = 1;
	grid->colors = malloc((size_t)(PLOT_W + 1) * (size_t)(PLOT_H + 1));
	if (!grid->colors)
		return false;
	fill_grid(svg, grid);
	while (bars_of(grid) > MERGED_MOST) {
		grid->cell *= 1.5;
		fill_grid(svg, grid);
	}
	return true;
}

/* A rectangle of a path, in tenths of a pixel from the plot's corner. */
static void put_rect(FILE *file, struct rect rect)
{
	int x0 = (int)lround(rect.x0 * 10), x1 = (int)lround(rect.x1 * 10);
	int y0 = (int)lround(rect.y0 * 10), y1 = (int)lround(rect.y1 * 10);

	fprintf(file, "M%d %dH%dV%dH%dz", x0, y0, x1, y1, x0);
}

static void open_path(FILE *file, unsigned int color, bool edged, bool *open)
{
	struct map_rgb rgb = map_color_rgb(color);

	if (*open)
		return;
	fprintf(file, "<path fill=\"#%02x%02x%02x\"", rgb.red, rgb.green, rgb.blue);
	if (edged)
		fputs(" stroke=\"#000\" stroke-opacity=\".25\" stroke-width=\"3\"", file);
	fputs(" d=\"", file);
	*open = true;
}

static void close_path(FILE *file, bool *open)
{
	if (*open)
		fputs("\"/>\n", file);
	*open = false;
}

static void put_merged(const struct svg *svg, const struct grid *grid, unsigned int color)
{
	bool open = false;

	for (int y = 0; y < grid->rows; y++) {
		const unsigned char *row = &grid->colors[y * grid->columns];

		for (int x = 0; x < grid->columns; x++) {
			int end = x;

			while (end < grid->columns && row[end] == color)
				end++;
			if (end == x)
				continue;
			open_path(svg->file, color, false, &open);
			put_rect(svg->file,
				 (struct rect){ x * grid->cell, fmin(end * grid->cell, PLOT_W),
						y * grid->cell,
						fmin((y + 1) * grid->cell, PLOT_H) });
			x = end - 1;
		}
	}
	close_path(svg->file, &open);
}

/* Those of one colour that are drawn as they are; large ones get an edge. */
static void put_exact(const struct svg *svg, unsigned int color, bool edged)
{
	bool open = false;

	for (uint32_t i = 0; i < svg->map->trace->block_count; i++) {
		struct rect rect = rect_of(svg, i);

		if (!is_drawn(svg->map, i) || map_color_of(svg->map->sizes[i]) != color ||
		    !is_exact(svg, rect) ||
		    (rect.x1 - rect.x0 >= 4 && rect.y1 - rect.y0 >= 4) != edged)
			continue;
		open_path(svg->file, color, edged, &open);
		put_rect(svg->file, rect);
	}
	close_path(svg->file, &open);
}

static bool put_blocks(const struct svg *svg)
{
	struct grid grid;

	if (!make_grid(svg, &grid))
		return false;
	fprintf(svg->file,
		"<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"#fff\" "
		"stroke=\"" LINE "\"/>\n<g transform=\"translate(%g %g) scale(.1)\" "
		"shape-rendering=\"crispEdges\">\n",
		PLOT_X, PLOT_Y, PLOT_W, PLOT_H, PLOT_X, PLOT_Y);
	for (unsigned int color = 0; color < MAP_COLORS; color++)
		put_merged(svg, &grid, color);
	for (unsigned int color = 0; color < MAP_COLORS; color++) {
		put_exact(svg, color, false);
		put_exact(svg, color, true);
	}
	fputs("</g>\n", svg->file);
	free(grid.colors);
	return true;
}

static void put_text(FILE *file, double x, double y, const char *how, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, how);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte >= 0x7f)
			putc('?', file);
		else if (strchr("<>&\"'", byte))
			fprintf(file, "&#%d;", byte);
		else
			putc(byte, file);
	}
	fputs("</text>\n", file);
}

/* The least of 1, 2, 5 times a power of ten (or a power of two) that gives at most `most` ticks. */
static double step_of(double span, int most, bool binary)
{
	static const double leading[] = { 1, 2, 5, 10 };
	double rough = fmax(span / most, 1), power = pow(10, floor(log10(rough)));

	if (binary)
		return exp2(ceil(log2(rough)));
	for (int i = 0; i < 3; i++)
		if (leading[i] * power >= rough)
			return leading[i] * power;
	return 10 * power;
}

/* Ticks of bytes from y + h up to y, and the axis's name. */
static void put_byte_axis(const struct svg *svg, double y, double h, double top, int most,
			  const char *name)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double step = step_of(top, most, true), scale = 1;
	char text[80];
	int unit = 0;

	while (scale * 1024 <= top && unit < 5) {
		scale *= 1024;
		unit++;
	}
	for (double at = 0; at <= top; at += step) {
		double line = y + h - at / top * h;

		snprintf(text, sizeof(text), "%g", at / scale);
		put_text(svg->file, PLOT_X - 10, line + 4, " text-anchor=\"end\"", text);
		fprintf(svg->file, "<path d=\"M%.1f %.1fh-5\" stroke=\"" SOFT "\"/>\n", PLOT_X,
			line);
	}
	snprintf(text, sizeof(text), "%s (%s)", name, units[unit]);
	fprintf(svg->file, "<g transform=\"translate(26 %.1f) rotate(-90)\">", y + h / 2);
	put_text(svg->file, 0, 0, " text-anchor=\"middle\"", text);
	fputs("</g>\n", svg->file);
}

static void put_event_axis(const struct svg *svg)
{
	double step = step_of(svg->events, 10, false), y = CURVE_Y + CURVE_H;

	for (double at = 0; at <= svg->events; at += step) {
		double x = PLOT_X + at / svg->events * PLOT_W;

		put_text(svg->file, x, y + 20, " text-anchor=\"middle\"",
			 format_count((uint64_t)at).text);
		fprintf(svg->file, "<path d=\"M%.1f %.1fv5\" stroke=\"" SOFT "\"/>\n", x, y);
	}
	put_text(svg->file, PLOT_X + PLOT_W / 2, y + 40, " text-anchor=\"middle\"",
		 "events (allocations and frees, in program order)");
}

/* A curve in the making: one point a pixel at most, which is the highest under it. */
struct curve {
	FILE *file;
	double scale; /* pixels a byte */
	double high;
	int column;
};

static void curve_point(struct curve *curve)
{
	fprintf(curve->file, "L%d %.1f", curve->column, CURVE_H - curve->high * curve->scale);
}

static void curve_add(struct curve *curve, double x, double value)
{
	int column = (int)x;

	if (column > curve->column) {
		curve_point(curve);
		curve->column = column;
		curve->high = value;
	} else if (value > curve->high) {
		curve->high = value;
	}
}

static void put_live(const struct svg *svg, double ceiling)
{
	const struct replay_trace *trace = svg->map->trace;
	struct curve curve = { svg->file, CURVE_H / ceiling, 0, 0 };
	double live = 0;

	fprintf(svg->file,
		"<path fill=\"#2367c9\" fill-opacity=\".18\" stroke=\"#2367c9\" d=\"M0 %g",
		CURVE_H);
	for (uint32_t event = 0; event < trace->event_count; event++) {
		uint32_t block = trace->events[event] >> 1;
		double bytes = is_drawn(svg->map, block) ? (double)trace->blocks[block].bytes : 0;

		live += trace->events[event] & 1 ? -bytes : bytes;
		curve_add(&curve, event / svg->events * PLOT_W, live);
	}
	curve_point(&curve);
	fprintf(svg->file, "V%gz\"/>\n", CURVE_H);
}

static void put_high_water(const struct svg *svg, double ceiling)
{
	const struct map *map = svg->map;

	fprintf(svg->file, "<path fill=\"none\" stroke=\"#d0472f\" stroke-width=\"1.5\" d=\"M0 %g",
		CURVE_H);
	for (size_t i = 0; i < map->step_count; i++)
		fprintf(svg->file, "H%.1fV%.1f", map->steps[i].event / svg->events * PLOT_W,
			CURVE_H - (double)map->steps[i].high_water_bytes / ceiling * CURVE_H);
	fprintf(svg->file, "H%g\"/>\n", PLOT_W);
}

static void put_curves(const struct svg *svg)
{
	double ceiling = (double)svg->result->end.high_water_bytes * 1.1;

	if (ceiling < 1)
		ceiling = 1;
	fprintf(svg->file,
		"<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"#fff\" "
		"stroke=\"" LINE "\"/>\n<g transform=\"translate(%g %g)\">\n",
		PLOT_X, CURVE_Y, PLOT_W, CURVE_H, PLOT_X, CURVE_Y);
	put_live(svg, ceiling);
	put_high_water(svg, ceiling);
	fprintf(svg->file, "<path d=\"M0 -11h14\" stroke=\"#2367c9\" stroke-width=\"3\"/>\n"
			   "<path d=\"M60 -11h14\" stroke=\"#d0472f\" stroke-width=\"3\"/>\n");
	put_text(svg->file, 20, -7, "", "live");
	put_text(svg->file, 80, -7, "", "high water");
	fputs("</g>\n", svg->file);
	put_byte_axis(svg, CURVE_Y, CURVE_H, ceiling, 4, "bytes");
}

static void put_legend(const struct svg *svg)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	const int width = 7;
	char text[40];
	int power;

	put_text(svg->file, PLOT_X, 76, "", "block size");
	for (int i = 0; i < MAP_COLORS; i++) {
		struct map_rgb rgb = map_color_rgb((unsigned int)i);
		double x = PLOT_X + 70 + i * width;

		fprintf(svg->file, "<path fill=\"#%02x%02x%02x\" d=\"M%.1f 66h%dv10h-%dz\"/>\n",
			rgb.red, rgb.green, rgb.blue, x, width, width);
		if (i % (6 * MAP_COLOR_PER_POWER) != 0)
			continue;
		power = MAP_COLOR_FIRST + i / MAP_COLOR_PER_POWER;
		snprintf(text, sizeof(text), "%d %s", 1 << power % 10, units[power / 10]);
		put_text(svg->file, x, 91, "", text);
	}
}

static void put_head(const struct svg *svg)
{
	const struct replay_result *r = svg->result;
	char text[400];

	put_text(svg->file, PLOT_X, 30, " font-size=\"20\" font-weight=\"600\" fill=\"" INK "\"",
		 format_name(svg->map->trace->path, 39).text);
	snprintf(
		text, sizeof(text), "%s events, peak live %s, high water %s (%s)",
		format_count(r->trace->event_count).text, format_bytes(r->end.peak_live_bytes).text,
		format_bytes(r->end.high_water_bytes).text, format_ratio(r->high_water_ratio).text);
	put_text(svg->file, PLOT_X, 51, " font-size=\"14\" fill=\"" INK "\"", text);
	put_legend(svg);
}

static void put_caption(const struct svg *svg, const struct replay_settings *settings)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "Each rectangle is one block: as tall as its size, as long as its life. Of %s "
		 "blocks "
		 "the %s that are thinner than %g px are merged with their neighbours. "
		 "mam %s, source %s, %s steps.",
		 format_count(svg->map->trace->block_count).text, format_count(svg->merged).text,
		 svg->exact, mam_version(), settings->source, format_bytes(settings->granule).text);
	put_text(svg->file, PLOT_X, HEIGHT - 8, " font-size=\"11\"", text);
}

bool map_svg(FILE *file, const struct map *map, const struct replay_settings *settings,
	     const struct replay_result *result)
{
	struct svg svg = {
		.file = file,
		.map = map,
		.result = result,
		.events = map->trace->event_count ? map->trace->event_count : 1,
		.top = map->top ? (double)map->top * 1.03 : 4096,
	};

	choose_exact(&svg);
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"system-ui, 'Noto Sans', 'DejaVu Sans', sans-serif\" "
		"font-size=\"12\" fill=\"" SOFT "\">\n"
		"<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#f6f7f9\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
	put_head(&svg);
	if (!put_blocks(&svg))
		return false;
	put_byte_axis(&svg, PLOT_Y, PLOT_H, svg.top, 12, "address in the pool");
	put_curves(&svg);
	put_event_axis(&svg);
	put_caption(&svg, settings);
	fputs("</svg>\n", file);
	return !ferror(file);
}
