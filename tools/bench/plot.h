/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.h - pictures of results: what plot.c reads, plot_svg.c draws.
 */
#ifndef MAM_TOOLS_BENCH_PLOT_H
#define MAM_TOOLS_BENCH_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PLOT_POINTS_MAX 16
#define PLOT_LINES_MAX 12
#define PLOT_BARS_MAX 48

/* mam bench plot */
int plot_main(int argc, char **argv);

/* An allocator's values; those it has none for are 0. */
struct plot_line {
	const char *label;
	const char *color; /* a class of plot_svg.c's style */
	double values[PLOT_POINTS_MAX];
};

/* Values along an axis of names, upwards in powers of ten. */
struct plot_lines {
	const char *title, *subtitle; /* the subtitle says what is up */
	const char *axis;             /* what the names along the bottom are */
	const char *names[PLOT_POINTS_MAX];
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
	const char *unit; /* behind each number */
	struct plot_bar bars[PLOT_BARS_MAX];
	size_t count;
};

void plot_svg_lines(FILE *file, const struct plot_lines *plot);
void plot_svg_bars(FILE *file, const struct plot_bars *plot);

#endif
