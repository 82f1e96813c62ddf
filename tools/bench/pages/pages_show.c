/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_show.c - the results of `mam bench pages` as tables for users, and keys for scripts.
 *
 * One table per workload, one line per cell: mam's time divided by the ceiling's, and by that of
 * the best published allocator, then each time. Ratios are of times: less is better. `!` follows a
 * time if a request failed, and `wrong` replaces one if the checks found an error. The steps come
 * next, and the targets last, where they are visible.
 */
#include <stdio.h>
#include <string.h>

#include "pages_bench.h"
#include "bench/harness/rows.h"

#define NAME_WIDTH 26

static const struct {
	const char *workload, *title, *metric;
} tables[] = {
	{ "pages-get", "a page each: the kernel's microseconds; pages, share free, askers", "us" },
	{ "pages-free", "the same pages freed by a later kernel, microseconds", "us" },
	{ "pages-lanes", "so many asking lanes in each warp, microseconds", "us" },
	{ "pages-malloc", "several pages each, microseconds", "us" },
	{ "pages-use", "share of the heap's bytes in use when 1% of requests fail", "used_ratio" },
};

static void put_head(const struct bench_results *results, const char *workload, const char *first,
		     const char *second)
{
	size_t i;

	printf("%-*s %8s %8s", NAME_WIDTH, "", first, second);
	for (i = 0; i < pages_allocator_count; i++) {
		if (bench_rows_has(results, workload, pages_allocators[i].name))
			printf(" %11s", pages_allocators[i].name);
	}
	printf("\n");
}

/* `from`: the workload whose checks apply to this one. */
static void put_cell(const struct bench_results *results, const char *workload, const char *from,
		     const char *name, const char *parameter, const char *metric)
{
	char text[32] = "-", number[24];
	double value, wrong = 0, none = 0;

	(void)bench_results_get(results, from, name, parameter, "wrong", &wrong);
	(void)bench_results_get(results, from, name, parameter, "none", &none);
	if (wrong > 0)
		snprintf(text, sizeof(text), "wrong");
	else if (bench_results_get(results, workload, name, parameter, metric, &value))
		snprintf(text, sizeof(text), "%s%s", bench_rows_show(value, number, sizeof(number)),
			 none > 0 ? "!" : "");
	printf(" %11s", text);
}

static void put_ratio(const char *name, double mine, double theirs)
{
	char text[24];

	printf(" %8s", name == NULL || theirs <= 0
			       ? "-"
			       : bench_rows_show(mine / theirs, text, sizeof(text)));
}

static void put_line(const struct bench_results *results, size_t table, const char *parameter)
{
	const char *workload = tables[table].workload;
	const char *from = strcmp(workload, "pages-free") == 0 ? "pages-get" : workload;
	double mine = 0, ceiling = 0, best = 0, wrong = 0;
	const char *ceiling_name, *best_name;
	size_t i;

	printf("%-*s", NAME_WIDTH, parameter);
	(void)bench_results_get(results, from, "mam-pages", parameter, "wrong", &wrong);
	if (wrong > 0 ||
	    !bench_results_get(results, workload, "mam-pages", parameter, "us", &mine)) {
		ceiling_name = best_name = NULL;
	} else {
		ceiling_name = pages_target_ceiling(results, workload, parameter, &ceiling);
		best_name = pages_target_best(results, workload, parameter, &best);
	}
	put_ratio(ceiling_name, mine, ceiling);
	put_ratio(best_name, mine, best);
	for (i = 0; i < pages_allocator_count; i++) {
		if (bench_rows_has(results, workload, pages_allocators[i].name))
			put_cell(results, workload, from, pages_allocators[i].name, parameter,
				 tables[table].metric);
	}
	printf("\n");
}

static void put_table(const struct bench_results *results, size_t table)
{
	size_t i;

	if (!bench_rows_has(results, tables[table].workload, NULL))
		return;
	printf("\n%s: %s\n", tables[table].workload, tables[table].title);
	put_head(results, tables[table].workload, "/ceiling", "/best");
	for (i = 0; i < results->count; i++) {
		if (bench_rows_is_first(results, tables[table].workload, i))
			put_line(results, table, results->rows[i].parameter);
	}
}

/* Returns true if the allocator has steps to count, and was run. */
static bool has_steps(const struct bench_results *results, const struct pages_allocator *allocator)
{
	return allocator->role < PAGES_CEILING &&
	       bench_rows_has(results, "pages-get", allocator->name);
}

