/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_report.c - print the numbers of a replay, for people and for scripts.
 *
 * A table defines what to print: one row per number, with its key, its label and the way to get it.
 * The output for people has the rows with a label, several files side by side; that for scripts has
 * all rows with a key.
 */
#include "replay/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kit/format.h"

#define LABEL_COLUMNS 20
#define NAME_COLUMNS 18 /* maximum for a file's name */
#define CELL_COLUMNS 11 /* minimum for a number */
#define ASIDE_COLUMNS 8 /* of the ratio next to it */
#define PAGE_COLUMNS 80 /* if the output is not a terminal */

enum unit { UNIT_COUNT, UNIT_BYTES, UNIT_NS, UNIT_MS, UNIT_RATIO };

/* Condition for printing a row. */
enum when {
	ALWAYS,
	AT_PEAK,      /* unknown if several threads contribute to the peak */
	WITH_CHUNKS,  /* for people only if the pool added chunks on demand */
	WITH_MEMORY,  /* for people only if the source has more than addresses */
	WITH_RECORD,  /* if the file has the reserved bytes of the recorded program */
	WITH_CALLS,   /* for people only if the source's calls were counted */
	WITH_CACHE,   /* and one thread: the total peak of several caches is unknown */
	WITH_DEVICES, /* if the file has device numbers; for people if it has several */
	WITH_LAG,     /* for people only if blocks waited for their streams */
	WITH_WAITS    /* the same, unless the pool waits by itself */
};

#define AT(field) offsetof(struct replay_result, field)
#define NOTHING SIZE_MAX

