/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_put.h - the first and last lines of an SVG file, texts, and ticks of axes.
 *
 * All colors except the blocks' are classes of one style sheet, with a second set for dark mode in
 * viewers that support it. Others draw the light set.
 */
#ifndef TOOLS_SVG_PUT_H
#define TOOLS_SVG_PUT_H

#include <stdio.h>

#include "map/map_color.h"

#define SVG_WIDTH 1200
#define SVG_LEFT 90.0 /* the left edge of plots */
#define SVG_PLOT 1074.0 /* and their width */

void svg_begin(FILE *file, double height, const char *title);
void svg_end(FILE *file);

/* svg_escape - write untrusted text so that an XML parser reads it as plain text. */
void svg_escape(FILE *file, const char *text);

/* svg_text - `how` is attributes, each preceded by a blank: " class=\"ink\"", or "". */
void svg_text(FILE *file, double x, double y, const char *how, const char *text);

/* svg_width - the approximate width of a text of 12 px. */
double svg_width(const char *text);

/* svg_frame - draw the background of a plot. */
void svg_frame(FILE *file, double x, double y, double width, double height);

/* svg_rgb - "#rrggbb". */
struct svg_color {
	char text[8];
};
struct svg_color svg_rgb(struct map_rgb rgb);

/*
 * svg_step - the distance between ticks of an axis with at most `most` ticks: 1, 2 or 5 times a
 * power of ten, or a power of two; at least 1.
 */
double svg_step(double span, int max, int binary);

/* Ticks in bytes: all in one unit, the largest in which a step has few decimal places. */
struct svg_bytes {
	double scale; /* bytes per unit */
	const char *unit;
	int digits;
};
struct svg_bytes svg_bytes_of(double span, double step);

/* svg_byte_axis - a y axis from 0 to `top` bytes to the left of a plot, with grid lines. */
void svg_byte_axis(FILE *file, double y, double height, double top, int max, const char *name);

#endif
