/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c - the results of `mam bench model` as tables for users, and keys for scripts: measurements
 * next to the equations' values, cell by cell, then kernel times, and the targets last.
 */
#include <stdio.h>
#include <string.h>

#include "bench/harness/rows.h"
#include "model.h"

#define NAME_WIDTH 24

static const char *const measured[] = { "mam-pages", "rw", "rw-bm", "crw", "corw", "queue" };
static const char *const formulas[] = { "mam-pages-formula", "rw-formula",   "rw-bm-formula",
					"crw-formula",       "corw-formula", "queue-formula" };
static const char *const simulated[] = {
	NULL, "rw-simulated", "rw-bm-simulated", "crw-simulated", "corw-simulated", NULL
};

#define COUNT (sizeof(measured) / sizeof(measured[0]))

static const struct {
	const char *workload, *metric, *title;
} steps[] = {
	{ "model-get", "tas", "TAS, a page each: measured/equation/host's walk; figures 4 and 11" },
	{ "model-get", "was", "WAS likewise; of RW, RW-BM and CoRW the equation is a bound" },
	{ "model-lanes", "was", "WAS with some asking lanes in each warp" },
	{ "model-again", "tas", "TAS of a thread's later pages, clusters of /so many; figure 8" },
	{ "model-again", "was", "WAS likewise; figure 9" },
};

static const struct {
	const char *workload, *metric, *title;
} times[] = {
	{ "model-get", "us", "microseconds of the kernel, a page each; figure 11" },
	{ "model-free", "us", "the same freed by a later kernel" },
	{ "model-give", "clocks", "clocks of a thread that frees a page; figure 16" },
	{ "model-lanes", "us", "some asking lanes in each warp; figures 12 and 13" },
	{ "model-malloc", "us", "several pages each; figures 2 and 14" },
	{ "model-use", "used_ratio", "share of the bytes in use when 1% fail; figure 15" },
};

static void put_other(const struct bench_results *results, size_t table, const char *name,
		      const char *parameter)
{
	char text[24] = "-";
	double value;

	if (name != NULL && bench_results_get(results, steps[table].workload, name, parameter,
					      steps[table].metric, &value))
		(void)bench_rows_show(value, text, sizeof(text));
	printf("/%s", text);
}

static void put_steps(const struct bench_results *results, size_t table)
{
	const char *workload = steps[table].workload;
	char text[24];
	double value;
	size_t i, k;
	bool any;

	if (!bench_rows_has(results, workload, NULL))
		return;
	printf("\n%s: %s\n", workload, steps[table].title);
	for (i = 0; i < results->count; i++) {
		const char *parameter = results->rows[i].parameter;

		if (!bench_rows_is_first(results, workload, i))
			continue;
		for (k = 0, any = false; k < COUNT; k++) {
			if (!bench_results_get(results, workload, measured[k], parameter,
					       steps[table].metric, &value))
				continue;
			if (!any)
				printf("%-*s", NAME_WIDTH, parameter);
			any = true;
			printf("  %s %s", measured[k], bench_rows_show(value, text, sizeof(text)));
			if (formulas[k] != NULL)
				put_other(results, table, formulas[k], parameter);
			if (simulated[k] != NULL)
				put_other(results, table, simulated[k], parameter);
		}
		if (any)
			printf("\n");
	}
}

static void put_times(const struct bench_results *results, size_t table)
{
	const char *workload = times[table].workload;
	char text[24];
	double value, none;
	size_t i, k;

	if (!bench_rows_has(results, workload, NULL))
		return;
	printf("\n%s: %s\n%-*s", workload, times[table].title, NAME_WIDTH, "");
	for (k = 0; k < pages_allocator_count; k++) {
		if (bench_rows_has(results, workload, pages_allocators[k].name))
			printf(" %11s", pages_allocators[k].name);
	}
	printf("\n");
	for (i = 0; i < results->count; i++) {
		const char *parameter = results->rows[i].parameter;

		if (!bench_rows_is_first(results, workload, i))
			continue;
		printf("%-*s", NAME_WIDTH, parameter);
		for (k = 0; k < pages_allocator_count; k++) {
			const char *name = pages_allocators[k].name;

			if (!bench_rows_has(results, workload, name))
				continue;
			none = 0;
			(void)bench_results_get(results, workload, name, parameter, "none", &none);
			if (bench_results_get(results, workload, name, parameter,
					      times[table].metric, &value))
				printf(" %10s%s", bench_rows_show(value, text, sizeof(text)),
				       none > 0 ? "!" : " ");
			else
				printf(" %10s ", "-");
		}
		printf("\n");
	}
}