static const struct row {
	const char *key;   /* for scripts */
	const char *label; /* for people; NULL: not printed for them */
	enum unit unit;
	enum when when;
	size_t at;    /* offset of the number */
	size_t ratio; /* offset of a ratio to print next to it, or NOTHING */
} rows[] = {
	{ "events", "events", UNIT_COUNT, ALWAYS, AT(events), NOTHING },
	{ "allocs", "allocations", UNIT_COUNT, ALWAYS, AT(allocs), NOTHING },
	{ "frees", NULL, UNIT_COUNT, ALWAYS, AT(frees), NOTHING },
	{ "failures", "failed allocations", UNIT_COUNT, ALWAYS, AT(failures), NOTHING },
	{ "ns_per_event", "time per event", UNIT_NS, ALWAYS, AT(ns_per_event), NOTHING },
	{ "ns_per_event_best", NULL, UNIT_NS, ALWAYS, AT(ns_per_event_best), NOTHING },
	{ "peak_live_bytes", "peak live", UNIT_BYTES, ALWAYS, AT(end.peak_live_bytes), NOTHING },
	{ "peak_live_rounded_bytes", NULL, UNIT_BYTES, ALWAYS, AT(end.peak_live_rounded_bytes),
	  NOTHING },
	{ "peak_live_blocks", "  blocks", UNIT_COUNT, ALWAYS, AT(end.peak_live_blocks), NOTHING },
	{ "high_water_bytes", "high water", UNIT_BYTES, ALWAYS, AT(end.high_water_bytes),
	  AT(high_water_ratio) },
	{ "high_water_ratio", NULL, UNIT_RATIO, ALWAYS, AT(high_water_ratio), NOTHING },
	{ "recorded_reserved_bytes", "program's own pool", UNIT_BYTES, WITH_RECORD,
	  AT(recorded_reserved_bytes), AT(recorded_reserved_ratio) },
	{ "recorded_reserved_ratio", NULL, UNIT_RATIO, WITH_RECORD, AT(recorded_reserved_ratio),
	  NOTHING },
	{ "peak_reserved_bytes", "peak reserved", UNIT_BYTES, WITH_CHUNKS,
	  AT(end.peak_reserved_bytes), AT(peak_reserved_ratio) },
	{ "peak_reserved_ratio", NULL, UNIT_RATIO, ALWAYS, AT(peak_reserved_ratio), NOTHING },
	{ "chunks", "  chunks", UNIT_COUNT, WITH_CHUNKS, AT(end.chunks), NOTHING },
	{ "physical_peak_bytes", "peak physical", UNIT_BYTES, WITH_MEMORY,
	  AT(end.peak_physical_bytes), AT(physical_peak_ratio) },
	{ "physical_peak_ratio", NULL, UNIT_RATIO, ALWAYS, AT(physical_peak_ratio), NOTHING },
	{ "driver_ms", "driver", UNIT_MS, WITH_CALLS, AT(driver_ms), NOTHING },
	{ "driver_calls", "  calls", UNIT_COUNT, WITH_CALLS, AT(end.driver_calls), NOTHING },
	{ "remaps", "  pieces moved", UNIT_COUNT, WITH_CALLS, AT(end.remaps), NOTHING },
	{ "cached_peak_bytes", "peak cached", UNIT_BYTES, WITH_CACHE, AT(cached_peak_bytes),
	  NOTHING },
	{ "waste_bytes", "at the peak: waste", UNIT_BYTES, AT_PEAK, AT(waste_bytes), NOTHING },
	{ "free_blocks_peak", "  free blocks", UNIT_COUNT, AT_PEAK, AT(peak.free_blocks), NOTHING },
	{ "free_block_bytes_peak", "  free bytes", UNIT_BYTES, AT_PEAK, AT(peak.free_block_bytes),
	  NOTHING },
	{ "largest_free_block_peak_bytes", "  largest free", UNIT_BYTES, AT_PEAK,
	  AT(peak.largest_free_block_bytes), NOTHING },
	{ "live_end_bytes", "at the end: live", UNIT_BYTES, ALWAYS, AT(end.live_bytes), NOTHING },
	{ "free_blocks_end", "  free blocks", UNIT_COUNT, ALWAYS, AT(end.free_blocks), NOTHING },
	{ "free_block_bytes_end", "  free bytes", UNIT_BYTES, ALWAYS, AT(end.free_block_bytes),
	  NOTHING },
	{ "largest_free_block_end_bytes", "  largest free", UNIT_BYTES, ALWAYS,
	  AT(end.largest_free_block_bytes), NOTHING },
	{ "streams", "streams", UNIT_COUNT, WITH_LAG, AT(streams), NOTHING },
	{ "stream_waits", "  waits for them", UNIT_COUNT, WITH_WAITS, AT(waits), NOTHING },
	{ "device", "device", UNIT_COUNT, WITH_DEVICES, AT(device), NOTHING },
	{ "devices", "  devices in file", UNIT_COUNT, WITH_DEVICES, AT(devices), NOTHING },
	{ "host_bytes", "pool's metadata", UNIT_BYTES, ALWAYS, AT(end.host_bytes), NOTHING },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static uint64_t integer_at(const struct replay_result *result, size_t offset)
{
	return *(const uint64_t *)((const char *)result + offset);
}

static double double_at(const struct replay_result *result, size_t offset)
{
	return *(const double *)(const void *)((const char *)result + offset);
}

static bool is_known(const struct row *row, const struct replay_settings *settings,
		     const struct replay_result *result)
{
	if (row->when == AT_PEAK)
		return result->peak.size;
	if (row->when == WITH_RECORD)
		return result->recorded_reserved_bytes;
	if (row->when == WITH_DEVICES)
		return result->devices;
	if (row->when == WITH_WAITS)
		return !settings->lags;
	return row->when != WITH_CACHE ||
	       (settings->cache == REPLAY_CACHE_ON && settings->threads == 1);
}

/* Whether blocks of this trace waited until the GPU had finished using them. */
static bool has_lag(const struct replay_settings *settings, const struct replay_result *result)
{
	if (settings->free == REPLAY_FREE_STREAM && !settings->lags)
		return settings->streams == REPLAY_STREAMS_HONOR && result->streams > 1;
	return settings->free != REPLAY_FREE_STRICT;
}

static bool any_has_lag(const struct replay_settings *settings, const struct replay_result *results,
			int count)
{
	for (int i = 0; i < count; i++)
		if (has_lag(settings, &results[i]))
			return true;
	return false;
}

static bool any_calls(const struct replay_result *results, int count)
{
	for (int i = 0; i < count; i++)
		if (results[i].end.driver_calls)
			return true;
	return false;
}

static bool any_devices(const struct replay_result *results, int count)
{
	for (int i = 0; i < count; i++)
		if (results[i].devices > 1)
			return true;
	return false;
}

static bool any_record(const struct replay_result *results, int count)
{
	for (int i = 0; i < count; i++)
		if (results[i].recorded_reserved_bytes)
			return true;
	return false;
}

/* Whether a row is useful to people. */
static bool is_shown(const struct row *row, const struct replay_settings *settings,
		     const struct replay_result *results, int count)
{
	if (!row->label)
		return false;
	switch (row->when) {
	case WITH_CHUNKS:
		return strcmp(settings->source, "host") != 0 ||
		       settings->growth_bytes != REPLAY_LARGEST;
	case WITH_MEMORY: return strcmp(settings->source, "host") != 0;
	case WITH_RECORD: return any_record(results, count);
	case WITH_DEVICES: return any_devices(results, count);
	case WITH_CALLS: return strcmp(settings->source, "host") != 0 && any_calls(results, count);
	case WITH_CACHE: return settings->cache == REPLAY_CACHE_ON;
	case WITH_WAITS: return !settings->lags && any_has_lag(settings, results, count);
	case WITH_LAG: return any_has_lag(settings, results, count);
	default: return true;
	}
}

static const char *name_of_free(uint64_t when)
{
	return when == REPLAY_FREE_STREAM   ? "stream"
	       : when == REPLAY_FREE_STRICT ? "strict"
					    : "deferred";
}

void replay_report_plain(const struct replay_settings *settings, const struct replay_result *result)
{
	for (const struct row *row = rows; row < rows + ROWS; row++) {
		if (!is_known(row, settings, result))
			continue;
		if (row->unit == UNIT_NS)
			printf("%s\t%.1f\n", row->key, double_at(result, row->at));
		else if (row->unit == UNIT_MS)
			printf("%s\t%.3f\n", row->key, double_at(result, row->at));
		else if (row->unit == UNIT_RATIO)
			printf("%s\t%.4f\n", row->key, double_at(result, row->at));
		else
			printf("%s\t%" PRIu64 "\n", row->key, integer_at(result, row->at));
	}
	printf("source\t%s\nsimulated\t%s\ngranule_bytes\t%" PRIu64 "\nrepeats\t%" PRIu64
	       "\nthreads\t%" PRIu64 "\n",
	       settings->source, settings->simulate ? "yes" : "no", settings->granule,
	       settings->repeats, settings->threads);
	printf("cache\t%s\nfree\t%s\nlag_events\t%" PRIu64 "\n",
	       settings->cache == REPLAY_CACHE_ON ? "on" : "off", name_of_free(settings->free),
	       has_lag(settings, result) ? settings->lag : 0);
}

/* A path may contain a tab or a newline, which would end the value. */
void replay_report_path(const char *path)
{
	printf("file\t");
	for (; *path; path++)
		putchar(*path == '\t' || *path == '\n' ? '?' : *path);
	putchar('\n');
}

static struct format_text cell(const struct row *row, const struct replay_settings *settings,
			       const struct replay_result *result)
{
	struct format_text out = { "-" };

	if (!is_known(row, settings, result))
		return out;
	if (row->unit == UNIT_NS)
		snprintf(out.text, sizeof(out.text), "%.0f ns", double_at(result, row->at));
	else if (row->unit == UNIT_MS)
		snprintf(out.text, sizeof(out.text), "%.2f ms", double_at(result, row->at));
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

/* Width of the page: that of the terminal, or a width that fits on paper. */
int replay_report_columns(void)
{
	struct winsize size;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return PAGE_COLUMNS;
}

/* Print one right-aligned cell and the text next to it; pad only if another cell follows. */
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

/* Print a table of some files side by side. */
static void print_table(const struct replay_settings *settings, const struct replay_result *results,
			int count)
{
	printf("%-*s", LABEL_COLUMNS, "");
	for (int i = 0; i < count; i++)
		print_cell(width_of(&results[i]),
			   format_name(results[i].trace->path, NAME_COLUMNS).text, "",
			   i == count - 1);
	putchar('\n');
	for (const struct row *row = rows; row < rows + ROWS; row++) {
		if (!is_shown(row, settings, results, count))
			continue;
		printf("%-*s", LABEL_COLUMNS, row->label);
		for (int i = 0; i < count; i++)
			print_cell(width_of(&results[i]), cell(row, settings, &results[i]).text,
				   beside(row, &results[i]).text, i == count - 1);
		putchar('\n');
	}
}

/* The number of files that fit side by side, at least one. */
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

/* Summarize the numbers in one sentence per file. */
static void print_meaning(const struct replay_result *result)
{
	const struct mam_stats *end = &result->end;
	struct format_text name = replay_trace_title(result->trace, 39);

	if (result->failures)
		printf("%s: %s of %s did not fit, the first on %s %" PRIu64 ".\n", name.text,
		       format_count(result->failures).text,
		       format_counted(result->allocs, "allocation").text, result->trace->place,
		       result->first_failure);
	else if (end->peak_live_bytes)
		printf("%s: %s of memory would have been enough, %.1f%% more than the "
		       "program's peak of %s.\n",
		       name.text, format_bytes(end->high_water_bytes).text,
		       100 * (format_quotient(end->high_water_bytes, end->peak_live_bytes) - 1),
		       format_bytes(end->peak_live_bytes).text);
	else
		printf("%s: nothing was allocated.\n", name.text);
	if (result->recorded_reserved_bytes)
		printf("%s: the program's own pool had reserved %s.\n", name.text,
		       format_bytes(result->recorded_reserved_bytes).text);
}

/* Print how the trace was played, if the numbers do not show it. */
static void print_manner(const struct replay_settings *settings,
			 const struct replay_result *results, int count)
{
	struct format_text lag = format_counted(settings->lag, "event");

	if (settings->simulate)
		puts("The driver was simulated; its time is an estimate for an H100.");
	if (!any_has_lag(settings, results, count))
		return;
	if (settings->free == REPLAY_FREE_DEFERRED)
		printf("Freed memory was reused %s later at the earliest.\n", lag.text);
	else
		printf("Memory freed on one stream was reused by others %s later at the "
		       "earliest.\n",
		       lag.text);
}

void replay_report(const struct replay_settings *settings, const struct replay_result *results,
		   int count)
{
	if (settings->plain) {
		for (int i = 0; i < count; i++) {
			if (count > 1)
				replay_report_path(results[i].trace->path);
			replay_report_plain(settings, &results[i]);
		}
		return;
	}
	if (settings->quiet)
		return;
	for (int i = 0, fit; i < count; i += fit) {
		fit = files_that_fit(&results[i], count - i, replay_report_columns());
		print_table(settings, &results[i], fit);
		putchar('\n');
	}
	for (int i = 0; i < count; i++)
		print_meaning(&results[i]);
	print_manner(settings, results, count);
}
