/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources by name, the largest chunk by falling sizes, and the contract that debug builds check.
 */
#include <check.h>
#include <signal.h>
#include <stdlib.h>

#include "source/script.h"

#define GIB ((size_t)1 << 30)
#define MIB ((size_t)1 << 20)

START_TEST(a_name_makes_a_source)
{
	struct mam_source *source;

	ck_assert_int_eq(mam_source_create("host", MAM_DEVICE_CURRENT, &source), MAM_OK);
	ck_assert_str_eq(source->properties.name, "host");
	mam_source_destroy(source);
	ck_assert_int_eq(mam_source_create("host", 5, &source), MAM_OK);
	mam_source_destroy(source);
	mam_source_destroy(NULL);
}
END_TEST

START_TEST(other_names_make_none)
{
	static const char *const names[] = { NULL, "", "hos", "hosts", "HOST", "limit", "vm" };
	struct mam_source *source = NULL;

	ck_assert_int_eq(mam_source_create(names[_i], 0, &source), MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_null(source);
}
END_TEST

START_TEST(wrong_arguments)
{
	struct mam_source *source;

	ck_assert_int_eq(mam_source_create("host", 0, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_source_create("host", -2, &source), MAM_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(all_of_an_idle_source_at_once)
{
	struct script script = script_of(2 * MIB, 80 * GIB, SIZE_MAX);
	size_t bytes;
	void *base;

	ck_assert_int_eq(mam_source_grow_largest(&script.source, SIZE_MAX, &bytes, &base), MAM_OK);
	ck_assert_uint_eq(bytes, 80 * GIB);
	ck_assert_uint_eq(script.grows, 1);
}
END_TEST

/* Whatever is free, the answer fits, is whole granules, and lies 1/32 below it at most. */
START_TEST(the_largest_of_a_source_in_use)
{
	static const size_t sizes[] = {
		80 * GIB - 1, 80 * GIB - 4 * MIB, 79 * GIB, 77 * GIB, 40 * GIB, 3 * GIB,
		100 * MIB,    66 * MIB,           62 * MIB, 7 * MIB,  4 * MIB,  2 * MIB,
	};
	struct script script = script_of(2 * MIB, 80 * GIB, sizes[_i]);
	size_t bytes;
	void *base;

	ck_assert_int_eq(mam_source_grow_largest(&script.source, SIZE_MAX, &bytes, &base), MAM_OK);
	ck_assert_uint_le(bytes, sizes[_i]);
	ck_assert_uint_ge(bytes + 2 * MIB, sizes[_i] - sizes[_i] / 32);
	ck_assert_uint_eq(bytes % (2 * MIB), 0);
	ck_assert_uint_eq(bytes, script.last);
	ck_assert(!script.rose);
	ck_assert_uint_le(script.grows, 400);
}
END_TEST

START_TEST(nothing_is_found_in_so_many_calls)
{
	struct script script = script_of(2 * MIB, 80 * GIB, 0);
	struct script tiny = script_of(4096, 0, 0);
	size_t bytes = 7;
	void *base;

	ck_assert_int_eq(mam_source_grow_largest(&script.source, SIZE_MAX, &bytes, &base),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(bytes, 7);
	ck_assert_uint_eq(script.last, 2 * MIB);
	ck_assert(!script.rose);
	ck_assert_uint_le(script.grows, 400);
	/* A total that is unknown: 2^47 down to 2^12 are 35 halvings. */
	ck_assert_int_eq(mam_source_grow_largest(&tiny.source, SIZE_MAX, &bytes, &base),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(tiny.first, (size_t)1 << 47);
	ck_assert_uint_le(tiny.grows, 6 + 22 * 35);
}
END_TEST

START_TEST(a_total_below_the_granularity_is_nothing)
{
	struct script script = script_of(2 * MIB, 2 * MIB - 1, SIZE_MAX);
	size_t bytes;
	void *base;

	ck_assert_int_eq(mam_source_grow_largest(&script.source, SIZE_MAX, &bytes, &base),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(script.grows, 0);
}
END_TEST

START_TEST(only_want_of_memory_makes_it_try_again)
{
	struct script script = script_of(2 * MIB, 80 * GIB, 0);
	size_t bytes;
	void *base;

	script.refusal = MAM_ERROR_DRIVER;
	ck_assert_int_eq(mam_source_grow_largest(&script.source, SIZE_MAX, &bytes, &base),
			 MAM_ERROR_DRIVER);
	ck_assert_uint_eq(script.grows, 1);
}
END_TEST

START_TEST(the_first_size_is_what_is_left)
{
	struct mam_source *host;
	size_t bytes;
	void *base;

	ck_assert_int_eq(mam_source_host(10 * GIB + 1, false, &host), MAM_OK);
	ck_assert_int_eq(mam_source_grow(host, 3 * GIB, &base), MAM_OK);
	ck_assert_int_eq(mam_source_grow_largest(host, SIZE_MAX, &bytes, &base), MAM_OK);
	ck_assert_uint_eq(bytes, 7 * GIB);
	mam_source_destroy(host);
}
END_TEST

/* The contract: each of these ends the program in a debug build, as all unit tests are. */

START_TEST(growing_by_nothing_is_a_mistake)
{
	struct script script = script_of(4096, 0, SIZE_MAX);
	void *base;

	mam_source_grow(&script.source, 0, &base);
}
END_TEST

START_TEST(growing_by_half_a_granule_is_a_mistake)
{
	struct script script = script_of(4096, 0, SIZE_MAX);
	void *base;

	mam_source_grow(&script.source, 4096 + 512, &base);
}
END_TEST

START_TEST(a_strange_answer_is_a_mistake)
{
	struct script script = script_of(4096, 0, 0);
	void *base;

	script.refusal = MAM_ERROR_INTERIOR;
	mam_source_grow(&script.source, 4096, &base);
}
END_TEST

static enum mam_status grow_askew(struct mam_source *source, size_t bytes, void **base)
{
	(void)source;
	(void)bytes;
	*base = (void *)4096;
	return MAM_OK;
}

START_TEST(a_chunk_out_of_alignment_is_a_mistake)
{
	static const struct mam_source_ops ops = { .size = sizeof(ops), .grow = grow_askew };
	struct script script = script_of(4096, 0, SIZE_MAX);
	void *base;

	script.source.ops = &ops;
	mam_source_grow(&script.source, 4096, &base);
}
END_TEST

START_TEST(giving_back_what_was_never_given_is_a_mistake)
{
	struct script script = script_of(4096, 0, SIZE_MAX);

	mam_source_shrink(&script.source, (void *)4096, 4096);
}
END_TEST

START_TEST(giving_back_half_a_granule_is_a_mistake)
{
	struct script script = script_of(4096, 0, SIZE_MAX);

	mam_source_shrink(&script.source, (void *)(2 * MIB), 512);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source/source");
	TCase *names = tcase_create("names");
	TCase *largest = tcase_create("largest");
	TCase *contract = tcase_create("contract");
	SRunner *runner;
	int failed;

	tcase_add_test(names, a_name_makes_a_source);
	tcase_add_loop_test(names, other_names_make_none, 0, 7);
	tcase_add_test(names, wrong_arguments);
	suite_add_tcase(suite, names);
	tcase_add_test(largest, all_of_an_idle_source_at_once);
	tcase_add_loop_test(largest, the_largest_of_a_source_in_use, 0, 12);
	tcase_add_test(largest, nothing_is_found_in_so_many_calls);
	tcase_add_test(largest, a_total_below_the_granularity_is_nothing);
	tcase_add_test(largest, only_want_of_memory_makes_it_try_again);
	tcase_add_test(largest, the_first_size_is_what_is_left);
	suite_add_tcase(suite, largest);
	tcase_add_test_raise_signal(contract, growing_by_nothing_is_a_mistake, SIGABRT);
	tcase_add_test_raise_signal(contract, growing_by_half_a_granule_is_a_mistake, SIGABRT);
	tcase_add_test_raise_signal(contract, a_strange_answer_is_a_mistake, SIGABRT);
	tcase_add_test_raise_signal(contract, a_chunk_out_of_alignment_is_a_mistake, SIGABRT);
	tcase_add_test_raise_signal(contract, giving_back_what_was_never_given_is_a_mistake,
				    SIGABRT);
	tcase_add_test_raise_signal(contract, giving_back_half_a_granule_is_a_mistake, SIGABRT);
	suite_add_tcase(suite, contract);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
