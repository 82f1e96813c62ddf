/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_pages.c - `mam bench pages` on a simulated device: every allocator passes its checks,
 * the checks detect every kind of broken allocator, and computed values are right.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/pages/pages_ask.h"
#include "bench/pages/pages_bench.h"
#include "bench/pages/pages_device.h"
#include "tools/bench/pages_sim.h"

#define PAGES 1024

static struct pages_plan plan;
static struct bench_results results;
static char now[160];

static bool everybody(const struct pages_allocator *allocator, void *user)
{
	(void)allocator;
	(void)user;
	return true;
}

static bool only(const struct pages_allocator *allocator, void *user)
{
	return strcmp(allocator->name, user) == 0;
}

/* A plan of one cell. */
static struct pages_cell *one_cell(enum pages_work work, uint32_t tenths, uint32_t askers,
				   uint32_t bytes)
{
	plan.count = 1;
	plan.cells[0] = (struct pages_cell){ .parameter = "it",
					     .work = work,
					     .space = { PAGES, tenths, 1 },
					     .askers = askers,
					     .lanes = 32,
					     .min = bytes,
					     .max = bytes };
	return &plan.cells[0];
}

static bool play(const char *name)
{
	struct pages_request request = {
		.effort = { "test", 2, UINT64_C(1000000000000), UINT32_MAX, true, 0 },
		.usable = name != NULL ? only : everybody,
		.user = (void *)(uintptr_t)name,
	};

	memset(request.wanted, true, sizeof(request.wanted));
	return pages_run_all(&plan, &request, &results, now, sizeof(now));
}

