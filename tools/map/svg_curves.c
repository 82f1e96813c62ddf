/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_curves.c - live, high water, reserved and physical bytes over the events, and the peak
 * reserved bytes of the recorded program's own pool, if the trace has them.
 *
 * On host with a single chunk, the reserved bytes are an arbitrary default, and are not shown.
 *
 * 1. A curve far above the live bytes and the high water mark is named but not drawn: it would
 *    compress all others to the bottom.
 * 2. Live bytes have one point per pixel, the maximum under it. The others are step curves. Steps
 *    are drawn only if they are wider or higher than a pixel, so that the size of a picture is
 *    bounded.
 * 3. Ticks at the upper edge mark failed allocations (red) and waits for all streams.
 */
#include "map/svg_view.h"

#include <math.h>
#include <string.h>

#include "kit/format.h"

#define MUCH_HIGHER 2.5 /* as in the page, map/curves.js */
#define CURVES 5

struct curve {
	const char *name;
	const char *look;                            /* CSS class */
	uint64_t max;                                /* its maximum */
	uint64_t (*of)(const struct map_step *step); /* NULL: not a field of a step */
	bool hidden;
	bool fits;
};

struct plot {
	const struct svg *svg;
	double y, height;
	double ceiling; /* bytes */
	struct curve curves[CURVES];
};

static uint64_t high_water_of(const struct map_step *step)
{
	return step->high_water_bytes;
}

static uint64_t reserved_of(const struct map_step *step)
{
	return step->reserved_bytes;
}

static uint64_t physical_of(const struct map_step *step)
{
	return step->physical_bytes;
}

static uint64_t max_of(const struct map *map, uint64_t (*of)(const struct map_step *step))
{
	uint64_t max = 0;

	for (size_t i = 0; i < map->step_count; i++)
		if (of(&map->steps[i]) > max)
			max = of(&map->steps[i]);
	return max;
}

/* Whether all reserved memory is physical at all times. */
static bool is_alike(const struct map *map)
{
	for (size_t i = 0; i < map->step_count; i++)
		if (map->steps[i].reserved_bytes != map->steps[i].physical_bytes)
			return false;
	return true;
}

/* Whether the size of the single reserved chunk is only a default. */
static bool is_made_up(const struct svg *svg)
{
	return strcmp(svg->settings->source, "host") == 0 &&
	       svg->settings->growth_bytes == REPLAY_LARGEST;
}

/* The change of live bytes by an event, in requested sizes. */
static int64_t change_of(const struct svg *svg, uint32_t event)
{
	const struct replay_trace *trace = svg->map->trace;
	uint32_t what = trace->events[event], block = what >> 1;

	if (!svg->map->sizes[block])
		return 0;
	return what & 1 ? -(int64_t)trace->blocks[block].bytes
			: (int64_t)trace->blocks[block].bytes;
}

static uint64_t peak_of(const struct svg *svg, uint32_t *event)
{
	int64_t live = 0, max = 0;

	for (uint32_t i = 0; i < svg->map->trace->event_count; i++) {
		live += change_of(svg, i);
		if (live > max) {
			max = live;
			*event = i;
		}
	}
	return (uint64_t)max;
}

static void choose(struct plot *plot)
{
	const struct map *map = plot->svg->map;
	bool alike = is_alike(map), made_up = is_made_up(plot->svg);
	uint64_t recorded = plot->svg->result->recorded_reserved_bytes;
	uint32_t event;
	double highest, max = 0;

	plot->curves[0] =
		(struct curve){ "live", "live", peak_of(plot->svg, &event), NULL, false, true };
	plot->curves[1] = (struct curve){ "high water",  "high", max_of(map, high_water_of),
					  high_water_of, false,  true };
	plot->curves[2] = (struct curve){ alike ? "reserved, all physical" : "reserved",
					  "reserved",
					  max_of(map, reserved_of),
					  reserved_of,
					  made_up,
					  false };
	plot->curves[3] = (struct curve){ "physical",  "physical",       max_of(map, physical_of),
					  physical_of, alike || made_up, false };
	plot->curves[4] = (struct curve){
		"program's own pool, at most", "recorded", recorded, NULL, !recorded, false
	};
	highest = (double)(plot->curves[0].max > plot->curves[1].max ? plot->curves[0].max
								     : plot->curves[1].max);
	for (int i = 0; i < CURVES; i++) {
		struct curve *curve = &plot->curves[i];

		curve->fits = !curve->hidden && (double)curve->max <= highest * MUCH_HIGHER;
		if (curve->fits)
			max = fmax(max, (double)curve->max);
	}
	plot->ceiling = max > 0 ? max * 1.08 : 4096;
}

static double y_of(const struct plot *plot, double bytes)
{
	return plot->y + plot->height - bytes / plot->ceiling * plot->height;
}

