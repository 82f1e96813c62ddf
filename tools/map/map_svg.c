/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_svg.c - the heap map as static pictures without scripts, one view below the other.
 *
 * 1. Prepare each view (colors, the heap at the event), so that its height is known.
 * 2. Write the head, then each view: its name, its legend, its plot, its caption.
 *
 * A map has the curves below it, unless they are a separate view of this file. The maps of a file
 * share the maximum number of rectangles, so that the size of the file is bounded.
 */
#include "map/map.h"

#include "kit/format.h"
#include "map/svg_view.h"

#define HEAD 62.0
#define NAME 26.0
#define CURVES_UNDER 96.0
#define CURVES_ALONE 400.0
#define CAPTION 22.0
#define BETWEEN 26.0 /* between views */
#define MAX 12000    /* maximum of rectangles and bars, in all maps */

struct view {
	enum map_view view;
	struct map_tones tones; /* `of` is NULL without a map */
	double height;
};

struct picture {
	struct svg svg;
	struct view views[MAP_VIEWS];
	int count;
	bool has_curves; /* as a separate view */
	uint32_t event;  /* of the heap strip */
	struct map_heap heap;
};

static const char *const titles[MAP_VIEWS] = {
	[MAP_VIEW_SIZE] = "Size: the bytes of a block",
	[MAP_VIEW_STREAM] = "Stream: the stream that allocated a block",
	[MAP_VIEW_THREAD] = "Thread: the thread that allocated a block",
	[MAP_VIEW_AGE] = "Age: the lifetime of a block in events",
	[MAP_VIEW_STRIP] = "Strip: the heap after one event, by address",
	[MAP_VIEW_CURVES] = "Curves: live, high water, reserved and physical bytes",
};

static bool is_map(enum map_view view)
{
	return view < MAP_VIEW_STRIP;
}

static double height_of(const struct picture *picture, const struct view *view)
{
	double under = picture->has_curves ? 8 : 36 + CURVES_UNDER;

	if (view->view == MAP_VIEW_CURVES)
		return NAME + 20 + CURVES_ALONE + SVG_ALONG_HEIGHT;
	if (view->view == MAP_VIEW_STRIP)
		return NAME + 22 + svg_legend_height(&view->tones) +
		       svg_strip_height(&picture->svg, &picture->heap);
	return NAME + svg_legend_height(&view->tones) + 8 + SVG_MAP_HEIGHT + under +
	       SVG_ALONG_HEIGHT + CAPTION;
}

/* Prepare the data of the views. */
static bool make(struct picture *picture, const struct map_views *views)
{
	const struct map *map = picture->svg.map;
	int maps = 0;

	if (!map_heap_at(map, picture->event, &picture->heap))
		return false;
	for (int i = 0; i < views->count; i++)
		picture->has_curves |= views->list[i] == MAP_VIEW_CURVES;
	for (; picture->count < views->count; picture->count++) {
		struct view *view = &picture->views[picture->count];
		enum map_view colours = views->list[picture->count];

		view->view = colours;
		if (colours == MAP_VIEW_STRIP)
			colours = MAP_VIEW_SIZE;
		maps += is_map(view->view);
		if (view->view != MAP_VIEW_CURVES && !map_tones_make(map, colours, &view->tones))
			return false;
		view->height = height_of(picture, view);
	}
	picture->svg.max = maps > 1 ? MAX * 2 / (maps + 1) : MAX;
	return true;
}

static void unmake(struct picture *picture)
{
	for (int i = 0; i < picture->count; i++)
		map_tones_fini(&picture->views[i].tones);
	map_heap_fini(&picture->heap);
}

static void put_head(const struct svg *svg, const char *name)
{
	const struct replay_result *r = svg->result;
	char text[400];

	svg_text(svg->file, SVG_LEFT, 30, "title", name);
	snprintf(text, sizeof(text), "%s, peak live %s, high water %s (%s)%s%s",
		 format_counted(svg->map->trace->event_count, "event").text,
		 format_bytes(r->end.peak_live_bytes).text,
		 format_bytes(r->end.high_water_bytes).text, format_ratio(r->high_water_ratio).text,
		 r->failures ? ", failed allocations " : "",
		 r->failures ? format_count(r->failures).text : "");
	svg_text(svg->file, SVG_LEFT, 51, "head", text);
}

