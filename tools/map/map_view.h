/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_view.h - which views of the heap map a still shows, by their names (--view, --at, --time).
 */
#ifndef TOOLS_MAP_VIEW_H
#define TOOLS_MAP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

struct replay_settings;
struct replay_trace;

/* The first ones colour the map; map_tones.h. */
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
	enum map_view list[MAP_VIEWS]; /* each at most once, in the order they were named */
	int count;
};

/* map_view_list - the views of "size,strip", "all", or of NULL: size. False: which was said. */
bool map_view_list(const char *text, struct map_views *views);

/* map_view_good - do the options of stills go with each other? False: which was said. */
bool map_view_good(const struct replay_settings *settings);

/*
 * map_view_fits - has the trace what they ask for? False: no, which was said. `event`: the one of
 * the strip.
 */
bool map_view_fits(const struct replay_settings *settings, const struct replay_trace *trace,
		   uint32_t *event);

#endif
