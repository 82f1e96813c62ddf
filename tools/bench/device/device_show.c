/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_show.c - the results of `mam bench device` as tables for users, and keys for scripts.
 *
 * One table per number, one line per cell. First the ratio of mam to the best of others: of those
 * that serve any size, of pages of a fitting size, of bare counters; more than 1 is better, for
 * rates and for costs. Then each value. `!` follows a number if a request failed, `wrong` replaces
 * one if the checks found an error, `lost` one whose kernel did not return or crashed the device.
 * The targets come last, where they are visible.
 */
#include <stdio.h>
#include <string.h>

#include "device_play.h"
#include "bench/harness/rows.h"

#define NAME_WIDTH 24

static const struct {
	const char *workload, *metric, *title;
	bool cost; /* less is better */
} tables[] = {
	{ "device-registers", "registers", "registers of a kernel that mallocs", true },
	{ "device-w1", "mops", "malloc of every thread, million a second", false },
	{ "device-w1", "free_mops", "free of the same by a later kernel, million a second", false },
	{ "device-w2", "mops", "malloc of mixed sizes, million a second", false },
	{ "device-w2", "free_mops", "free of the same, million a second", false },
	{ "device-w3", "mops", "malloc by one lane of each warp, million a second", false },
	{ "device-w3", "free_mops", "free of the same, million a second", false },
	{ "device-w4", "mops", "malloc, write and free in one kernel, million pairs a second",
	  false },
	{ "device-w5", "us", "malloc where so much of 1 GiB is free, microseconds", true },
	{ "device-w5", "failed_percent", "of these requests failed, per cent", true },
	{ "device-w6", "taken_ratio", "share of all memory taken that is in use when 1% fail",
	  false },
	{ "device-w7", "malloc_cycles", "cycles of a malloc of one warp alone", true },
	{ "device-w7", "free_cycles", "cycles of a free", true },
	{ "device-start", "make_us", "to make a heap, microseconds", true },
	{ "device-start", "first_us", "the first kernel on it, microseconds", true },
	{ "device-start", "steady_us", "the same kernel later, microseconds", true },
	{ "device-fragment", "range_ratio", "addresses in use over live bytes, after churn", true },
	{ "device-scale", "mops", "malloc by so many threads, million a second", false },
	{ "device-scale", "free_mops", "free of the same, million a second", false },
	{ "device-graph", "mops", "edges into lists that grow, million a second", false },
	{ "device-generate", "mops", "items of work made and written, million a second", false },
	{ "device-shapes", "mops", "malloc by blocks and grids of these extents, million a second",
	  false },
	{ "device-shapes", "free_mops", "free of the same, million a second", false },
	{ "device-small", "us", "malloc by so few threads, microseconds", true },
	{ "device-small", "free_us", "free of the same, microseconds", true },
	{ "device-reuse", "free_ratio", "share of the free memory that larger objects got", false },
	{ "device-reuse", "room_ratio", "share of those that fit between the live objects", false },
	{ "device-reuse", "us", "until all threads got NULL, microseconds", true },
	{ "device-exchange", "mops", "malloc, and free by other threads, million pairs a second",
	  false },
	{ "device-exchange", "max_us", "the slowest of these kernels, microseconds", true },
	{ "device-exchange", "none", "of all requests, failed", true },
	{ "device-fail", "us", "requests that must fail, microseconds", true },
	{ "device-churn", "early_us",
	  "half of all objects exchanged, first 10 kernels, microseconds", true },
	{ "device-churn", "late_us", "the same, last 10 of 50 kernels, microseconds", true },
	{ "device-churn", "none", "of all requests, failed", true },
};