static void put_pairs(const struct bench_results *results, const char *workload, const char *title,
		      const char *names[3], const char *metric)
{
	char text[24];
	double value;
	size_t i, k;

	if (!bench_rows_has(results, workload, NULL))
		return;
	printf("\n%s: %s\n", workload, title);
	for (i = 0; i < results->count; i++) {
		if (!bench_rows_is_first(results, workload, i) ||
		    !bench_results_get(results, workload, names[0], results->rows[i].parameter,
				       metric, &value))
			continue;
		printf("%-*s", NAME_WIDTH, results->rows[i].parameter);
		for (k = 0; k < 3 && names[k] != NULL; k++) {
			if (bench_results_get(results, workload, names[k],
					      results->rows[i].parameter, metric, &value))
				printf("  %s %s", names[k],
				       bench_rows_show(value, text, sizeof(text)));
		}
		printf("\n");
	}
}

static void put_atomics(const struct bench_results *results)
{
	char clocks[24], ns[24];
	double value, time = 0;
	size_t i;

	if (!bench_rows_has(results, "model-atomic", NULL))
		return;
	printf("\nmodel-atomic: an atomic of each thread on one word: clocks, ns; figure 1\n");
	for (i = 0; i < results->count; i++) {
		const char *parameter = results->rows[i].parameter;

		if (!bench_rows_is_first(results, "model-atomic", i) ||
		    !bench_results_get(results, "model-atomic", "atomic", parameter, "clocks",
				       &value))
			continue;
		(void)bench_results_get(results, "model-atomic", "atomic", parameter, "ns", &time);
		printf("%-*s  %s  %s\n", NAME_WIDTH, parameter,
		       bench_rows_show(value, clocks, sizeof(clocks)),
		       bench_rows_show(time, ns, sizeof(ns)));
	}
}

static void put_correlations(const struct bench_results *results)
{
	static const char *const names[] = { "rw", "rw-bm", "crw", "corw", "all" };
	double cells, tas, was, low, high;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!bench_results_get(results, "model-correlation", names[i], "time", "cells",
				       &cells) ||
		    !bench_results_get(results, "model-correlation", names[i], "time", "tas",
				       &tas) ||
		    !bench_results_get(results, "model-correlation", names[i], "time", "was", &was))
			continue;
		printf("%scorrelation with time, %s, %.0f cells: TAS %.3f, WAS %.3f",
		       i == 0 ? "\n" : "", names[i], cells, tas, was);
		if (bench_results_get(results, "model-correlation", names[i], "time", "low",
				      &low) &&
		    bench_results_get(results, "model-correlation", names[i], "time", "high",
				      &high))
			printf("; WAS less TAS, with 99%%: %.3f to %.3f", low, high);
		printf("\n");
	}
}

static bool is_met(const struct pages_target *target)
{
	return target->at_most ? target->value <= target->bound : target->value >= target->bound;
}

static void put_targets(const struct bench_results *results, const struct model_plan *plan)
{
	struct pages_target targets[MODEL_TARGETS_MAX];
	size_t count = model_target_compute(results, plan, targets), i;

	printf("\n%-44s %9s %-5s  target\n", "the model", "", "");
	for (i = 0; i < count; i++) {
		if (targets[i].known)
			printf("%-44s %9.4g %-5s  %s %-6g  %s\n", targets[i].label,
			       targets[i].value, targets[i].unit,
			       targets[i].at_most ? "<=" : ">=", targets[i].bound,
			       is_met(&targets[i]) ? "met" : "missed");
	}
}

void model_show_people(const struct bench_results *results, const struct bench_machine *machine,
		       const struct model_plan *plan, const char *effort)
{
	size_t i;

	printf("%s run on %s, driver %s\n", effort, machine->gpu, machine->driver);
	for (i = 0; i < results->note_count; i++)
		printf("note: %s\n", results->notes[i]);
	put_atomics(results);
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		put_times(results, i);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		put_steps(results, i);
	put_pairs(results, "model-ratio", "WAS of RW-BM over CoRW's; figure 5",
		  (const char *[3]){ "measured", "formula", "whole" }, "times");
	put_pairs(results, "model-found", "free pages a warp sees in a step: mean; figure 6",
		  (const char *[3]){ "measured", "formula", NULL }, "mean");
	put_correlations(results);
	put_targets(results, plan);
}

void model_show_keys(const struct bench_results *results, const struct model_plan *plan)
{
	struct pages_target targets[MODEL_TARGETS_MAX];
	size_t count = model_target_compute(results, plan, targets), met = 0, missed = 0, i;

	for (i = 0; i < count; i++) {
		if (!targets[i].known)
			continue;
		printf("%s\t%.6g\n", targets[i].key, targets[i].value);
		*(is_met(&targets[i]) ? &met : &missed) += 1;
	}
	printf("targets_met\t%zu\ntargets_missed\t%zu\n", met, missed);
}
