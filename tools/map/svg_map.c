/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_map.c - addresses over events, one rectangle per block, in one coloring.
 *
 * 1. A block that covers enough of the picture is drawn exactly, in tenths of a pixel.
 * 2. All others are painted into a grid (svg_grid.h), in which the largest block of a cell wins.
 * 3. Both counts are bounded: the threshold and the cells grow until they fit. So a trace of any
 *    length gives a file of a few hundred KiB, and the caption reports the merged blocks.
 * 4. Rectangles of one color share a path.
 */
#include "map/svg_view.h"

#include <math.h>
#include <stdlib.h>

#include "kit/format.h"

#define EDGED 4.0 /* pixels: a rectangle with both sides at least this long has an edge */

struct plot {
	const struct svg *svg;
	const struct map_tones *tones;
	double exact;     /* a block with both sides at least this many pixels is drawn exactly */
	uint32_t *blocks; /* the indices of these blocks */
	uint32_t count;
	uint64_t merged; /* count: the other blocks */
};

static struct svg_rect rect_of(const struct svg *svg, uint32_t block)
{
	const struct map *map = svg->map;
	const struct replay_block *b = &map->trace->blocks[block];
	uint32_t death = b->death == REPLAY_ALIVE ? map->trace->event_count : b->death;
	double low = (double)map->places[block], high = low + (double)map->sizes[block];

	return (struct svg_rect){
		.x0 = svg_along(svg, b->birth) * SVG_PLOT,
		.x1 = svg_along(svg, death) * SVG_PLOT,
		.y0 = SVG_MAP_HEIGHT - high / svg->top * SVG_MAP_HEIGHT,
		.y1 = SVG_MAP_HEIGHT - low / svg->top * SVG_MAP_HEIGHT,
	};
}

static bool is_exact(const struct plot *plot, struct svg_rect rect)
{
	return rect.x1 - rect.x0 >= plot->exact && rect.y1 - rect.y0 >= plot->exact;
}

/* Find the smallest size at which few enough blocks are drawn exactly, and list these blocks. */
static void choose_exact(struct plot *plot)
{
	const struct map *map = plot->svg->map;
	uint32_t exact;

	plot->exact = 0.5;
	do {
		plot->exact *= 2;
		plot->count = 0;
		plot->merged = 0;
		exact = 0;
		for (uint32_t i = 0; i < map->trace->block_count; i++) {
			if (!map->sizes[i])
				continue;
			if (!is_exact(plot, rect_of(plot->svg, i)))
				plot->merged++;
			else if (exact++ < (uint32_t)plot->svg->max)
				plot->blocks[plot->count++] = i;
		}
	} while (exact > (uint32_t)plot->svg->max);
}

static void fill_grid(const struct plot *plot, struct svg_grid *grid)
{
	const struct map *map = plot->svg->map;

	for (uint32_t i = 0; i < map->trace->block_count; i++) {
		struct svg_rect rect;

		if (!map->sizes[i])
			continue;
		rect = rect_of(plot->svg, i);
		if (!is_exact(plot, rect))
			svg_grid_paint(grid, rect, map->sizes[i], plot->tones->of[i]);
	}
}

static bool put_merged(const struct plot *plot)
{
	struct svg_grid grid;

	if (!svg_grid_init(&grid, SVG_PLOT, SVG_MAP_HEIGHT))
		return false;
	fill_grid(plot, &grid);
	while (svg_grid_bars(&grid) > plot->svg->max) {
		svg_grid_clear(&grid, grid.cell * 1.5);
		fill_grid(plot, &grid);
	}
	for (unsigned int tone = 0; tone < plot->tones->count; tone++) {
		const struct map_color_text color = map_color_text(plot->tones->rgb(tone));
		struct svg_path path = { .file = plot->svg->file,
					 .stroke = color.text,
					 .width = ceil(grid.cell * 10) };

		svg_grid_put(&grid, (unsigned char)tone, &path);
		svg_path_end(&path);
	}
	svg_grid_fini(&grid);
	return true;
}

static void put_rect(struct svg_path *path, struct svg_rect rect)
{
	double x = round(rect.x0 * 10), y = round(rect.y0 * 10);

	svg_box(path, x, y, round(rect.x1 * 10) - x, round(rect.y1 * 10) - y);
}

/* Draw the exact blocks of one tone; large ones have an edge. */
static void put_exact(const struct plot *plot, unsigned int tone, bool edged)
{
	const struct map_color_text color = map_color_text(plot->tones->rgb(tone));
	struct svg_path path = { .file = plot->svg->file,
				 .look = edged ? "edge" : NULL,
				 .fill = color.text };

	for (uint32_t i = 0; i < plot->count; i++) {
		struct svg_rect rect;

		if (plot->tones->of[plot->blocks[i]] != tone)
			continue;
		rect = rect_of(plot->svg, plot->blocks[i]);
		if ((rect.x1 - rect.x0 >= EDGED && rect.y1 - rect.y0 >= EDGED) == edged)
			put_rect(&path, rect);
	}
	svg_path_end(&path);
}

bool svg_map(const struct svg *svg, const struct map_tones *tones, double y, char *note,
	     size_t note_bytes)
{
	struct plot plot = { .svg = svg, .tones = tones };
	char window[40];
	bool good;

	plot.blocks = malloc((size_t)svg->max * sizeof(*plot.blocks));
	if (!plot.blocks)
		return false;
	choose_exact(&plot);
	svg_frame(svg->file, y, SVG_PLOT, SVG_MAP_HEIGHT);
	/* A nested picture in tenths of a pixel, which clips its contents. */
	snprintf(window, sizeof(window), "0 0 %g %g", SVG_PLOT * 10, SVG_MAP_HEIGHT * 10);
	svg_open(svg->file, "svg", NULL, "x y width height", SVG_LEFT, y, SVG_PLOT, SVG_MAP_HEIGHT);
	svg_attribute(svg->file, "viewBox", window);
	svg_attribute(svg->file, "shape-rendering", "crispEdges");
	svg_inside(svg->file);
	good = put_merged(&plot);
	for (unsigned int tone = 0; tone < tones->count; tone++) {
		put_exact(&plot, tone, false);
		put_exact(&plot, tone, true);
	}
	svg_close(svg->file, "svg");
	svg_byte_axis(svg->file, y, SVG_MAP_HEIGHT, svg->top, 12, "address in the pool", false);
	svg_failures(svg, y);
	snprintf(note, note_bytes, "Of %s the %s that %s thinner than %g px %s merged.",
		 format_counted(svg->map->trace->block_count, "block").text,
		 format_count(plot.merged).text, plot.merged == 1 ? "is" : "are", plot.exact,
		 plot.merged == 1 ? "is" : "are");
	free(plot.blocks);
	return good;
}
