/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_target.c - the best allocator of a cell, and the promised numbers for a GPU of the H100's
 * class.
 *
 * The best of others is determined in three groups, since they have different purposes: those that
 * serve any size and support free; published allocators of pages, whose page size is made to fit
 * the cell's requests; and bare counters, which support no free and are an upper bound on speed.
 * Allocators with errors are excluded, and so are those with failed requests.
 */
#include <stdio.h>
#include <string.h>

#include "device_play.h"

enum device_group device_target_group(const struct device_request *request, const char *name)
{
	size_t i;

	for (i = 0; i < request->allocator_count; i++) {
		const struct device_allocator *allocator = &request->allocators[i];

		if (strcmp(allocator->name, name) != 0)
			continue;
		if (allocator->role == DEVICE_OURS)
			return DEVICE_GROUP_OURS;
		if (!allocator->frees)
			return DEVICE_GROUP_CEILING;
		return allocator->role == DEVICE_PUBLISHED ? DEVICE_GROUP_PAGES
							   : DEVICE_GROUP_GENERAL;
	}
	return DEVICE_GROUP_GENERAL;
}

void device_target_faults(const struct bench_results *results, const struct device_request *request,
			  struct device_target *target)
{
	size_t i;

	*target = (struct device_target){ .unit = "", .at_most = true };
	snprintf(target->key, sizeof(target->key), "faults");
	snprintf(target->label, sizeof(target->label), "faults the checks found, and cells lost");
	for (i = 0; i < results->count; i++) {
		const struct bench_result *row = &results->rows[i];

		if (device_target_group(request, row->peer) == DEVICE_GROUP_OURS &&
		    (strcmp(row->metric, "wrong") == 0 || strcmp(row->metric, "lost") == 0)) {
			target->known = true;
			target->value += row->value;
		}
	}
}

static bool is_above_zero(const struct bench_results *results, const char *workload,
			  const char *name, const char *parameter, const char *metric)
{
	double value;

	return bench_results_get(results, workload, name, parameter, metric, &value) && value > 0;
}

const char *device_target_best(const struct bench_results *results,
			       const struct device_request *request, enum device_group group,
			       const char *workload, const char *parameter, const char *metric,
			       bool at_most, double *value)
{
	/* In W6 requests fail: that ends it. */
	const bool may_fail = strcmp(workload, "device-w6") == 0;
	const char *best = NULL;
	size_t i;

	for (i = 0; i < results->count; i++) {
		const struct bench_result *row = &results->rows[i];

		if (strcmp(row->workload, workload) != 0 || strcmp(row->metric, metric) != 0 ||
		    strcmp(row->parameter, parameter) != 0 ||
		    device_target_group(request, row->peer) != group ||
		    is_above_zero(results, workload, row->peer, parameter, "wrong") ||
		    (!may_fail && is_above_zero(results, workload, row->peer, parameter, "none")))
			continue;
		if (best == NULL || (at_most ? row->value < *value : row->value > *value)) {
			best = row->peer;
			*value = row->value;
		}
	}
	return best;
}

/* ---- the table ---- */

struct table {
	const struct bench_results *results;
	const struct device_request *request;
	const char *ours;
	struct device_target *targets;
	size_t count;
};

static struct device_target *add(struct table *table, const char *unit, double bound, bool at_most)
{
	struct device_target *target = &table->targets[table->count];

	table->count += table->count < DEVICE_TARGETS_MAX - 1;
	*target = (struct device_target){ .unit = unit, .bound = bound, .at_most = at_most };
	return target;
}

/* A number of one cell, `scale` times as large. */
static struct device_target *add_cell(struct table *table, const char *unit, double bound,
				      bool at_most, const char *workload, const char *parameter,
				      const char *metric, double scale)
{
	struct device_target *target = add(table, unit, bound, at_most);
	const char *best;

	target->known = bench_results_get(table->results, workload, table->ours, parameter, metric,
					  &target->value) &&
			!is_above_zero(table->results, workload, table->ours, parameter, "wrong");
	best = device_target_best(table->results, table->request, DEVICE_GROUP_GENERAL, workload,
				  parameter, metric, at_most, &target->best);
	target->value *= scale;
	target->best = best != NULL ? target->best * scale : 0;
	snprintf(target->best_name, sizeof(target->best_name), "%.23s", best != NULL ? best : "");
	return target;
}

#define NAME(target, key_format, label_format, ...)                                      \
	do {                                                                             \
		struct device_target *named = (target);                                  \
                                                                                         \
		snprintf(named->key, sizeof(named->key), key_format, __VA_ARGS__);       \
		snprintf(named->label, sizeof(named->label), label_format, __VA_ARGS__); \
	} while (0)

static void add_w1(struct table *table)
{
	static const unsigned int sizes[] = { 16, 64, 256, 1024, 4096, 8192 };
	static const struct {
		const char *askers, *short_askers, *metric, *word;
		double bound;
	} parts[] = { { "1M", "1m", "mops", "malloc", 25 },
		      { "1M", "1m", "free_mops", "free", 45 },
		      { "128K", "128k", "mops", "malloc", 9 } };
	char parameter[40];
	size_t p, i;

	for (p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct device_target *target;

			snprintf(parameter, sizeof(parameter), "%uB %s", sizes[i], parts[p].askers);
			target = add_cell(table, "G/s", parts[p].bound, false, "device-w1",
					  parameter, parts[p].metric, 1e-3);
			snprintf(target->key, sizeof(target->key), "w1_%s_%u_%s_gps", parts[p].word,
				 sizes[i], parts[p].short_askers);
			snprintf(target->label, sizeof(target->label), "%s %u B, %s threads",
				 parts[p].word, sizes[i], parts[p].askers);
		}
	}
}

