/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_table.c - print a comparison as a table for people and as lines for scripts.
 *
 * There is one row per setting (compare.h), and a table defines the columns. In each column a star
 * marks the minimum among the settings that served everything, all numbers that print the same, and
 * for times all within COMPARE_NOISE. If most rows would have a star, none has. The estimate for
 * cudaMalloc is excluded.
 */
#include "compare/compare.h"

#include <inttypes.h>
#include <string.h>

#include "kit/format.h"

#define NAME_COLUMNS 22 /* minimum for a setting's name */
#define REST_COLUMNS 58 /* of the columns next to it */

static struct format_text ratio_cell(double ratio)
{
	struct format_text out = { "-" };

	return ratio > 0 ? format_ratio(ratio) : out;
}

static struct format_text part_cell(double part)
{
	struct format_text out = { "-" };

	if (part >= 0)
		snprintf(out.text, sizeof(out.text), "%.1f%%", 100 * part);
	return out;
}

static struct format_text needs_of(const struct compare_row *row)
{
	return ratio_cell(row->needed_ratio);
}

static struct format_text bytes_of(const struct compare_row *row)
{
	struct format_text out = { "-" };

	return row->needed_bytes || !row->needed_ratio ? format_bytes(row->needed_bytes) : out;
}

static struct format_text water_of(const struct compare_row *row)
{
	return ratio_cell(row->high_water_ratio);
}

static struct format_text free_blocks_of(const struct compare_row *row)
{
	return part_cell(row->free_blocks);
}

static struct format_text waste_of(const struct compare_row *row)
{
	return part_cell(row->waste);
}

static struct format_text time_of(const struct compare_row *row)
{
	return format_count((uint64_t)(row->ns_per_event + 0.5));
}

static struct format_text driver_of(const struct compare_row *row)
{
	struct format_text out = { "-" };

	if (row->driver_ms >= 0)
		snprintf(out.text, sizeof(out.text), "%.*f", row->driver_ms < 1000 ? 1 : 0,
			 row->driver_ms);
	return out;
}

static double needs_number(const struct compare_row *row)
{
	return row->needed_ratio;
}

static double water_number(const struct compare_row *row)
{
	return row->high_water_ratio;
}

static double free_blocks_number(const struct compare_row *row)
{
	return row->free_blocks;
}

static double waste_number(const struct compare_row *row)
{
	return row->waste;
}

static double time_number(const struct compare_row *row)
{
	return row->ns_per_event;
}

