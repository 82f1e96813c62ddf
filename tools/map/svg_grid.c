/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_grid.c - merge rectangles that are too small to draw into bars.
 *
 * 1. The picture is a grid of cells. A rectangle is painted into each cell that it touches, so that
 *    even the smallest is visible; in a cell, the one with the largest weight wins, and on a tie
 *    the first.
 * 2. Adjacent cells of the same tone in a row form one bar. A bar is a line with the height of a
 *    cell as its width: 10 bytes of a file, compared with 25 for a rectangle.
 *
 * O(cells touched) per rectangle, O(cells) for the rest.
 */
#include "map/svg_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INSIDE 1e-6 /* a rectangle that ends at the border of a cell does not touch it */

bool svg_grid_init(struct svg_grid *grid, double width, double height)
{
	size_t cells = (size_t)ceil(width) * (size_t)ceil(height);

	*grid = (struct svg_grid){ .width = width, .height = height };
	grid->weights = malloc(cells * sizeof(*grid->weights));
	grid->tones = malloc(cells);
	if (grid->weights && grid->tones) {
		svg_grid_clear(grid, 1);
		return true;
	}
	svg_grid_fini(grid);
	return false;
}

void svg_grid_fini(struct svg_grid *grid)
{
	free(grid->weights);
	free(grid->tones);
}

void svg_grid_clear(struct svg_grid *grid, double cell)
{
	grid->cell = cell;
	grid->columns = (int)ceil(grid->width / cell);
	grid->rows = (int)ceil(grid->height / cell);
	memset(grid->tones, SVG_GRID_EMPTY, (size_t)grid->columns * (size_t)grid->rows);
}

static int cell_of(double at, double cell, int count)
{
	int number = (int)(at / cell);

	if (number < 0)
		return 0;
	return number < count ? number : count - 1;
}

void svg_grid_paint(struct svg_grid *grid, struct svg_rect rect, uint64_t weight,
		    unsigned char tone)
{
	int x0 = cell_of(rect.x0, grid->cell, grid->columns);
	int x1 = cell_of(fmax(rect.x0, rect.x1 - INSIDE), grid->cell, grid->columns);
	int y0 = cell_of(rect.y0, grid->cell, grid->rows);
	int y1 = cell_of(fmax(rect.y0, rect.y1 - INSIDE), grid->cell, grid->rows);

	for (int y = y0; y <= y1; y++) {
		for (int x = x0; x <= x1; x++) {
			size_t at = (size_t)y * (size_t)grid->columns + (size_t)x;

			if (grid->tones[at] != SVG_GRID_EMPTY && grid->weights[at] >= weight)
				continue;
			grid->tones[at] = tone;
			grid->weights[at] = weight;
		}
	}
}

int svg_grid_bars(const struct svg_grid *grid)
{
	int bars = 0;

	for (int y = 0; y < grid->rows; y++) {
		const unsigned char *row = &grid->tones[(size_t)y * (size_t)grid->columns];

		for (int x = 0; x < grid->columns; x++)
			bars += row[x] != SVG_GRID_EMPTY && (x == 0 || row[x] != row[x - 1]);
	}
	return bars;
}

void svg_grid_put(const struct svg_grid *grid, unsigned char tone, struct svg_path *path)
{
	for (int y = 0; y < grid->rows; y++) {
		const unsigned char *row = &grid->tones[(size_t)y * (size_t)grid->columns];

		for (int x = 0; x < grid->columns; x++) {
			int end = x;
			double from, to;

			while (end < grid->columns && row[end] == tone)
				end++;
			if (end == x)
				continue;
			from = round(x * grid->cell * 10);
			to = round(end * grid->cell * 10);
			svg_draw(path, "Mh", from, round((y + 0.5) * grid->cell * 10), to - from);
			x = end - 1;
		}
	}
}
