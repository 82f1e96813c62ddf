/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_put.h - the first and last lines of an SVG file, texts, and ticks of axes.
 *
 * All colours but the blocks' are classes of one style, with a second set for a dark page where
 * the viewer says so. A program that knows no such question draws the light set.
 */
#ifndef TOOLS_SVG_PUT_H
#define TOOLS_SVG_PUT_H

#include <stdio.h>

#include "map/map_color.h"

#define SVG_WIDTH 1200
#define SVG_LEFT 90.0 /* where plots begin */
#define SVG_PLOT 1074.0 /* and how wide they are */

void svg_begin(FILE *file, double height, const char *title);
void svg_end(FILE *file);

/* svg_escape - text of any origin, in a form that no reader of XML takes for anything else. */
void svg_escape(FILE *file, const char *text);

/* svg_text - `how` is attributes, each with a blank before it: " class=\"ink\"", or "". */
void svg_text(FILE *file, double x, double y, const char *how, const char *text);

/* svg_width - about how wide a text of 12 px is. */
double svg_width(const char *text);

/* svg_frame - the ground of a plot. */
void svg_frame(FILE *file, double x, double y, double width, double height);

/* svg_rgb - "#rrggbb". */
struct svg_color {
	char text[8];
};
struct svg_color svg_rgb(struct map_rgb rgb);

/*
 * svg_step - from tick to tick of an axis that has at most so many: 1, 2 or 5 times a power of ten,
 * or a power of two; at least 1.
 */
double svg_step(double span, int most, int binary);

/* Ticks of bytes: all in one unit, the largest in which a step has few digits behind the point. */
struct svg_bytes {
	double scale; /* bytes a unit */
	const char *unit;
	int digits;
};
struct svg_bytes svg_bytes_of(double span, double step);

/* svg_byte_axis - 0 to `top` bytes upwards beside a plot, with lines across it. */
void svg_byte_axis(FILE *file, double y, double height, double top, int most, const char *name);

#endif
