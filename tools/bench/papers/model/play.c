/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play.c - the measurements of `mam bench model` besides the cells of pages_run.c.
 *
 *   atomic  figure 1: N threads add to one word, each add dependent on the last; the mean of their times
 *   found   figure 6: a number of warps probe once, as CoRW's do, a heap that does not change; the number
 *           of free pages each saw, in total and in bins of a standard deviation of (9)
 *   again   figures 8 and 9: each thread takes several pages. Each must be a page of the heap, and taken
 *           by one thread only; steps are those of all pages except the first, with passes as in
 *           pages_heap.c
 *   give    figure 16: each thread frees the page that a previous kernel took for it; the mean of their
 *           times
 * No measurement starts after the deadline.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/pages/pages_device.h"
#include "bench/pages/pages_job.h"
#include "bench/harness/steps.h"
#include "bench/harness/watch.h"
#include "model.h"

#define CHECK_THREADS 65536
#define ATOMICS 16 /* of each thread, one after another */
#define ATOMIC_REPEATS 5
#define GIVE_REPEATS 11
#define ZEROS_AT 64 /* in job->shadow: kernels.h */

struct play {
	const struct model_plan *plan;
	const struct model_request *request;
	struct bench_results *results;
	struct pages_room room;
	char *now;
	size_t now_bytes;
	bool late;
};

static void add_row(struct play *play, const char *workload, const char *name,
		    const char *parameter, const char *metric, double value)
{
	bench_watch_take();
	bench_results_add(play->results, workload, name, parameter, metric, value);
	bench_watch_release();
}

static void note(struct play *play, const char *workload, const char *parameter, const char *name,
		 const char *why)
{
	bench_watch_take();
	bench_results_note(play->results, "%s %s: %s: %s", workload, parameter, name, why);
	bench_watch_release();
}

/* Returns false after the deadline. */
static bool begin(struct play *play, const char *workload, const char *parameter, const char *name)
{
	if (bench_now() > play->request->deadline) {
		play->late = true;
		return false;
	}
	if (play->request->pages.verbose)
		fprintf(stderr, "%s %s %s\n", workload, parameter, name);
	bench_watch_take();
	snprintf(play->now, play->now_bytes, "%s %s: %s", workload, parameter, name);
	bench_watch_release();
	return true;
}

/* ---- figure 1 ---- */

static bool play_atomic(struct play *play)
{
	static const struct {
		uint32_t threads;
		const char *name;
	} cells[] = { { 1, "1" },       { 32, "32" },      { 128, "128" },   { 512, "512" },
		      { 2048, "2K" },   { 8192, "8K" },    { 16384, "16K" }, { 32768, "32K" },
		      { 65536, "64K" }, { 131072, "128K" } };
	const struct pages_heap heap = { .allocator = &pages_allocators[0] };
	size_t i, k, r;

	for (i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		const struct pages_cell cell = { .askers = cells[i].threads, .lanes = MODEL_WARP };
		double clocks[ATOMIC_REPEATS], ns[ATOMIC_REPEATS];
		struct pages_job job;

		if (cell.askers > play->request->pages.effort.MAX_ASKERS ||
		    cell.askers > play->room.asker_count)
			continue;
		if (!begin(play, "model-atomic", cells[i].name, "atomic"))
			return true;
		pages_heap_ask(&heap, &play->room, &cell, &job);
		job.rounds = ATOMICS;
		for (r = 0; r < ATOMIC_REPEATS; r++) {
			if (!pages_device_fill(job.shadow, 0, (ZEROS_AT + MODEL_WARP) * 4) ||
			    !pages_device_run("model_atomic", cell.askers, &job, NULL) ||
			    !pages_device_fetch(play->room.steps_here, job.steps,
						cell.askers * UINT64_C(4)))
				return false;
			for (k = 0, clocks[r] = 0; k < cell.askers; k++)
				clocks[r] += play->room.steps_here[k];
			if (!pages_device_fetch(play->room.steps_here, job.got,
						cell.askers * UINT64_C(4)))
				return false;
			for (k = 0, ns[r] = 0; k < cell.askers; k++)
				ns[r] += play->room.steps_here[k];
		}
		add_row(play, "model-atomic", "atomic", cells[i].name, "clocks",
			bench_measure_median(clocks, ATOMIC_REPEATS) / cell.askers);
		add_row(play, "model-atomic", "atomic", cells[i].name, "ns",
			bench_measure_median(ns, ATOMIC_REPEATS) / cell.askers);
	}
	return true;
}

