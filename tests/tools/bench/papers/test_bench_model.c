/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_model.c - `mam bench model` on a simulated device: its kernels count correctly, their
 * results are checked, the host's simulations match the equations where those are exact, and
 * computed values are right.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/model/model.h"
#include "bench/pages/pages_device.h"
#include "bench/harness/steps.h"
#include "tools/bench/pages_sim.h"

#define PAGES 6400

static struct model_plan plan;
static struct bench_results results;
static char now[160];

static bool everybody(const struct pages_allocator *allocator, void *user)
{
	(void)user;
	return allocator->role <= PAGES_PROXY;
}

static struct model_request request(void)
{
	struct model_request ask = {
		.pages = { .effort = { "test", 1, UINT64_C(1000000000000), 64, true, 256 },
			   .usable = everybody,
			   .names = &model_names },
		.deadline = UINT64_MAX,
		.runs = 32,
	};

	return ask;
}

static double value(const char *workload, const char *name, const char *parameter,
		    const char *metric)
{
	double found;

	return bench_results_get(&results, workload, name, parameter, metric, &found) ? found : -1;
}

static void setup(void)
{
	pages_sim_reset();
	memset(&results, 0, sizeof(results));
}

static void teardown(void)
{
	bench_results_fini(&results);
	ck_assert_uint_eq(pages_sim_blocks, 0);
}

/* ---- the plan ---- */

START_TEST(plan_has_only_possible_cells)
{
	static const uint32_t pages[] = { 6400, 64000, 1000000, 1048576 };
	const struct pages_plan *all = &plan.pages;
	size_t i, k, last = 0;

	model_plan_make(&plan, pages[_i]);
	ck_assert_uint_lt(all->count, PAGES_CELLS_MAX);
	ck_assert_uint_gt(all->count, 90);
	for (i = 0; i < all->count; i++) {
		const struct pages_cell *cell = &all->cells[i];

		ck_assert_uint_gt(cell->askers, 0);
		ck_assert_uint_eq(cell->space.pages % 64, 0);
		for (k = 0; k < i; k++) {
			ck_assert_msg(cell->work != all->cells[k].work ||
					      strcmp(cell->parameter, all->cells[k].parameter) != 0,
				      "%s comes twice", cell->parameter);
			if (memcmp(&cell->space, &all->cells[k].space, sizeof(cell->space)) == 0)
				last = k;
		}
		/* cells of one heap are adjacent */
		ck_assert(last == 0 || i == 0 || last == i - 1 ||
			  memcmp(&cell->space, &all->cells[last].space, sizeof(cell->space)) != 0);
	}
	if (_i > 0) /* otherwise too few are free for clusters of 100 */
		ck_assert_uint_eq(plan.again_count, 4 * 3 * 3);
	for (i = 0; i < plan.again_count; i++) {
		const struct model_again *again = &plan.again[i];

		ck_assert_uint_le(again->askers * again->rounds, pages_plan_free(&again->space));
		for (k = 0; k < i; k++)
			ck_assert_str_ne(again->parameter, plan.again[k].parameter);
	}
}
END_TEST

/* The cells of the paper: N = 5,000 of the last 5,000 pages; 156 warps of 32 lanes. */
START_TEST(plan_has_the_cells_of_the_paper)
{
	static const char *const names[] = { "1000000 50% 500",
					     "1000000 0.7% 5000",
					     "1000000 0.5% 5000",
					     "1000000 0.8% 4992 x32",
					     "32M 10% 1M",
					     "4M 50% 16K 4..8192B",
					     "4M 100% 1K 4096B+free",
					     "1050B" };
	size_t i, k;

	model_plan_make(&plan, MODEL_PAGES);
	for (k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		for (i = 0; i < plan.pages.count; i++) {
			if (strcmp(plan.pages.cells[i].parameter, names[k]) == 0)
				break;
		}
		ck_assert_msg(i < plan.pages.count, "%s", names[k]);
	}
}
END_TEST

/* ---- measuring ---- */