size_t device_show_columns(const struct bench_results *results,
			   const struct device_request *request, const char *workload,
			   const char *names[DEVICE_COLUMNS_MAX])
{
	size_t count = 0, known, i, k;

	for (i = 0; i < request->allocator_count && count < DEVICE_COLUMNS_MAX; i++) {
		if (bench_rows_has(results, workload, request->allocators[i].name))
			names[count++] = request->allocators[i].name;
	}
	for (i = 0; i < results->count && count < DEVICE_COLUMNS_MAX; i++) {
		const struct bench_result *row = &results->rows[i];

		known = strcmp(row->workload, workload) != 0;
		for (k = 0; k < count; k++)
			known += strcmp(names[k], row->peer) == 0;
		if (known == 0)
			names[count++] = row->peer;
	}
	return count;
}

void device_show_cell(const struct bench_results *results, const char *workload, const char *name,
		      const char *parameter, const char *metric, bool may_fail)
{
	char text[32] = "-", number[24];
	double value, wrong = 0, none = 0, lost = 0;

	(void)bench_results_get(results, workload, name, parameter, "wrong", &wrong);
	(void)bench_results_get(results, workload, name, parameter, "none", &none);
	(void)bench_results_get(results, workload, name, parameter, "lost", &lost);
	if (wrong > 0 || lost > 0)
		snprintf(text, sizeof(text), "%s", wrong > 0 ? "wrong" : "lost");
	else if (bench_results_get(results, workload, name, parameter, metric, &value))
		snprintf(text, sizeof(text), "%s%s", bench_rows_show(value, number, sizeof(number)),
			 none > 0 && !may_fail ? "!" : "");
	printf(" %11s", text);
}

static void put_ratio(bool known, bool cost, double mine, double theirs)
{
	const double better = cost ? mine : theirs, worse = cost ? theirs : mine;
	char text[24];

	printf(" %8s", known && better > 0 && worse > 0
			       ? bench_rows_show(worse / better, text, sizeof(text))
			       : "-");
}

static void put_line(const struct bench_results *results, const struct device_request *request,
		     size_t table, const char *parameter, const char *const *names, size_t count)
{
	static const enum device_group groups[] = { DEVICE_GROUP_GENERAL, DEVICE_GROUP_PAGES,
						    DEVICE_GROUP_CEILING };
	const char *workload = tables[table].workload, *metric = tables[table].metric;
	const bool cost = tables[table].cost;
	double mine = 0, theirs = 0;
	bool known, other;
	size_t i;

	printf("%-*s", NAME_WIDTH, parameter);
	known = device_target_best(results, request, DEVICE_GROUP_OURS, workload, parameter, metric,
				   cost, &mine) != NULL;
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		other = device_target_best(results, request, groups[i], workload, parameter, metric,
					   cost, &theirs) != NULL;
		put_ratio(known && other, cost, mine, theirs);
	}
	for (i = 0; i < count; i++)
		device_show_cell(results, workload, names[i], parameter, metric,
				 strcmp(workload, "device-w6") == 0 || strcmp(metric, "none") == 0);
	printf("\n");
}

bool device_show_has(const struct bench_results *results, const char *workload, const char *metric)
{
	size_t i;

	for (i = 0; i < results->count; i++) {
		if (strcmp(results->rows[i].workload, workload) == 0 &&
		    strcmp(results->rows[i].metric, metric) == 0)
			return true;
	}
	return false;
}

void device_show_table(const struct bench_results *results, const struct device_request *request,
		       const struct device_table *table, int width)
{
	const char *names[DEVICE_COLUMNS_MAX], *workload = table->workload;
	size_t count, i, k;

	if (!device_show_has(results, workload, table->metric))
		return;
	count = device_show_columns(results, request, workload, names);
	printf("\n%s: %s\n%-*s", workload, table->title, width, "");
	for (k = 0; k < count; k++)
		printf(" %14s", names[k]);
	printf("\n");
	for (i = 0; i < results->count; i++) {
		if (!bench_rows_is_first(results, workload, i))
			continue;
		printf("%-*s", width, results->rows[i].parameter);
		for (k = 0; k < count; k++) {
			printf("   ");
			device_show_cell(results, workload, names[k], results->rows[i].parameter,
					 table->metric, false);
		}
		printf("\n");
	}
}

