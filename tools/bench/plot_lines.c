/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot_lines.c - lines along an axis of names, upwards in powers of ten.
 *
 * 1. The vertical axis spans the powers of ten that contain all values; so a ratio is the same
 *    distance everywhere.
 * 2. The names along the bottom are evenly spaced. If they stand for sizes or counts that grow by a
 *    factor each, that axis is logarithmic, too. Names that would overlap are left out, the same
 *    number between any two that are shown.
 * 3. Points may be in groups, each with a name of its own above; a line is broken between two.
 * 4. A line's name is placed at its last point; names that would overlap are moved apart, downwards
 *    from the highest, then upwards from the lowest allowed.
 */
#include <math.h>
#include <string.h>

#include "plot.h"

#define LEFT 84.0
#define RIGHT 626.0 /* where the plot ends and the lines' names begin */
#define TOP 84.0
#define HEIGHT 442.0
#define BOTTOM 384.0
#define NAME_HEIGHT 17.0
#define LETTER_WIDTH 7.4 /* of 13 px, about */

double plot_lines_height(const struct plot_lines *plot)
{
	(void)plot;
	return HEIGHT;
}

static bool begins_group(const struct plot_lines *plot, size_t point)
{
	return point > 0 && plot->groups[point] != NULL &&
	       strcmp(plot->groups[point], plot->groups[point - 1]) != 0;
}

struct scale {
	double low, high; /* powers of ten */
	size_t points;
};

static double x_of(const struct scale *scale, size_t point)
{
	double step = (RIGHT - LEFT) / (double)scale->points;

	return LEFT + step * ((double)point + 0.5);
}

static double y_of(const struct scale *scale, double value)
{
	return BOTTOM - (BOTTOM - TOP) * (log10(value) - scale->low) / (scale->high - scale->low);
}

static struct scale find_scale(const struct plot_lines *plot)
{
	struct scale scale = { 99, -99, plot->points };
	size_t i, point;

	for (i = 0; i < plot->count; i++) {
		for (point = 0; point < plot->points; point++) {
			double value = plot->lines[i].values[point];

			if (value > 0 && log10(value) < scale.low)
				scale.low = log10(value);
			if (value > 0 && log10(value) > scale.high)
				scale.high = log10(value);
		}
	}
	scale.low = floor(scale.low);
	scale.high = ceil(scale.high);
	if (scale.high <= scale.low)
		scale.high = scale.low + 1;
	return scale;
}

/* Returns n if every n-th name can be shown. */
static size_t name_step(const struct plot_lines *plot, const struct scale *scale)
{
	double widest = 0, apart = (RIGHT - LEFT) / (double)scale->points;
	size_t i;

	for (i = 0; i < plot->points; i++) {
		double width = LETTER_WIDTH * (double)(strlen(plot->names[i]) + 1);

		if (width > widest)
			widest = width;
	}
	return (size_t)ceil(widest / apart);
}

static void put_names_below(FILE *file, const struct plot_lines *plot, const struct scale *scale)
{
	size_t step = name_step(plot, scale), i, in_group = 0;

	for (i = 0; i < plot->points; i++, in_group++) {
		if (begins_group(plot, i))
			in_group = 0;
		if (in_group % step == 0)
			plot_svg_text(file, x_of(scale, i), BOTTOM + 20,
				      "class=\"soft\" text-anchor=\"middle\"", plot->names[i]);
	}
	plot_svg_text(file, (LEFT + RIGHT) / 2, BOTTOM + 42,
		      "class=\"soft\" text-anchor=\"middle\"", plot->axis);
}

/* Each group's name above its center, and a line before all but the first. */
static void put_groups(FILE *file, const struct plot_lines *plot, const struct scale *scale)
{
	size_t first = 0, i;

	for (i = 1; plot->groups[0] != NULL && i <= plot->points; i++) {
		double x = (x_of(scale, i) + x_of(scale, i - 1)) / 2;

		if (i < plot->points && !begins_group(plot, i))
			continue;
		plot_svg_text(file, (x_of(scale, first) + x_of(scale, i - 1)) / 2, TOP - 10,
			      "text-anchor=\"middle\"", plot->groups[first]);
		if (i < plot->points)
			fprintf(file,
				"<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
				"y2=\"%.1f\"/>\n",
				x, TOP - 22, x, BOTTOM);
		first = i;
	}
}

