/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_along.c - the x axis: events, or their times.
 */
#include "map/svg_view.h"

#include <math.h>

#include "kit/format.h"

double svg_along(const struct svg *svg, uint32_t event)
{
	const struct replay_trace *trace = svg->map->trace;
	uint64_t last;

	if (!svg->by_time || trace->event_count == 0)
		return event / svg->events;
	last = trace->times[trace->event_count - 1];
	if (event >= trace->event_count || last == 0)
		return event >= trace->event_count;
	return (double)trace->times[event] / (double)last;
}

static void put_tick(const struct svg *svg, double along, double y, const char *text)
{
	double x = SVG_LEFT + along * SVG_PLOT;

	fprintf(svg->file, "<path class=\"tick\" d=\"M%.1f %.1fv5\"/>\n", x, y);
	svg_text(svg->file, x, y + 20, " text-anchor=\"middle\"", text);
}

static void put_events(const struct svg *svg, double y)
{
	double step = svg_step(svg->events, 10, 0);

	for (double at = 0; at <= svg->events; at += step)
		put_tick(svg, at / svg->events, y, format_count((uint64_t)at).text);
	svg_text(svg->file, SVG_LEFT + SVG_PLOT / 2, y + 40, " text-anchor=\"middle\"",
		 "events (allocations and frees, in program order)");
}

static void put_times(const struct svg *svg, double y)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "s", 1e9 }, { "ms", 1e6 }, { "\302\265s", 1e3 }, { "ns", 1 } };
	const struct replay_trace *trace = svg->map->trace;
	double last = (double)trace->times[trace->event_count - 1];
	double step = svg_step(last, 10, 0);
	char text[80];
	int unit = 0;

	while (unit < 3 && last < units[unit].ns)
		unit++;
	for (double at = 0; at <= last && last > 0; at += step) {
		snprintf(text, sizeof(text), "%.10g", at / units[unit].ns);
		put_tick(svg, at / last, y, text);
	}
	snprintf(text, sizeof(text), "time since the first event (%s)", units[unit].unit);
	svg_text(svg->file, SVG_LEFT + SVG_PLOT / 2, y + 40, " text-anchor=\"middle\"", text);
}

void svg_along_axis(const struct svg *svg, double y)
{
	if (svg->by_time && svg->map->trace->event_count)
		put_times(svg, y);
	else
		put_events(svg, y);
}

void svg_ticks_add(struct svg_ticks *ticks, uint32_t event)
{
	int at = (int)lround(svg_along(ticks->svg, event) * SVG_PLOT);
	FILE *file = ticks->svg->file;

	if (ticks->begun && at <= ticks->last)
		return;
	if (!ticks->begun)
		fprintf(file, "<path class=\"%s\" d=\"", ticks->what);
	fprintf(file, "M%.0f %.1fv-6", SVG_LEFT + at, ticks->y);
	ticks->last = at;
	ticks->begun = true;
}

void svg_ticks_end(struct svg_ticks *ticks)
{
	if (ticks->begun)
		fputs("\"/>\n", ticks->svg->file);
}

void svg_failures(const struct svg *svg, double y)
{
	struct svg_ticks ticks = { .svg = svg, .what = "bad", .y = y };

	for (uint32_t i = 0; i < svg->map->trace->block_count; i++)
		if (svg_is_failed(svg, i))
			svg_ticks_add(&ticks, svg->map->trace->blocks[i].birth);
	svg_ticks_end(&ticks);
}
