/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_show.c - the results of `mam bench mpi` as tables for users, and keys for scripts: tables
 * like the report's figures 3, 4 and 5, one line per allocator, including the published ones, one
 * column per cell; then further measurements that explain them; then the targets, which are the
 * published values.
 *
 * `!` follows a number if a request failed, `wrong` replaces a number if results were, `lost` one
 * whose kernel did not return or crashed the device.
 */
#include <stdio.h>
#include <string.h>

#include "mpi_bench.h"

#define NAME_WIDTH 18
#define COLUMNS_MAX 5

static const struct {
	const char *workload, *metric, *title;
	const char *parameters[COLUMNS_MAX];
} tables[] = {
	{ "mpi-linear",
	  "speedup",
	  "work against the base alone, times better (figure 3, L)",
	  { "100", "200", "300", "400" } },
	{ "mpi-quadratic",
	  "speedup",
	  "work against the base alone, times better (figure 3, Q)",
	  { "100", "200", "300", "400" } },
	{ "mpi-linear",
	  "malloc_ms",
	  "malloc of a thread, ms (figure 4)",
	  { "100", "200", "300", "400" } },
	{ "mpi-linear",
	  "free_ms",
	  "free of a thread, ms (figure 4)",
	  { "100", "200", "300", "400" } },
	{ "mpi-operations",
	  "median_ms",
	  "an operation of a rank, ms (figure 5)",
	  { "reduce", "broadcast", "all-to-all" } },
	{ "mpi-operations",
	  "speedup",
	  "against the base alone, times better (figure 5)",
	  { "reduce", "broadcast", "all-to-all" } },
	{ "mpi-linear", "work_cycles", "work of a thread, cycles", { "100", "200", "300", "400" } },
	{ "mpi-linear", "kernel_us", "the whole kernel, us", { "100", "200", "300", "400" } },
	{ "mpi-quadratic",
	  "work_cycles",
	  "work of a thread, cycles",
	  { "100", "200", "300", "400" } },
	{ "mpi-quadratic", "kernel_us", "the whole kernel, us", { "100", "200", "300", "400" } },
	{ "mpi-linear",
	  "work_cycles",
	  "work where a block's threads wait for one another before it, cycles",
	  { "100 together", "200 together", "300 together", "400 together" } },
	{ "mpi-linear",
	  "work_cycles",
	  "work with a block on every SM, cycles",
	  { "100 full", "200 full", "300 full", "400 full" } },
	{ "mpi-quadratic",
	  "work_cycles",
	  "work where a block's threads wait for one another before it, cycles",
	  { "100 together", "200 together", "300 together", "400 together" } },
	{ "mpi-linear",
	  "speedup",
	  "against the base alone, where a block's threads wait for one another, times better",
	  { "100 together", "200 together", "300 together", "400 together" } },
	{ "mpi-quadratic",
	  "speedup",
	  "against the base alone, where a block's threads wait for one another, times better",
	  { "100 together", "200 together", "300 together", "400 together" } },
	{ "mpi-quadratic",
	  "work_cycles",
	  "work with a block on every SM, cycles",
	  { "100 full", "200 full" } },
	{ "mpi-linear",
	  "lines_per_access",
	  "lines of 128 B that a warp touches when each lane reads one element",
	  { "100", "200", "300", "400" } },
	{ "mpi-linear",
	  "lines_held",
	  "lines that a block's memory lies in, over the fewest",
	  { "100", "200", "300", "400" } },
	{ "mpi-linear",
	  "lane_distance",
	  "bytes between neighboring lanes' memory",
	  { "100", "200", "300", "400" } },
};

/* Lines without numbers are left out. */
static bool has_line(const struct bench_results *results, size_t table, const char *name)
{
	static const char *const metrics[] = { NULL, "wrong", "lost" };
	const char *const *parameters = tables[table].parameters;
	double value;
	size_t i, k;

	for (i = 0; i < COLUMNS_MAX && parameters[i] != NULL; i++) {
		for (k = 0; k < sizeof(metrics) / sizeof(metrics[0]); k++) {
			if (bench_results_get(results, tables[table].workload, name, parameters[i],
					      k == 0 ? tables[table].metric : metrics[k], &value) &&
			    (k == 0 || value > 0))
				return true;
		}
	}
	return false;
}

static void put_table(const struct bench_results *results, const struct device_request *request,
		      size_t table)
{
	const char *names[DEVICE_COLUMNS_MAX], *workload = tables[table].workload;
	const char *const *parameters = tables[table].parameters;
	const size_t count = device_show_columns(results, request, workload, names);
	bool headed = false;
	size_t i, k;

	for (i = 0; i < count; i++) {
		if (!has_line(results, table, names[i]))
			continue;
		if (!headed) {
			printf("\n%s: %s\n%-*s", workload, tables[table].title, NAME_WIDTH, "");
			for (k = 0; k < COLUMNS_MAX && parameters[k] != NULL; k++)
				printf(" %12s", parameters[k]);
			printf("\n");
		}
		headed = true;
		printf("%-*s", NAME_WIDTH, names[i]);
		for (k = 0; k < COLUMNS_MAX && parameters[k] != NULL; k++) {
			printf(" ");
			device_show_cell(results, workload, names[i], parameters[k],
					 tables[table].metric, false);
		}
		printf("\n");
	}
}