START_TEST(cells_have_steps_and_errors)
{
	struct model_request ask = request();
	const char *at;

	model_plan_make(&plan, PAGES);
	plan.pages.count = 4;
	ask.pages.wanted[PAGES_GET] = true;
	ck_assert_msg(pages_run_all(&plan.pages, &ask.pages, &results, now, sizeof(now)), "%s",
		      pages_device_trouble());
	at = plan.pages.cells[3].parameter;
	ck_assert_str_eq(at, "6400 50% 19");
	model_compute(&results, &plan);
	ck_assert_double_eq(value("model-get", "rw", at, "wrong"), 0);
	ck_assert_double_eq_tol(value("model-get", "rw", at, "tas"), 2, 0.4);
	ck_assert_double_gt(value("model-get", "rw", at, "tas_error"), 0);
	ck_assert_double_gt(value("model-get", "rw", at, "was_error"), 0);
	ck_assert_double_eq_tol(value("model-get", "rw-formula", at, "tas"), 2, 0.02);
	ck_assert_double_eq_tol(value("model-get", "rw-log", at, "tas"), 2, 0.02);
	ck_assert_double_gt(value("model-get", "rw-formula", at, "was"), 5);
	ck_assert_double_gt(value("model-free", "corw", at, "us"), 0);
	ck_assert_double_eq_tol(value("model-get", "corw-formula", at, "was"), 1, 0.01);
	ck_assert_double_eq_tol(value("model-get", "corw-normal", at, "was"), 1 / 15.9, 0.001);
	ck_assert_double_eq_tol(value("model-get", "queue-formula", at, "tas"), 10, 1e-9);
	ck_assert_double_eq(value("model-get", "crw-formula", at, "tas"), -1);
	ck_assert_double_eq(value("model-get", "bump", at, "us"), -1);
	ck_assert_double_eq(value("pages-get", "rw", at, "us"), -1);
}
END_TEST

/* The second pass searches differently than the first. */
START_TEST(searches_differ_between_passes)
{
	struct model_request ask = request();
	const char *at;
	double one;

	model_plan_make(&plan, PAGES);
	plan.pages.count = 1;
	at = plan.pages.cells[0].parameter;
	ask.pages.wanted[PAGES_GET] = true;
	ask.pages.effort.walks = 1;
	ck_assert(pages_run_all(&plan.pages, &ask.pages, &results, now, sizeof(now)));
	one = value("model-get", "rw", at, "tas");
	ck_assert_double_eq(one, floor(one * 3 + 0.5) / 3); /* three lanes, one pass */
	ask.pages.effort.walks = 128;
	ck_assert(pages_run_all(&plan.pages, &ask.pages, &results, now, sizeof(now)));
	ck_assert_double_ne(value("model-get", "rw", at, "tas"), one);
	ck_assert_double_eq_tol(value("model-get", "rw", at, "tas"), 2, 0.6);
}
END_TEST

START_TEST(atomics_are_counted)
{
	struct model_request ask = request();

	model_plan_make(&plan, PAGES);
	ask.wanted[MODEL_ATOMIC] = true;
	ck_assert_msg(model_play(&plan, &ask, &results, now, sizeof(now)), "%s",
		      pages_device_trouble());
	ck_assert_double_gt(value("model-atomic", "atomic", "1", "clocks"), 0);
	ck_assert_double_gt(value("model-atomic", "atomic", "32", "clocks"), 0);
	ck_assert_double_eq(value("model-atomic", "atomic", "128", "clocks"), -1);
}
END_TEST

