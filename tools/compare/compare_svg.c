/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_svg.c - a static picture of a comparison, without scripts: the memory that each setting
 * needs over time above the live bytes, and a line of numbers for each.
 *
 * 1. The curve of live bytes has one point per pixel, the maximum under it. The curve of a setting
 *    has one for each change, but only the maximum of each pixel.
 * 2. The list below names each curve, as the page does in its table.
 * 3. Colors are classes with two definitions: for light and for dark viewers.
 */
#include "compare/compare.h"

#include <math.h>

#include "kit/format.h"
#include "kit/svg.h"
#include "map/map.h"

#define PLOT_Y 84.0
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
	return SVG_LEFT + event / picture->events * SVG_PLOT;
}

static double y_of(const struct picture *picture, double bytes)
{
	return PLOT_Y + PLOT_H - bytes / picture->top * PLOT_H;
}

static void put_tones(FILE *file, bool dark)
{
	for (int i = 0; i < TONES; i++)
		fprintf(file, ".s%d{stroke:%s}", i, dark ? tones[i].dark : tones[i].light);
	putc('\n', file);
}

/* Add to the common style sheet. */
static void put_style(FILE *file)
{
	fputs("<style>\n.sum{fill:#8a94a6;opacity:.3}"
	      ".curve{fill:none;stroke-width:1.8;stroke-linejoin:round}"
	      ".dashed{stroke-dasharray:7 4}\n",
	      file);
	put_tones(file, false);
	fputs("@media (prefers-color-scheme:dark){\n", file);
	put_tones(file, true);
	fputs("}\n</style>\n", file);
}

static void put_live(const struct picture *picture)
{
	const struct replay_trace *trace = &picture->table->trace;
	struct svg_path path = { .file = picture->file, .look = "sum" };
	uint64_t live = 0, max = 0;
	double x = 0;

	svg_draw(&path, "M", SVG_LEFT, PLOT_Y + PLOT_H);
	for (uint32_t e = 0; e < trace->event_count; e++) {
		uint64_t bytes = trace->blocks[trace->events[e] >> 1].bytes;

		if (compare_is_size(bytes))
			live = trace->events[e] & 1 ? live - bytes : live + bytes;
		if (live > max)
			max = live;
		if (x_of(picture, e + 1) < SVG_LEFT + x && e + 1 < trace->event_count)
			continue;
		svg_draw(&path, "L", x_of(picture, e), y_of(picture, (double)max));
		x = x_of(picture, e + 1) - SVG_LEFT + 1;
		max = live;
	}
	svg_draw(&path, "Vz", PLOT_Y + PLOT_H);
	svg_path_end(&path);
}

static const char *class_of(size_t i)
{
	static const char *const names[] = {
		"curve s0",        "curve s1",        "curve s2",        "curve s3",
		"curve s4",        "curve s5",        "curve s6",        "curve s7",
		"curve s0 dashed", "curve s1 dashed", "curve s2 dashed", "curve s3 dashed",
		"curve s4 dashed", "curve s5 dashed", "curve s6 dashed", "curve s7 dashed",
	};

	return names[i % (sizeof(names) / sizeof(names[0]))];
}

static void put_curve(const struct picture *picture, size_t i)
{
	const struct compare_row *row = &picture->table->rows[i];
	struct svg_path path = { .file = picture->file, .look = class_of(i) };

	svg_draw(&path, "M", SVG_LEFT, PLOT_Y + PLOT_H);
	for (size_t s = 0; s < row->map->step_count; s++)
		svg_step(&path, x_of(picture, row->map->steps[s].event),
			 y_of(picture, (double)compare_needed_at(row, &row->map->steps[s])));
	svg_draw(&path, "H", SVG_LEFT + SVG_PLOT);
	svg_path_end(&path);
}

static void put_line(const struct picture *picture, size_t i, bool chosen)
{
	const struct compare_row *row = &picture->table->rows[i];
	const double y = LIST_Y + LINE_H * (double)(i + 1);
	FILE *file = picture->file;
	char text[COMPARE_NAME_BYTES + 20];

	if (row->setting)
		svg_line(file, class_of(i), SVG_LEFT, y - 4, 26, 0);
	snprintf(text, sizeof(text), "%s%s", compare_row_name(row), chosen ? " (choose)" : "");
	svg_text(file, SVG_LEFT + 38, y, chosen ? "name" : "row", text);
	svg_text(file, 560, y, "row end", format_ratio(row->needed_ratio).text);
	svg_text(file, 690, y, "row end", format_bytes(row->needed_bytes).text);
	snprintf(text, sizeof(text), "%s ns",
		 format_count((uint64_t)(row->ns_per_event + 0.5)).text);
	svg_text(file, 860, y, "row end", text);
	snprintf(text, sizeof(text), "%s failed", format_count(row->result.failures).text);
	if (row->result.failures)
		svg_text(file, 1060, y, "row end", text);
}

static void put_list(const struct picture *picture)
{
	const struct compare_choice choice = compare_choose(picture->table);

	svg_text(picture->file, 560, LIST_Y, "end", "needs, of live");
	svg_text(picture->file, 690, LIST_Y, "end", "bytes");
	svg_text(picture->file, 860, LIST_Y, "end", "an event");
	for (size_t i = 0; i < picture->table->count; i++)
		put_line(picture, i, i == choice.choice);
}

static void put_title(const struct picture *picture, const char *name)
{
	const struct compare_table *table = picture->table;
	char text[200];

	svg_text(picture->file, SVG_LEFT, 36, "title", name);
	snprintf(text, sizeof(text),
		 "what each setting needs, over %s events; gray: live bytes, %s at the peak",
		 format_count(table->trace.event_count).text,
		 format_bytes(table->peak_live_bytes).text);
	svg_text(picture->file, SVG_LEFT, 60, NULL, text);
}

bool compare_svg(FILE *file, const struct compare_table *table)
{
	const struct format_text name = replay_trace_title(&table->trace, 39);
	struct picture picture = { file, table, table->trace.event_count, 1 };

	if (picture.events < 1)
		picture.events = 1;
	for (size_t i = 0; i < table->count; i++)
		picture.top = fmax(picture.top, 1.05 * (double)table->rows[i].needed_bytes);
	picture.top = fmax(picture.top, 1.05 * (double)table->peak_live_bytes);
	svg_begin(file, LIST_Y + LINE_H * (double)(table->count + 1), name.text,
		  "settings compared");
	put_style(file);
	put_title(&picture, name.text);
	svg_frame(file, PLOT_Y, SVG_PLOT, PLOT_H);
	svg_byte_axis(file, PLOT_Y, PLOT_H, picture.top, 9, "bytes", true);
	svg_count_axis(file, PLOT_Y + PLOT_H, picture.events, "events");
	put_live(&picture);
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].map)
			put_curve(&picture, i);
	put_list(&picture);
	return svg_end(file);
}
