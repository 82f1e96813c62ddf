/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_run.c - runs all cells of a plan with all allocators.
 *
 * For each initial state, each allocator's heap is made once; for each cell on it:
 *   1. one untimed pass checks the allocated pages (pages_heap.c). On an error, the cell's row is
 *      `wrong`, and there is no time;
 *   2. repeatedly, the heap is restored, and the kernels that allocate and that free everything are
 *      timed: the medians are the rows `us` and `mops`.
 * Nothing starts after the deadline. A device that fails or hangs ends all runs, and a note names
 * the cell.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pages_bench.h"
#include "pages_device.h"
#include "pages_job.h"
#include "bench/harness/watch.h"

#define MALLOC_REPEATS 3 /* of CUDA's own, which is slow */

static const struct pages_names pages_names = {
	{ "pages-get", "pages-lanes", "pages-malloc", "pages-use" }, "pages-free", "pages-launch"
};

struct play {
	const struct pages_plan *plan;
	const struct pages_request *request;
	const struct pages_names *names;
	struct bench_results *results;
	struct pages_room room;
	char *now;
	size_t now_bytes;
	uint64_t start, deadline;
	bool late;
};

static void add_row(struct play *play, const char *workload, const struct pages_heap *heap,
		    const struct pages_cell *cell, const char *metric, double value)
{
	bench_watch_take();
	bench_results_add(play->results, workload, heap->allocator->name, cell->parameter, metric,
			  value);
	bench_watch_release();
}

static void note(struct play *play, const char *first, const char *second, const char *third,
		 const char *why)
{
	bench_watch_take();
	bench_results_note(play->results, "%s %s: %s: %s", first, second, third, why);
	bench_watch_release();
}

static void say_next(struct play *play, const char *workload, const char *parameter,
		     const char *name)
{
	if (play->request->verbose)
		fprintf(stderr, "%.1f s: %s %s %s\n", (double)(bench_now() - play->start) / 1e9,
			workload, parameter, name);
	else if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s %s %s", workload, parameter, name);
	bench_watch_take();
	snprintf(play->now, play->now_bytes, "%s %s: %s", workload, parameter, name);
	bench_watch_release();
}

/* Medians of the kernels that allocate and that free; a time of 0: not measured. */
static bool time_cell(struct play *play, const struct pages_heap *heap,
		      const struct pages_cell *cell, double *get_us, double *free_us)
{
	const bool address = heap->allocator->metadata == PAGES_ADDRESS;
	const bool runs = cell->work == PAGES_MALLOC && !address;
	const char *get =
		runs ? (cell->at_once ? "churnrun" : "getrun") : (cell->at_once ? "churn" : "get");
	const char *give = cell->at_once || heap->allocator->metadata == PAGES_COUNTER ? NULL
			   : runs                                                      ? "giverun"
										       : "give";
	double gets[PAGES_REPEATS_MAX], frees[PAGES_REPEATS_MAX];
	unsigned int repeats = play->request->effort.repeats, i;
	struct pages_job job;

	if (address && repeats > MALLOC_REPEATS)
		repeats = MALLOC_REPEATS;
	pages_heap_ask(heap, &play->room, cell, &job);
	for (i = 0; i < repeats; i++) {
		if (!pages_heap_restore(heap) || !pages_heap_launch(heap, get, &job, &gets[i]) ||
		    (give != NULL && !pages_heap_launch(heap, give, &job, &frees[i])))
			return false;
	}
	*get_us = bench_measure_median(gets, repeats);
	*free_us = give != NULL ? bench_measure_median(frees, repeats) : 0;
	return true;
}

static void add_times(struct play *play, const char *workload, const struct pages_heap *heap,
		      const struct pages_cell *cell, double us)
{
	if (us <= 0)
		return;
	add_row(play, workload, heap, cell, "us", us);
	add_row(play, workload, heap, cell, "mops", cell->askers / us);
}

static bool play_use(struct play *play, const struct pages_heap *heap,
		     const struct pages_cell *cell)
{
	struct pages_verdict verdict;
	double ratio = 0;

	if (!pages_heap_use(heap, &play->room, cell, &verdict, &ratio))
		return false;
	if (verdict.wrong > 0) {
		add_row(play, play->names->works[cell->work], heap, cell, "wrong",
			(double)verdict.wrong);
		note(play, play->names->works[cell->work], cell->parameter, heap->allocator->name,
		     verdict.why);
		return true;
	}
	add_row(play, play->names->works[cell->work], heap, cell, "used_ratio", ratio);
	return true;
}

static bool play_cell(struct play *play, const struct pages_heap *heap,
		      const struct pages_cell *cell)
{
	const char *workload = play->names->works[cell->work];
	struct pages_verdict verdict;
	double get_us = 0, free_us = 0;

	if (!(heap->allocator->metadata == PAGES_ADDRESS
		      ? pages_system_check(heap, &play->room, cell, &verdict)
		      : pages_heap_check(heap, &play->room, cell, play->request->effort.walks,
					 &verdict)))
		return false;
	add_row(play, workload, heap, cell, "wrong", (double)verdict.wrong);
	add_row(play, workload, heap, cell, "none", (double)verdict.none);
	if (verdict.wrong > 0) {
		note(play, workload, cell->parameter, heap->allocator->name, verdict.why);
		return true;
	}
	if (heap->allocator->metadata != PAGES_ADDRESS && verdict.tas > 0) {
		add_row(play, workload, heap, cell, "tas", verdict.tas);
		add_row(play, workload, heap, cell, "was", verdict.was);
	}
	if (play->request->effort.walks > 0 && verdict.was > 0) {
		add_row(play, workload, heap, cell, "tas_error", verdict.tas_error);
		add_row(play, workload, heap, cell, "was_error", verdict.was_error);
	}
	if (!time_cell(play, heap, cell, &get_us, &free_us))
		return false;
	add_times(play, workload, heap, cell, get_us);
	if (cell->work == PAGES_GET)
		add_times(play, play->names->frees, heap, cell, free_us);
	return true;
}