START_TEST(finds_of_a_warp_are_nearly_normal)
{
	struct model_request ask = request();
	double sum = 0, normal = 0;
	size_t i;

	model_plan_make(&plan, PAGES);
	ask.wanted[MODEL_FOUND] = true;
	ck_assert_msg(model_play(&plan, &ask, &results, now, sizeof(now)), "%s",
		      pages_device_trouble());
	ck_assert_uint_eq(results.note_count, 0);
	/* 1024 places, of which a tenth is free */
	ck_assert_double_eq_tol(value("model-found", "formula", "10%", "mean"), 102.4, 1e-9);
	ck_assert_double_eq_tol(value("model-found", "formula", "10%", "deviation"),
				sqrt(1024 * 0.1 * 0.9), 1e-9);
	ck_assert_double_eq_tol(value("model-found", "measured", "10%", "mean"), 102.4, 6);
	for (i = 0; i < MODEL_BINS; i++) {
		sum += value("model-found", "measured", plan.found[0].bins[i], "share");
		normal += value("model-found", "formula", plan.found[0].bins[i], "share");
	}
	ck_assert_double_ge(sum, 0.9);
	ck_assert_double_le(sum, 1 + 1e-9);
	ck_assert_double_eq_tol(normal, 1, 0.01);
}
END_TEST

START_TEST(threads_allocate_several_pages)
{
	struct model_request ask = request();
	const char *at;

	model_plan_make(&plan, 64000);
	plan.again[0] = plan.again[2]; /* 50%, clusters of 100, 64 threads */
	plan.again[1] = plan.again[8]; /* 50%, at random */
	plan.again_count = 2;
	ask.wanted[MODEL_AGAIN] = true;
	ck_assert_msg(model_play(&plan, &ask, &results, now, sizeof(now)), "%s",
		      pages_device_trouble());
	model_compute(&results, &plan);
	at = plan.again[0].parameter;
	ck_assert_str_eq(at, "50% /100 64");
	ck_assert_double_eq(value("model-again", "crw", at, "wrong"), 0);
	ck_assert_double_eq(value("model-again", "crw", at, "none"), 0);
	ck_assert_double_eq_tol(value("model-again", "rw", at, "tas"), 2, 0.5);
	/* in clusters, the page after the last one is free */
	ck_assert_double_lt(value("model-again", "crw", at, "tas"), 1.2);
	ck_assert_double_ge(value("model-again", "crw", at, "was"),
			    value("model-again", "crw", at, "tas"));
	/* M = 32000 / 100 * .5 of 31936: p = 159 / 32095 */
	ck_assert_double_eq_tol(value("model-again", "crw-formula", at, "tas"), 1.005, 0.001);
	ck_assert_double_eq_tol(value("model-again", "crw-formula", plan.again[1].parameter, "tas"),
				1.334, 0.002);
}
END_TEST

START_TEST(pages_are_freed)
{
	static const char *const names[] = { "mam-pages", "rw", "rw-bm", "corw", "queue" };
	struct model_request ask = request();
	size_t i;

	model_plan_make(&plan, PAGES);
	plan.give_count = 2;
	ask.wanted[MODEL_GIVE] = true;
	ck_assert_msg(model_play(&plan, &ask, &results, now, sizeof(now)), "%s",
		      pages_device_trouble());
	ck_assert_str_eq(plan.gives[1].parameter, "50% 6");
	ck_assert_uint_eq(results.note_count, 0);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_double_gt(value("model-give", names[i], "50% 6", "clocks"), 0);
	ck_assert_double_eq(value("model-give", "crw", "50% 6", "clocks"), -1);
}
END_TEST

static void same_page(const char *kernel, const struct pages_job *job)
{
	if (strcmp(kernel, "model_again_crw") == 0)
		job->got[7] = job->got[100];
}

START_TEST(page_with_two_owners_is_detected)
{
	struct model_request ask = request();

	model_plan_make(&plan, 64000);
	plan.again[0] = plan.again[2];
	plan.again_count = 1;
	ask.wanted[MODEL_AGAIN] = true;
	pages_sim_after = same_page;
	ck_assert(model_play(&plan, &ask, &results, now, sizeof(now)));
	ck_assert_double_eq(value("model-again", "crw", plan.again[0].parameter, "wrong"), 1);
	ck_assert_double_eq(value("model-again", "crw", plan.again[0].parameter, "tas"), -1);
	ck_assert_double_gt(value("model-again", "rw", plan.again[0].parameter, "tas"), 0);
	ck_assert_uint_eq(results.note_count, 1);
}
END_TEST

