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

static void put_times(const struct svg *svg, double y)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "s", 1e9 }, { "ms", 1e6 }, { "\302\265s", 1e3 }, { "ns", 1 } };
	const struct replay_trace *trace = svg->map->trace;
	double last = (double)trace->times[trace->event_count - 1];
	double step = svg_tick_step(last, 10, false);
	char text[80];
	int unit = 0;

	while (unit < 3 && last < units[unit].ns)
		unit++;
	for (double at = 0; at <= last && last > 0; at += step) {
		snprintf(text, sizeof(text), "%.10g", at / units[unit].ns);
		svg_tick(svg->file, SVG_LEFT + at / last * SVG_PLOT, y, text);
	}
	snprintf(text, sizeof(text), "time since the first event (%s)", units[unit].unit);
	svg_text(svg->file, SVG_LEFT + SVG_PLOT / 2, y + 40, "middle", text);
}

void svg_along_axis(const struct svg *svg, double y)
{
	if (svg->by_time && svg->map->trace->event_count)
		put_times(svg, y);
	else
		svg_count_axis(svg->file, y, svg->events,
			       "events (allocations and frees, in program order)");
}

void svg_mark(const struct svg *svg, struct svg_path *path, uint32_t event, double y)
{
	double x = SVG_LEFT + round(svg_along(svg, event) * SVG_PLOT);

	if (!path->begun || x > path->x)
		svg_draw(path, "Mv", x, y, -6);
}

void svg_failures(const struct svg *svg, double y)
{
	struct svg_path path = { .file = svg->file, .look = "bad" };

	for (uint32_t i = 0; i < svg->map->trace->block_count; i++)
		if (svg_is_failed(svg, i))
			svg_mark(svg, &path, svg->map->trace->blocks[i].birth, y);
	svg_path_end(&path);
}
