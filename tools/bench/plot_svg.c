/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot_svg.c - draws two kinds of picture as SVG that needs no script.
 *
 * Colours are classes of one style, with a second set for a dark page, where the viewer says so.
 * An allocator has the same colour in every picture, and its name beside it in ink, so that no
 * colour need be told from another. Numbers are in tooltips, too (<title>).
 *
 * Lines: a name along the bottom for each point, upwards the powers of ten that hold all values.
 * A line's name stands at its last point; names that would touch are moved apart, downwards from
 * the highest, then upwards from the lowest allowed.
 */
#include <math.h>
#include <string.h>

#include "plot.h"

#define WIDTH 820
#define LEFT 66.0
#define RIGHT 626.0 /* where the plot ends and the lines' names begin */
#define TOP 72.0
#define HEIGHT 430
#define BOTTOM 372.0
#define NAME_HEIGHT 17.0

#define BAR_LEFT 190.0
#define BAR_RIGHT 720.0
#define BAR_STEP 24.0
#define BAR_HEIGHT 15.0
#define GROUP_STEP 32.0

static const char style[] =
	"<style>\n"
	"text{font:13px system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif;fill:#1c2330}\n"
	".title{font-size:16px;font-weight:600}\n"
	".soft{fill:#5c6779}\n"
	".grid{stroke:#d9dee6;stroke-width:1}\n"
	".axis{stroke:#8993a3;stroke-width:1}\n"
	".line{fill:none;stroke-width:2;stroke-linejoin:round}\n"
	".page{fill:#ffffff}\n"
	".ring{stroke:#ffffff;stroke-width:2}\n"
	".mam{stroke:#2a78d6;fill:#2a78d6}\n"
	".plain{stroke:#1a9c6d;fill:#1a9c6d}\n"
	".rmm{stroke:#c98500;fill:#c98500}\n"
	".torch{stroke:#d8403f;fill:#d8403f}\n"
	".async{stroke:#5a49bd;fill:#5a49bd}\n"
	".cuda{stroke:#6b7484;fill:#6b7484}\n"
	".other{stroke:#c2548a;fill:#c2548a}\n"
	".line.mam,.line.plain,.line.rmm,.line.torch,.line.async,.line.cuda,.line.other{fill:none}"
	"\n"
	".line.mam{stroke-width:3.5}\n"
	"@media (prefers-color-scheme:dark){\n"
	"text{fill:#e8ebf0}\n"
	".soft{fill:#a7b0be}\n"
	".grid{stroke:#323945}\n"
	".axis{stroke:#6b7484}\n"
	".page{fill:#161a20}\n"
	".ring{stroke:#161a20}\n"
	".mam{stroke:#5598e7;fill:#5598e7}\n"
	".plain{stroke:#2fb98a;fill:#2fb98a}\n"
	".rmm{stroke:#e0a52e;fill:#e0a52e}\n"
	".torch{stroke:#ee7170;fill:#ee7170}\n"
	".async{stroke:#9d92ee;fill:#9d92ee}\n"
	".cuda{stroke:#98a2b3;fill:#98a2b3}\n"
	".other{stroke:#e07fad;fill:#e07fad}\n"
	"}\n"
	"</style>\n";

/* Text as XML has it. */
static void put(FILE *file, const char *text)
{
	for (; *text != '\0'; text++) {
		switch (*text) {
		case '&': fputs("&amp;", file); break;
		case '<': fputs("&lt;", file); break;
		case '>': fputs("&gt;", file); break;
		case '"': fputs("&quot;", file); break;
		default: fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
		}
	}
}

static void put_text(FILE *file, double x, double y, const char *attributes, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
	put(file, text);
	fputs("</text>\n", file);
}

static void put_head(FILE *file, int height, const char *title, const char *subtitle)
{
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" role=\"img\">\n<!-- SPDX-License-Identifier: Apache-2.0 "
		"-->\n<title>",
		WIDTH, height, WIDTH, height);
	put(file, title);
	fprintf(file, "</title>\n%s", style);
	fprintf(file, "<rect class=\"page\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", WIDTH,
		height);
	put_text(file, 20, 28, "class=\"title\"", title);
	put_text(file, 20, 48, "class=\"soft\"", subtitle);
}

/* Two or three digits, and a unit's letter where that is shorter. */
static const char *show(double value, char *text, size_t bytes)
{
	if (value >= 999500)
		snprintf(text, bytes, "%.3gM", value / 1e6);
	else if (value >= 999.5)
		snprintf(text, bytes, "%.3gk", value / 1e3);
	else
		snprintf(text, bytes, "%.3g", value);
	return text;
}

/* ---- lines ---- */

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

