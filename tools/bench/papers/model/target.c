/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.c - how accurate the equations are, as numbers with one bound each.
 *
 *   TAS   of RW and of RW-BM: the largest error of (3), by harmonic numbers, and of (5), over all
 *         cells that begin with 1% free or more; also of (5) against the cells where locks do not
 *         matter (fewer than one thread for 64 words), and of the host's simulation, which models locks
 *   WAS   how many cells exceed the bounds (4) and (6), and (6) with locks, by more than three
 *         standard errors of the measurement
 *   time  the slowdown of the queue, at 10% free and more, with the largest number of threads
 *   and the correlations of TAS and WAS with time; the paper has 0.905 and 0.962
 */
#include <math.h>
#include <string.h>

#include "model.h"

#define MIN_TENTHS 10
#define ERRORS 3 /* tolerance of a mean in standard errors */

static bool get(const struct bench_results *results, const char *name,
		const struct pages_cell *cell, const char *metric, double *value)
{
	return bench_results_get(results, "model-get", name, cell->parameter, metric, value);
}

static bool is_free_of_locks(const struct pages_cell *cell)
{
	return cell->askers * 2048.0 <= cell->space.pages;
}

/* The largest error of a formula, in percent; returns false if there is no cell. */
static bool worst_tas(const struct bench_results *results, const struct model_plan *plan,
		      const char *name, const char *formula, bool locks, double *worst)
{
	double measured, expected, error;
	bool any = false;
	size_t i;

	*worst = 0;
	for (i = 0; i < plan->pages.count; i++) {
		const struct pages_cell *cell = &plan->pages.cells[i];

		if (cell->work != PAGES_GET || cell->space.free_tenths < MIN_TENTHS ||
		    (!locks && !is_free_of_locks(cell)) ||
		    !get(results, name, cell, "tas", &measured) ||
		    !get(results, formula, cell, "tas", &expected))
			continue;
		any = true;
		error = fabs(measured / expected - 1) * 100;
		*worst = error > *worst ? error : *worst;
	}
	return any;
}

/* Counts cells whose WAS exceeds a bound; returns false if there is no cell. */
static bool above(const struct bench_results *results, const struct model_plan *plan,
		  const char *name, const char *formula, double *count)
{
	double measured, bound, error;
	bool any = false;
	size_t i;

	*count = 0;
	for (i = 0; i < plan->pages.count; i++) {
		const struct pages_cell *cell = &plan->pages.cells[i];

		if (cell->work != PAGES_GET || !get(results, name, cell, "was", &measured) ||
		    !get(results, formula, cell, "was", &bound))
			continue;
		any = true;
		error = 0;
		(void)get(results, name, cell, "was_error", &error);
		*count += measured > bound + ERRORS * error;
	}
	return any;
}

/* The minimum slowdown of the queue, over the cells with the largest number of threads. */
static bool min_speed(const struct bench_results *results, const struct model_plan *plan,
		      const char *name, const char *metric, double *min)
{
	uint32_t max = 0;
	double mine, queue;
	size_t i, round;

	*min = INFINITY;
	for (round = 0; round < 2; round++) {
		for (i = 0; i < plan->pages.count; i++) {
			const struct pages_cell *cell = &plan->pages.cells[i];

			if (cell->work != PAGES_GET || cell->space.free_tenths < 100 ||
			    cell->askers < MODEL_TIMED ||
			    !get(results, name, cell, metric, &mine) ||
			    !get(results, "queue", cell, metric, &queue) || mine <= 0)
				continue;
			if (round == 0 && cell->askers > max)
				max = cell->askers;
			if (round == 1 && cell->askers == max && queue / mine < *min)
				*min = queue / mine;
		}
	}
	return isfinite(*min);
}

static double faults(const struct bench_results *results)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < results->count; i++) {
		const struct pages_allocator *allocator =
			pages_allocator_find(results->rows[i].peer);

		if (allocator != NULL && allocator->role == PAGES_OURS &&
		    strcmp(results->rows[i].metric, "wrong") == 0)
			sum += results->rows[i].value;
	}
	return sum;
}

static void put(struct pages_target *targets, size_t *count, const char *key, const char *label,
		const char *unit, double bound, bool at_most, bool known, double value)
{
	targets[(*count)++] =
		(struct pages_target){ key, label, unit, bound, at_most, value, known };
}

size_t model_target_compute(const struct bench_results *results, const struct model_plan *plan,
			    struct pages_target targets[MODEL_TARGETS_MAX])
{
	static const struct {
		const char *key, *label, *name, *formula;
		bool locks;
		double bound;
	} tas[] = {
		{ "tas_rw_error", "TAS of RW, off (3) at most", "rw", "rw-formula", true, 5 },
		{ "tas_rw_error_log", "the same, (3) with logarithms", "rw", "rw-log", true, 5 },
		{ "tas_rw_bm_error", "TAS of RW-BM, off (5) at most", "rw-bm", "rw-bm-formula",
		  true, 5 },
		{ "tas_rw_bm_error_thin", "the same, a thread for 64 words or fewer", "rw-bm",
		  "rw-bm-formula", false, 5 },
		{ "tas_rw_bm_error_simulated", "TAS of RW-BM, off the host's walk at most", "rw-bm",
		  "rw-bm-simulated", true, 5 },
	};
	static const struct {
		const char *key, *label, *name, *formula;
	} was[] = {
		{ "was_rw_above", "cells of RW whose WAS is above (4)", "rw", "rw-formula" },
		{ "was_rw_bm_above", "cells of RW-BM whose WAS is above (6)", "rw-bm",
		  "rw-bm-formula" },
		{ "was_rw_bm_above_locks", "and above (6) where words may be locked", "rw-bm",
		  "rw-bm-locks" },
	};
	static const struct {
		const char *key, *label, *name, *metric;
	} speeds[] = {
		{ "mam_over_queue", "mam over the queue, 10% free, most threads", "mam-pages",
		  "us" },
		{ "rw_bm_over_queue", "RW-BM over the queue", "rw-bm", "us" },
		{ "corw_over_queue", "CoRW over the queue", "corw", "us" },
		{ "corw_over_queue_steps", "the same in steps of a warp (WAS)", "corw", "was" },
	};
	size_t count = 0, i;
	double value;
	bool known;

	for (i = 0; i < sizeof(tas) / sizeof(tas[0]); i++) {
		known = worst_tas(results, plan, tas[i].name, tas[i].formula, tas[i].locks, &value);
		put(targets, &count, tas[i].key, tas[i].label, "%", tas[i].bound, true, known,
		    value);
	}
	for (i = 0; i < sizeof(was) / sizeof(was[0]); i++) {
		known = above(results, plan, was[i].name, was[i].formula, &value);
		put(targets, &count, was[i].key, was[i].label, "", 0, true, known, value);
	}
	for (i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		known = min_speed(results, plan, speeds[i].name, speeds[i].metric, &value);
		put(targets, &count, speeds[i].key, speeds[i].label, "times", 10, false, known,
		    value);
	}
	known = bench_results_get(results, "model-correlation", "all", "time", "tas", &value);
	put(targets, &count, "corr_tas", "correlation of TAS and time", "", 0.905, false, known,
	    value);
	known = bench_results_get(results, "model-correlation", "all", "time", "was", &value);
	put(targets, &count, "corr_was", "correlation of WAS and time", "", 0.962, false, known,
	    value);
	put(targets, &count, "wrong", "faults found in mam by the checks", "", 0, true,
	    results->count > 0, faults(results));
	return count;
}