static const char *const refused[] = { "model_atomic", "model_found_corw", "model_again_rwbm",
				       "model_give_queue" };

START_TEST(device_failure_is_reported)
{
	struct model_request ask = request();

	model_plan_make(&plan, PAGES);
	plan.again_count = 1;
	memset(ask.wanted, true, sizeof(ask.wanted));
	pages_sim_refused = refused[_i];
	ck_assert(!model_play(&plan, &ask, &results, now, sizeof(now)));
	ck_assert_uint_ge(results.note_count, 1);
	ck_assert_ptr_nonnull(strstr(results.notes[results.note_count - 1], "the device failed"));
}
END_TEST

START_TEST(nothing_starts_after_the_deadline)
{
	struct model_request ask = request();

	model_plan_make(&plan, PAGES);
	memset(ask.wanted, true, sizeof(ask.wanted));
	ask.deadline = 0;
	ck_assert(model_play(&plan, &ask, &results, now, sizeof(now)));
	ck_assert_uint_eq(results.count, 0);
	ck_assert_uint_eq(results.note_count, 1);
}
END_TEST

/* ---- the host's simulations ---- */

/* RW's TAS is exactly the sum of harmonic numbers: (3) treats threads one after another. */
START_TEST(search_of_single_pages_matches_equation_3)
{
	static const uint32_t tenths[] = { 500, 100, 10 };
	const struct pages_space space = { 100000, tenths[_i], 1 };
	struct model_steps steps;
	const double a = pages_plan_free(&space);

	ck_assert(model_walk(MODEL_RW, &space, 500, 32, 1, 40000, &steps));
	ck_assert_double_eq_tol(steps.tas / bench_steps_walk_tas(100000, a, 500, 1), 1, 0.03);
	ck_assert_double_lt(steps.was, bench_steps_walk_was(100000, a, 500, 1, 32) * 1.03);
	ck_assert_double_gt(steps.was, steps.tas * 2);
}
END_TEST

/* With few threads no word is locked, and hardly any word changes. */
START_TEST(search_of_words_matches_equation_5)
{
	const struct pages_space space = { 1000000, 10, 1 };
	struct model_steps steps;

	ck_assert(model_walk(MODEL_RW_BM, &space, 64, 32, 1, 60000, &steps));
	ck_assert_double_eq_tol(steps.tas / bench_steps_walk_tas(1000000, 10000, 64, 32), 1, 0.03);
	ck_assert_double_lt(steps.was, bench_steps_walk_was(1000000, 10000, 64, 32, 32) * 1.03);
}
END_TEST

/* Two lanes at the only word: the second one finds it locked. */
START_TEST(word_has_one_visitor_per_step)
{
	const struct pages_space space = { 32, 1000, 1 };
	struct model_steps steps;

	ck_assert(model_walk(MODEL_RW_BM, &space, 32, 32, 1, 1, &steps));
	ck_assert_double_eq_tol(steps.tas, 16.5, 1e-9); /* 1, 2, ..., 32 */
	ck_assert_double_eq_tol(steps.was, 32, 1e-9);
	ck_assert(model_walk(MODEL_CORW, &space, 32, 32, 1, 1, &steps));
	ck_assert_double_eq_tol(steps.tas, 1, 1e-9); /* one lane finds all, and shares */
	ck_assert(model_walk(MODEL_CORW, &space, 32, 8, 1, 1, &steps));
	ck_assert_double_eq_tol(steps.was, 2.5, 1e-9); /* warps of 8, one after the other */
}
END_TEST

/* No page is free: 5.411 * 999 steps, and no more. */
START_TEST(search_gives_up)
{
	const struct pages_space space = { 6400, 0, 1 };
	struct model_steps steps;
	int walker;

	for (walker = MODEL_RW; walker < MODEL_WALKERS; walker++) {
		ck_assert(model_walk((enum model_walker)walker, &space, 40, 32, 1, 1, &steps));
		ck_assert_double_eq_tol(steps.tas, 5405, 1e-9);
		ck_assert_double_eq_tol(steps.was, 5405, 1e-9);
	}
}
END_TEST

