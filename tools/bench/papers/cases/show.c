/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c - the results of `mam bench case` as tables for users, and keys for scripts: one table per
 * metric and case, one line per cell, one column per allocator; the targets last, where they are
 * visible.
 */
#include <stdio.h>
#include <string.h>

#include "bench/harness/rows.h"
#include "cases.h"

#define NAME_WIDTH 20

static const struct device_table tables[] = {
	{ "case-join", "us",
	  "a hash join: us of kernels, by tuples in each table, and of the heap that is free" },
	{ "case-join", "peak_mib", "the same: peak MiB, without inputs" },
	{ "case-join", "steps", "the same: steps a request" },
	{ "case-group", "us", "a group-by: us of kernels, by keys and the heap's free share" },
	{ "case-group", "peak_mib", "the same: peak MiB" },
	{ "case-group", "steps", "the same: steps a request" },
	{ "case-octree", "us", "a Barnes-Hut octree: us of kernels, by bodies" },
	{ "case-octree", "peak_mib", "the same: peak MiB" },
	{ "case-octree", "steps", "the same: steps a request" },
	{ "case-graph", "us", "a graph that changes: us of kernels, by edges" },
	{ "case-graph", "peak_mib", "the same: peak MiB" },
	{ "case-graph", "steps", "the same: steps a request" },
	{ "case-join", "time_ratio", "the join's time over mam to that of two passes" },
	{ "case-join", "memory_ratio", "its peak memory to that" },
	{ "case-group", "time_ratio", "the group-by's time over mam to that of two passes" },
	{ "case-group", "memory_ratio", "its peak memory to that" },
	{ "case-group", "time_to_compact", "its time to that of two passes with few counters" },
	{ "case-group", "memory_to_compact", "its peak memory to that" },
	{ "case-octree", "time_ratio", "the octree's time to that with all nodes reserved" },
	{ "case-octree", "memory_ratio", "its peak memory to that" },
	{ "case-graph", "time_ratio", "the graph's time to that with all room reserved" },
	{ "case-graph", "memory_ratio", "its peak memory to that" },
};

/* ---- ratios ---- */

static const struct {
	const char *other, *metric, *ratio;
} ratios[] = {
	{ CASE_RESERVED, "us", "time_ratio" },
	{ CASE_RESERVED, "peak_mib", "memory_ratio" },
	{ CASE_COMPACT, "us", "time_to_compact" },
	{ CASE_COMPACT, "peak_mib", "memory_to_compact" },
};

static bool is_ours(const char *name)
{
	return strcmp(name, CASE_MAM) == 0 || strcmp(name, CASE_MAM_PAGES) == 0;
}

void case_complete(struct bench_results *results)
{
	const size_t count = results->count;
	double theirs;
	size_t i, k;

	for (i = 0; i < count; i++) {
		const struct bench_result row = results->rows[i];

		if (strncmp(row.workload, "case-", 5) != 0 || !is_ours(row.peer))
			continue;
		for (k = 0; k < sizeof(ratios) / sizeof(ratios[0]); k++) {
			if (strcmp(row.metric, ratios[k].metric) == 0 &&
			    bench_results_get(results, row.workload, ratios[k].other, row.parameter,
					      row.metric, &theirs) &&
			    theirs > 0)
				bench_results_add(results, row.workload, row.peer, row.parameter,
						  ratios[k].ratio, row.value / theirs);
		}
	}
}

/* ---- targets ---- */

/* Returns true for a million tuples or more ("1M 50%"). */
static bool is_large(const char *parameter)
{
	return parameter[strcspn(parameter, " ") - 1] == 'M';
}

static void add_worst(const struct bench_results *results, struct device_target *target,
		      const char *whom, const char *work, const char *share, const char *metric,
		      double bound)
{
	const bool pages = strcmp(whom, CASE_MAM_PAGES) == 0;
	size_t i;

	*target = (struct device_target){ .unit = "times", .bound = bound, .at_most = true };
	snprintf(target->key, sizeof(target->key), "%s_%.*s_%s%s", work, (int)strlen(share) - 1,
		 share, metric, pages ? "_pages" : "");
	snprintf(target->label, sizeof(target->label), "%s%s from 1M, %s free: %.*s to two-pass",
		 work, pages ? " (pages)" : "", share, (int)strcspn(metric, "_"), metric);
	for (i = 0; i < results->count; i++) {
		const struct bench_result *row = &results->rows[i];
		const char *last = row->parameter != NULL ? strrchr(row->parameter, ' ') : NULL;

		if (last == NULL || strncmp(row->workload, "case-", 5) != 0 ||
		    strcmp(row->workload + 5, work) != 0 || strcmp(row->metric, metric) != 0 ||
		    strcmp(row->peer, whom) != 0 || !is_large(row->parameter) ||
		    strcmp(last + 1, share) != 0)
			continue;
		target->known = true;
		if (row->value > target->value)
			target->value = row->value;
	}
}

static size_t compute(const struct bench_results *results, const struct device_request *request,
		      struct device_target *targets)
{
	static const char *const works[] = { "join", "group" };
	static const char *const shares[] = { "50%", "5%" };
	static const char *const ours[] = { CASE_MAM, CASE_MAM_PAGES };
	size_t i, k, m, count = 0;

	for (m = 0; m < 2; m++) {
		for (i = 0; i < 2; i++) {
			for (k = 0; k < 2; k++) {
				add_worst(results, &targets[count++], ours[m], works[i], shares[k],
					  "time_ratio", 1);
				add_worst(results, &targets[count++], ours[m], works[i], shares[k],
					  "memory_ratio", 0.5);
			}
		}
	}
	device_target_faults(results, request, &targets[count++]);
	return count;
}

void case_show_people(const struct bench_results *results, const struct bench_machine *machine,
		      const struct device_request *request)
{
	struct device_target targets[DEVICE_TARGETS_MAX];
	size_t i;

	device_show_head(results, machine, request);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		device_show_table(results, request, &tables[i], NAME_WIDTH);
	device_show_targets(targets, compute(results, request, targets));
}

void case_show_keys(const struct bench_results *results, const struct device_request *request)
{
	struct device_target targets[DEVICE_TARGETS_MAX];

	device_show_target_keys(targets, compute(results, request, targets));
}
