/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg.h - an SVG file: elements, texts, paths, and the axes of a plot.
 *
 * All pictures have the same width, and so have all plots. All colors except the blocks' are
 * classes of one style sheet, with a second set for dark mode in viewers that support it. Others
 * draw the light set. A look is one or more of these classes; NULL: none.
 *
 * Texts are untrusted: they are written by page_markup().
 *
 * Coordinates are pixels, y downwards, and are written with one decimal place. A number that cannot
 * be a coordinate (not finite, or 1e9 and beyond) becomes 0.
 */
#ifndef TOOLS_SVG_H
#define TOOLS_SVG_H

#include <stdbool.h>
#include <stdio.h>

#define SVG_WIDTH 1200
#define SVG_LEFT 90.0   /* the left edge of plots */
#define SVG_PLOT 1074.0 /* and their width */

/* svg_begin - write the head of a file; `what` is the kind of picture. */
void svg_begin(FILE *file, double height, const char *title, const char *what);

/* svg_end - False: writing the file failed, and errno has the reason. */
bool svg_end(FILE *file);

/*
 * svg_open - begin an element. `names` are attributes, separated by blanks; the numbers are their
 * values: svg_open(file, "circle", "mark", "cx cy r", x, y, 4).
 */
#define svg_open(file, element, look, names, ...) \
	svg_open_with(file, element, look, names, (const double[]){ __VA_ARGS__ })
void svg_open_with(FILE *file, const char *element, const char *look, const char *names,
		   const double *numbers);

/* svg_attribute - add an attribute to the element that svg_open() began; its text is escaped. */
void svg_attribute(FILE *file, const char *name, const char *text);

/* svg_inside - the attributes are complete, content follows. */
void svg_inside(FILE *file);

/* svg_close - end an element that has content; NULL: the last one, which has none. */
void svg_close(FILE *file, const char *element);

void svg_text(FILE *file, double x, double y, const char *look, const char *text);

/* svg_width - the approximate width of a text of 12 px. */
double svg_width(const char *text);

/* A path. It is written from its first svg_draw() on, and not at all without one. */
struct svg_path {
	FILE *file;
	const char *look;
	const char *fill, *stroke; /* NULL: as the look; with a stroke alone, nothing is filled */
	double width;              /* of the stroke; 0: as the look */
	double x, y;               /* where svg_draw() last moved to, or svg_step() */
	bool begun;
};

/*
 * svg_draw - append to a path. Each of `commands` is a letter of SVG (M L H V h v z), and the
 * numbers are theirs: svg_draw(&path, "Mh", x, y, width).
 */
#define svg_draw(path, commands, ...) svg_draw_with(path, commands, (const double[]){ __VA_ARGS__ })
void svg_draw_with(struct svg_path *path, const char *commands, const double *numbers);

void svg_box(struct svg_path *path, double x, double y, double width, double height);

/*
 * svg_step - append a step of a curve: to `x` at the old height, then to `y`. Steps smaller than a
 * pixel are omitted: the maximum of a pixel represents it until the next one.
 */
void svg_step(struct svg_path *path, double x, double y);

void svg_path_end(struct svg_path *path);

/* svg_line - a path of a single line, horizontal or vertical. */
void svg_line(FILE *file, const char *look, double x, double y, double width, double height);

/* svg_frame - draw the background of a plot. */
void svg_frame(FILE *file, double y, double width, double height);

/*
 * svg_tick_step - the distance between ticks of an axis with at most `max` ticks: 1, 2 or 5 times
 * a power of ten, or a power of two; at least 1.
 */
double svg_tick_step(double span, int max, bool binary);

/* svg_tick - one tick of an x axis, with its label. */
void svg_tick(FILE *file, double x, double y, const char *text);

/* svg_count_axis - an x axis from 0 to `count` below a plot. */
void svg_count_axis(FILE *file, double y, double count, const char *name);

/* Ticks in bytes: all in one unit, the largest in which a step has few decimal places. */
struct svg_bytes {
	double scale; /* bytes per unit */
	const char *unit;
	int digits;
};
struct svg_bytes svg_bytes_of(double span, double step);

/* svg_byte_axis - a y axis from 0 to `top` bytes to the left of a plot; with grid lines or not. */
void svg_byte_axis(FILE *file, double y, double height, double top, int max, const char *name,
		   bool grid);

#endif