/* ---- figure 6 ---- */

/* The probability that a normal variable rounds to an integer from least to most. */
static double normal_share(double mean, double deviation, double min, double max)
{
	return 0.5 * (erf((max + 0.5 - mean) / deviation / sqrt(2)) -
		      erf((min - 0.5 - mean) / deviation / sqrt(2)));
}

/*
 * Adds rows of the pages that `runs` warps saw; `at` has one value per lane, the free pages of its
 * word.
 */
static void report_found(struct play *play, const struct model_found *found, const uint32_t *at,
			 uint32_t runs)
{
	const double t = found->space.pages, a = pages_plan_free(&found->space);
	double mean, deviation, sum = 0, squares = 0, bins[MODEL_BINS] = { 0 };
	uint32_t i, k, seen;
	int bin;

	bench_steps_found(t, a, 0, MODEL_WORD, MODEL_WARP, &mean, &deviation);
	for (i = 0; i < runs; i++) {
		for (k = 0, seen = 0; k < MODEL_WARP; k++)
			seen += at[i * MODEL_WARP + k];
		sum += seen;
		squares += (double)seen * seen;
		bin = (int)floor((seen - mean) / deviation + 0.5) + MODEL_BINS / 2;
		if (bin >= 0 && bin < MODEL_BINS)
			bins[bin]++;
	}
	add_row(play, "model-found", "measured", found->parameter, "mean", sum / runs);
	add_row(play, "model-found", "formula", found->parameter, "mean", mean);
	add_row(play, "model-found", "measured", found->parameter, "deviation",
		sqrt(squares / runs - sum / runs * (sum / runs)));
	add_row(play, "model-found", "formula", found->parameter, "deviation", deviation);
	for (bin = 0; bin < MODEL_BINS; bin++) {
		/* The integers that round to this bin. */
		const double min = ceil(mean + (bin - MODEL_BINS / 2 - 0.5) * deviation);
		const double end = ceil(mean + (bin - MODEL_BINS / 2 + 0.5) * deviation);

		add_row(play, "model-found", "measured", found->bins[bin], "share",
			bins[bin] / runs);
		add_row(play, "model-found", "formula", found->bins[bin], "share",
			normal_share(mean, deviation, min, end - 1));
	}
}

static bool play_found(struct play *play)
{
	const struct pages_allocator *corw = pages_allocator_find("corw");
	const uint32_t askers = play->request->runs * MODEL_WARP;
	const struct pages_cell cell = { .askers = askers, .lanes = MODEL_WARP };
	struct pages_heap heap;
	struct pages_job job;
	const char *why;
	bool good = true;
	size_t i;

	for (i = 0; good && i < MODEL_FOUNDS; i++) {
		const struct model_found *found = &play->plan->found[i];

		if (!begin(play, "model-found", found->parameter, "corw"))
			return true;
		why = pages_heap_init(&heap, corw, &found->space, &play->room);
		pages_heap_ask(&heap, &play->room, &cell, &job);
		if (why == NULL)
			good = pages_device_run("model_found_corw", askers, &job, NULL) &&
			       pages_device_fetch(play->room.steps_here, job.steps,
						  askers * UINT64_C(4));
		if (why != NULL)
			note(play, "model-found", found->parameter, "corw", why);
		else if (good)
			report_found(play, found, play->room.steps_here, play->request->runs);
		good = good && pages_device_trouble()[0] == '\0';
		pages_heap_fini(&heap);
	}
	return good;
}

/* ---- figures 8 and 9 ---- */

struct sums {
	double steps, max;
	uint64_t requests, warps;
};

/* The r-th requests of a warp's threads count as one warp's. */
static void add_steps(struct sums *sums, const uint32_t *steps, const struct model_again *again)
{
	uint32_t i, r, max;

	for (r = 1; r < again->rounds; r++) {
		for (i = 0, max = 0; i < again->askers; i++) {
			const uint32_t one = steps[i * again->rounds + r];

			sums->steps += one;
			sums->requests++;
			max = one > max ? one : max;
			if (i % MODEL_WARP == MODEL_WARP - 1 || i == again->askers - 1) {
				sums->max += max;
				sums->warps++;
				max = 0;
			}
		}
	}
}