static void put_axes(FILE *file, const struct plot_lines *plot, const struct scale *scale)
{
	char text[32];
	double power;
	size_t i;

	for (power = scale->low; power <= scale->high; power++) {
		double y = y_of(scale, pow(10, power));

		fprintf(file,
			"<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
			LEFT, y, RIGHT, y);
		put_text(file, LEFT - 8, y + 4, "class=\"soft\" text-anchor=\"end\"",
			 show(pow(10, power), text, sizeof(text)));
	}
	fprintf(file, "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		LEFT, BOTTOM, RIGHT, BOTTOM);
	for (i = 0; i < plot->points; i++)
		put_text(file, x_of(scale, i), BOTTOM + 20, "class=\"soft\" text-anchor=\"middle\"",
			 plot->names[i]);
	put_text(file, (LEFT + RIGHT) / 2, BOTTOM + 42, "class=\"soft\" text-anchor=\"middle\"",
		 plot->axis);
}

static void put_line(FILE *file, const struct plot_lines *plot, const struct scale *scale,
		     const struct plot_line *line)
{
	const char *join = "";
	char text[32];
	size_t i;

	fprintf(file, "<polyline class=\"line %s\" points=\"", line->color);
	for (i = 0; i < plot->points; i++) {
		if (line->values[i] > 0) {
			fprintf(file, "%s%.1f,%.1f", join, x_of(scale, i),
				y_of(scale, line->values[i]));
			join = " ";
		}
	}
	fputs("\"/>\n", file);
	for (i = 0; i < plot->points; i++) {
		if (line->values[i] <= 0)
			continue;
		fprintf(file,
			"<g class=\"%s\"><circle class=\"ring\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\">",
			line->color, x_of(scale, i), y_of(scale, line->values[i]));
		fputs("<title>", file);
		put(file, line->label);
		fputs(", ", file);
		put(file, plot->names[i]);
		fprintf(file, ": %s</title></circle></g>\n",
			show(line->values[i], text, sizeof(text)));
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
			 show(last, text, sizeof(text)));
		put_text(file, RIGHT + 7, y[order[at]] + 4, "", label);
	}
}

void plot_svg_lines(FILE *file, const struct plot_lines *plot)
{
	struct scale scale = find_scale(plot);
	size_t i;

	put_head(file, HEIGHT, plot->title, plot->subtitle);
	put_axes(file, plot, &scale);
	for (i = plot->count; i-- > 0;) /* the first is on top */
		put_line(file, plot, &scale, &plot->lines[i]);
	put_names(file, plot, &scale);
	fputs("</svg>\n", file);
}

/* ---- bars ---- */

static bool begins_group(const struct plot_bars *plot, size_t at)
{
	return at == 0 || strcmp(plot->bars[at].group, plot->bars[at - 1].group) != 0;
}

void plot_svg_bars(FILE *file, const struct plot_bars *plot)
{
	double most = 0, y = TOP, height = TOP + 16;
	char text[32], label[64];
	size_t i;

	for (i = 0; i < plot->count; i++) {
		height += BAR_STEP + (begins_group(plot, i) ? GROUP_STEP : 0);
		if (plot->bars[i].value > most)
			most = plot->bars[i].value;
	}
	put_head(file, (int)height, plot->title, plot->subtitle);
	for (i = 0; i < plot->count; i++) {
		const struct plot_bar *bar = &plot->bars[i];
		double width = most > 0 ? (BAR_RIGHT - BAR_LEFT) * bar->value / most : 0;

		if (begins_group(plot, i)) {
			y += GROUP_STEP;
			put_text(file, 20, y - 10, "style=\"font-weight:600\"", bar->group);
		}
		put_text(file, BAR_LEFT - 10, y + 12, "text-anchor=\"end\"", bar->label);
		snprintf(label, sizeof(label), "%s%s", show(bar->value, text, sizeof(text)),
			 plot->unit);
		fprintf(file,
			"<rect class=\"%s\" stroke=\"none\" style=\"stroke:none\" x=\"%.1f\" "
			"y=\"%.1f\" "
			"width=\"%.1f\" height=\"%.1f\" rx=\"2\"><title>",
			bar->color, BAR_LEFT, y, width < 1 ? 1 : width, BAR_HEIGHT);
		put(file, bar->label);
		fputs(": ", file);
		put(file, label);
		fputs("</title></rect>\n", file);
		put_text(file, BAR_LEFT + (width < 1 ? 1 : width) + 7, y + 12, "class=\"soft\"",
			 label);
		y += BAR_STEP;
	}
	fprintf(file, "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		BAR_LEFT, TOP + 26, BAR_LEFT, y);
	fputs("</svg>\n", file);
}
