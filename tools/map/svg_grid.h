/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_grid.h - merge rectangles that are too small to draw into bars.
 */
#ifndef TOOLS_SVG_GRID_H
#define TOOLS_SVG_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/svg.h"

#define SVG_GRID_EMPTY 0xff /* as a cell's tone */

struct svg_rect {
	double x0, x1, y0, y1; /* pixels, y downwards */
};

struct svg_grid {
	uint64_t *weights;    /* of each cell: the weight of its tone */
	unsigned char *tones; /* of each cell, or SVG_GRID_EMPTY */
	int columns, rows;
	double width, height, cell; /* pixels */
};

/*
 * svg_grid_init - allocate cells of one pixel. False: out of memory, and nothing needs to be freed.
 */
bool svg_grid_init(struct svg_grid *grid, double width, double height);
void svg_grid_fini(struct svg_grid *grid);

/* svg_grid_clear - make the grid empty, with cells of `cell` pixels, at least 1. */
void svg_grid_clear(struct svg_grid *grid, double cell);

/*
 * svg_grid_paint - each cell that `rect` touches gets its tone, unless it has one of at least the
 * same weight.
 */
void svg_grid_paint(struct svg_grid *grid, struct svg_rect rect, uint64_t weight,
		    unsigned char tone);

/* svg_grid_bars - the number of bars that svg_grid_put() would write. */
int svg_grid_bars(const struct svg_grid *grid);

/*
 * svg_grid_put - draw the bars of one tone, in tenths of a pixel. The stroke of the path has to be
 * as wide as a cell.
 */
void svg_grid_put(const struct svg_grid *grid, unsigned char tone, struct svg_path *path);

#endif