static void add_w5(struct table *table)
{
	static const unsigned int shares[] = { 10, 1 };
	char parameter[40];
	size_t i;

	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		snprintf(parameter, sizeof(parameter), "256B %u%% 16K", shares[i]);
		NAME(add_cell(table, "us", 12, true, "device-w5", parameter, "us", 1),
		     "w5_16k_%u_us", "16K requests, %u%% free", shares[i]);
		NAME(add_cell(table, "%", 0, true, "device-w5", parameter, "failed_percent", 1),
		     "w5_16k_%u_failed", "of them failed, %u%% free", shares[i]);
	}
}

static void add_w6(struct table *table)
{
	static const unsigned int sizes[] = { 16, 64, 256, 8192, 1050, 4100 };
	char parameter[40];
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(parameter, sizeof(parameter), "%uB", sizes[i]);
		NAME(add_cell(table, "%", sizes[i] % 16 == 0 ? 96 : 90, false, "device-w6",
			      parameter, "taken_ratio", 100),
		     "w6_%u_percent", "of all memory in use, %u B", sizes[i]);
	}
}

static void add_rest(struct table *table)
{
	struct device_target *target;
	double first = 0, steady = 0;

	NAME(add_cell(table, "G/s", 12, false, "device-w2", "4..8192B 1M", "mops", 1e-3),
	     "w2_%s_gps", "mixed sizes to 8 KiB, %s threads", "1m");
	NAME(add_cell(table, "G/s", 5, false, "device-w3", "64B 1M", "mops", 1e-3), "w3_%s_gps",
	     "lone lanes, 64 B, %s of them", "1m");
	NAME(add_cell(table, "G/s", 60, false, "device-w4", "4B x10 1M", "mops", 1e-3), "w4_%u_gps",
	     "malloc, write and free %u B, pairs", 4U);
	NAME(add_cell(table, "G/s", 30, false, "device-w4", "64B x10 1M", "mops", 1e-3),
	     "w4_%u_gps", "malloc, write and free %u B, pairs", 64U);
	add_w5(table);
	add_w6(table);
	NAME(add_cell(table, "cycles", 1000, true, "device-w7", "64B 32", "malloc_cycles", 1),
	     "w7_%s_cycles", "%s of one warp alone, 64 B", "malloc");
	NAME(add_cell(table, "cycles", 800, true, "device-w7", "64B 32", "free_cycles", 1),
	     "w7_%s_cycles", "%s of one warp alone, 64 B", "free");
	target = add(table, "times", 3, true);
	NAME(target, "%s_over_steady", "%s kernel on a new heap over later ones", "first");
	target->known = bench_results_get(table->results, "device-start", table->ours, "64B 128K",
					  "first_us", &first) &&
			bench_results_get(table->results, "device-start", table->ours, "64B 128K",
					  "steady_us", &steady) &&
			steady > 0;
	target->value = target->known ? first / steady : 0;
	NAME(add_cell(table, "", 32, true, "device-registers", "call", "registers", 1), "%s",
	     "%s of a kernel that calls malloc", "registers");
}

/* W6 fills its heap, and size classes may not leave enough memory for churn and exchange. */
static bool may_be_full(const char *workload)
{
	return strcmp(workload, "device-w6") == 0 || strcmp(workload, "device-churn") == 0 ||
	       strcmp(workload, "device-exchange") == 0;
}

/* Errors; and requests that failed although the heap had enough memory. */
static void add_faults(struct table *table)
{
	struct device_target *wrong = add(table, "", 0, true), *none = add(table, "", 0, true);
	size_t i;

	NAME(wrong, "%s", "%s the checks found, and cells lost", "faults");
	NAME(none, "%s", "%s requests though there was room", "failed");
	for (i = 0; i < table->results->count; i++) {
		const struct bench_result *row = &table->results->rows[i];

		if (strncmp(row->workload, "device-", 7) != 0 ||
		    strcmp(row->peer, table->ours) != 0)
			continue;
		if (strcmp(row->metric, "wrong") == 0 || strcmp(row->metric, "lost") == 0) {
			wrong->known = true;
			wrong->value += row->value;
		}
		if (strcmp(row->metric, "none") == 0 && !may_be_full(row->workload)) {
			none->known = true;
			none->value += row->value;
		}
	}
}

size_t device_target_compute(const struct bench_results *results,
			     const struct device_request *request,
			     struct device_target targets[DEVICE_TARGETS_MAX])
{
	struct table table = { results, request, device_allocators[0].name, targets, 0 };

	add_w1(&table);
	add_rest(&table);
	add_faults(&table);
	return table.count;
}

bool device_target_is_met(const struct device_target *target)
{
	return target->at_most ? target->value <= target->bound : target->value >= target->bound;
}