static bool is_wanted(const struct pages_request *request, const struct pages_cell *cell)
{
	return request->wanted[cell->work] && cell->askers <= request->effort.MAX_ASKERS &&
	       (request->effort.fine || !cell->fine);
}

static bool same_space(const struct pages_cell *a, const struct pages_cell *b)
{
	return a->space.pages == b->space.pages && a->space.group == b->space.group &&
	       a->space.free_tenths == b->space.free_tenths;
}

/* All cells from first to end - 1, which share an initial state, with one allocator. */
static bool play_space(struct play *play, const struct pages_allocator *allocator, size_t first,
		       size_t end)
{
	struct pages_heap heap = { .allocator = NULL };
	const char *why = NULL;
	bool good = true;
	size_t i;

	for (i = first; good && why == NULL && i < end; i++) {
		const struct pages_cell *cell = &play->plan->cells[i];

		if (!is_wanted(play->request, cell) || !pages_plan_takes_part(allocator, cell))
			continue;
		if (bench_now() > play->deadline) {
			play->late = true;
			break;
		}
		say_next(play, play->names->works[cell->work], cell->parameter, allocator->name);
		if (heap.allocator == NULL)
			why = pages_heap_init(&heap, allocator, &cell->space, &play->room);
		if (why != NULL)
			note(play, play->names->works[cell->work], cell->parameter, allocator->name,
			     why);
		else
			good = cell->work == PAGES_USE ? play_use(play, &heap, cell)
						       : play_cell(play, &heap, cell);
	}
	good = good && pages_device_trouble()[0] == '\0';
	if (!good)
		note(play, "the device failed", play->now, "nothing more was measured",
		     pages_device_trouble());
	pages_heap_fini(&heap);
	return good;
}

/* The launch overhead in every time: an empty kernel. */
static bool time_launches(struct play *play)
{
	static const uint32_t askers[] = { 1024, 131072, 1048576 };
	static const char *const names[] = { "1K", "128K", "1M" };
	const struct pages_cell none = { .lanes = PAGES_WARP };
	const struct pages_heap heap = { .allocator = &pages_allocators[0] };
	double us[PAGES_REPEATS_MAX];
	struct pages_job job;
	unsigned int i, k;

	pages_heap_ask(&heap, &play->room, &none, &job);
	for (k = 0; k < sizeof(askers) / sizeof(askers[0]); k++) {
		for (i = 0; i < PAGES_REPEATS_MAX; i++) {
			if (!pages_device_run("check_nothing", askers[k], &job, &us[i]))
				return false;
		}
		bench_watch_take();
		bench_results_add(play->results, play->names->launches, "empty", names[k], "us",
				  bench_measure_median(us, PAGES_REPEATS_MAX));
		bench_watch_release();
	}
	return true;
}

/* The maximum registers of a thread in kernels that call the allocator, whatever else they do. */
static void add_registers(struct play *play, const struct pages_allocator *allocator)
{
	static const char *const prefixes[] = { "get", "give", "getrun", "giverun" };
	const bool runs = allocator->runs && allocator->metadata != PAGES_ADDRESS;
	const size_t first = allocator->one ? 0 : 2, end = runs ? 4 : 2;
	unsigned int registers;
	char kernel[48];
	size_t i;

	for (i = first; i < end; i++) {
		snprintf(kernel, sizeof(kernel), "%s_%s", prefixes[i], allocator->kernel);
		registers = pages_device_registers(kernel);
		bench_watch_take();
		if (registers > 0)
			bench_results_add(play->results, play->names->launches, allocator->name,
					  prefixes[i], "registers", registers);
		bench_watch_release();
	}
}

static bool play_all(struct play *play)
{
	const struct pages_plan *plan = play->plan;
	size_t first, end, a;

	if (!time_launches(play)) {
		note(play, "the device failed", "an empty kernel", "nothing was measured",
		     pages_device_trouble());
		return false;
	}
	for (a = 0; a < pages_allocator_count; a++) {
		if (play->request->usable(&pages_allocators[a], play->request->user))
			add_registers(play, &pages_allocators[a]);
	}
	for (first = 0; first < plan->count; first = end) {
		for (end = first; end < plan->count; end++) {
			if (!same_space(&plan->cells[first], &plan->cells[end]))
				break;
		}
		for (a = 0; a < pages_allocator_count; a++) {
			if (play->request->usable(&pages_allocators[a], play->request->user) &&
			    !play_space(play, &pages_allocators[a], first, end))
				return false;
		}
	}
	return true;
}

bool pages_run_all(const struct pages_plan *plan, const struct pages_request *request,
		   struct bench_results *results, char *now, size_t now_bytes)
{
	struct play play = { .plan = plan,
			     .request = request,
			     .names = request->names != NULL ? request->names : &pages_names,
			     .results = results,
			     .now = now,
			     .now_bytes = now_bytes,
			     .start = bench_now() };
	const char *why = pages_room_init(&play.room, plan, request);
	bool good = why == NULL;

	play.deadline = play.start + request->effort.deadline_ns;
	if (good)
		good = play_all(&play);
	else
		note(&play, "nothing", "was measured", "memory", why);
	if (!request->verbose && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	if (play.late) {
		bench_watch_take();
		bench_results_note(results, "cells left out: the bench's time was up");
		bench_watch_release();
	}
	pages_room_fini(&play.room);
	return good;
}
