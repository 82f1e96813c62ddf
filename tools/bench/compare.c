/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c - mam bench compare (compare.h).
 *
 * Rows of the same name in one file are repeats: their median is compared, and the largest divided by
 * the smallest is their spread. The noise of a row is the larger spread of its two files, but at
 * least the median spread of all repeated rows: two repeats may agree by chance. If nothing was
 * repeated, the noise is unknown, and NOISE_ASSUMED.
 *
 * Times and rates are compared, by the unit that ends the metric's name. A change is the time of the
 * new file divided by that of the old one, for rates the inverse, so above 1 is always slower.
 *
 * Algorithm: sort both files by name, then merge them. Bound: O(n log n).
 */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/results_read.h"
#include "command.h"
#include "kit/args.h"
#include "kit/message.h"

#define NOISE_ASSUMED 1.1

/* The repeats of one name: rows that are adjacent after sorting. */
struct group {
	const struct results_row *row; /* the median */
	double spread;
	size_t count;
};

struct change {
	const char *const *fields;
	double old_value, new_value, ratio, noise;
};

static const struct args_option no_options[] = { { NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL } };

static const struct args_command command = {
	"mam bench compare",
	"OLD NEW",
	"List what became slower from one file of results to another by more than noise.\n",
	"Rows that a file has several times are repeats, from which the noise is estimated:\n"
	"concatenate the files of several runs. Exit status 1: something became slower.\n",
	no_options,
	false,
};

static bool ends_with(const char *name, const char *const *ends, size_t count)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < count; i++) {
		size_t end = strlen(ends[i]);

		if (length >= end && strcmp(name + length - end, ends[i]) == 0 &&
		    (length == end || name[length - end - 1] == '_'))
			return true;
	}
	return false;
}

/* 1: a time; -1: a rate; 0: neither. */
static int direction_of(const char *metric)
{
	static const char *const times[] = { "ns", "us", "ms", "cycles", "clocks" };
	static const char *const rates[] = { "mops", "mpairs", "medges", "gflops" };

	if (ends_with(metric, times, sizeof(times) / sizeof(times[0])))
		return 1;
	return ends_with(metric, rates, sizeof(rates) / sizeof(rates[0])) ? -1 : 0;
}

static int order_names(const struct results_row *a, const struct results_row *b)
{
	int order = 0;

	for (size_t i = 0; i < RESULTS_FIELDS - 1 && order == 0; i++)
		order = strcmp(a->fields[i], b->fields[i]);
	return order;
}

/* By name, then by value. */
static int order_rows(const void *a, const void *b)
{
	const struct results_row *one = a, *other = b;
	int order = order_names(one, other);

	return order ? order : (one->value > other->value) - (one->value < other->value);
}