/* Checks that each page belongs to the heap, and was taken by one thread only. */
static bool check_again(struct pages_job *job, const struct model_again *again, uint64_t *wrong,
			uint64_t *none)
{
	struct pages_found found;

	job->askers = again->askers * again->rounds;
	if (!pages_device_fill(job->found, 0, sizeof(found)) ||
	    !pages_device_fill(job->shadow, 0, job->pages * UINT64_C(4)) ||
	    !pages_device_run("check_mark", CHECK_THREADS, job, NULL) ||
	    !pages_device_fetch(&found, job->found, sizeof(found)))
		return false;
	job->askers = again->askers;
	*wrong += found.twice + found.beyond;
	*none += found.none;
	return true;
}

static bool walk_again(struct play *play, const struct pages_heap *heap,
		       const struct model_again *again)
{
	const struct pages_cell cell = {
		.askers = again->askers, .lanes = MODEL_WARP, .min = PAGES_BYTES, .max = PAGES_BYTES
	};
	const uint64_t bytes = (uint64_t)again->askers * again->rounds * 4;
	const uint32_t walks = play->request->pages.effort.walks;
	const char *name = heap->allocator->name;
	uint64_t wrong = 0, none = 0;
	struct sums sums = { .steps = 0 };
	struct pages_job job;

	pages_heap_ask(heap, &play->room, &cell, &job);
	job.rounds = again->rounds;
	do {
		if (!pages_heap_restore(heap) ||
		    !pages_heap_launch(heap, "model_again", &job, NULL) ||
		    !pages_device_fetch(play->room.steps_here, job.steps, bytes) ||
		    (job.seed == 0 && !check_again(&job, again, &wrong, &none)))
			return false;
		add_steps(&sums, play->room.steps_here, again);
	} while (++job.seed < PAGES_SEEDS_MAX && sums.requests < walks);
	add_row(play, "model-again", name, again->parameter, "wrong", (double)wrong);
	add_row(play, "model-again", name, again->parameter, "none", (double)none);
	if (wrong > 0) {
		note(play, "model-again", again->parameter, name,
		     "pages that are none of the heap's, or another's, too");
		return true;
	}
	add_row(play, "model-again", name, again->parameter, "tas",
		sums.steps / (double)(sums.requests > 0 ? sums.requests : 1));
	add_row(play, "model-again", name, again->parameter, "was",
		sums.max / (double)(sums.warps > 0 ? sums.warps : 1));
	return true;
}

static bool play_again(struct play *play)
{
	static const char *const names[] = { "rw", "rw-bm", "crw" };
	struct pages_heap heap;
	const char *why;
	bool good = true;
	size_t i, k;

	for (i = 0; i < play->plan->again_count; i++) {
		const struct model_again *again = &play->plan->again[i];

		if ((again->fine && !play->request->pages.effort.fine) ||
		    again->askers > play->request->pages.effort.MAX_ASKERS)
			continue;
		for (k = 0; good && k < sizeof(names) / sizeof(names[0]); k++) {
			const struct pages_allocator *one = pages_allocator_find(names[k]);

			if (!play->request->pages.usable(one, play->request->pages.user))
				continue;
			if (!begin(play, "model-again", again->parameter, names[k]))
				return true;
			why = pages_heap_init(&heap, one, &again->space, &play->room);
			if (why != NULL)
				note(play, "model-again", again->parameter, names[k], why);
			else
				good = walk_again(play, &heap, again);
			good = good && pages_device_trouble()[0] == '\0';
			pages_heap_fini(&heap);
		}
	}
	return good;
}

/* ---- figure 16 ---- */

/* The mean clocks of a thread; returns false if the device failed. */
static bool time_give(struct play *play, const struct pages_heap *heap, struct pages_job *job,
		      double *clocks)
{
	uint32_t i;

	if (!pages_heap_restore(heap) || !pages_heap_launch(heap, "get", job, NULL) ||
	    !pages_heap_launch(heap, "model_give", job, NULL) ||
	    !pages_device_fetch(play->room.steps_here, job->steps, job->askers * UINT64_C(4)))
		return false;
	for (i = 0, *clocks = 0; i < job->askers; i++)
		*clocks += play->room.steps_here[i];
	*clocks /= job->askers;
	return true;
}

