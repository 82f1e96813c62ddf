/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_formula.c - the values that the random-walk paper expects for the measured cells, as rows
 * of allocators named NAME-formula, next to those of NAME.
 *
 * CRW's formula needs the number of clusters of free pages. Of A free pages at random places among
 * T, each is the last of its cluster if the next page is used: A (1 - A / T) of them.
 */
#include <math.h>

#include "pages_bench.h"
#include "bench/harness/steps.h"

#define WORD 32.0 /* pages that the published ones probe in a step */

static void add(struct bench_results *results, const char *name, const char *parameter, double tas,
		double was)
{
	if (isfinite(tas))
		bench_results_add(results, "pages-get", name, parameter, "tas", tas);
	if (isfinite(was))
		bench_results_add(results, "pages-get", name, parameter, "was", was);
}

/* Returns true if there is a measured number of steps to compare with. */
static bool was_measured(const struct bench_results *results, const char *name,
			 const struct pages_cell *cell)
{
	double tas;

	return bench_results_get(results, "pages-get", name, cell->parameter, "tas", &tas);
}

static void add_cell(struct bench_results *results, const struct pages_cell *cell)
{
	const double t = cell->space.pages, a = pages_plan_free(&cell->space), n = cell->askers;
	const double walk = bench_steps_walk_was(t, a, n, WORD, BENCH_STEPS_WARP);
	const double corw = bench_steps_corw_whole(t, a, n, WORD, BENCH_STEPS_WARP);

	if (was_measured(results, "rw", cell))
		add(results, "rw-formula", cell->parameter, bench_steps_walk_tas(t, a, n, 1),
		    bench_steps_walk_was(t, a, n, 1, BENCH_STEPS_WARP));
	if (was_measured(results, "rw-bm", cell))
		add(results, "rw-bm-formula", cell->parameter, bench_steps_walk_tas(t, a, n, WORD),
		    walk);
	if (was_measured(results, "crw", cell))
		add(results, "crw-formula", cell->parameter,
		    bench_steps_crw_tas(t, a, n, WORD, a * (1 - a / t)), walk);
	if (was_measured(results, "corw", cell))
		add(results, "corw-formula", cell->parameter, corw, corw);
	if (was_measured(results, "queue", cell))
		add(results, "queue-formula", cell->parameter, bench_steps_queue_tas(n),
		    bench_steps_queue_was(n));
}

void pages_formula_add(struct bench_results *results, const struct pages_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->count; i++) {
		if (plan->cells[i].work == PAGES_GET)
			add_cell(results, &plan->cells[i]);
	}
}
