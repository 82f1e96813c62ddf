/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute.c - rows of the paper's predictions, next to those of the measurements, and values derived
 * from both.
 *
 *   NAME-formula    (1) to (6), (11), (14). RW's TAS is the sum of (3) by harmonic numbers. CoRW's
 *                   is (11) in whole steps and with binomial finds, which is never below 1.
 *                   mam's pages have CoRW's with words of 64, its mean over all threads (advice.c)
 *   rw-log          (3) as printed, with logarithms
 *   corw-normal     (11) as printed
 *   rw-bm-locks     (6), where a word may be locked: see model_locked_was()
 *   NAME-simulated  walk.c, with as many threads as run at the same time
 * In cells with one page per thread CRW remembers nothing and equals RW-BM, so that its equations
 * apply to cells with several.
 *
 *   model-ratio        figure 5: WAS of RW-BM divided by that of CoRW, measured, and by (6) and (11)
 *   model-correlation  Pearson's, of TAS and of WAS with the kernel's time, over all cells of walkers;
 *                      and the 99% interval of the latter minus the former
 *
 * (14) needs the number of clusters. Of A free pages in groups of G at random places among T, a
 * group is the last of its cluster if the page after it is used: A / G (1 - A / T) of them. For G =
 * 1 and few free pages this is the paper's M = A, for 2 its .5 A, and for 100 its .01 A.
 */
#include <math.h>
#include <string.h>

#include "advise.h"
#include "bench/harness/steps.h"
#include "model.h"

#define RUNS_MAX 1024
#define TOGETHER_MAX 131072u /* more lanes than any current GPU runs at once */
#define Z99 2.5758293035489  /* 99% of normal values are within this many deviations */

/*
 * A probe fails if the word is full, by (6) with probability q^w at most, or if it is not full and
 * one of the n - 1 others has locked it, each of which has one word of t / w at most. So f = q^w +
 * (1 - q^w) (n - 1) w / t replaces q^w, and the sum over k of 1 - (1 - f^k)^lanes is (4) of f.
 */
double model_locked_was(double t, double a, double n, double w, unsigned int lanes)
{
	const double full = n < a ? exp(w * log1p(-fmin((a - n) / t, 1))) : 1;
	const double locked = fmin((n - 1) * w / t, 1), finds = (1 - full) * (1 - locked);

	return finds > 0 ? bench_steps_walk_was(1, finds, 0, 1, lanes) : INFINITY;
}

static void add(struct bench_results *results, const char *workload, const char *name,
		const char *parameter, double tas, double was)
{
	if (isfinite(tas) && tas > 0)
		bench_results_add(results, workload, name, parameter, "tas", tas);
	if (isfinite(was) && was > 0)
		bench_results_add(results, workload, name, parameter, "was", was);
}

static bool was_measured(const struct bench_results *results, const char *workload,
			 const char *name, const char *parameter)
{
	double tas;

	return bench_results_get(results, workload, name, parameter, "tas", &tas);
}

static void add_cell(struct bench_results *results, const struct pages_cell *cell)
{
	const char *workload = model_names.works[cell->work], *at = cell->parameter;
	const double t = cell->space.pages, a = pages_plan_free(&cell->space), n = cell->askers;
	double whole;

	if (was_measured(results, workload, "rw", at)) {
		add(results, workload, "rw-formula", at, bench_steps_walk_tas(t, a, n, 1),
		    bench_steps_walk_was(t, a, n, 1, cell->lanes));
		add(results, workload, "rw-log", at, bench_steps_walk_tas_log(t, a, n), 0);
	}
	if (was_measured(results, workload, "rw-bm", at)) {
		add(results, workload, "rw-bm-formula", at,
		    bench_steps_walk_tas(t, a, n, MODEL_WORD),
		    bench_steps_walk_was(t, a, n, MODEL_WORD, cell->lanes));
		add(results, workload, "rw-bm-locks", at, 0,
		    model_locked_was(t, a, n, MODEL_WORD, cell->lanes));
	}
	if (was_measured(results, workload, "corw", at)) {
		whole = bench_steps_corw_whole(t, a, n, MODEL_WORD, cell->lanes);
		add(results, workload, "corw-formula", at, whole, whole);
		if (cell->lanes == MODEL_WARP)
			add(results, workload, "corw-normal", at,
			    bench_steps_corw(t, a, n, MODEL_WORD),
			    bench_steps_corw(t, a, n, MODEL_WORD));
	}
	if (was_measured(results, workload, "mam-pages", at)) {
		whole = advise_steps(t, a, n, cell->lanes);
		add(results, workload, "mam-pages-formula", at, whole, whole);
	}
	if (cell->work == PAGES_GET && was_measured(results, workload, "queue", at))
		add(results, workload, "queue-formula", at, bench_steps_queue_tas(n),
		    bench_steps_queue_was(n));
}

/*
 * Requests after a thread's first: fewer pages are free and fewer requests remain, by the same
 * number.
 */
static void add_again(struct bench_results *results, const struct model_again *again)
{
	const char *workload = "model-again", *at = again->parameter;
	const double t = again->space.pages, n = again->askers * (again->rounds - 1.0);
	const double all = pages_plan_free(&again->space), a = all - again->askers;
	const double clusters = all / again->space.group * (1 - all / t);

	if (was_measured(results, workload, "rw", at))
		add(results, workload, "rw-formula", at, bench_steps_walk_tas(t, a, n, 1),
		    bench_steps_walk_was(t, a, n, 1, MODEL_WARP));
	if (was_measured(results, workload, "rw-bm", at))
		add(results, workload, "rw-bm-formula", at,
		    bench_steps_walk_tas(t, a, n, MODEL_WORD),
		    bench_steps_walk_was(t, a, n, MODEL_WORD, MODEL_WARP));
	if (was_measured(results, workload, "crw", at))
		add(results, workload, "crw-formula", at,
		    bench_steps_crw_tas(t, a, n, MODEL_WORD, clusters > 1 ? clusters : 1),
		    bench_steps_walk_was(t, a, n, MODEL_WORD, MODEL_WARP));
}