static int order_numbers(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

/* The worst first. */
static int order_changes(const void *a, const void *b)
{
	return -order_numbers(&((const struct change *)a)->ratio,
			      &((const struct change *)b)->ratio);
}

static struct group group_at(const struct results_rows *rows, size_t at)
{
	const struct results_row *first = &rows->rows[at];
	struct group group = { .count = 1, .spread = 1 };

	while (at + group.count < rows->count && order_names(first, first + group.count) == 0)
		group.count++;
	group.row = first + group.count / 2;
	if (first->value > 0)
		group.spread = first[group.count - 1].value / first->value;
	return group;
}

/* Appends the spreads of repeated rows. */
static size_t add_spreads(const struct results_rows *rows, double *spreads)
{
	size_t count = 0;
	struct group group;

	for (size_t at = 0; at < rows->count; at += group.count) {
		group = group_at(rows, at);
		if (group.count > 1 && group.row->value > 0 && direction_of(group.row->fields[3]))
			spreads[count++] = group.spread;
	}
	return count;
}

/* The median spread, or 0 if nothing was repeated. */
static double usual_noise(const struct results_rows *before, const struct results_rows *after,
			  double *spreads)
{
	size_t count = add_spreads(before, spreads);

	count += add_spreads(after, spreads + count);
	qsort(spreads, count, sizeof(*spreads), order_numbers);
	return count ? spreads[count / 2] : 0;
}

struct sums {
	size_t compared, slower, faster, only_old, only_new;
};

/* Merges the files. Returns the number of changes beyond noise; the slower ones are in `changes`. */
static struct sums merge(const struct results_rows *before, const struct results_rows *after,
			 double noise, struct change *changes)
{
	struct sums sums = { 0 };
	size_t i = 0, j = 0;

	while (i < before->count || j < after->count) {
		struct group one = { 0 }, other = { 0 };
		struct change change;
		int order, direction;

		if (i < before->count)
			one = group_at(before, i);
		if (j < after->count)
			other = group_at(after, j);
		order = !one.row ? 1 : !other.row ? -1 : order_names(one.row, other.row);
		i += order <= 0 ? one.count : 0;
		j += order >= 0 ? other.count : 0;
		direction = direction_of((order <= 0 ? one.row : other.row)->fields[3]);
		sums.only_old += direction && order < 0;
		sums.only_new += direction && order > 0;
		if (!direction || order || one.row->value <= 0 || other.row->value <= 0)
			continue;
		change = (struct change){ one.row->fields, one.row->value, other.row->value,
					  other.row->value / one.row->value, noise };
		if (direction < 0)
			change.ratio = 1 / change.ratio;
		if (one.spread > change.noise)
			change.noise = one.spread;
		if (other.spread > change.noise)
			change.noise = other.spread;
		sums.compared++;
		sums.faster += change.ratio < 1 / change.noise;
		if (change.ratio > change.noise)
			changes[sums.slower++] = change;
	}
	return sums;
}

static void print_facts(const char *which, const struct results_facts *facts)
{
	printf("%s: %s, commit %s, %s\n", which, facts->gpu[0] ? facts->gpu : "unknown GPU",
	       facts->commit[0] ? facts->commit : "unknown",
	       facts->date[0] ? facts->date : "no date");
}

static int compare(struct results_rows *before, struct results_rows *after)
{
	size_t room = before->count + after->count + 1;
	struct change *changes = calloc(room, sizeof(*changes));
	double *spreads = calloc(room, sizeof(*spreads)), noise;
	struct sums sums = { 0 };

	if (!changes || !spreads) {
		free(changes);
		free(spreads);
		message_error("out of memory for %zu rows", room);
		return STATUS_FAILED;
	}
	if (before->count)
		qsort(before->rows, before->count, sizeof(*before->rows), order_rows);
	if (after->count)
		qsort(after->rows, after->count, sizeof(*after->rows), order_rows);
	noise = usual_noise(before, after, spreads);
	sums = merge(before, after, noise > 0 ? noise : NOISE_ASSUMED, changes);
	qsort(changes, sums.slower, sizeof(*changes), order_changes);
	print_facts("old", &before->facts);
	print_facts("new", &after->facts);
	if (noise > 0)
		printf("noise: %.2f, the median of the repeated rows\n", noise);
	else
		printf("noise: %.2f, assumed, as no row is repeated\n", NOISE_ASSUMED);
	if (sums.slower)
		printf("\nslower  noise         old         new  what\n");
	for (size_t i = 0; i < sums.slower; i++)
		printf("%6.2f %6.2f %11.5g %11.5g  %s, %s, %s, %s\n", changes[i].ratio,
		       changes[i].noise, changes[i].old_value, changes[i].new_value,
		       changes[i].fields[0], changes[i].fields[1], changes[i].fields[2],
		       changes[i].fields[3]);
	printf("\n%zu compared: %zu slower, %zu faster; %zu only in the old file, %zu only in the "
	       "new one\n",
	       sums.compared, sums.slower, sums.faster, sums.only_old, sums.only_new);
	free(changes);
	free(spreads);
	return sums.slower ? STATUS_FAILED : STATUS_GOOD;
}

int compare_results_main(int argc, char **argv)
{
	struct results_rows before = { .keeps_repeats = true }, after = { .keeps_repeats = true };
	int first, status;
	char settings;

	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	if (argc - first != 2) {
		message_error(
			"expected two files of results, not %d; see 'mam bench compare --help'",
			argc - first);
		return STATUS_BAD;
	}
	status = results_rows_read(argv[first], &before);
	if (status == STATUS_GOOD)
		status = results_rows_read(argv[first + 1], &after);
	if (status == STATUS_GOOD)
		status = compare(&before, &after);
	results_rows_fini(&before);
	results_rows_fini(&after);
	return status;
}