static bool give_back(struct play *play, const struct pages_heap *heap,
		      const struct model_give *give)
{
	const struct pages_cell cell = {
		.askers = give->askers, .lanes = MODEL_WARP, .min = PAGES_BYTES, .max = PAGES_BYTES
	};
	double clocks[GIVE_REPEATS];
	struct pages_job job;
	size_t i;

	pages_heap_ask(heap, &play->room, &cell, &job);
	for (i = 0; i < GIVE_REPEATS; i++) {
		if (!time_give(play, heap, &job, &clocks[i]))
			return false;
	}
	add_row(play, "model-give", heap->allocator->name, give->parameter, "clocks",
		bench_measure_median(clocks, GIVE_REPEATS));
	return true;
}

static bool play_gives(struct play *play)
{
	static const char *const names[] = { "mam-pages", "rw", "rw-bm", "corw", "queue" };
	struct pages_heap heap;
	const char *why;
	bool good = true;
	size_t i, k;

	for (i = 0; i < play->plan->give_count; i++) {
		const struct model_give *give = &play->plan->gives[i];

		for (k = 0; good && k < sizeof(names) / sizeof(names[0]); k++) {
			const struct pages_allocator *one = pages_allocator_find(names[k]);

			if (give->askers > play->request->pages.effort.MAX_ASKERS ||
			    !play->request->pages.usable(one, play->request->pages.user))
				continue;
			if (!begin(play, "model-give", give->parameter, names[k]))
				return true;
			why = pages_heap_init(&heap, one, &give->space, &play->room);
			if (why != NULL)
				note(play, "model-give", give->parameter, names[k], why);
			else
				good = give_back(play, &heap, give);
			good = good && pages_device_trouble()[0] == '\0';
			pages_heap_fini(&heap);
		}
	}
	return good;
}

/* Makes a heap as large as the largest of these cells needs. */
static const char *find_room(struct play *play)
{
	static struct pages_plan all;
	struct pages_request request = play->request->pages;
	const struct model_plan *plan = play->plan;
	uint32_t askers = 131072;
	size_t i;

	if (askers > request.effort.MAX_ASKERS)
		askers = request.effort.MAX_ASKERS;
	if (askers < play->request->runs * MODEL_WARP)
		askers = play->request->runs * MODEL_WARP;
	for (i = 0; i < plan->give_count; i++) {
		if (plan->gives[i].askers > askers &&
		    plan->gives[i].askers <= request.effort.MAX_ASKERS)
			askers = plan->gives[i].askers;
	}
	for (i = 0; i < plan->again_count; i++) {
		if (plan->again[i].askers * plan->again[i].rounds > askers)
			askers = plan->again[i].askers * plan->again[i].rounds;
	}
	all.count = 1;
	all.cells[0] = (struct pages_cell){ .work = PAGES_GET,
					    .space = plan->found[0].space,
					    .askers = askers,
					    .lanes = MODEL_WARP };
	request.effort.MAX_ASKERS = UINT32_MAX;
	request.wanted[PAGES_GET] = true;
	return pages_room_init(&play->room, &all, &request);
}

bool model_play(const struct model_plan *plan, const struct model_request *request,
		struct bench_results *results, char *now, size_t now_bytes)
{
	struct play play = { .plan = plan,
			     .request = request,
			     .results = results,
			     .now = now,
			     .now_bytes = now_bytes };
	const char *why = find_room(&play);
	bool good;

	if (why != NULL) {
		note(&play, "nothing of atomic, found, again and give", "was measured", "memory",
		     why);
		return true;
	}
	good = (!request->wanted[MODEL_ATOMIC] || play_atomic(&play)) &&
	       (!request->wanted[MODEL_FOUND] || play_found(&play)) &&
	       (!request->wanted[MODEL_AGAIN] || play_again(&play)) &&
	       (!request->wanted[MODEL_GIVE] || play_gives(&play));
	if (!good)
		note(&play, "the device failed", now, "nothing more was measured",
		     pages_device_trouble());
	if (play.late)
		note(&play, "model", "cells left out", "atomic, found, again or give",
		     "the bench's time was up");
	pages_room_fini(&play.room);
	return good;
}