static void add_ratio(struct bench_results *results, const struct pages_cell *cell,
		      const char *bitmap, const char *shared, const char *name)
{
	double over, under;

	if (bench_results_get(results, "model-get", bitmap, cell->parameter, "was", &over) &&
	    bench_results_get(results, "model-get", shared, cell->parameter, "was", &under) &&
	    under > 0)
		bench_results_add(results, "model-ratio", name, cell->parameter, "times",
				  over / under);
}

/* ---- correlations ---- */

struct runs {
	double tas[RUNS_MAX], was[RUNS_MAX], us[RUNS_MAX];
	size_t count;
};

static void add_run(struct runs *runs, const struct bench_results *results, const char *name,
		    const struct pages_cell *cell)
{
	const char *workload = model_names.works[cell->work];
	const size_t i = runs->count;

	if (i < RUNS_MAX &&
	    bench_results_get(results, workload, name, cell->parameter, "us", &runs->us[i]) &&
	    bench_results_get(results, workload, name, cell->parameter, "tas", &runs->tas[i]) &&
	    bench_results_get(results, workload, name, cell->parameter, "was", &runs->was[i]))
		runs->count++;
}

static void correlate(struct bench_results *results, const struct model_plan *plan,
		      const char *name)
{
	static struct runs runs;
	double tas, was, low, high;
	size_t i, k;

	runs.count = 0;
	for (i = 0; i < plan->pages.count; i++) {
		const struct pages_cell *cell = &plan->pages.cells[i];

		for (k = 0; cell->work <= PAGES_LANES && k < MODEL_WALKERS; k++) {
			if (name == NULL || strcmp(name, model_walker_names[k]) == 0)
				add_run(&runs, results, model_walker_names[k], cell);
		}
	}
	if (runs.count < 4)
		return;
	name = name != NULL ? name : "all";
	tas = model_pearson(runs.tas, runs.us, runs.count);
	was = model_pearson(runs.was, runs.us, runs.count);
	model_zou(tas, was, model_pearson(runs.tas, runs.was, runs.count), runs.count, Z99, &low,
		  &high);
	bench_results_add(results, "model-correlation", name, "time", "cells", (double)runs.count);
	bench_results_add(results, "model-correlation", name, "time", "tas", tas);
	bench_results_add(results, "model-correlation", name, "time", "was", was);
	if (isfinite(low) && isfinite(high)) {
		bench_results_add(results, "model-correlation", name, "time", "low", low);
		bench_results_add(results, "model-correlation", name, "time", "high", high);
	}
}

void model_compute(struct bench_results *results, const struct model_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->pages.count; i++) {
		const struct pages_cell *cell = &plan->pages.cells[i];

		if (cell->work > PAGES_LANES)
			continue;
		add_cell(results, cell);
		if (cell->work != PAGES_GET ||
		    cell->askers != plan->pages.cells[0].space.pages / 200)
			continue;
		add_ratio(results, cell, "rw-bm", "corw", "measured");
		add_ratio(results, cell, "rw-bm-formula", "corw-normal", "formula");
		add_ratio(results, cell, "rw-bm-formula", "corw-formula", "whole");
	}
	for (i = 0; i < plan->again_count; i++)
		add_again(results, &plan->again[i]);
	for (i = 0; i < MODEL_WALKERS; i++)
		correlate(results, plan, model_walker_names[i]);
	correlate(results, plan, NULL);
}

/* ---- the host's simulation ---- */

static void simulate(struct bench_results *results, const char *workload, const char *parameter,
		     const struct pages_space *space, uint32_t askers, uint32_t lanes,
		     uint32_t rounds, const struct model_request *request)
{
	static const char *const names[MODEL_WALKERS] = { "rw-simulated", "rw-bm-simulated",
							  "crw-simulated", "corw-simulated" };
	struct model_steps steps;
	int i;

	for (i = 0; i < MODEL_WALKERS && bench_now() < request->deadline; i++) {
		if (!was_measured(results, workload, model_walker_names[i], parameter) ||
		    (i == MODEL_CRW && rounds == 1) || /* RW-BM */
		    !model_walk((enum model_walker)i, space, askers, lanes, rounds,
				request->pages.effort.walks / 8, &steps))
			continue;
		add(results, workload, names[i], parameter, steps.tas, steps.was);
	}
}

void model_simulate(struct bench_results *results, const struct model_plan *plan,
		    const struct model_request *request)
{
	size_t i;

	for (i = 0; i < plan->pages.count; i++) {
		const struct pages_cell *cell = &plan->pages.cells[i];

		if (cell->work <= PAGES_LANES && cell->askers <= TOGETHER_MAX)
			simulate(results, model_names.works[cell->work], cell->parameter,
				 &cell->space, cell->askers, cell->lanes, 1, request);
	}
	for (i = 0; i < plan->again_count; i++)
		simulate(results, "model-again", plan->again[i].parameter, &plan->again[i].space,
			 plan->again[i].askers, MODEL_WARP, plan->again[i].rounds, request);
}
