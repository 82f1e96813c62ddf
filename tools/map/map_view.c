/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_view.c - select the views of a static map by their names (--view, --at, --time).
 */
#include "map/map_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kit/message.h"
#include "replay/replay.h"

static const char *const names[MAP_VIEWS] = {
	[MAP_VIEW_SIZE] = "size", [MAP_VIEW_STREAM] = "stream", [MAP_VIEW_THREAD] = "thread",
	[MAP_VIEW_AGE] = "age",   [MAP_VIEW_STRIP] = "strip",   [MAP_VIEW_CURVES] = "curves",
};

/* Look up the view whose name is the first `length` bytes; MAP_VIEWS: unknown. */
static enum map_view find(const char *name, size_t length)
{
	int view = 0;

	while (view < MAP_VIEWS &&
	       (strlen(names[view]) != length || strncmp(names[view], name, length) != 0))
		view++;
	return (enum map_view)view;
}

static bool has(const struct map_views *views, enum map_view view)
{
	for (int i = 0; i < views->count; i++)
		if (views->list[i] == view)
			return true;
	return false;
}

static void take_all(struct map_views *views)
{
	views->count = MAP_VIEWS;
	for (int i = 0; i < MAP_VIEWS; i++)
		views->list[i] = (enum map_view)i;
}

bool map_view_list(const char *text, struct map_views *views)
{
	*views = (struct map_views){ .count = 0 };
	if (text && strcmp(text, "all") == 0) {
		take_all(views);
		return true;
	}
	for (const char *name = text ? text : "size"; name;) {
		size_t length = strcspn(name, ",");
		enum map_view view = find(name, length);

		if (view == MAP_VIEWS) {
			message_error("unknown view '%.*s'; expected size, stream, thread, age, "
				      "strip or curves, separated by commas, or all",
				      (int)length, name);
			return false;
		}
		if (has(views, view)) {
			message_error("--view contains '%s' twice", names[view]);
			return false;
		}
		views->list[views->count++] = view;
		name = name[length] ? name + length + 1 : NULL;
	}
	return true;
}

static bool is_still(const char *path)
{
	size_t length = path ? strlen(path) : 0;

	return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}

/* Parse an event's number. False: not a number. */
static bool read_event(const char *text, uint64_t *event)
{
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits > 18 || text[digits])
		return false;
	*event = strtoull(text, NULL, 10);
	return true;
}

bool map_view_good(const struct replay_settings *settings)
{
	const char *option = settings->view ? "--view" : settings->at ? "--at" : "--time";
	struct map_views views;
	uint64_t event;

	if (!settings->view && !settings->at && !settings->time)
		return true;
	if (!is_still(settings->map))
		message_error("%s requires --map FILE.svg", option);
	else if (!map_view_list(settings->view, &views))
		return false;
	else if (settings->at && !has(&views, MAP_VIEW_STRIP))
		message_error("--at requires --view strip");
	else if (settings->at && strcmp(settings->at, "peak") != 0 &&
		 !read_event(settings->at, &event))
		message_error("--at expects the number of an event, from 0, or 'peak', not '%s'",
			      settings->at);
	else if (settings->time && views.count == 1 && views.list[0] == MAP_VIEW_STRIP)
		message_error("--time has no effect on the strip, whose x axis is addresses");
	else
		return true;
	return false;
}

bool map_view_fits(const struct replay_settings *settings, const struct replay_trace *trace,
		   uint32_t *event)
{
	uint64_t at = trace->peak_event;

	if (settings->time && !trace->times)
		message_error("--time requires times, but '%s' has none", trace->path);
	else if (settings->at && read_event(settings->at, &at) && trace->event_count == 0)
		message_error("--at requires an event, but '%s' has none", trace->path);
	else if (at >= trace->event_count && trace->event_count)
		message_error("--at %s is beyond the last event of '%s', %" PRIu32, settings->at,
			      trace->path, trace->event_count - 1);
	else {
		*event = (uint32_t)at;
		return true;
	}
	return false;
}
