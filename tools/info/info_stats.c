/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info_stats.c - `mam info --stats`: the statistics of several processes in one table, and for each
 * column the maximum over the mean, with the rank that has it. They are files of mam run --stats,
 * or statistics pages of processes that run or were killed.
 *
 * A process that used several devices has one row per device. Processes without a call, such as
 * launchers, have no row: they would lower the mean.
 */
#include "info/info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "info/stats_page.h"
#include "info/stats_read.h"
#include "kit/format.h"
#include "kit/message.h"

#define NO_DEVICE (-1)
#define PID_DIGITS 9

struct row {
	uint64_t pid, rank;
	bool has_rank;
	int device; /* NO_DEVICE: the process used at most one */
	uint64_t values[STATS_VALUES];
};

struct rows {
	struct row *rows;
	size_t count;
	bool has_devices;
};

/* The largest value of a column, and the mean. */
struct extreme {
	const struct row *row; /* the first row that has the maximum */
	double mean, ratio;    /* ratio: maximum over mean; 1 if all are 0 */
	bool is_equal;         /* all rows have the same value */
};

static const struct {
	const char *heading;
	bool is_bytes;
} columns[STATS_VALUES] = {
	[STATS_CALLS] = { "calls", false },
	[STATS_PEAK_LIVE] = { "peak live", true },
	[STATS_PEAK_RESERVED] = { "peak reserved", true },
	[STATS_PEAK_ALL] = { "peak in total", true },
	[STATS_LIVE_BLOCKS] = { "never freed", false },
};

static bool add_row(struct rows *rows, const struct stats_file *file, int device,
		    const struct stats_section *section)
{
	struct row *row = (struct row *)realloc(rows->rows, (rows->count + 1) * sizeof(*row));

	if (row == NULL) {
		message_error("out of memory");
		return false;
	}
	rows->rows = row;
	row += rows->count++;
	row->pid = file->pid;
	row->rank = file->rank;
	row->has_rank = file->has_rank;
	row->device = device;
	memcpy(row->values, section->values, sizeof(row->values));
	return true;
}

static bool add_process(struct rows *rows, const struct stats_file *file)
{
	bool has_devices = false, good = true;

	if (file->whole.values[STATS_CALLS] == 0)
		return true;
	for (int device = 0; device < STATS_DEVICES_MAX && good; device++) {
		if (file->devices[device].found == 0)
			continue;
		has_devices = rows->has_devices = true;
		good = add_row(rows, file, device, &file->devices[device]);
	}
	return has_devices ? good : add_row(rows, file, NO_DEVICE, &file->whole);
}

static bool add_file(struct rows *rows, const char *path)
{
	struct stats_file file;
	bool good = stats_page_is(path) ? stats_page_read(path, &file) : stats_read(path, &file);

	return good && add_process(rows, &file);
}

/* A process ID, unless there is a file of that name. 0: it is not one. */
static pid_t process_of(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return digits == 0 || digits > PID_DIGITS || name[digits] != '\0' || access(name, F_OK) == 0
		       ? 0
		       : (pid_t)strtol(name, NULL, 10);
}

static bool add_pages(struct rows *rows, pid_t process)
{
	static char paths[STATS_PAGES_MAX][STATS_PAGE_BYTES];
	int count = stats_page_find(process, paths);
	bool good = count > 0;

	for (int i = 0; i < count && good; i++)
		good = add_file(rows, paths[i]);
	return good;
}

