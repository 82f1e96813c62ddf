/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_target.c - the fastest allocator of a cell, and the promised numbers for a GPU of the
 * H100's class.
 *
 * The first targets are numbers of one cell each. The last ones are over all cells with a time of
 * mam's and of a published allocator that served all requests: in how many mam takes longer than
 * the best of those. Two medians that differ by less than NOISE are equal.
 */
#include <stdio.h>
#include <string.h>

#include "pages_bench.h"

#define NOISE 1.05 /* an event's clock has a resolution of half a microsecond */

/* The time of an allocator with failed requests does not count. */
static bool served_all(const struct bench_results *results, const char *workload, const char *name,
		       const char *parameter)
{
	const char *from = strcmp(workload, "pages-free") == 0 ? "pages-get" : workload;
	double none;

	return !bench_results_get(results, from, name, parameter, "none", &none) || none <= 0;
}

static const char *fastest(const struct bench_results *results, const char *workload,
			   const char *parameter, enum pages_role role, double *us)
{
	const char *best = NULL;
	double value;
	size_t i;

	for (i = 0; i < pages_allocator_count; i++) {
		const struct pages_allocator *allocator = &pages_allocators[i];

		if (allocator->role != role ||
		    !bench_results_get(results, workload, allocator->name, parameter, "us",
				       &value) ||
		    !served_all(results, workload, allocator->name, parameter))
			continue;
		if (best == NULL || value < *us) {
			best = allocator->name;
			*us = value;
		}
	}
	return best;
}

const char *pages_target_best(const struct bench_results *results, const char *workload,
			      const char *parameter, double *us)
{
	return fastest(results, workload, parameter, PAGES_PUBLISHED, us);
}

const char *pages_target_ceiling(const struct bench_results *results, const char *workload,
				 const char *parameter, double *us)
{
	return fastest(results, workload, parameter, PAGES_CEILING, us);
}

/* Over all cells: where mam is slower than the best published one, and by how much at most. */
static size_t compare_cells(const struct bench_results *results, size_t *slower, double *worst)
{
	size_t count = 0, i;
	double mine, theirs;

	*slower = 0;
	*worst = 0;
	for (i = 0; i < results->count; i++) {
		const struct bench_result *row = &results->rows[i];
		const struct pages_allocator *allocator = pages_allocator_find(row->peer);

		if (allocator == NULL || allocator->role != PAGES_OURS ||
		    strcmp(row->metric, "us") != 0 ||
		    pages_target_best(results, row->workload, row->parameter, &theirs) == NULL)
			continue;
		mine = row->value / theirs;
		count++;
		*slower += mine > NOISE;
		*worst = mine > *worst ? mine : *worst;
	}
	return count;
}

static double sum_of(const struct bench_results *results, enum pages_role role, const char *metric)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < results->count; i++) {
		const struct pages_allocator *allocator =
			pages_allocator_find(results->rows[i].peer);

		if (allocator != NULL && allocator->role == role &&
		    strcmp(results->rows[i].metric, metric) == 0)
			sum += results->rows[i].value;
	}
	return sum;
}

/*
 * The parameter of the cell whose heap is `times` as large as the smallest one, whatever --pages.
 */
static const char *find(const struct pages_plan *plan, enum pages_work work, uint32_t times,
			uint32_t tenths, uint32_t askers, uint32_t lanes)
{
	uint32_t min = UINT32_MAX;
	size_t i;

	for (i = 0; i < plan->count; i++)
		min = plan->cells[i].space.pages < min ? plan->cells[i].space.pages : min;
	for (i = 0; i < plan->count; i++) {
		const struct pages_cell *cell = &plan->cells[i];

		if (cell->work == work && cell->space.pages == times * min &&
		    cell->space.free_tenths == tenths && cell->askers == askers &&
		    cell->lanes == lanes)
			return cell->parameter;
	}
	return NULL;
}

size_t pages_target_compute(const struct bench_results *results, const struct pages_plan *plan,
			    struct pages_target targets[PAGES_TARGETS_MAX])
{
	const struct {
		const char *key, *label, *unit, *workload, *metric, *parameter;
		double bound, scale;
		bool at_most;
	} numbers[] = {
		{ "get_1m_gps", "a million pages of an empty heap", "G/s", "pages-get", "mops",
		  find(plan, PAGES_GET, 32, 1000, 1048576, 32), 25, 1e-3, false },
		{ "free_1m_gps", "and their return", "G/s", "pages-free", "mops",
		  find(plan, PAGES_GET, 32, 1000, 1048576, 32), 35, 1e-3, false },
		{ "low_16k_us", "16K pages when 1% are free", "us", "pages-get", "us",
		  find(plan, PAGES_GET, 4, 10, 16384, 32), 12, 1, true },
		{ "low_16k_none", "of them, not served", "", "pages-get", "none",
		  find(plan, PAGES_GET, 4, 10, 16384, 32), 0, 1, true },
		{ "lone_gps", "one asking lane a warp", "G/s", "pages-lanes", "mops",
		  find(plan, PAGES_LANES, 32, 1000, 1048576, 1), 5, 1e-3, false },
	};
	const char *claim = find(plan, PAGES_GET, 4, 100, 131072, 32);
	double corw = 0, queue = 0, worst;
	size_t count = 0, cells, slower, i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct pages_target *target = &targets[count++];

		*target = (struct pages_target){ numbers[i].key,
						 numbers[i].label,
						 numbers[i].unit,
						 numbers[i].bound,
						 numbers[i].at_most,
						 0,
						 false };
		target->known =
			numbers[i].parameter != NULL &&
			bench_results_get(results, numbers[i].workload, "mam-pages",
					  numbers[i].parameter, numbers[i].metric, &target->value);
		target->value *= numbers[i].scale;
	}
	targets[count] = (struct pages_target){ "corw_over_queue",
						"CoRW beside the queue, 128K at 10%",
						"times",
						10,
						false,
						0,
						false };
	targets[count].known =
		claim != NULL &&
		bench_results_get(results, "pages-get", "corw", claim, "us", &corw) &&
		bench_results_get(results, "pages-get", "queue", claim, "us", &queue) && corw > 0;
	targets[count].value = targets[count].known ? queue / corw : 0;
	count++;
	targets[count] = (struct pages_target){ "corw_over_queue_steps",
						"the same in steps of a warp (WAS)",
						"times",
						10,
						false,
						0,
						false };
	targets[count].known =
		claim != NULL &&
		bench_results_get(results, "pages-get", "corw", claim, "was", &corw) &&
		bench_results_get(results, "pages-get", "queue", claim, "was", &queue) && corw > 0;
	targets[count].value = targets[count].known ? queue / corw : 0;
	count++;
	cells = compare_cells(results, &slower, &worst);
	targets[count++] = (struct pages_target){
		"cells_slower", "cells slower than the best published", "", 0, true, (double)slower,
		cells > 0
	};
	targets[count++] = (struct pages_target){
		"worst_ratio", "and the worst of them", "times", NOISE, true, worst, cells > 0
	};
	targets[count++] = (struct pages_target){ "wrong",
						  "faults found in mam by the checks",
						  "",
						  0,
						  true,
						  sum_of(results, PAGES_OURS, "wrong"),
						  results->count > 0 };
	return count;
}
