/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c - `mam replay --compare`: load a trace once and play it under each setting. Then print
 * all results, and draw one trace if requested.
 *
 * As with a plain replay it is all or nothing: a reader would take a table without a row for
 * complete.
 */
#include "compare/compare.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "map/map.h"
#include "kit/message.h"
#include "kit/progress.h"
#include "kit/whole_file.h"

const char *compare_row_name(const struct compare_row *row)
{
	return row->setting ? row->setting->name : "a cudaMalloc each";
}

/* Play one trace under one setting. */
static int play_row(const struct compare_setting *setting, struct compare_table *table)
{
	struct compare_row *row = &table->rows[table->count];
	int status;

	row->setting = setting;
	row->map = map_create(&table->trace);
	if (!row->map)
		return STATUS_BAD;
	table->count++;
	status = replay_play(&setting->settings, &table->trace, row->map, &row->result);
	if (status == STATUS_GOOD) {
		map_finish(row->map);
		compare_compute(row, table->peak_live_bytes);
	}
	return status;
}

static int play_table(const struct replay_settings *base, const struct compare_list *list,
		      const char *path, struct compare_table *table)
{
	int status = STATUS_GOOD;

	if (!replay_trace_load(path, base, &table->trace))
		return STATUS_BAD;
	table->peak_live_bytes = compare_peak_live(&table->trace);
	for (size_t i = 0; i < list->count && status == STATUS_GOOD; i++)
		status = play_row(&list->settings[i], table);
	if (status == STATUS_GOOD) {
		struct compare_row *row = &table->rows[table->count++];

		compare_compute_each(&table->trace, row);
		compare_compute(row, table->peak_live_bytes);
	}
	return status;
}

static void drop_table(struct compare_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		map_destroy(table->rows[i].map);
	replay_trace_fini(&table->trace);
}

static bool draw(const char *path, const struct compare_table *table)
{
	const char *dot = strrchr(path, '.');
	struct whole_file whole;
	FILE *file = whole_file_open(&whole, path, "a map");

	if (!file)
		return false;
	return whole_file_close(&whole, dot && strcmp(dot, ".svg") == 0
						? compare_svg(file, table)
						: compare_html(file, table));
}

static int play_all(const struct replay_settings *base, const struct compare_list *list,
		    char **paths, int count, struct compare_table *tables)
{
	int status = STATUS_GOOD;

	progress_begin(base->quiet);
	for (int i = 0; i < count && status == STATUS_GOOD; i++)
		status = play_table(base, list, paths[i], &tables[i]);
	if (status == STATUS_GOOD && base->map && !draw(base->map, &tables[0]))
		status = STATUS_BAD;
	if (status == STATUS_GOOD)
		compare_report(base, tables, count);
	return status;
}

int compare_main(const struct replay_settings *base, char **paths, int count)
{
	struct compare_list list;
	struct compare_table *tables;
	int status = STATUS_BAD;

	if (!compare_list_make(base, count, &list))
		return STATUS_BAD;
	tables = calloc((size_t)count, sizeof(*tables));
	if (!tables)
		message_error("out of memory for %s", format_counted((uint64_t)count, "file").text);
	else
		status = play_all(base, &list, paths, count, tables);
	for (int i = 0; tables && i < count; i++)
		drop_table(&tables[i]);
	free(tables);
	compare_list_fini(&list);
	return status;
}
