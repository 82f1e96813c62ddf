/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.h - figures of results: plot_rows.c reads, plot_table.c and plot_figures.c define the
 * figures, plot_lines.c and plot_bars.c draw them as SVG between plot_svg.c's head and end.
 */
#ifndef MAM_TOOLS_BENCH_PLOT_H
#define MAM_TOOLS_BENCH_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PLOT_POINTS_MAX 24
#define PLOT_LINES_MAX 16
#define PLOT_BARS_MAX 96

#define PLOT_WIDTH 820

struct bench_machine;
struct bench_results;
struct plot_rows;

/* mam bench plot */
int plot_main(int argc, char **argv);
/*
 * plot_results - write all figures of the current measurements into one file; returns an exit
 * status after reporting errors
 */
int plot_results(const char *path, const struct bench_results *results,
		 const struct bench_machine *machine);

/* An allocator's values; missing ones are 0. */
struct plot_line {
	const char *label;
	const char *color; /* a class of plot_svg.c's style */
	double values[PLOT_POINTS_MAX];
};

/* Values along an axis of names, upwards in powers of ten. */
struct plot_lines {
	const char *title, *subtitle;
	const char *up;   /* the vertical axis, with its unit */
	const char *axis; /* what the names along the bottom are */
	const char *names[PLOT_POINTS_MAX];
	const char *groups[PLOT_POINTS_MAX]; /* a line is broken where the group changes; NULL */
	size_t points;
	struct plot_line lines[PLOT_LINES_MAX];
	size_t count;
};

/* Bars from 0 to the right, in groups. */
struct plot_bar {
	const char *group; /* drawn above the first of it */
	const char *label, *color;
	double value;
};

struct plot_bars {
	const char *title, *subtitle;
	const char *unit; /* after each number */
	struct plot_bar bars[PLOT_BARS_MAX];
	size_t count;
};

/* ---- one figure: plot_svg.c ---- */

void plot_svg_begin(FILE *file, const char *title, double height);
/* plot_svg_end - with the machine of the measurement in a line at the bottom */
void plot_svg_end(FILE *file, double height, const char *footnote);
#define PLOT_FOOT 26.0 /* height of that line */

/* plot_svg_put - write text with XML escapes */
void plot_svg_put(FILE *file, const char *text);
void plot_svg_text(FILE *file, double x, double y, const char *attributes, const char *text);
void plot_svg_heading(FILE *file, const char *title, const char *subtitle);
/* plot_svg_show - two or three digits, and a unit prefix if that is shorter */
const char *plot_svg_show(double value, char *text, size_t bytes);

/* ---- parts of one: plot_lines.c, plot_bars.c; from the origin down, of their own height ---- */

void plot_lines_draw(FILE *file, const struct plot_lines *plot);
double plot_lines_height(const struct plot_lines *plot);
void plot_bars_draw(FILE *file, const struct plot_bars *plot);
double plot_bars_height(const struct plot_bars *plot);

/* ---- available figures: plot_figures.c ---- */

size_t plot_figure_count(void);

/* plot_figure_file - "latency.svg" */
const char *plot_figure_file(size_t which);
/* plot_figure_draw - return false if there is no row to draw; with file NULL, only check */
bool plot_figure_draw(size_t which, const struct plot_rows *rows, FILE *file);
/* plot_figure_page - draw all available ones, one below another; false if there are none */
bool plot_figure_page(const struct plot_rows *rows, FILE *file);

#endif
