/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_html.c - write a comparison as a page: compare/page.html with its marks replaced.
 *
 * The data for the scripts is JSON (the meta element) and packed numbers (page.h). Data that all
 * settings share is written once, for each block in the order of the allocations:
 *   birth   events since the birth of the previous block
 *   life    events until its free; 0: never freed
 *   asked   bytes
 *   id
 * and for each setting, in an element of its own:
 *   size    0: failed; otherwise 1 plus the bytes it occupies beyond the requested size
 *   place   in units, unless it failed
 * A setting's unit is that of its heap map (map_data.h).
 */
#include "compare/compare.h"

#include <inttypes.h>

#include "compare/compare_text.h"
#include "kit/format.h"
#include "map/map.h"
#include "map/map_color.h"
#include "map/map_data.h"
#include "kit/page.h"

static void put_summary(FILE *file, const void *what)
{
	const struct compare_table *table = what;

	page_fact(file, "events", format_count(table->trace.event_count).text, "");
	page_fact(file, "allocations", format_count(table->trace.block_count).text, "");
	page_fact(file, "peak live", format_bytes(table->peak_live_bytes).text, "");
}

/*
 * Write the sentences below the printed table, which may contain words of the user's list. An
 * indented line is a shell command.
 */
static void put_verdict(FILE *file, const void *what)
{
	char text[8000] = ""; /* room for 16 settings with two sentences each */
	FILE *memory = fmemopen(text, sizeof(text) - 1, "w");
	char *line = text, *end;

	if (!memory)
		return;
	compare_choice_say(what, memory);
	compare_notes_say(what, memory);
	fclose(memory);
	for (; *line; line = end) {
		for (end = line; *end && *end != '\n'; end++)
			;
		if (*end)
			*end++ = '\0';
		fputs(*line == ' ' ? "<p><code>" : "<p>", file);
		page_markup(file, line);
		fputs(*line == ' ' ? "</code></p>\n" : "</p>\n", file);
	}
}

static void put_footer(FILE *file, const void *what)
{
	(void)what;
	fprintf(file, "mam %s", mam_version());
}

/* Write the memory needed over the events. */
static void put_curve(FILE *file, const struct compare_row *row)
{
	const struct map *map = row->map;
	uint64_t last = 0;
	bool any = false;

	fputs("\"curve\":[", file);
	for (size_t i = 0; i < map->step_count; i++) {
		uint64_t now = compare_needed_at(row, &map->steps[i]);

		if (now == last)
			continue;
		fprintf(file, "%s%" PRIu32 ",%" PRIu64, any ? "," : "", map->steps[i].event, now);
		any = true;
		last = now;
	}
	fputs("],", file);
}

static void put_chunks(FILE *file, const struct map *map)
{
	fputs("\"chunks\":[", file);
	for (size_t i = 0; i < map->chunk_count; i++)
		fprintf(file, "%s%" PRIu64, i ? "," : "", map->chunks[i].place);
	fputs("]", file);
}

/* Omit unknown numbers. */
static void put_known(FILE *file, const char *key, double number)
{
	if (number >= 0)
		fprintf(file, "\"%s\":%.6g,", key, number);
}

static void put_setting(FILE *file, const struct compare_row *row)
{
	const struct mam_stats *end = &row->result.end;

	fputs("{\"name\":", file);
	page_text(file, compare_row_name(row));
	fprintf(file,
		",\"reckoned\":%s,\"bytes\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"waits\":%" PRIu64
		",\n",
		row->setting ? "false" : "true", row->needed_bytes, row->result.failures,
		row->result.waits);
	put_known(file, "needs", row->needed_ratio);
	put_known(file, "free_blocks", row->free_blocks);
	put_known(file, "waste", row->waste);
	put_known(file, "ns", row->ns_per_event);
	put_known(file, "driver", row->driver_ms);
	if (row->setting) {
		put_known(file, "pool", row->result.ns_per_event_best);
		put_known(file, "high", row->high_water_ratio);
		if (row->setting->settings.growth_bytes != REPLAY_LARGEST)
			fprintf(file, "\"reserved\":%" PRIu64 ",\"physical\":%" PRIu64 ",",
				end->peak_reserved_bytes, end->peak_physical_bytes);
		fprintf(file, "\"unit\":%" PRIu64 ",\"top\":%" PRIu64 ",", map_data_unit(row->map),
			row->map->top);
		put_curve(file, row);
		put_chunks(file, row->map);
	} else {
		fputs("\"top\":0", file);
	}
	fputs("}", file);
}