/* A thread that remembers its position finds the next page at once. */
START_TEST(search_from_the_last_position_is_short)
{
	const struct pages_space space = { 1000000, 5, 100 };
	struct model_steps random, remembered;

	ck_assert(model_walk(MODEL_RW_BM, &space, 64, 32, 4, 5000, &random));
	ck_assert(model_walk(MODEL_CRW, &space, 64, 32, 4, 5000, &remembered));
	ck_assert_double_gt(random.tas, 20);
	ck_assert_double_lt(remembered.tas, random.tas / 5);
	ck_assert_double_le(remembered.was, random.was);
}
END_TEST

/* ---- computed values ---- */

START_TEST(locks_increase_the_bound)
{
	/* one thread: no others, so (6) */
	ck_assert_double_eq_tol(model_locked_was(1000000, 10000, 1, 32, 32),
				bench_steps_walk_was(1000000, 10000, 1, 32, 32), 1e-6);
	/* all free, f = 999 * 32 / 1e6: 1 + (1 - (1 - f)^32) + ... */
	ck_assert_double_eq_tol(model_locked_was(1000000, 1000000, 1000, 32, 1),
				1 / (1 - 999 * 32e-6), 1e-4);
	ck_assert_double_gt(model_locked_was(1000000, 100000, 5000, 32, 32),
			    bench_steps_walk_was(1000000, 100000, 5000, 32, 32));
	ck_assert(isinf(model_locked_was(1000000, 5000, 5000, 32, 32)));
}
END_TEST

START_TEST(correlations_are_pearsons)
{
	static const double x[] = { 1, 2, 3, 4, 5 }, y[] = { 2, 4, 5, 4, 5 }, same[] = { 3, 3, 3 };
	double low, high;

	ck_assert_double_eq_tol(model_pearson(x, y, 5), 6 / sqrt(60), 1e-12);
	ck_assert_double_eq_tol(model_pearson(x, x, 5), 1, 1e-12);
	ck_assert_double_eq(model_pearson(x, same, 3), 0);
	/* Zou's own example: .396 and .179 with .088 between, 66 of them, 95%: -.093 to .517 */
	model_zou(0.179, 0.396, 0.088, 66, 1.959964, &low, &high);
	ck_assert_double_eq_tol(low, -0.093, 0.001);
	ck_assert_double_eq_tol(high, 0.517, 0.001);
}
END_TEST

static double target(const char *key, bool *known)
{
	struct pages_target targets[MODEL_TARGETS_MAX];
	size_t count = model_target_compute(&results, &plan, targets), i;

	ck_assert_uint_le(count, MODEL_TARGETS_MAX);
	for (i = 0; i < count; i++) {
		if (strcmp(targets[i].key, key) == 0) {
			*known = targets[i].known;
			return targets[i].value;
		}
	}
	ck_abort_msg("there is no target %s", key);
	return 0;
}

static void put(const char *name, const char *parameter, const char *metric, double number)
{
	bench_results_add(&results, "model-get", name, parameter, metric, number);
}