static bool add(struct rows *rows, const char *name)
{
	pid_t process = process_of(name);

	return process > 0 ? add_pages(rows, process) : add_file(rows, name);
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By rank, those without one last; then by process and device. */
static int compare_rows(const void *one, const void *other)
{
	const struct row *a = (const struct row *)one, *b = (const struct row *)other;
	int order = compare(b->has_rank, a->has_rank);

	if (order == 0)
		order = compare(a->rank, b->rank);
	if (order == 0)
		order = compare(a->pid, b->pid);
	return order != 0 ? order : a->device - b->device;
}

static struct extreme extreme_of(const struct rows *rows, enum stats_value value)
{
	struct extreme extreme = { .row = rows->rows, .is_equal = true };
	double sum = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];

		sum += (double)row->values[value];
		if (row->values[value] != rows->rows[0].values[value])
			extreme.is_equal = false;
		if (row->values[value] > extreme.row->values[value])
			extreme.row = row;
	}
	extreme.mean = sum / (double)rows->count;
	extreme.ratio = extreme.is_equal ? 1 : (double)extreme.row->values[value] / extreme.mean;
	return extreme;
}

static void print_value(enum stats_value value, uint64_t number, int width)
{
	printf("  %*s", width,
	       columns[value].is_bytes ? format_bytes(number).text : format_count(number).text);
}

static void print_table(const struct rows *rows)
{
	printf("rank%s  %10s", rows->has_devices ? "  device" : "", "process");
	for (int value = 0; value < STATS_VALUES; value++)
		printf("  %13s", columns[value].heading);
	putchar('\n');
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];

		printf("%4s", row->has_rank ? format_plain(row->rank).text : "-");
		if (rows->has_devices && row->device != NO_DEVICE)
			printf("  %6d", row->device);
		else if (rows->has_devices)
			printf("  %6s", "-");
		printf("  %10" PRIu64, row->pid);
		for (int value = 0; value < STATS_VALUES; value++)
			print_value((enum stats_value)value, row->values[value], 13);
		putchar('\n');
	}
}

static void print_owner(const struct row *row)
{
	if (row->has_rank)
		printf("rank %" PRIu64, row->rank);
	else
		printf("process %" PRIu64, row->pid);
	if (row->device != NO_DEVICE)
		printf(", device %d", row->device);
}

static void print_extremes(const struct rows *rows)
{
	printf("\nmaximum over mean:\n");
	for (int value = 0; value < STATS_VALUES; value++) {
		const struct extreme extreme = extreme_of(rows, (enum stats_value)value);

		printf("  %-13s  %.2f  ", columns[value].heading, extreme.ratio);
		if (extreme.is_equal)
			printf("all equal");
		else
			print_owner(extreme.row);
		putchar('\n');
	}
}

static void print_plain(const struct rows *rows)
{
	printf("rows\t%zu\n", rows->count);
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];

		if (row->has_rank)
			printf("row.%zu.rank\t%" PRIu64 "\n", i, row->rank);
		if (row->device != NO_DEVICE)
			printf("row.%zu.device\t%d\n", i, row->device);
		printf("row.%zu.pid\t%" PRIu64 "\n", i, row->pid);
		for (int value = 0; value < STATS_VALUES; value++)
			printf("row.%zu.%s\t%" PRIu64 "\n", i, stats_key((enum stats_value)value),
			       row->values[value]);
	}
	for (int value = 0; value < STATS_VALUES; value++) {
		const struct extreme extreme = extreme_of(rows, (enum stats_value)value);
		const char *key = stats_key((enum stats_value)value);

		printf("max_row.%s\t%td\n", key, extreme.row - rows->rows);
		printf("mean.%s\t%.1f\n", key, extreme.mean);
		printf("max_over_mean.%s\t%.4f\n", key, extreme.ratio);
	}
}

int info_stats(int count, char **names, bool plain)
{
	struct rows rows = { .rows = NULL };
	bool good = true;

	for (int i = 0; i < count && good; i++)
		good = add(&rows, names[i]);
	if (good && rows.count == 0) {
		message_error("no process made CUDA memory calls");
		good = false;
	}
	if (good) {
		qsort(rows.rows, rows.count, sizeof(*rows.rows), compare_rows);
		if (plain) {
			print_plain(&rows);
		} else {
			print_table(&rows);
			print_extremes(&rows);
		}
	}
	free(rows.rows);
	return good ? STATUS_GOOD : STATUS_BAD;
}