/* ---- targets ---- */

struct aim {
	const char *key, *label, *workload;
	double bound;
	const char *names[4];      /* the best of these */
	const char *parameters[5]; /* in the worst of these */
};

/* The report's claims, over CUDA's own malloc. */
static const struct aim aims[] = {
	{ "linear_times",
	  "Linear, a warp's mallocs put together",
	  "mpi-linear",
	  3.4,
	  { "cuda-HW", "cuda-NW", "cuda-dynamic" },
	  { "100", "200", "300", "400" } },
	{ "quadratic_times",
	  "Quadratic, without headers",
	  "mpi-quadratic",
	  2.2,
	  { "cuda-NB", "cuda-NW" },
	  { "100", "200", "300", "400" } },
	{ "alltoall_times",
	  "All-to-All",
	  "mpi-operations",
	  4.4,
	  { "cuda-NW", "cuda-dynamic", "cuda-NB" },
	  { "all-to-all" } },
};

#define AIMS (sizeof(aims) / sizeof(aims[0]))

/* The best of all of mam's ways: every speedup over CUDA's malloc alone. */
static bool best_of(const struct bench_results *results, const struct device_request *request,
		    const struct aim *aim, double *value, const char **name)
{
	double one;
	bool any = false;
	size_t i, k;

	for (i = 0; i < request->allocator_count; i++) {
		const char *peer = request->allocators[i].name;
		double min = 0;
		bool known = false;

		for (k = 0; k < 5 && aim->parameters[k] != NULL; k++) {
			if (!bench_results_get(results, aim->workload, peer, aim->parameters[k],
					       "speedup_cuda", &one))
				continue;
			min = !known || one < min ? one : min;
			known = true;
		}
		if (known && (!any || min > *value)) {
			*value = min;
			*name = peer;
			any = true;
		}
	}
	return any;
}

/* The minimum over the cells of the best allocator in each. */
static bool min_of_bests(const struct bench_results *results, const struct aim *aim, double *value)
{
	bool any = false;
	size_t i, k;

	for (k = 0; k < 5 && aim->parameters[k] != NULL; k++) {
		double best = 0, one;

		for (i = 0; i < 4 && aim->names[i] != NULL; i++) {
			if (bench_results_get(results, aim->workload, aim->names[i],
					      aim->parameters[k], "speedup", &one) &&
			    one > best)
				best = one;
		}
		if (best > 0 && (!any || best < *value))
			*value = best;
		any = any || best > 0;
	}
	return any;
}

static size_t compute(const struct bench_results *results, const struct device_request *request,
		      struct device_target targets[DEVICE_TARGETS_MAX])
{
	struct device_target *faults = &targets[AIMS];
	size_t i;

	for (i = 0; i < AIMS; i++) {
		struct device_target *target = &targets[i];
		const char *name = "";

		*target = (struct device_target){ .unit = "times", .bound = aims[i].bound };
		snprintf(target->key, sizeof(target->key), "%s", aims[i].key);
		snprintf(target->label, sizeof(target->label), "%s", aims[i].label);
		target->known = min_of_bests(results, &aims[i], &target->value);
		if (best_of(results, request, &aims[i], &target->best, &name))
			snprintf(target->best_name, sizeof(target->best_name), "%.23s", name);
	}
	*faults = (struct device_target){ .unit = "", .at_most = true };
	snprintf(faults->key, sizeof(faults->key), "faults");
	snprintf(faults->label, sizeof(faults->label), "faults found, and cells lost");
	for (i = 0; i < results->count; i++) {
		const struct bench_result *row = &results->rows[i];

		if (strncmp(row->workload, "mpi-", 4) == 0 &&
		    device_target_group(request, row->peer) == DEVICE_GROUP_OURS &&
		    (strcmp(row->metric, "wrong") == 0 || strcmp(row->metric, "lost") == 0)) {
			faults->known = true;
			faults->value += row->value;
		}
	}
	return AIMS + 1;
}

void mpi_show_people(const struct bench_results *results, const struct bench_machine *machine,
		     const struct device_request *request)
{
	struct device_target targets[DEVICE_TARGETS_MAX];
	size_t i;

	device_show_head(results, machine, request);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		put_table(results, request, i);
	device_show_targets(targets, compute(results, request, targets));
}

void mpi_show_keys(const struct bench_results *results, const struct device_request *request)
{
	struct device_target targets[DEVICE_TARGETS_MAX];

	device_show_target_keys(targets, compute(results, request, targets));
}
