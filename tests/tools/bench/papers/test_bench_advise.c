/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_advise.c - the computations of `mam bench advise`, compared with values computed by
 * hand and with steps counted on an H100.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "bench/papers/model/advise.h"
#include "bench/harness/steps.h"

static struct advise_ask ask;
static struct advice advice;

static void setup(void)
{
	ask = (struct advise_ask){
		.threads = 5000, .lanes = 32, .free = 1, .page_bytes = 256, .was_max = 4
	};
}

static void one_size(uint64_t bytes)
{
	ask.sizes[0] = (struct advise_size){ bytes, 1 };
	ask.size_count = 1;
}

START_TEST(waste_is_the_unrequested_memory)
{
	/* 1000 of 64 and 50 of 256 are 76,800 bytes of 1050 pages */
	ck_assert(advise_sizes("64:1000,256:50", &ask));
	ck_assert_uint_eq(ask.size_count, 2);
	ck_assert_double_eq_tol(advise_waste(&ask, 256), 1 - 76800 / (1050 * 256.0), 1e-12);
	ck_assert_double_eq_tol(advise_waste(&ask, 4096), 1 - 76800 / (1050 * 4096.0), 1e-12);
	ck_assert_double_eq(advise_burst(&ask, 256), 5000);
	one_size(1050); /* five pages */
	ck_assert_double_eq_tol(advise_waste(&ask, 256), 230 / 1280.0, 1e-12);
	ck_assert_double_eq(advise_burst(&ask, 256), 25000);
	ask.size_count = 0; /* one page each */
	ck_assert_double_eq(advise_waste(&ask, 256), 0);
}
END_TEST

static const struct {
	uint64_t bytes, page;
} pages[] = {
	{ 256, 256 },                     /* no waste */
	{ 4096, 4096 },                   /* nor here, from 256 up: the largest of those */
	{ 1050, 256 },                    /* 1280, 1536, 2048, 2048 */
	{ 4100, 256 },                    /* 17 of 256 */
	{ 16384, 16384 }, { 16385, 512 }, /* 64 of 256 are too few */
	{ 100000, 2048 },                 /* 49; 1024 would take 98 */
	{ 1, 256 },
};

START_TEST(page_size_minimizes_waste_and_fits_a_word)
{
	one_size(pages[_i].bytes);
	ck_assert_ptr_null(advise_compute(&ask, &advice));
	ck_assert_uint_eq(advice.page_bytes, pages[_i].page);
}
END_TEST

/* The paper's own example: at L = 0.5% a search gives up after 1,076 steps. */
START_TEST(low_is_the_minimum_that_suffices)
{
	ck_assert_ptr_null(advise_compute(&ask, &advice));
	ck_assert_uint_eq(advice.low, 5);
	ck_assert_double_eq(advice.patience, 1076);
	ck_assert_double_le(bench_steps_corw_whole(1000, 5, 0, 64, 32), 4.005);
	ck_assert_double_gt(bench_steps_corw_whole(1000, 4, 0, 64, 32), 4.005);
	ask.was_max = 32;
	ck_assert_ptr_null(advise_compute(&ask, &advice));
	ck_assert_uint_eq(advice.low, 1);
}
END_TEST

/* 990,000 allocated and 5,000 more leave 0.5% of 1,000,000. */
START_TEST(heap_has_room_for_the_burst_and_low)
{
	ask.pages = 1000000;
	ask.free = 0.01;
	ck_assert_ptr_null(advise_compute(&ask, &advice));
	ck_assert_uint_eq(advice.burst_pages, 5000);
	ck_assert_uint_eq(advice.heap_pages, 1000000);
	ck_assert_uint_eq(advice.heap_bytes, 256000000);
	ck_assert(advice.knows_now);
	ck_assert_double_eq_tol(advice.now.free_after, 0.005, 1e-9);
	ck_assert_double_eq_tol(advice.then.steps, advice.now.steps, 1e-6);
	ck_assert_double_eq_tol(advice.now.steps_limit, bench_steps_corw_whole(1000, 5, 0, 64, 32),
				1e-6);
	ck_assert_double_lt(advice.now.steps, advice.now.steps_limit);
	ask.free = 0.005; /* one page too many */
	ask.threads = 5001;
	ck_assert_ptr_null(advise_compute(&ask, &advice));
	ck_assert(!advice.knows_now);
	ck_assert_uint_ge(advice.heap_pages, (uint64_t)ceil(1000001 / 0.995));
	ck_assert_uint_eq(advice.heap_pages % 64, 0);
}
END_TEST

/* The number of allocated bytes stays the same when pages become smaller. */
START_TEST(allocated_pages_are_computed_again)
{
	ask.pages = 6400;
	ask.page_bytes = 4096;
	ask.free = 0.5;
	ask.threads = 1000;
	one_size(1050);
	ck_assert_ptr_null(advise_compute(&ask, &advice));
	ck_assert_uint_eq(advice.page_bytes, 256);
	ck_assert_double_eq_tol(advice.now.free_after, 0.5 - 1000 / 6400.0, 1e-9);
	/* 3,200 * 16 + 1,000 * 5 of 99.5% are 56,483: whole words */
	ck_assert_uint_eq(advice.heap_pages, 56512);
}
END_TEST

/* tools/bench/results/h100/pages-h100.csv, 1,048,576 pages: share, threads, counted steps. */
static const struct {
	double free, threads, steps;
} counted[] = {
	{ 0.5, 16384, 1 },      { 0.1, 4096, 1 },        { 0.01, 1024, 2.1875 },
	{ 0.01, 4096, 2.4375 }, { 0.005, 1024, 3.8125 }, { 0.005, 4096, 7.39062 },
};

START_TEST(steps_match_those_of_an_h100)
{
	const double t = 1048576, a = floor(t * counted[_i].free);

	ck_assert_double_eq_tol(advise_steps(t, a, counted[_i].threads, 32) / counted[_i].steps, 1,
				0.12);
}
END_TEST

START_TEST(impossible_requests_are_refused)
{
	one_size(UINT64_C(300) << 20);
	ck_assert_ptr_nonnull(advise_compute(&ask, &advice));
	one_size(4096 * 64);
	ask.threads = UINT32_MAX;
	ask.page_bytes = 4096;
	ask.sizes[0].bytes = UINT64_C(200) << 20;
	ck_assert_ptr_nonnull(advise_compute(&ask, &advice));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tools/bench advise");
	TCase *tcase = tcase_create("advise");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, waste_is_the_unrequested_memory);
	tcase_add_loop_test(tcase, page_size_minimizes_waste_and_fits_a_word, 0,
			    sizeof(pages) / sizeof(pages[0]));
	tcase_add_test(tcase, low_is_the_minimum_that_suffices);
	tcase_add_test(tcase, heap_has_room_for_the_burst_and_low);
	tcase_add_test(tcase, allocated_pages_are_computed_again);
	tcase_add_loop_test(tcase, steps_match_those_of_an_h100, 0,
			    sizeof(counted) / sizeof(counted[0]));
	tcase_add_test(tcase, impossible_requests_are_refused);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
