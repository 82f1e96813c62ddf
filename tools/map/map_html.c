/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_html.c - write the heap map as a page: map/page.html with its marks replaced.
 *
 * The data for the scripts is JSON (the meta element) and packed numbers (map_data.c). Untrusted
 * data goes through page_markup() (names of files) or page_text() (texts of the trace).
 */
#include "map/map.h"

#include <inttypes.h>
#include <string.h>

#include "kit/format.h"
#include "map/map_color.h"
#include "map/map_data.h"
#include "map/map_text.h"
#include "kit/page.h"
#include "replay/replay_stacks.h"

struct page {
	const struct map *map;
	const struct replay_settings *settings;
	const struct replay_result *result;
};

static void put_summary(FILE *file, const void *what)
{
	const struct page *page = what;
	const struct replay_result *r = page->result;

	page_fact(file, "events", format_count(page->map->trace->event_count).text, "");
	page_fact(file, "allocations", format_count(page->map->trace->block_count).text, "");
	page_fact(file, "peak live", format_bytes(r->end.peak_live_bytes).text, "");
	page_fact(file, "high water", format_bytes(r->end.high_water_bytes).text,
		  format_ratio(r->high_water_ratio).text);
	if (r->recorded_reserved_bytes)
		page_fact(file, "program's own pool", format_bytes(r->recorded_reserved_bytes).text,
			  format_ratio(r->recorded_reserved_ratio).text);
	if (r->peak.size)
		page_fact(file, "free blocks at the peak", format_count(r->peak.free_blocks).text,
			  format_bytes(r->peak.free_block_bytes).text);
	if (r->failures)
		page_fact(file, "failed allocations", format_count(r->failures).text, "");
}

static void put_footer(FILE *file, const void *what)
{
	const struct page *page = what;
	const struct replay_settings *settings = page->settings;

	fprintf(file, "mam %s, source %s, blocks in steps of %s", mam_version(), settings->source,
		format_bytes(settings->granule).text);
	if (settings->threads > 1)
		fputs("; drawn for one thread", file);
	fputs(". Each rectangle is one block: as tall as its size, as long as its life.", file);
}

static void put_names(FILE *file, const struct replay_trace *trace)
{
	fputs("\"names\":[", file);
	for (uint32_t i = 0; trace->origins && i < trace->name_count; i++) {
		if (i)
			fputs(",\n", file);
		page_text(file, trace->names[i]);
	}
	fputs("],\n", file);
}

static void put_meta(FILE *file, const void *what)
{
	const struct page *page = what;
	const struct map *map = page->map;
	const struct replay_trace *trace = map->trace;

	fprintf(file,
		"{\"events\":%" PRIu32 ",\"blocks\":%" PRIu32 ",\"unit\":%" PRIu64
		",\"top\":%" PRIu64 ",\"peak\":%" PRIu32 ",\n",
		trace->event_count, trace->block_count, map_data_unit(map), map->top,
		trace->peak_event);
	fprintf(file, "\"mapped\":%d,\"made_up\":%d,\"recorded\":%" PRIu64 ",\n",
		strcmp(page->settings->source, "vmm") == 0,
		strcmp(page->settings->source, "host") == 0 &&
			page->settings->growth_bytes == REPLAY_LARGEST,
		page->result->recorded_reserved_bytes);
	fprintf(file, "\"threads\":%d,\"who\":%d,\"times\":%d,\"free_streams\":%d,\n",
		trace->has_threads, trace->origins != NULL, trace->times != NULL,
		trace->free_streams != NULL);
	fprintf(file, "\"color_first\":%d,\"color_per_power\":%d,\"age_per_power\":%d,\n",
		MAP_COLOR_FIRST, MAP_COLOR_PER_POWER, MAP_AGE_PER_POWER);
	map_color_put(file, "colors", map_color_rgb, MAP_COLORS);
	map_color_put(file, "ages", map_color_age_rgb, MAP_AGES + 1);
	map_color_put(file, "kinds", map_color_kind_rgb, MAP_KINDS + 1);
	put_names(file, trace);
	if (map->stacks) {
		fputs("\"stacks\":", file);
		replay_stacks_put_names(file, map->stacks);
		fputs(",\n", file);
	}
	fputs("\"chunks\":[", file);
	for (size_t i = 0; i < map->chunk_count; i++)
		fprintf(file, "%s[%" PRIu64 ",%" PRIu64 ",\"0x%" PRIx64 "\",%" PRIu64 "]",
			i ? "," : "", map->chunks[i].place, map->chunks[i].shown,
			map->chunks[i].base, map->chunks[i].bytes);
	fputs("],\n\"steps\":[", file);
	for (size_t i = 0; i < map->step_count; i++)
		fprintf(file, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
			map->steps[i].event, map->steps[i].reserved_bytes,
			map->steps[i].high_water_bytes, map->steps[i].physical_bytes);
	fputs("]}", file);
}

static void put_data(FILE *file, const void *what)
{
	const struct page *page = what;

	map_data_put(file, page->map);
}

bool map_html(FILE *file, const struct map *map, const struct replay_settings *settings,
	      const struct replay_result *result)
{
	static const struct page_mark marks[] = {
		{ "@SUMMARY@", put_summary },
		{ "@META@", put_meta },
		{ "@DATA@", put_data },
		{ "@FOOTER@", put_footer },
	};
	const struct page page = { map, settings, result };
	const struct format_text title = replay_trace_title(map->trace, 39);
	const struct page_parts parts = {
		.title = title.text,
		.kind = "heap map",
		.css = map_page_css,
		.html = map_page_html,
		.js = map_page_js,
	};

	page_write(file, &parts, marks, sizeof(marks) / sizeof(marks[0]), &page);
	return !ferror(file);
}