static void put_axes(FILE *file, const struct plot_lines *plot, const struct scale *scale)
{
	char text[32];
	double power;

	for (power = scale->low; power <= scale->high; power++) {
		double y = y_of(scale, pow(10, power));

		fprintf(file,
			"<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
			LEFT, y, RIGHT, y);
		plot_svg_text(file, LEFT - 8, y + 4, "class=\"soft\" text-anchor=\"end\"",
			      plot_svg_show(pow(10, power), text, sizeof(text)));
	}
	fprintf(file, "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		LEFT, BOTTOM, RIGHT, BOTTOM);
	fprintf(file, "<g transform=\"translate(28 %.1f) rotate(-90)\">", (TOP + BOTTOM) / 2);
	plot_svg_text(file, 0, 0, "class=\"soft\" text-anchor=\"middle\"", plot->up);
	fputs("</g>\n", file);
	put_names_below(file, plot, scale);
	put_groups(file, plot, scale);
}

static void put_line(FILE *file, const struct plot_lines *plot, const struct scale *scale,
		     const struct plot_line *line)
{
	char text[32];
	size_t i, first, end;

	for (first = 0; first < plot->points; first = end) {
		const char *join = "";

		fprintf(file, "<polyline class=\"line %s\" points=\"", line->color);
		for (end = first; end < plot->points; end++) {
			if (end > first && begins_group(plot, end))
				break;
			if (line->values[end] > 0) {
				fprintf(file, "%s%.1f,%.1f", join, x_of(scale, end),
					y_of(scale, line->values[end]));
				join = " ";
			}
		}
		fputs("\"/>\n", file);
	}
	for (i = 0; i < plot->points; i++) {
		if (line->values[i] <= 0)
			continue;
		fprintf(file,
			"<g class=\"%s\"><circle class=\"ring\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\">",
			line->color, x_of(scale, i), y_of(scale, line->values[i]));
		fputs("<title>", file);
		plot_svg_put(file, line->label);
		fputs(", ", file);
		if (plot->groups[i] != NULL) {
			plot_svg_put(file, plot->groups[i]);
			fputs(", ", file);
		}
		plot_svg_put(file, plot->names[i]);
		fprintf(file, ": %s</title></circle></g>\n",
			plot_svg_show(line->values[i], text, sizeof(text)));
	}
}

/* The last value of a line; 0: it has none. */
static double last_of(const struct plot_lines *plot, const struct plot_line *line, size_t *point)
{
	size_t i;

	for (i = plot->points; i-- > 0;) {
		if (line->values[i] > 0) {
			*point = i;
			return line->values[i];
		}
	}
	return 0;
}

static void put_names(FILE *file, const struct plot_lines *plot, const struct scale *scale)
{
	size_t order[PLOT_LINES_MAX], count = 0, i, at, point = 0;
	double wanted[PLOT_LINES_MAX], y[PLOT_LINES_MAX], lowest = BOTTOM;
	char text[32], label[96];

	for (i = 0; i < plot->count; i++) {
		double last = last_of(plot, &plot->lines[i], &point);

		if (last <= 0)
			continue;
		wanted[i] = y[i] = y_of(scale, last);
		for (at = count++; at > 0 && wanted[order[at - 1]] > wanted[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (at = 1; at < count; at++) {
		if (y[order[at]] < y[order[at - 1]] + NAME_HEIGHT)
			y[order[at]] = y[order[at - 1]] + NAME_HEIGHT;
	}
	for (at = count; at-- > 0; lowest = y[order[at]] - NAME_HEIGHT) {
		if (y[order[at]] > lowest)
			y[order[at]] = lowest;
	}
	for (at = 0; at < count; at++) {
		const struct plot_line *line = &plot->lines[order[at]];
		double last = last_of(plot, line, &point);

		fprintf(file,
			"<polyline class=\"line %s\" style=\"stroke-width:1\" points=\"%.1f,%.1f "
			"%.1f,%.1f "
			"%.1f,%.1f\"/>\n",
			line->color, x_of(scale, point) + 8, wanted[order[at]], RIGHT - 14,
			wanted[order[at]], RIGHT + 2, y[order[at]]);
		snprintf(label, sizeof(label), "%s: %s", line->label,
			 plot_svg_show(last, text, sizeof(text)));
		plot_svg_text(file, RIGHT + 7, y[order[at]] + 4, "", label);
	}
}

void plot_lines_draw(FILE *file, const struct plot_lines *plot)
{
	struct scale scale = find_scale(plot);
	size_t i;

	plot_svg_heading(file, plot->title, plot->subtitle);
	put_axes(file, plot, &scale);
	for (i = plot->count; i-- > 0;) /* the first is on top */
		put_line(file, plot, &scale, &plot->lines[i]);
	put_names(file, plot, &scale);
}
