/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_grid.h - rectangles too small to be drawn each, merged into bars.
 */
#ifndef TOOLS_SVG_GRID_H
#define TOOLS_SVG_GRID_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SVG_GRID_EMPTY 0xff /* as a cell's tone */

struct svg_rect {
	double x0, x1, y0, y1; /* pixels, y downwards */
};

struct svg_grid {
	uint64_t *weights;    /* of each cell: what its colour weighs */
	unsigned char *tones; /* of each cell, or SVG_GRID_EMPTY */
	int columns, rows;
	double width, height, cell; /* pixels */
};

/* svg_grid_init - room for cells of one pixel. False: no memory, nothing to give back. */
bool svg_grid_init(struct svg_grid *grid, double width, double height);
void svg_grid_fini(struct svg_grid *grid);

/* svg_grid_clear - empty, with cells of so many pixels, at least 1. */
void svg_grid_clear(struct svg_grid *grid, double cell);

/* svg_grid_paint - each cell that `rect` touches takes its tone, unless it holds one as heavy. */
void svg_grid_paint(struct svg_grid *grid, struct svg_rect rect, uint64_t weight,
		    unsigned char tone);

/* svg_grid_bars - how many bars svg_grid_put() makes of it. */
int svg_grid_bars(const struct svg_grid *grid);

/*
 * svg_grid_put - the bars of one tone, as what a path goes along in tenths of a pixel; its stroke
 * is as wide as a cell. `before` goes before the first one. False: there are none.
 */
bool svg_grid_put(FILE *file, const struct svg_grid *grid, unsigned char tone, const char *before);

#endif