/* The measurement, and the value of the paper's formula, if there is one. */
static void put_steps_cell(const struct bench_results *results, const char *allocator,
			   const char *parameter, const char *metric)
{
	char cell[56] = "-", name[48], text[24], other[24];
	double value, formula;

	snprintf(name, sizeof(name), "%s-formula", allocator);
	if (bench_results_get(results, "pages-get", allocator, parameter, metric, &value)) {
		snprintf(cell, sizeof(cell), "%s", bench_rows_show(value, text, sizeof(text)));
		if (bench_results_get(results, "pages-get", name, parameter, metric, &formula))
			snprintf(cell, sizeof(cell), "%s/%s", text,
				 bench_rows_show(formula, other, sizeof(other)));
	}
	printf(" %15s", cell);
}

static void put_steps(const struct bench_results *results, const char *metric, const char *title)
{
	size_t i, a;

	if (!bench_rows_has(results, "pages-get", NULL))
		return;
	printf("\n%s\n%-*s", title, NAME_WIDTH, "");
	for (a = 0; a < pages_allocator_count; a++) {
		if (has_steps(results, &pages_allocators[a]))
			printf(" %15s", pages_allocators[a].name);
	}
	printf("\n");
	for (i = 0; i < results->count; i++) {
		if (!bench_rows_is_first(results, "pages-get", i))
			continue;
		printf("%-*s", NAME_WIDTH, results->rows[i].parameter);
		for (a = 0; a < pages_allocator_count; a++) {
			if (has_steps(results, &pages_allocators[a]))
				put_steps_cell(results, pages_allocators[a].name,
					       results->rows[i].parameter, metric);
		}
		printf("\n");
	}
}

/* Registers of a thread in the kernels that allocate and free: one page, and runs. */
static void put_registers(const struct bench_results *results)
{
	static const char *const kernels[] = { "get", "give", "getrun", "giverun" };
	const char *before = "registers of kernels that take/give back:";
	double value;
	size_t a, k;

	for (a = 0; a < pages_allocator_count; a++) {
		const char *name = pages_allocators[a].name, *join = "";

		for (k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
			if (!bench_results_get(results, "pages-launch", name, kernels[k],
					       "registers", &value))
				continue;
			if (join[0] == '\0')
				printf("%s %s ", before, name);
			printf("%s%s%.0f", join, k == 2 ? "runs " : "", value);
			join = k == 1 ? ", " : "/";
			before = ";";
		}
	}
	if (before[0] == ';')
		printf("\n");
}

static bool is_met(const struct pages_target *target)
{
	return target->at_most ? target->value <= target->bound : target->value >= target->bound;
}

static void put_targets(const struct bench_results *results, const struct pages_plan *plan)
{
	struct pages_target targets[PAGES_TARGETS_MAX];
	size_t count = pages_target_compute(results, plan, targets), i;
	char value[24], bound[24];

	printf("\n%-40s %9s %-5s  target\n", "mam-pages", "", "");
	for (i = 0; i < count; i++) {
		const struct pages_target *target = &targets[i];

		if (target->known)
			printf("%-40s %9s %-5s  %s %-6s  %s\n", target->label,
			       bench_rows_show(target->value, value, sizeof(value)), target->unit,
			       target->at_most ? "<=" : ">=",
			       bench_rows_show(target->bound, bound, sizeof(bound)),
			       is_met(target) ? "met" : "missed");
	}
}

void pages_show_people(const struct bench_results *results, const struct bench_machine *machine,
		       const struct pages_plan *plan, const char *effort)
{
	double few, many;
	size_t i;

	printf("%s run on %s, driver %s\n", effort, machine->gpu, machine->driver);
	for (i = 0; i < results->note_count; i++)
		printf("note: %s\n", results->notes[i]);
	if (bench_results_get(results, "pages-launch", "empty", "1K", "us", &few) &&
	    bench_results_get(results, "pages-launch", "empty", "1M", "us", &many))
		printf("in every time: an empty kernel takes %.2f us with 1K threads, %.2f us with "
		       "1M\n",
		       few, many);
	put_registers(results);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		put_table(results, i);
	put_steps(results, "tas",
		  "steps of a thread (TAS), measured/formula of Pham et al. where there is one");
	put_steps(results, "was", "steps of the slowest thread of a warp (WAS), likewise");
	put_targets(results, plan);
}

void pages_show_keys(const struct bench_results *results, const struct pages_plan *plan)
{
	struct pages_target targets[PAGES_TARGETS_MAX];
	size_t count = pages_target_compute(results, plan, targets), met = 0, missed = 0, i;

	for (i = 0; i < count; i++) {
		if (!targets[i].known)
			continue;
		printf("%s\t%.6g\n", targets[i].key, targets[i].value);
		*(is_met(&targets[i]) ? &met : &missed) += 1;
	}
	printf("targets_met\t%zu\ntargets_missed\t%zu\n", met, missed);
}