static void put_table(const struct bench_results *results, const struct device_request *request,
		      size_t table)
{
	const char *names[DEVICE_COLUMNS_MAX];
	size_t count, i;

	if (!device_show_has(results, tables[table].workload, tables[table].metric))
		return;
	count = device_show_columns(results, request, tables[table].workload, names);
	printf("\n%s: %s\n%-*s %8s %8s %8s", tables[table].workload, tables[table].title,
	       NAME_WIDTH, "", "x any", "x pages", "x bump");
	for (i = 0; i < count; i++)
		printf(" %11s", names[i]);
	printf("\n");
	for (i = 0; i < results->count; i++) {
		if (bench_rows_is_first(results, tables[table].workload, i))
			put_line(results, request, table, results->rows[i].parameter, names, count);
	}
}

void device_show_targets(const struct device_target *targets, size_t count)
{
	char value[24], bound[24], best[24];
	bool headed = false;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct device_target *target = &targets[i];

		if (!target->known)
			continue;
		if (!headed)
			printf("\n%-42s %9s %-6s  target          best other\n", "mam", "", "");
		headed = true;
		printf("%-42s %9s %-6s  %s %-6s %-6s", target->label,
		       bench_rows_show(target->value, value, sizeof(value)), target->unit,
		       target->at_most ? "<=" : ">=",
		       bench_rows_show(target->bound, bound, sizeof(bound)),
		       device_target_is_met(target) ? "met" : "missed");
		if (target->best_name[0] != '\0')
			printf("  %s %s", bench_rows_show(target->best, best, sizeof(best)),
			       target->best_name);
		printf("\n");
	}
}

void device_show_head(const struct bench_results *results, const struct bench_machine *machine,
		      const struct device_request *request)
{
	char launch[32];
	double few, many;
	size_t i;

	printf("%s run on %s, driver %s\n", request->effort.name, machine->gpu, machine->driver);
	for (i = 0; i < results->note_count; i++)
		printf("note: %s\n", results->notes[i]);
	snprintf(launch, sizeof(launch), "%s-launch", request->suite->prefix);
	if (bench_results_get(results, launch, "empty", "1K", "us", &few) &&
	    bench_results_get(results, launch, "empty", "1M", "us", &many))
		printf("in every time: an empty kernel takes %.2f us with 1K threads, %.2f us with "
		       "1M\n",
		       few, many);
}

void device_show_people(const struct bench_results *results, const struct bench_machine *machine,
			const struct device_request *request)
{
	struct device_target targets[DEVICE_TARGETS_MAX];
	size_t i;

	device_show_head(results, machine, request);
	printf("x any, x pages, x bump: how many times better mam is than the best that serves any "
	       "size,\nthan the best published one of pages made to fit, and than a bare "
	       "counter\n");
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		put_table(results, request, i);
	device_show_targets(targets, device_target_compute(results, request, targets));
}

void device_show_target_keys(const struct device_target *targets, size_t count)
{
	size_t met = 0, missed = 0, i;

	for (i = 0; i < count; i++) {
		const struct device_target *target = &targets[i];
		const bool is_met = device_target_is_met(target);

		if (!target->known)
			continue;
		printf("%s\t%.6g\n%s.target\t%s%g\n%s.met\t%s\n", target->key, target->value,
		       target->key, target->at_most ? "<=" : ">=", target->bound, target->key,
		       is_met ? "yes" : "no");
		if (target->best_name[0] != '\0')
			printf("%s.best\t%.6g %s\n", target->key, target->best, target->best_name);
		*(is_met ? &met : &missed) += 1;
	}
	printf("targets_met\t%zu\ntargets_missed\t%zu\n", met, missed);
}

void device_show_keys(const struct bench_results *results, const struct device_request *request)
{
	struct device_target targets[DEVICE_TARGETS_MAX];

	device_show_target_keys(targets, device_target_compute(results, request, targets));
}