static bool put_map(const struct picture *picture, const struct view *view, double y)
{
	const struct svg *svg = &picture->svg;
	char text[400], note[200];

	svg_legend(svg, view->view, &view->tones, y);
	y += svg_legend_height(&view->tones) + 8;
	if (!svg_map(svg, &view->tones, y, note, sizeof(note)))
		return false;
	y += SVG_MAP_HEIGHT;
	if (!picture->has_curves) {
		y += 36;
		svg_curves(svg, y, CURVES_UNDER, false);
		y += CURVES_UNDER;
	}
	svg_along_axis(svg, y);
	snprintf(text, sizeof(text),
		 "Each rectangle is one block: its height is its size, its length its lifetime. "
		 "%s mam %s, "
		 "source %s, %s steps.",
		 note, mam_version(), svg->settings->source,
		 format_bytes(svg->settings->granule).text);
	svg_text(svg->file, SVG_LEFT, y + SVG_ALONG_HEIGHT + 12, "small", text);
	return true;
}

static bool put_strip(const struct picture *picture, const struct view *view, double y)
{
	const struct svg *svg = &picture->svg;
	const struct replay_trace *trace = svg->map->trace;
	char text[200];

	if (trace->event_count)
		snprintf(text, sizeof(text),
			 "after event %s of %s%s; free blocks are hatched, each with a tick below",
			 format_count(picture->event).text, format_count(trace->event_count).text,
			 picture->event == trace->peak_event ? ", the peak of live bytes" : "");
	else
		snprintf(text, sizeof(text), "no events");
	svg_text(svg->file, SVG_LEFT, y + 9, NULL, text);
	svg_legend(svg, MAP_VIEW_SIZE, &view->tones, y + 18);
	y += 18 + svg_legend_height(&view->tones);
	return svg_strip(svg, &picture->heap, picture->event, y);
}

static bool put_view(const struct picture *picture, const struct view *view, double y)
{
	const struct svg *svg = &picture->svg;
	bool good = true;

	svg_text(svg->file, SVG_LEFT, y + 14, "name", titles[view->view]);
	y += NAME;
	if (view->view == MAP_VIEW_CURVES) {
		svg_curves(svg, y + 20, CURVES_ALONE, true);
		svg_along_axis(svg, y + 20 + CURVES_ALONE);
	} else if (view->view == MAP_VIEW_STRIP) {
		good = put_strip(picture, view, y);
	} else {
		good = put_map(picture, view, y);
	}
	return good;
}

bool map_svg(FILE *file, const struct map *map, const struct replay_settings *settings,
	     const struct replay_result *result)
{
	const struct replay_trace *trace = map->trace;
	struct picture picture = {
		.svg = {
			.file = file,
			.map = map,
			.settings = settings,
			.result = result,
			.top = map->top ? (double)map->top * 1.03 : 4096,
			.events = trace->event_count ? trace->event_count : 1,
			.by_time = settings->time,
		},
	};
	struct format_text name = replay_trace_title(trace, 39);
	struct map_views views;
	double y = HEAD, height = HEAD;
	bool good;

	if (!map_view_list(settings->view, &views) ||
	    !map_view_fits(settings, trace, &picture.event))
		return false;
	good = make(&picture, &views);
	for (int i = 0; i < picture.count; i++)
		height += picture.views[i].height + (i ? BETWEEN : 0);
	svg_begin(file, height + 8, name.text, "heap map");
	put_head(&picture.svg, name.text);
	for (int i = 0; good && i < picture.count; i++) {
		good = put_view(&picture, &picture.views[i], y);
		y += picture.views[i].height + BETWEEN;
	}
	unmake(&picture);
	return good && svg_end(file);
}
