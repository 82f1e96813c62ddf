/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_svg.c - a static picture of a comparison, without scripts: the memory that each setting
 * needs over time above the live bytes, and a line of numbers for each.
 *
 * 1. The curve of live bytes has one point per pixel, the maximum under it. The curve of a setting
 *    has one for each change, but only the maximum of each half pixel.
 * 2. The list below names each curve, as the page does in its table.
 * 3. Colors are classes with two definitions: for light and for dark viewers.
 */
#include "compare/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "kit/format.h"
#include "map/map.h"
#include "kit/page.h"

#define WIDTH 1200
#define PLOT_X 84.0
#define PLOT_Y 84.0
#define PLOT_W 1084.0
#define PLOT_H 380.0
#define LIST_Y 536.0
#define LINE_H 24.0
#define TONES 8

/* The colors of the page: light and dark. */
static const struct {
	const char *light, *dark;
} tones[TONES] = {
	{ "#1f62c4", "#6ea8ff" }, { "#d9541e", "#ff8f5e" }, { "#12875a", "#46d39a" },
	{ "#b83280", "#ff86c8" }, { "#7a52cc", "#b79bff" }, { "#a16a00", "#e9b949" },
	{ "#0a8fa8", "#4fd3e8" }, { "#6b4a2b", "#d0a884" },
};

struct picture {
	FILE *file;
	const struct compare_table *table;
	double events;
	double top; /* bytes */
};

static double x_of(const struct picture *picture, double event)
{
	return PLOT_X + event / picture->events * PLOT_W;
}

static double y_of(const struct picture *picture, double bytes)
{
	return PLOT_Y + PLOT_H - bytes / picture->top * PLOT_H;
}

static void put_style(const struct picture *picture)
{
	FILE *file = picture->file;

	fputs("<style>\ntext{font:13px system-ui,sans-serif;fill:#1c2330}.soft{fill:#5c6779}"
	      ".head{font-size:20px;font-weight:600}.num{text-anchor:end}\n"
	      ".ground{fill:#fff}.grid{stroke:#e3e7ed}.live{fill:#8a94a6;opacity:.3}"
	      ".curve{fill:none;stroke-width:1.8;stroke-linejoin:round}"
	      ".dashed{stroke-dasharray:7 4}.choice{font-weight:700}\n",
	      file);
	for (int i = 0; i < TONES; i++)
		fprintf(file, ".s%d{stroke:%s}", i, tones[i].light);
	fputs("\n@media(prefers-color-scheme:dark){text{fill:#e6eaf1}.soft{fill:#96a2b4}"
	      ".ground{fill:#191f29}.grid{stroke:#2b3442}\n",
	      file);
	for (int i = 0; i < TONES; i++)
		fprintf(file, ".s%d{stroke:%s}", i, tones[i].dark);
	fputs("}\n</style>\n", file);
}

/* Bytes between two grid lines: a power of two, for about eight lines in all. */
static double step_of(double top)
{
	double step = 1;

	while (top / step > 9)
		step *= 2;
	return step;
}

static void put_axes(const struct picture *picture)
{
	const double step = step_of(picture->top);
	FILE *file = picture->file;
	double events = 1;

	for (double bytes = 0; bytes <= picture->top; bytes += step) {
		double y = y_of(picture, bytes);

		fprintf(file, "<path class=\"grid\" d=\"M%.0f %.1fh%.0f\"/>\n", PLOT_X, y, PLOT_W);
		fprintf(file, "<text class=\"soft num\" x=\"%.0f\" y=\"%.1f\">%s</text>\n",
			PLOT_X - 8, y + 4, format_bytes((uint64_t)bytes).text);
	}
	while (picture->events / events > 10)
		events *= picture->events / events > 50 ? 10 : picture->events / events > 20 ? 5 : 2;
	for (double event = 0; event <= picture->events; event += events)
		fprintf(file,
			"<text class=\"soft\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.0f\">%s</text>\n",
			x_of(picture, event), PLOT_Y + PLOT_H + 19,
			format_count((uint64_t)event).text);
	fprintf(file, "<text class=\"soft\" text-anchor=\"middle\" x=\"%.0f\" y=\"%.0f\">events</text>\n",
		PLOT_X + PLOT_W / 2, PLOT_Y + PLOT_H + 38);
}

static void put_live(const struct picture *picture)
{
	const struct replay_trace *trace = &picture->table->trace;
	uint64_t live = 0, max = 0;
	double x = 0;

	fprintf(picture->file, "<path class=\"live\" d=\"M%.0f %.0f", PLOT_X, PLOT_Y + PLOT_H);
	for (uint32_t e = 0; e < trace->event_count; e++) {
		uint64_t bytes = trace->blocks[trace->events[e] >> 1].bytes;

		if (compare_is_size(bytes))
			live = trace->events[e] & 1 ? live - bytes : live + bytes;
		if (live > max)
			max = live;
		if (x_of(picture, e + 1) < PLOT_X + x && e + 1 < trace->event_count)
			continue;
		fprintf(picture->file, "L%.1f %.1f", x_of(picture, e), y_of(picture, (double)max));
		x = x_of(picture, e + 1) - PLOT_X + 1;
		max = live;
	}
	fprintf(picture->file, "V%.0fz\"/>\n", PLOT_Y + PLOT_H);
}

