/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_view.h - the views of a static map, selected by their names (--view, --at, --time).
 */
#ifndef TOOLS_MAP_VIEW_H
#define TOOLS_MAP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

struct replay_settings;
struct replay_trace;

/* The first ones color the map; map_tones.h. */
enum map_view {
	MAP_VIEW_SIZE,
	MAP_VIEW_STREAM,
	MAP_VIEW_THREAD,
	MAP_VIEW_AGE,
	MAP_VIEW_STRIP,
	MAP_VIEW_CURVES,
	MAP_VIEWS
};

struct map_views {
	enum map_view list[MAP_VIEWS]; /* each at most once, in the order given */
	int count;
};

/*
 * map_view_list - parse the views of "size,strip" or "all"; NULL means size. False: invalid
 * (reported).
 */
bool map_view_list(const char *text, struct map_views *views);

/* map_view_good - whether the options for static maps are consistent. False: no (reported). */
bool map_view_good(const struct replay_settings *settings);

/*
 * map_view_fits - whether the trace has the data that the options need. False: no (reported).
 * `event`: that of the heap strip.
 */
bool map_view_fits(const struct replay_settings *settings, const struct replay_trace *trace,
		   uint32_t *event);

#endif
