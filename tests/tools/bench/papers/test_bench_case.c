/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_case.c - the common part of all cases of `mam bench case`, on a simulated GPU: a heap
 * that is in use before, the peak of live memory, steps per request, and the ratios of the results.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/cases/cases.h"
#include "bench/harness/gpu.h"
#include "tools/bench/device_player.h"
#include "tools/bench/sim/device_sim.h"

#define PAGE 256u

/* A case of this test: one object for almost each of a heap's free pages, and all are freed. */
static bool once(struct device_run *run, struct device_heap *heap, const struct device_cell *cell,
		 struct case_pass *pass, void *user)
{
	struct case_play play = { .run = run, .heap = heap };
	struct device_job job = case_job(run, heap, cell);
	void *memory = case_take(&play, 1000);

	(void)user;
	job.flags = pass->counts ? CASE_COUNT : 0;
	job.askers = cell->filled;
	job.got = memory;
	job.count = 65536;
	memory = case_take(&play, sizeof(uint64_t) * cell->filled);
	job.got = memory;
	if (!case_launch(&play, "occupy", (cell->filled + 31) / 32, 32, &job) ||
	    !case_launch(&play, "thin", (cell->filled + 31) / 32, 32, &job))
		return false;
	pass->us = play.us;
	pass->wall_us = play.us + 1;
	pass->peak = play.peak;
	pass->wrong = cell->buffers;
	case_give(&play, memory, sizeof(uint64_t) * cell->filled);
	return true;
}

static void plan_nothing(struct device_plan *plan)
{
	(void)plan;
}

static bool play(struct device_run *run, struct device_heap *heap, const struct device_cell *cell)
{
	return case_runs(run, heap, cell, once, NULL);
}

static const struct device_work works[] = { { "own", "of the test", plan_nothing, play } };

static const struct device_suite suite = {
	.prefix = "case",
	.allocators = case_allocators,
	.allocator_count = &case_allocator_count,
	.works = works,
	.work_count = 1,
	.system_heap = CASE_SYSTEM_HEAP,
	.takes_part = case_takes_part,
	.places = case_places,
};

static struct device_cell cell_of(uint32_t share, uint32_t filled)
{
	struct device_cell cell = player_cell(0, 1, PAGE, PAGE, 1);

	cell.share = share;
	cell.filled = filled;
	return cell;
}

static void setup(void)
{
	player_setup_suite(&suite);
}

START_TEST(heap_in_use_before_is_measured)
{
	static const char *const names[] = { CASE_MAM, CASE_MAM_PAGES, "corw", "rw" };
	static const uint32_t shares[] = { 500, 50 };
	size_t i;

	player_play(NULL, cell_of(shares[_i], 40));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ck_assert_msg(player_value(names[i], "none") == 0, "%s: %s", names[i],
			      player_notes);
		ck_assert_double_eq_tol(player_value(names[i], "free_percent"), shares[_i] / 10.0,
					2.5);
		ck_assert_double_gt(player_value(names[i], "us"), 0);
		/* No lane of `thin` runs before all of `occupy` has run. */
		ck_assert_double_eq_tol(player_value(names[i], "objects_mib"),
					40.0 * PAGE / BENCH_MIB, 1e-9);
		ck_assert_double_eq_tol(player_value(names[i], "peak_mib"),
					(40.0 * PAGE + 1000 + 40 * 8) / BENCH_MIB, 1e-6);
		ck_assert_double_eq(player_value(names[i], "asks"), 40);
		ck_assert_double_ge(player_value(names[i], "steps"), 1);
	}
	/* If one page in twenty is free, a search over flags reads about as many. */
	if (shares[_i] == 50)
		ck_assert_double_ge(player_value("rw", "steps"), 8);
}
END_TEST

START_TEST(failed_requests_give_no_time)
{
	player_play(CASE_MAM, cell_of(500, 3000));
	ck_assert_msg(player_value(CASE_MAM, "none") > 0, "%s %s", player_trouble, player_notes);
	ck_assert_double_eq(player_value(CASE_MAM, "us"), -1);
	ck_assert_ptr_nonnull(strstr(player_notes, "no time is reported"));
}
END_TEST

START_TEST(wrong_result_is_reported)
{
	struct device_cell cell = cell_of(1000, 8);

	cell.buffers = 3;
	player_play(NULL, cell);
	ck_assert_double_ge(player_value(CASE_MAM, "wrong"), 3);
	ck_assert_double_eq(player_value(CASE_MAM, "us"), -1);
	ck_assert_ptr_nonnull(strstr(player_notes, "differ from the reference"));
}
END_TEST

START_TEST(ratios_are_computed)
{
	struct bench_results results = { .count = 0 };
	double value = 0;

	bench_results_add(&results, "case-join", CASE_RESERVED, "1M 5%", "us", 80);
	bench_results_add(&results, "case-join", CASE_RESERVED, "1M 5%", "peak_mib", 40);
	bench_results_add(&results, "case-join", CASE_MAM, "1M 5%", "us", 60);
	bench_results_add(&results, "case-join", CASE_MAM, "1M 5%", "peak_mib", 10);
	case_complete(&results);
	ck_assert(
		bench_results_get(&results, "case-join", CASE_MAM, "1M 5%", "time_ratio", &value));
	ck_assert_double_eq(value, 0.75);
	ck_assert(bench_results_get(&results, "case-join", CASE_MAM, "1M 5%", "memory_ratio",
				    &value));
	ck_assert_double_eq(value, 0.25);
	bench_results_fini(&results);
}
END_TEST

int main(void)
{
	Suite *checks = suite_create("bench case");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, heap_in_use_before_is_measured, 0, 2);
	tcase_add_test(tc, failed_requests_give_no_time);
	tcase_add_test(tc, wrong_result_is_reported);
	tcase_add_test(tc, ratios_are_computed);
	suite_add_tcase(checks, tc);
	runner = srunner_create(checks);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
