/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_view.h - the views of a heap map as parts of one SVG file, one below the other.
 *
 *   map_svg.c     selects and places the views, and writes the head above them
 *   svg_along.c   the x axis: events, or time
 *   svg_map.c     one rectangle per block, in one coloring (map_tones.h)
 *   svg_legend.c  the legend of its colors
 *   svg_curves.c  live, high water, reserved and physical bytes
 *   svg_strip.c   the heap after one event (map_heap.h)
 *   svg_grid.c    small rectangles merged
 *   kit/svg.c     elements, paths, axes, and the style
 *
 * A part draws from `y` down. Its output is bounded by the number of pixels, not by the trace.
 */
#ifndef TOOLS_SVG_VIEW_H
#define TOOLS_SVG_VIEW_H

#include "kit/svg.h"
#include "map/map.h"
#include "map/map_heap.h"
#include "map/map_tones.h"
#include "map/svg_grid.h"

struct svg {
	FILE *file;
	const struct map *map;
	const struct replay_settings *settings;
	const struct replay_result *result;
	double top;    /* the bytes at the top of a map */
	double events; /* on the x axis, at least 1 */
	bool by_time;  /* or their times */
	int max;       /* maximum of rectangles and bars of a map */
};

/* svg_along - the x coordinate of an event, from 0 to 1. `event` may be the one after the last. */
double svg_along(const struct svg *svg, uint32_t event);

/*
 * svg_along_axis - the ticks and the name of the x axis below a plot that ends at `y`:
 * SVG_ALONG_HEIGHT high.
 */
#define SVG_ALONG_HEIGHT 48.0
void svg_along_axis(const struct svg *svg, double y);

/*
 * svg_mark - add a mark of an event to a path, upwards from `y`, unless its pixel has one. Call it
 * in the order of the events.
 */
void svg_mark(const struct svg *svg, struct svg_path *path, uint32_t event, double y);

/* svg_failures - red ticks at allocations that failed. */
void svg_failures(const struct svg *svg, double y);

/* svg_is_failed - whether the allocation of a block failed; false for size 0. */
static inline bool svg_is_failed(const struct svg *svg, uint32_t block)
{
	return !svg->map->sizes[block] && svg->map->trace->blocks[block].bytes;
}

double svg_legend_height(const struct map_tones *tones);
void svg_legend(const struct svg *svg, enum map_view view, const struct map_tones *tones, double y);

#define SVG_MAP_HEIGHT 440.0
/* svg_map - false: out of memory. `note` is for the caption: the merged blocks. */
bool svg_map(const struct svg *svg, const struct map_tones *tones, double y, char *note,
	     size_t note_bytes);

/* svg_curves - the plot, `height` high, and the legend above it; `large`: with the peak labeled. */
void svg_curves(const struct svg *svg, double y, double height, bool large);

double svg_strip_height(const struct svg *svg, const struct map_heap *heap);
/* svg_strip - false: out of memory. */
bool svg_strip(const struct svg *svg, const struct map_heap *heap, uint32_t event, double y);

#endif