/* The number of a step that is the needed memory. */
static uint64_t needed_at(const struct compare_row *row, const struct map_step *step)
{
	return row->setting->settings.growth_bytes == REPLAY_LARGEST ? step->high_water_bytes
								     : step->physical_bytes;
}

static const char *class_of(size_t i)
{
	static const char *const names[] = {
		"s0",        "s1",        "s2",        "s3",        "s4",        "s5",
		"s6",        "s7",        "s0 dashed", "s1 dashed", "s2 dashed", "s3 dashed",
		"s4 dashed", "s5 dashed", "s6 dashed", "s7 dashed",
	};

	return names[i % (sizeof(names) / sizeof(names[0]))];
}

static void put_curve(const struct picture *picture, size_t i)
{
	const struct compare_row *row = &picture->table->rows[i];
	const struct map *map = row->map;
	double drawn = -1;
	uint64_t max = 0;

	fprintf(picture->file, "<path class=\"curve %s\" d=\"M%.0f %.0f", class_of(i),
		PLOT_X, PLOT_Y + PLOT_H);
	for (size_t s = 0; s < map->step_count; s++) {
		double x = x_of(picture, map->steps[s].event);
		uint64_t now = needed_at(row, &map->steps[s]);

		if (now > max || drawn < 0)
			max = now;
		if (s + 1 < map->step_count &&
		    x_of(picture, map->steps[s + 1].event) - drawn < 0.5)
			continue;
		fprintf(picture->file, "H%.1fV%.1f", x, y_of(picture, (double)max));
		drawn = x;
		max = now;
	}
	fprintf(picture->file, "H%.0f\"/>\n", PLOT_X + PLOT_W);
}

static void put_line(const struct picture *picture, size_t i, bool chosen)
{
	const struct compare_row *row = &picture->table->rows[i];
	const double y = LIST_Y + LINE_H * (double)(i + 1);
	FILE *file = picture->file;

	if (row->setting)
		fprintf(file, "<path class=\"curve %s\" d=\"M%.0f %.1fh26\"/>\n", class_of(i),
			PLOT_X, y - 4);
	fprintf(file, "<text x=\"%.0f\" y=\"%.1f\"%s>", PLOT_X + 38, y,
		chosen ? " class=\"choice\"" : "");
	page_markup(file, compare_row_name(row));
	fputs(chosen ? " (choose)</text>\n" : "</text>\n", file);
	fprintf(file, "<text class=\"num\" x=\"560\" y=\"%.1f\">%s</text>\n", y,
		format_ratio(row->needed_ratio).text);
	fprintf(file, "<text class=\"num\" x=\"690\" y=\"%.1f\">%s</text>\n", y,
		format_bytes(row->needed_bytes).text);
	fprintf(file, "<text class=\"num\" x=\"860\" y=\"%.1f\">%s ns</text>\n", y,
		format_count((uint64_t)(row->ns_per_event + 0.5)).text);
	if (row->result.failures)
		fprintf(file, "<text class=\"num\" x=\"1060\" y=\"%.1f\">%s failed</text>\n", y,
			format_count(row->result.failures).text);
}

static void put_list(const struct picture *picture)
{
	const struct compare_choice choice = compare_choose(picture->table);

	fprintf(picture->file,
		"<g class=\"soft\"><text class=\"soft num\" x=\"560\" y=\"%.0f\">needs, of live</text>"
		"<text class=\"soft num\" x=\"690\" y=\"%.0f\">bytes</text>"
		"<text class=\"soft num\" x=\"860\" y=\"%.0f\">an event</text></g>\n",
		LIST_Y, LIST_Y, LIST_Y);
	for (size_t i = 0; i < picture->table->count; i++)
		put_line(picture, i, i == choice.choice);
}

static void put_title(const struct picture *picture)
{
	const struct compare_table *table = picture->table;

	fprintf(picture->file, "<text class=\"head\" x=\"%.0f\" y=\"36\">", PLOT_X);
	page_markup(picture->file, replay_trace_title(&table->trace, 39).text);
	fprintf(picture->file,
		"</text>\n<text class=\"soft\" x=\"%.0f\" y=\"60\">what each setting needs, over %s "
		"events; gray: live bytes, %s at the peak</text>\n",
		PLOT_X, format_count(table->trace.event_count).text,
		format_bytes(table->peak_live_bytes).text);
}

bool compare_svg(FILE *file, const struct compare_table *table)
{
	const int height = (int)(LIST_Y + LINE_H * (double)(table->count + 1));
	struct picture picture = { file, table, table->trace.event_count, 1 };

	if (picture.events < 1)
		picture.events = 1;
	for (size_t i = 0; i < table->count; i++)
		picture.top = fmax(picture.top, 1.05 * (double)table->rows[i].needed_bytes);
	picture.top = fmax(picture.top, 1.05 * (double)table->peak_live_bytes);
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n",
		WIDTH, height, WIDTH, height);
	put_style(&picture);
	fprintf(file, "<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", WIDTH, height);
	put_title(&picture);
	put_axes(&picture);
	put_live(&picture);
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].map)
			put_curve(&picture, i);
	put_list(&picture);
	fputs("</svg>\n", file);
	return !ferror(file);
}