static const struct column {
	const char *above, *head; /* two lines */
	int width;                /* without the star */
	struct format_text (*cell)(const struct compare_row *row);
	double (*number)(const struct compare_row *row); /* NULL: no star */
	double noise;                                    /* so much more counts as equal */
} columns[] = {
	{ "needs", "of live", 7, needs_of, needs_number, 0 },
	{ "", "bytes", 9, bytes_of, NULL, 0 },
	{ "high", "water", 8, water_of, water_number, 0 },
	{ "free", "at peak", 7, free_blocks_of, free_blocks_number, 0 },
	{ "waste", "", 6, waste_of, waste_number, 0 },
	{ "ns per", "event", 7, time_of, time_number, COMPARE_NOISE },
	{ "driver", "ms", 7, driver_of, NULL, 0 },
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static bool takes_part(const struct compare_row *row)
{
	return row->setting && row->result.failures == 0;
}

static bool is_known(const struct compare_row *row, const struct column *column)
{
	return takes_part(row) && column->number(row) >= 0;
}

/* Whether a row has the minimum of a column, or an equal number. */
static bool is_min(const struct compare_table *table, const struct column *column,
		   const struct compare_row *row)
{
	const struct compare_row *min = row;

	if (!is_known(row, column))
		return false;
	for (const struct compare_row *one = table->rows; one < table->rows + table->count; one++)
		if (is_known(one, column) && column->number(one) < column->number(min))
			min = one;
	return column->number(row) <= (1 + column->noise) * column->number(min) ||
	       strcmp(column->cell(row).text, column->cell(min).text) == 0;
}

static bool has_star(const struct compare_table *table, const struct column *column,
		     const struct compare_row *row)
{
	size_t same = 0, all = 0;

	if (!column->number || !is_min(table, column, row))
		return false;
	for (const struct compare_row *one = table->rows; one < table->rows + table->count; one++) {
		all += is_known(one, column);
		same += is_min(table, column, one);
	}
	return 2 * same <= all;
}

static int name_columns(const struct compare_table *table)
{
	int wide = NAME_COLUMNS, max = replay_report_columns() - REST_COLUMNS;

	for (const struct compare_row *row = table->rows; row < table->rows + table->count; row++)
		if ((int)strlen(compare_row_name(row)) + 1 > wide)
			wide = (int)strlen(compare_row_name(row)) + 1;
	return wide > max && max >= NAME_COLUMNS ? max : wide;
}

/* Print a line without trailing blanks, which are invisible but show up in every diff. */
static void put_line(char *line)
{
	size_t length = strlen(line);

	while (length && line[length - 1] == ' ')
		line[--length] = '\0';
	puts(line);
}

static void put_head(int names)
{
	char line[2][256];
	int used[2];

	for (int i = 0; i < 2; i++)
		used[i] = snprintf(line[i], sizeof(line[i]), "%-*s", names, "");
	for (size_t c = 0; c < COLUMNS; c++)
		for (int i = 0; i < 2; i++)
			used[i] += snprintf(line[i] + used[i], sizeof(line[i]) - (size_t)used[i],
					    "%*s ", columns[c].width,
					    i ? columns[c].head : columns[c].above);
	put_line(line[0]);
	put_line(line[1]);
}

static void put_row(const struct compare_table *table, const struct compare_row *row, int names)
{
	char line[320];
	int used = snprintf(line, sizeof(line), "%-*.*s", names, names - 1, compare_row_name(row));

	for (const struct column *column = columns; column < columns + COLUMNS; column++) {
		struct format_text text = column->cell(row);
		bool failed = row->result.failures && column == columns;
		char mark = has_star(table, column, row) ? '*' : failed ? '!' : ' ';

		used += snprintf(line + used, sizeof(line) - (size_t)used, "%*s%c", column->width,
				 text.text, mark);
	}
	put_line(line);
}

static void say_row(const struct compare_table *table, const struct compare_row *row, FILE *file)
{
	const struct replay_result *result = &row->result;

	if (result->failures)
		fprintf(file, "! %s: %s of %s did not fit, the first on %s %" PRIu64 ".\n",
			compare_row_name(row), format_count(result->failures).text,
			format_counted(result->allocs, "allocation").text, table->trace.place,
			result->first_failure);
	if (result->waits)
		fprintf(file, "%s: waited %s for all freed memory.\n", compare_row_name(row),
			format_counted(result->waits, "time").text);
}

void compare_notes_say(const struct compare_table *table, FILE *file)
{
	bool simulated = false, host = false;

	for (const struct compare_row *row = table->rows; row < table->rows + table->count; row++) {
		say_row(table, row, file);
		if (row->setting) {
			simulated |= row->setting->settings.simulate;
			host |= strcmp(row->setting->settings.source, "host") == 0;
		}
	}
	fprintf(file, "Driver time is %s, from measurements of an H100.\n",
		simulated && host ? "estimated, and simulated for vmm"
		: simulated       ? "simulated; for a cudaMalloc each it is estimated"
		: host            ? "estimated"
				  : "measured; for a cudaMalloc each it is estimated");
}

static void print_table(const struct compare_table *table)
{
	const int names = name_columns(table);

	printf("%s: %s, %s live at the peak\n\n", replay_trace_title(&table->trace, 39).text,
	       format_counted(table->trace.event_count, "event").text,
	       format_bytes(table->peak_live_bytes).text);
	put_head(names);
	for (size_t i = 0; i < table->count; i++)
		put_row(table, &table->rows[i], names);
	putchar('\n');
	compare_choice_say(table, stdout);
	compare_notes_say(table, stdout);
}

static void print_name(const char *key, const struct compare_table *table, size_t row)
{
	if (row != COMPARE_NONE)
		printf("%s\t%s\n", key, compare_row_name(&table->rows[row]));
}

static void print_plain(const struct compare_table *table)
{
	const struct compare_choice choice = compare_choose(table);
	char code[200];

	print_name("least_memory", table, choice.memory);
	print_name("least_time", table, choice.time);
	print_name("choice", table, choice.choice);
	if (choice.choice != COMPARE_NONE) {
		compare_choice_code(&table->rows[choice.choice], code, sizeof(code));
		printf("choice_environment\t%s\n", code);
	}
	for (const struct compare_row *row = table->rows; row < table->rows + table->count; row++) {
		printf("setting\t%s\n", compare_row_name(row));
		printf("reckoned\t%s\n", row->setting ? "no" : "yes");
		printf("needed_bytes\t%" PRIu64 "\nneeded_ratio\t%.4f\n", row->needed_bytes,
		       row->needed_ratio);
		printf("ns_per_event_in_all\t%.1f\n", row->ns_per_event);
		if (row->driver_ms >= 0)
			printf("driver_ms_in_all\t%.3f\n", row->driver_ms);
		if (row->setting)
			replay_report_plain(&row->setting->settings, &row->result);
		else
			printf("events\t%" PRIu64 "\nallocs\t%" PRIu64 "\nwaste_bytes\t%" PRIu64
			       "\n",
			       row->result.events, row->result.allocs, row->result.waste_bytes);
	}
}

/* Print the means of all tables. */
static void print_means(const struct compare_table *tables, int count, bool plain)
{
	struct compare_table mean;

	compare_mean(tables, count, &mean);
	if (plain) {
		printf("summary\t%d\n", count);
		for (size_t i = 0; i < mean.count; i++)
			printf("setting\t%s\nneeded_ratio\t%.4f\nns_per_event_in_all\t%.1f\n",
			       compare_row_name(&mean.rows[i]), mean.rows[i].needed_ratio,
			       mean.rows[i].ns_per_event);
		return;
	}
	printf("\n%d traces, geometric means\n\n", count);
	put_head(name_columns(&mean));
	for (size_t i = 0; i < mean.count; i++)
		put_row(&mean, &mean.rows[i], name_columns(&mean));
}

void compare_report(const struct replay_settings *base, const struct compare_table *tables,
		    int count)
{
	if (base->quiet && !base->plain)
		return;
	for (int i = 0; i < count; i++) {
		if (base->plain && count > 1)
			replay_report_path(tables[i].trace.path);
		if (base->plain) {
			print_plain(&tables[i]);
			continue;
		}
		if (i)
			putchar('\n');
		print_table(&tables[i]);
	}
	if (count > 1)
		print_means(tables, count, base->plain);
}