static void put_meta(FILE *file, const void *what)
{
	const struct compare_table *table = what;
	const struct compare_choice choice = compare_choose(table);

	fprintf(file, "{\"events\":%" PRIu32 ",\"blocks\":%" PRIu32 ",\"live\":%" PRIu64 ",\n",
		table->trace.event_count, table->trace.block_count, table->peak_live_bytes);
	if (choice.choice != COMPARE_NONE)
		fprintf(file, "\"choice\":%zu,", choice.choice);
	fprintf(file, "\"color_first\":%d,\"color_per_power\":%d,", MAP_COLOR_FIRST,
		MAP_COLOR_PER_POWER);
	map_color_put(file, "colors", map_color_rgb, MAP_COLORS);
	fputs("\"settings\":[", file);
	for (size_t i = 0; i < table->count; i++) {
		fputs(i ? ",\n" : "", file);
		put_setting(file, &table->rows[i]);
	}
	fputs("]}", file);
}

static void put_blocks(FILE *file, const struct replay_trace *trace)
{
	struct page_numbers to;
	uint32_t birth = 0;

	fputs("<script type=\"text/plain\" id=\"blocks\">", file);
	page_numbers_begin(&to, file);
	for (uint32_t i = 0; i < trace->block_count; i++) {
		const struct replay_block *block = &trace->blocks[i];

		page_numbers_put(&to, block->birth - birth);
		birth = block->birth;
		page_numbers_put(&to, block->death == REPLAY_ALIVE ? 0 : block->death - birth);
		page_numbers_put(&to, block->bytes);
		page_numbers_put(&to, block->id);
	}
	page_numbers_end(&to);
	fputs("</script>\n", file);
}

static void put_places(FILE *file, const struct map *map, size_t number)
{
	const uint64_t unit = map_data_unit(map);
	struct page_numbers to;

	fprintf(file, "<script type=\"text/plain\" id=\"places-%zu\">", number);
	page_numbers_begin(&to, file);
	for (uint32_t i = 0; i < map->trace->block_count; i++) {
		page_numbers_put(
			&to, map->sizes[i] ? map->sizes[i] - map->trace->blocks[i].bytes + 1 : 0);
		if (map->sizes[i])
			page_numbers_put(&to, map->places[i] / unit);
	}
	page_numbers_end(&to);
	fputs("</script>\n", file);
}

static void put_data(FILE *file, const void *what)
{
	const struct compare_table *table = what;

	put_blocks(file, &table->trace);
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].map)
			put_places(file, table->rows[i].map, i);
}

bool compare_html(FILE *file, const struct compare_table *table)
{
	static const struct page_mark marks[] = {
		{ "@SUMMARY@", put_summary }, { "@VERDICT@", put_verdict }, { "@META@", put_meta },
		{ "@DATA@", put_data },       { "@FOOTER@", put_footer },
	};
	const struct format_text title = replay_trace_title(&table->trace, 39);
	const struct page_parts parts = {
		.title = title.text,
		.kind = "settings compared",
		.css = compare_page_css,
		.html = compare_page_html,
		.js = compare_page_js,
	};

	page_write(file, &parts, marks, sizeof(marks) / sizeof(marks[0]), table);
	return !ferror(file);
}
