/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_report.c - the numbers of a replay, for people and for scripts.
 *
 * One table says what there is to print: a row a number, with its key, its label and how to get it.
 * People see the rows that have a label, several files side by side; scripts see all that have a
 * key.
 */
#include "replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format.h"

#define LABEL_COLUMNS 20
#define NAME_COLUMNS 18 /* most of a file's name */
#define CELL_COLUMNS 11 /* least of a number */
#define ASIDE_COLUMNS 8 /* of the ratio beside it */
#define PAGE_COLUMNS 80 /* where there is no terminal to ask */

enum unit { UNIT_COUNT, UNIT_BYTES, UNIT_NS, UNIT_RATIO };

#define AT(field) offsetof(struct replay_result, field)
#define NOTHING SIZE_MAX

static const struct row {
	const char *key;   /* for scripts */
	const char *label; /* for people; NULL: not for them */
	enum unit unit;
	bool at_peak; /* unknown where several threads made the peak together */
	size_t at;    /* offset of the number */
	size_t ratio; /* offset of a ratio to show beside it, or NOTHING */
} rows[] = {
	{ "events", "events", UNIT_COUNT, false, AT(events), NOTHING },
	{ "allocs", "allocations", UNIT_COUNT, false, AT(allocs), NOTHING },
	{ "frees", NULL, UNIT_COUNT, false, AT(frees), NOTHING },
	{ "failures", "failed allocations", UNIT_COUNT, false, AT(failures), NOTHING },
	{ "ns_per_event", "time an event", UNIT_NS, false, AT(ns_per_event), NOTHING },
	{ "peak_live_bytes", "peak live", UNIT_BYTES, false, AT(end.peak_live_bytes), NOTHING },
	{ "peak_live_rounded_bytes", NULL, UNIT_BYTES, false, AT(end.peak_live_rounded_bytes),
	  NOTHING },
	{ "peak_live_blocks", "  blocks", UNIT_COUNT, false, AT(end.peak_live_blocks), NOTHING },
	{ "high_water_bytes", "high water", UNIT_BYTES, false, AT(end.high_water_bytes),
	  AT(high_water_ratio) },
	{ "high_water_ratio", NULL, UNIT_RATIO, false, AT(high_water_ratio), NOTHING },
	{ "peak_reserved_bytes", "peak reserved", UNIT_BYTES, false, AT(end.peak_reserved_bytes),
	  AT(peak_reserved_ratio) },
	{ "peak_reserved_ratio", NULL, UNIT_RATIO, false, AT(peak_reserved_ratio), NOTHING },
	{ "chunks", "  chunks", UNIT_COUNT, false, AT(end.chunks), NOTHING },
	{ "waste_bytes", "at the peak: waste", UNIT_BYTES, true, AT(waste_bytes), NOTHING },
	{ "holes_peak", "  holes", UNIT_COUNT, true, AT(peak.holes), NOTHING },
	{ "hole_bytes_peak", "  in holes", UNIT_BYTES, true, AT(peak.hole_bytes), NOTHING },
	{ "largest_hole_peak_bytes", "  largest hole", UNIT_BYTES, true,
	  AT(peak.largest_hole_bytes), NOTHING },
	{ "live_end_bytes", "at the end: live", UNIT_BYTES, false, AT(end.live_bytes), NOTHING },
	{ "holes_end", "  holes", UNIT_COUNT, false, AT(end.holes), NOTHING },
	{ "hole_bytes_end", "  in holes", UNIT_BYTES, false, AT(end.hole_bytes), NOTHING },
	{ "largest_hole_end_bytes", "  largest hole", UNIT_BYTES, false, AT(end.largest_hole_bytes),
	  NOTHING },
	{ "host_bytes", "pool's own books", UNIT_BYTES, false, AT(end.host_bytes), NOTHING },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static uint64_t integer_at(const struct replay_result *result, size_t offset)
{
	return *(const uint64_t *)((const char *)result + offset);
}

static double double_at(const struct replay_result *result, size_t offset)
{
	return *(const double *)((const char *)result + offset);
}

static bool is_known(const struct row *row, const struct replay_result *result)
{
	return !row->at_peak || result->peak.size;
}

static void print_plain(const struct replay_settings *settings, const struct replay_result *result)
{
	for (const struct row *row = rows; row < rows + ROWS; row++) {
		if (!is_known(row, result))
			continue;
		if (row->unit == UNIT_NS)
			printf("%s\t%.1f\n", row->key, double_at(result, row->at));
		else if (row->unit == UNIT_RATIO)
			printf("%s\t%.4f\n", row->key, double_at(result, row->at));
		else
			printf("%s\t%" PRIu64 "\n", row->key, integer_at(result, row->at));
	}
	printf("source\t%s\ngranule_bytes\t%" PRIu64 "\nrepeats\t%" PRIu64 "\nthreads\t%" PRIu64
	       "\n",
	       settings->source, settings->granule, settings->repeats, settings->threads);
}

/* A path may hold a tab or a newline, which would be taken for the end of a value. */
static void print_path(const char *path)
{
	printf("file\t");
	for (; *path; path++)
		putchar(*path == '\t' || *path == '\n' ? '?' : *path);
	putchar('\n');
}

static struct format_text cell(const struct row *row, const struct replay_result *result)
{
	struct format_text out = { "-" };

	if (!is_known(row, result))
		return out;
	if (row->unit == UNIT_NS)
		snprintf(out.text, sizeof(out.text), "%.0f ns", double_at(result, row->at));
	else if (row->unit == UNIT_COUNT)
		out = format_count(integer_at(result, row->at));
	else
		out = format_bytes(integer_at(result, row->at));
	return out;
}

static struct format_text beside(const struct row *row, const struct replay_result *result)
{
	struct format_text out = { "" };

	if (row->ratio != NOTHING && result->end.peak_live_bytes)
		out = format_ratio(double_at(result, row->ratio));
	return out;
}

/* Columns of the page: the terminal's, or what fits on paper. */
static int page_columns(void)
{
	struct winsize size;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return PAGE_COLUMNS;
}

/* One cell right-aligned, and what stands beside it; blanks only where something follows. */
static void print_cell(int width, const char *text, const char *aside, bool last)
{
	printf("%*s", width, text);
	if (*aside || !last)
		printf("%*s", ASIDE_COLUMNS, aside);
}

static int width_of(const struct replay_result *result)
{
	int length = (int)strlen(format_name(result->trace->path, NAME_COLUMNS).text);

	return length > CELL_COLUMNS ? length : CELL_COLUMNS;
}

/* A table of some files side by side. */
static void print_table(const struct replay_result *results, int count)
{
	printf("%-*s", LABEL_COLUMNS, "");
	for (int i = 0; i < count; i++)
		print_cell(width_of(&results[i]),
			   format_name(results[i].trace->path, NAME_COLUMNS).text, "",
			   i == count - 1);
	putchar('\n');
	for (const struct row *row = rows; row < rows + ROWS; row++) {
		if (!row->label)
			continue;
		printf("%-*s", LABEL_COLUMNS, row->label);
		for (int i = 0; i < count; i++)
			print_cell(width_of(&results[i]), cell(row, &results[i]).text,
				   beside(row, &results[i]).text, i == count - 1);
		putchar('\n');
	}
}

/* How many files fit side by side, at least one. */
static int files_that_fit(const struct replay_result *results, int count, int columns)
{
	int fit = 0;

	columns -= LABEL_COLUMNS;
	while (fit < count) {
		columns -= width_of(&results[fit]) + ASIDE_COLUMNS;
		if (columns < 0 && fit > 0)
			break;
		fit++;
	}
	return fit;
}

/* What the numbers come down to, in a sentence a file. */
static void print_meaning(const struct replay_result *result)
{
	const struct mam_stats *end = &result->end;
	struct format_text name = format_name(result->trace->path, 39);

	if (result->failures)
		printf("%s: %s of %s allocations did not fit, the first on line %" PRIu64 ".\n",
		       name.text, format_count(result->failures).text,
		       format_count(result->allocs).text, result->first_failure);
	else if (end->peak_live_bytes)
		printf("%s: %s of memory would have done for all of it, %.1f%% more than the "
		       "program's own %s.\n",
		       name.text, format_bytes(end->high_water_bytes).text,
		       100 * (format_quotient(end->high_water_bytes, end->peak_live_bytes) - 1),
		       format_bytes(end->peak_live_bytes).text);
	else
		printf("%s: nothing was allocated.\n", name.text);
}

void replay_report(const struct replay_settings *settings, const struct replay_result *results,
		   int count)
{
	if (settings->plain) {
		for (int i = 0; i < count; i++) {
			if (count > 1)
				print_path(results[i].trace->path);
			print_plain(settings, &results[i]);
		}
		return;
	}
	if (settings->quiet)
		return;
	for (int i = 0, fit; i < count; i += fit) {
		fit = files_that_fit(&results[i], count - i, page_columns());
		print_table(&results[i], fit);
		putchar('\n');
	}
	for (int i = 0; i < count; i++)
		print_meaning(&results[i]);
}