static void put_live(const struct plot *plot)
{
	const struct svg *svg = plot->svg;
	const struct replay_trace *trace = svg->map->trace;
	struct svg_path path = { .file = svg->file, .look = "live under" };
	double floor = plot->y + plot->height, live = 0, high = 0;
	int column = 0;

	/* The line and the area below it share a path, which ends at the bottom on both sides. */
	svg_draw(&path, "M", SVG_LEFT, floor);
	for (uint32_t event = 0; event < trace->event_count; event++) {
		int now = (int)(svg_along(svg, event) * SVG_PLOT);

		live += (double)change_of(svg, event);
		if (now > column) {
			svg_draw(&path, "L", SVG_LEFT + column, y_of(plot, high));
			column = now;
			high = live;
		} else {
			high = fmax(high, live);
		}
	}
	svg_draw(&path, "LHVz", SVG_LEFT + column, y_of(plot, high), SVG_LEFT + SVG_PLOT, floor);
	svg_path_end(&path);
}

static void put_steps(const struct plot *plot, const struct curve *curve)
{
	const struct map *map = plot->svg->map;
	struct svg_path path = { .file = plot->svg->file, .look = curve->look };

	svg_draw(&path, "M", SVG_LEFT, plot->y + plot->height);
	for (size_t i = 0; i < map->step_count; i++)
		svg_step(&path, SVG_LEFT + svg_along(plot->svg, map->steps[i].event) * SVG_PLOT,
			 y_of(plot, (double)curve->of(&map->steps[i])));
	svg_draw(&path, "H", SVG_LEFT + SVG_PLOT);
	svg_path_end(&path);
}

/* Draw a curve of a single value. */
static void put_level(const struct plot *plot, const struct curve *curve)
{
	svg_line(plot->svg->file, curve->look, SVG_LEFT, y_of(plot, (double)curve->max), SVG_PLOT,
		 0);
}

static void put_names(const struct plot *plot, bool large)
{
	const struct replay_result *result = plot->svg->result;
	FILE *file = plot->svg->file;
	double x = SVG_LEFT, y = plot->y - 10;
	char text[160];

	for (int i = 0; i < CURVES; i++) {
		const struct curve *curve = &plot->curves[i];

		if (curve->hidden)
			continue;
		svg_line(file, curve->look, x, y - 4, 18, 0);
		snprintf(text, sizeof(text), "%s%s%s%s", curve->name,
			 i == CURVES - 1 ? ": "
			 : large         ? ", at most "
					 : "",
			 large || i == CURVES - 1 ? format_bytes(curve->max).text : "",
			 curve->fits ? "" : " (above this picture)");
		svg_text(file, x + 24, y, NULL, text);
		x += 24 + svg_width(text) + 18;
	}
	if (result->failures) {
		svg_line(file, "bad", x, y, 0, -8);
		snprintf(text, sizeof(text), "failed: %s", format_count(result->failures).text);
		svg_text(file, x + 6, y, NULL, text);
		x += 6 + svg_width(text) + 18;
	}
	if (result->waits) {
		svg_line(file, "mark", x, y, 0, -8);
		snprintf(text, sizeof(text), "waits: %s", format_count(result->waits).text);
		svg_text(file, x + 6, y, NULL, text);
	}
}

static void put_waits(const struct plot *plot)
{
	const struct map *map = plot->svg->map;
	struct svg_path path = { .file = plot->svg->file, .look = "mark" };
	uint64_t before = 0;

	for (size_t i = 0; i < map->step_count; i++) {
		if (map->steps[i].waits > before)
			svg_mark(plot->svg, &path, map->steps[i].event, plot->y);
		before = map->steps[i].waits;
	}
	svg_path_end(&path);
}

static void put_peak(const struct plot *plot)
{
	FILE *file = plot->svg->file;
	uint32_t event = 0;
	uint64_t max = peak_of(plot->svg, &event);
	double x = SVG_LEFT + svg_along(plot->svg, event) * SVG_PLOT, y = y_of(plot, (double)max);
	bool right = x > SVG_LEFT + SVG_PLOT / 2;
	char text[120];

	if (!max)
		return;
	svg_open(file, "circle", "mark", "cx cy r", x, y, 4);
	svg_close(file, NULL);
	snprintf(text, sizeof(text), "peak: %s at event %s", format_bytes(max).text,
		 format_count(event).text);
	svg_text(file, x + (right ? -9 : 9), fmax(y + 18, plot->y + 18),
		 right ? "name end" : "name", text);
}

void svg_curves(const struct svg *svg, double y, double height, bool large)
{
	struct plot plot = { .svg = svg, .y = y, .height = height };

	choose(&plot);
	svg_frame(svg->file, y, SVG_PLOT, height);
	if (svg->map->trace->event_count)
		put_live(&plot);
	/* The last ones are below the others. */
	for (int i = CURVES - 1; i > 0 && svg->map->step_count; i--) {
		if (!plot.curves[i].fits)
			continue;
		if (plot.curves[i].of)
			put_steps(&plot, &plot.curves[i]);
		else
			put_level(&plot, &plot.curves[i]);
	}
	put_names(&plot, large);
	svg_failures(svg, y);
	put_waits(&plot);
	if (large)
		put_peak(&plot);
	svg_byte_axis(svg->file, y, height, plot.ceiling, large ? 10 : 4, "bytes", false);
}