START_TEST(targets_are_computed)
{
	bool known;

	model_plan_make(&plan, MODEL_PAGES);
	(void)target("tas_rw_error", &known);
	ck_assert(!known);
	put("rw", "1000000 50% 500", "tas", 2.1);
	put("rw-formula", "1000000 50% 500", "tas", 2);
	put("rw-log", "1000000 50% 500", "tas", 2.4);
	put("rw", "1000000 0.5% 500", "tas", 900); /* below 1%: ignored */
	put("rw-formula", "1000000 0.5% 500", "tas", 200);
	put("rw-bm", "1000000 1% 5000", "tas", 5);
	put("rw-bm-formula", "1000000 1% 5000", "tas", 4);
	put("rw-bm", "32M 1% 16K", "tas", 3.9); /* a thread for 64 words */
	put("rw-bm-formula", "32M 1% 16K", "tas", 4);
	ck_assert_double_eq_tol(target("tas_rw_error", &known), 5, 1e-9);
	ck_assert(known);
	ck_assert_double_eq_tol(target("tas_rw_error_log", &known), 12.5, 1e-9);
	ck_assert_double_eq_tol(target("tas_rw_bm_error", &known), 25, 1e-9);
	ck_assert_double_eq_tol(target("tas_rw_bm_error_thin", &known), 2.5, 1e-9);
	put("rw", "1000000 50% 500", "was", 6.5);
	put("rw", "1000000 50% 500", "was_error", 0.1);
	put("rw-formula", "1000000 50% 500", "was", 6.3);
	ck_assert_double_eq_tol(target("was_rw_above", &known), 0, 1e-9);
	put("rw-formula", "1000000 50% 500", "was", 6.1);
	ck_assert_double_eq_tol(target("was_rw_above", &known), 1, 1e-9);
	put("corw", "32M 10% 128K", "us", 50); /* fewer threads than the next: ignored */
	put("queue", "32M 10% 128K", "us", 100);
	put("corw", "32M 10% 1M", "us", 50);
	put("queue", "32M 10% 1M", "us", 800);
	put("corw", "32M 50% 1M", "us", 40);
	put("queue", "32M 50% 1M", "us", 800);
	ck_assert_double_eq_tol(target("corw_over_queue", &known), 16, 1e-9);
	(void)target("mam_over_queue", &known);
	ck_assert(!known);
	put("mam-pages", "32M 10% 1M", "wrong", 3);
	ck_assert_double_eq_tol(target("wrong", &known), 3, 1e-9);
}
END_TEST

START_TEST(correlations_include_all_cells)
{
	size_t i, count = 0;

	model_plan_make(&plan, MODEL_PAGES);
	for (i = 0; i < 6; i++, count++) {
		const char *at = plan.pages.cells[i].parameter;

		put("rw", at, "tas", (double)i + 1);
		put("rw", at, "was", (double)(i * i) + 1);
		put("rw", at, "us", 5 + (double)(i * i) * 2);
	}
	model_compute(&results, &plan);
	ck_assert_double_eq_tol(value("model-correlation", "rw", "time", "was"), 1, 1e-9);
	ck_assert_double_lt(value("model-correlation", "rw", "time", "tas"), 0.99);
	ck_assert_double_eq(value("model-correlation", "all", "time", "cells"), (double)count);
	ck_assert_double_eq(value("model-correlation", "corw", "time", "was"), -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tools/bench model");
	TCase *tcase = tcase_create("model");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, plan_has_only_possible_cells, 0, 4);
	tcase_add_test(tcase, plan_has_the_cells_of_the_paper);
	tcase_add_test(tcase, cells_have_steps_and_errors);
	tcase_add_test(tcase, searches_differ_between_passes);
	tcase_add_test(tcase, atomics_are_counted);
	tcase_add_test(tcase, finds_of_a_warp_are_nearly_normal);
	tcase_add_test(tcase, threads_allocate_several_pages);
	tcase_add_test(tcase, pages_are_freed);
	tcase_add_test(tcase, page_with_two_owners_is_detected);
	tcase_add_loop_test(tcase, device_failure_is_reported, 0, 4);
	tcase_add_test(tcase, nothing_starts_after_the_deadline);
	tcase_add_loop_test(tcase, search_of_single_pages_matches_equation_3, 0, 3);
	tcase_add_test(tcase, search_of_words_matches_equation_5);
	tcase_add_test(tcase, word_has_one_visitor_per_step);
	tcase_add_test(tcase, search_gives_up);
	tcase_add_test(tcase, search_from_the_last_position_is_short);
	tcase_add_test(tcase, locks_increase_the_bound);
	tcase_add_test(tcase, correlations_are_pearsons);
	tcase_add_test(tcase, targets_are_computed);
	tcase_add_test(tcase, correlations_include_all_cells);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