static double value(const char *workload, const char *name, const char *metric)
{
	double found;

	return bench_results_get(&results, workload, name, "it", metric, &found) ? found : -1;
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

static const char *const singles[] = { "mam-pages", "rw",    "rw-bm", "crw",
				       "corw",      "queue", "bump",  "bumpw" };

/* Half of the pages are free, and a quarter is requested. */
START_TEST(correct_allocators_pass)
{
	const char *name = singles[_i];

	one_cell(PAGES_GET, 500, 256, 256);
	ck_assert_msg(play(name), "%s: %s", name, pages_device_trouble());
	ck_assert_msg(results.note_count == 0, "%s",
		      results.note_count > 0 ? results.notes[0] : "");
	ck_assert_double_eq(value("pages-get", name, "wrong"), 0);
	ck_assert_double_eq(value("pages-get", name, "none"), 0);
	ck_assert_double_gt(value("pages-get", name, "us"), 0);
	ck_assert_double_eq_tol(value("pages-get", name, "mops"),
				256 / value("pages-get", name, "us"), 1e-9);
	ck_assert_double_ge(value("pages-get", name, "tas"), 1);
	ck_assert_double_ge(value("pages-get", name, "was"), value("pages-get", name, "tas"));
	if (strncmp(name, "bump", 4) == 0)
		ck_assert_double_eq(value("pages-free", name, "us"), -1);
	else
		ck_assert_double_gt(value("pages-free", name, "us"), 0);
}
END_TEST

START_TEST(all_pages_are_allocated)
{
	const char *name = singles[_i];

	one_cell(PAGES_GET, 1000, PAGES, 256);
	ck_assert_msg(play(name), "%s: %s", name, pages_device_trouble());
	ck_assert_double_eq(value("pages-get", name, "wrong"), 0);
	if (strcmp(name, "mam-pages") == 0 || strcmp(name, "queue") == 0 ||
	    strncmp(name, "bump", 4) == 0)
		ck_assert_double_eq(value("pages-get", name, "none"), 0);
}
END_TEST

START_TEST(few_lanes_per_warp_pass)
{
	one_cell(PAGES_LANES, 500, 96, 256)->lanes = 3;
	ck_assert(play(NULL));
	ck_assert_double_eq(value("pages-lanes", "mam-pages", "wrong"), 0);
	ck_assert_double_eq(value("pages-lanes", "corw", "wrong"), 0);
	ck_assert_double_gt(value("pages-lanes", "corw", "us"), 0);
	ck_assert_double_eq(value("pages-free", "corw", "us"), -1);
}
END_TEST

static const char *const several[] = { "mam-pages", "rw-malloc", "cuda-malloc" };

START_TEST(runs_pass)
{
	struct pages_cell *cell = one_cell(PAGES_MALLOC, 1000, 64, 4);

	cell->max = 4096;
	ck_assert_msg(play(several[_i]), "%s", pages_device_trouble());
	ck_assert_msg(results.note_count == 0, "%s",
		      results.note_count > 0 ? results.notes[0] : "");
	ck_assert_double_eq(value("pages-malloc", several[_i], "wrong"), 0);
	ck_assert_double_eq(value("pages-malloc", several[_i], "none"), 0);
	ck_assert_double_gt(value("pages-malloc", several[_i], "us"), 0);
}
END_TEST

START_TEST(runs_freed_at_once_pass)
{
	one_cell(PAGES_MALLOC, 1000, 64, 4096)->at_once = true;
	ck_assert_msg(play(several[_i]), "%s", pages_device_trouble());
	ck_assert_double_eq(value("pages-malloc", several[_i], "wrong"), 0);
	ck_assert_double_gt(value("pages-malloc", several[_i], "us"), 0);
}
END_TEST

/* 1050 bytes are five pages of 256; 1024 pages are 204 such runs, and four pages remain. */
START_TEST(utilization_is_computed)
{
	one_cell(PAGES_USE, 1000, 32, 1050);
	ck_assert_msg(play("mam-pages"), "%s", pages_device_trouble());
	ck_assert_double_le(value("pages-use", "mam-pages", "used_ratio"),
			    204 * 1050 / (256.0 * PAGES));
	ck_assert_double_gt(value("pages-use", "mam-pages", "used_ratio"), 0.5);
}
END_TEST

/* ---- broken allocators ---- */

static void same_page(const char *kernel, const struct pages_job *job)
{
	if (strcmp(kernel, "steps_mam") == 0)
		job->got[7] = job->got[200];
}

/* The same, but only in the timed kernel. */
static void same_page_when_timed(const char *kernel, const struct pages_job *job)
{
	if (strcmp(kernel, "get_mam") == 0)
		job->got[7] = job->got[200];
}

static void no_page(const char *kernel, const struct pages_job *job)
{
	if (strcmp(kernel, "steps_mam") == 0)
		job->got[7] = PAGES;
}

/* The kernel ended without a result for this request. */
static void no_answer(const char *kernel, const struct pages_job *job)
{
	if (strcmp(kernel, "steps_mam") == 0)
		job->got[3] = 0xfefefefe;
}

/* A page that is marked as allocated but not returned. */
static void lost_page(const char *kernel, const struct pages_job *job)
{
	uint64_t *word = (uint64_t *)((unsigned char *)job->heap + pages_allocators[0].metadata_at);

	if (strcmp(kernel, "steps_mam") != 0)
		return;
	while (*word == ~UINT64_C(0))
		word++;
	*word |= *word + 1; /* the lowest free one */
}

/* A page that is returned but not marked. */
static void open_page(const char *kernel, const struct pages_job *job)
{
	uint64_t *words =
		(uint64_t *)((unsigned char *)job->heap + pages_allocators[0].metadata_at);

	if (strcmp(kernel, "steps_mam") == 0)
		words[job->got[0] / 64] &= ~((uint64_t)1 << job->got[0] % 64);
}

/* One of the freed pages stays allocated. */
static void kept_page(const char *kernel, const struct pages_job *job)
{
	uint64_t *words =
		(uint64_t *)((unsigned char *)job->heap + pages_allocators[0].metadata_at);

	if (strcmp(kernel, "give_mam") == 0)
		words[job->got[0] / 64] |= (uint64_t)1 << job->got[0] % 64;
}

/* A thread writes into another thread's page. */
static void foreign_write(const char *kernel, const struct pages_job *job)
{
	if (strcmp(kernel, "check_write") == 0)
		job->space[(uint64_t)job->got[9] * job->stride + job->stride - 1] ^= 1;
}

static const struct {
	void (*harm)(const char *kernel, const struct pages_job *job);
	const char *said;
} broken[] = {
	{ same_page, "pages handed out twice: 1" },
	{ same_page_when_timed, "pages handed out twice: 1" },
	{ no_page, "results that are not pages of the heap: 1" },
	{ no_answer, "results that are not pages of the heap: 1" },
	{ lost_page, "pages that the heap counts wrongly: 1" },
	{ open_page, "pages that the heap counts wrongly: 1" },
	{ kept_page, "words of the heap that freeing everything does not restore: 1" },
	{ foreign_write, "pages written by another than their owner: 1" },
};

START_TEST(broken_allocators_are_detected)
{
	one_cell(PAGES_GET, 500, 256, 256);
	pages_sim_after = broken[_i].harm;
	ck_assert(play("mam-pages"));
	ck_assert_double_gt(value("pages-get", "mam-pages", "wrong"), 0);
	ck_assert_uint_eq(results.note_count, 1);
	ck_assert_msg(strstr(results.notes[0], broken[_i].said) != NULL, "%s", results.notes[0]);
	ck_assert_double_eq(value("pages-get", "mam-pages", "us"), -1);
	ck_assert_double_eq(value("pages-free", "mam-pages", "us"), -1);
}
END_TEST

static void wrong_share(const char *kernel, const struct pages_job *job)
{
	uint64_t *words =
		(uint64_t *)((unsigned char *)job->heap + pages_allocators[0].metadata_at);

	if (strcmp(kernel, "open_mam") == 0)
		words[3] = ~UINT64_C(0);
}

static void churn_loses(const char *kernel, const struct pages_job *job)
{
	uint64_t *words =
		(uint64_t *)((unsigned char *)job->heap + pages_allocators[0].metadata_at);

	if (strcmp(kernel, "churnrun_mam") == 0)
		words[5] |= 1;
}

/* Each starts one page before the end, and has sixteen pages. */
static void over_the_end(const char *kernel, const struct pages_job *job)
{
	if (strcmp(kernel, "stepsrun_mam") == 0)
		job->got[2] = PAGES - 1;
}

START_TEST(run_past_the_end_is_detected)
{
	one_cell(PAGES_MALLOC, 1000, 8, 4096);
	pages_sim_after = over_the_end;
	ck_assert(play("mam-pages"));
	ck_assert_uint_ge(results.note_count, 1);
	ck_assert_ptr_nonnull(
		strstr(results.notes[0], "results that are not pages of the heap: 1"));
}
END_TEST

/* Each of three requesting lanes in a warp: 7, 1, 1. */
static void known_steps(const char *kernel, const struct pages_job *job)
{
	uint32_t i;

	for (i = 0; strcmp(kernel, "steps_corw") == 0 && i < job->askers; i++)
		job->steps[i] = i % 3 == 0 ? 7 : 1;
}

START_TEST(steps_count_per_request_and_per_warp)
{
	one_cell(PAGES_LANES, 500, 95, 256)->lanes = 3;
	pages_sim_after = known_steps;
	ck_assert(play("corw"));
	ck_assert_double_eq_tol(value("pages-lanes", "corw", "tas"), (32 * 7 + 63) / 95.0, 1e-9);
	ck_assert_double_eq_tol(value("pages-lanes", "corw", "was"), 7, 1e-9);
}
END_TEST

START_TEST(run_that_stays_allocated_is_detected)
{
	one_cell(PAGES_MALLOC, 1000, 8, 4096)->at_once = true;
	pages_sim_after = churn_loses;
	ck_assert(play("mam-pages"));
	ck_assert_double_eq(value("pages-malloc", "mam-pages", "wrong"), 1);
	ck_assert_double_eq(value("pages-malloc", "mam-pages", "us"), -1);
}
END_TEST

START_TEST(wrong_initial_heap_is_detected)
{
	one_cell(PAGES_GET, 500, 256, 256);
	pages_sim_after = wrong_share;
	ck_assert(play("mam-pages"));
	ck_assert_uint_eq(results.note_count, 1);
	ck_assert_ptr_nonnull(strstr(results.notes[0], "other pages free"));
	ck_assert_double_eq(value("pages-get", "mam-pages", "us"), -1);
}
END_TEST

START_TEST(device_failure_is_reported)
{
	one_cell(PAGES_GET, 500, 256, 256);
	pages_sim_refused = "give_rw";
	ck_assert(!play(NULL));
	ck_assert_double_gt(value("pages-get", "mam-pages", "us"), 0);
	ck_assert_double_eq(value("pages-get", "rw", "us"), -1);
	ck_assert_double_eq(value("pages-get", "rw-bm", "us"), -1);
	ck_assert_ptr_nonnull(strstr(results.notes[0], "pages-get it: rw"));
}
END_TEST

/* ---- the plan ---- */

START_TEST(plan_has_only_possible_cells)
{
	static const uint32_t pages[] = { 1024, 65536, 1048576 };
	size_t i, k;

	pages_plan_make(&plan, pages[_i]);
	ck_assert_uint_gt(plan.count, 6);
	ck_assert_uint_lt(plan.count, PAGES_CELLS_MAX);
	for (i = 0; i < plan.count; i++) {
		const struct pages_cell *cell = &plan.cells[i];

		ck_assert_uint_gt(cell->askers, 0);
		if (cell->work != PAGES_USE)
			ck_assert_uint_le(cell->askers, pages_plan_free(&cell->space));
		for (k = 0; k < i; k++)
			ck_assert_msg(cell->work != plan.cells[k].work ||
					      strcmp(cell->parameter, plan.cells[k].parameter) != 0,
				      "%s comes twice", cell->parameter);
	}
}
END_TEST

START_TEST(random_places_are_distinct)
{
	static const uint32_t counts[] = { 1, 2, 3, 5, 64, 1000, 1024, 100000 };
	const uint32_t count = counts[_i];
	unsigned char *seen = calloc(count, 1);
	uint32_t i, fixed = 0;

	ck_assert_ptr_nonnull(seen);
	for (i = 0; i < count; i++) {
		const uint32_t place = bench_place(i, count);

		ck_assert_uint_lt(place, count);
		ck_assert_uint_eq(seen[place], 0);
		seen[place] = 1;
		fixed += place == i;
	}
	if (count >= 64)
		ck_assert_uint_lt(fixed, count / 8);
	free(seen);
}
END_TEST

START_TEST(overlaps_are_counted)
{
	const struct pages_job job = { .askers = 4, .min = 16, .max = 16 };
	uint64_t blocks[] = { 4096, 4112, 0, 4000 }, overlaps = 99;

	ck_assert(pages_system_overlaps(blocks, &job, &overlaps));
	ck_assert_uint_eq(overlaps, 0);
	blocks[1] = 4111;
	ck_assert(pages_system_overlaps(blocks, &job, &overlaps));
	ck_assert_uint_eq(overlaps, 1);
}
END_TEST

/* ---- computed values ---- */

static double target(const char *key, bool *known)
{
	struct pages_target targets[PAGES_TARGETS_MAX];
	size_t count = pages_target_compute(&results, &plan, targets), i;

	for (i = 0; i < count; i++) {
		if (strcmp(targets[i].key, key) == 0) {
			*known = targets[i].known;
			return targets[i].value;
		}
	}
	ck_abort_msg("there is no target %s", key);
	return 0;
}

START_TEST(targets_are_computed)
{
	bool known;

	pages_plan_make(&plan, 1048576);
	target("get_1m_gps", &known);
	ck_assert(!known);
	bench_results_add(&results, "pages-get", "mam-pages", "32M 100% 1M", "mops", 28000);
	bench_results_add(&results, "pages-get", "mam-pages", "4M 1% 16K", "us", 9.5);
	bench_results_add(&results, "pages-get", "crw", "4M 1% 16K", "us", 10);
	bench_results_add(&results, "pages-get", "corw", "4M 1% 16K", "us", 8);
	bench_results_add(&results, "pages-get", "mam-pages", "4M 10% 128K", "us", 5);
	bench_results_add(&results, "pages-get", "corw", "4M 10% 128K", "us", 10);
	bench_results_add(&results, "pages-get", "queue", "4M 10% 128K", "us", 125);
	bench_results_add(&results, "pages-get", "rw", "4M 1% 16K", "us", 2); /* but not for all */
	bench_results_add(&results, "pages-get", "rw", "4M 1% 16K", "none", 1);
	bench_results_add(&results, "pages-get", "mam-pages", "4M 10% 128K", "wrong", 3);
	bench_results_add(&results, "pages-get", "corw", "4M 10% 128K", "wrong", 4);
	ck_assert_double_eq_tol(target("get_1m_gps", &known), 28, 1e-9);
	ck_assert(known);
	ck_assert_double_eq_tol(target("low_16k_us", &known), 9.5, 1e-9);
	ck_assert_double_eq_tol(target("corw_over_queue", &known), 12.5, 1e-9);
	ck_assert_double_eq_tol(target("cells_slower", &known), 1, 1e-9);
	ck_assert_double_eq_tol(target("worst_ratio", &known), 9.5 / 8, 1e-9);
	ck_assert_double_eq_tol(target("wrong", &known), 3, 1e-9);
	target("lone_gps", &known);
	ck_assert(!known);
}
END_TEST

START_TEST(formulas_accompany_the_measured_values)
{
	double tas, was;

	pages_plan_make(&plan, 1048576);
	bench_results_add(&results, "pages-get", "rw", "1M 50% 1K", "tas", 2);
	pages_formula_add(&results, &plan);
	ck_assert(bench_results_get(&results, "pages-get", "rw-formula", "1M 50% 1K", "tas", &tas));
	ck_assert(bench_results_get(&results, "pages-get", "rw-formula", "1M 50% 1K", "was", &was));
	ck_assert_double_eq_tol(tas, 2, 0.01);
	ck_assert_double_gt(was, 5);
	ck_assert(!bench_results_get(&results, "pages-get", "corw-formula", "1M 50% 1K", "tas",
				     &tas));
	ck_assert_uint_eq(results.count, 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tools/bench pages");
	TCase *tcase = tcase_create("pages");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, correct_allocators_pass, 0,
			    sizeof(singles) / sizeof(singles[0]));
	tcase_add_loop_test(tcase, all_pages_are_allocated, 0,
			    sizeof(singles) / sizeof(singles[0]));
	tcase_add_test(tcase, few_lanes_per_warp_pass);
	tcase_add_loop_test(tcase, runs_pass, 0, sizeof(several) / sizeof(several[0]));
	tcase_add_loop_test(tcase, runs_freed_at_once_pass, 0,
			    sizeof(several) / sizeof(several[0]));
	tcase_add_test(tcase, utilization_is_computed);
	tcase_add_loop_test(tcase, broken_allocators_are_detected, 0,
			    sizeof(broken) / sizeof(broken[0]));
	tcase_add_test(tcase, run_past_the_end_is_detected);
	tcase_add_test(tcase, steps_count_per_request_and_per_warp);
	tcase_add_test(tcase, run_that_stays_allocated_is_detected);
	tcase_add_test(tcase, wrong_initial_heap_is_detected);
	tcase_add_test(tcase, device_failure_is_reported);
	tcase_add_loop_test(tcase, plan_has_only_possible_cells, 0, 3);
	tcase_add_loop_test(tcase, random_places_are_distinct, 0, 8);
	tcase_add_test(tcase, overlaps_are_counted);
	tcase_add_test(tcase, targets_are_computed);
	tcase_add_test(tcase, formulas_accompany_the_measured_values);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
