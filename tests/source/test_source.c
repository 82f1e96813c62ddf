/* SPDX-License-Identifier: Apache-2.0 */
/* Sources by name, the search for the largest chunk, and the contract that debug builds check. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>

#include "source/script.h"

#define GIB ((size_t)1 << 30)
#define MIB ((size_t)1 << 20)

START_TEST(name_creates_source)
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

START_TEST(unknown_name_is_rejected)
{
	static const char *const names[] = { NULL, "", "hos", "hosts", "HOST", "limit", "vm" };
	struct mam_source *source = NULL;

	ck_assert_int_eq(mam_source_create(names[_i], 0, &source), MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_null(source);
}
END_TEST

START_TEST(invalid_arguments_are_rejected)
{
	struct mam_source *source;

	ck_assert_int_eq(mam_source_create("host", 0, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_source_create("host", -2, &source), MAM_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(largest_chunk_of_idle_source_is_everything)
{
	struct script script = script_of(2 * MIB, 80 * GIB, SIZE_MAX);
	size_t bytes;
	void *base;

	ck_assert_int_eq(mam_source_grow_largest(&script.source, SIZE_MAX, &bytes, &base), MAM_OK);
	ck_assert_uint_eq(bytes, 80 * GIB);
	ck_assert_uint_eq(script.grows, 1);
}
END_TEST

/* For any number of free bytes, the result fits, is in whole granules, and is at most 1/32 less. */
START_TEST(largest_chunk_of_source_in_use)
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

START_TEST(search_fails_within_bounded_calls)
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
	/* With an unknown total, 2^47 down to 2^12 are 35 halvings. */
	ck_assert_int_eq(mam_source_grow_largest(&tiny.source, SIZE_MAX, &bytes, &base),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(tiny.first, (size_t)1 << 47);
	ck_assert_uint_le(tiny.grows, 6 + 22 * 35);
}
END_TEST

START_TEST(total_below_granularity_fails)
{
	struct script script = script_of(2 * MIB, 2 * MIB - 1, SIZE_MAX);
	size_t bytes;
	void *base;

	ck_assert_int_eq(mam_source_grow_largest(&script.source, SIZE_MAX, &bytes, &base),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(script.grows, 0);
}
END_TEST

START_TEST(only_out_of_memory_is_retried)
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

START_TEST(first_size_is_remaining_room)
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

/*
 * The contract: each of these errors aborts the program in a debug build, which all unit tests use.
 */

START_TEST(grow_of_zero_bytes_aborts)
{
	struct script script = script_of(4096, 0, SIZE_MAX);
	void *base;

	mam_source_grow(&script.source, 0, &base);
}
END_TEST

START_TEST(grow_of_half_granule_aborts)
{
	struct script script = script_of(4096, 0, SIZE_MAX);
	void *base;

	mam_source_grow(&script.source, 4096 + 512, &base);
}
END_TEST

START_TEST(unexpected_status_aborts)
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

START_TEST(misaligned_chunk_aborts)
{
	static const struct mam_source_ops ops = { .size = sizeof(ops), .grow = grow_askew };
	struct script script = script_of(4096, 0, SIZE_MAX);
	void *base;

	script.source.ops = &ops;
	mam_source_grow(&script.source, 4096, &base);
}
END_TEST

START_TEST(shrink_of_unknown_chunk_aborts)
{
	struct script script = script_of(4096, 0, SIZE_MAX);

	mam_source_shrink(&script.source, (void *)4096, 4096);
}
END_TEST

START_TEST(shrink_of_half_granule_aborts)
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

	tcase_add_test(names, name_creates_source);
	tcase_add_loop_test(names, unknown_name_is_rejected, 0, 7);
	tcase_add_test(names, invalid_arguments_are_rejected);
	suite_add_tcase(suite, names);
	tcase_add_test(largest, largest_chunk_of_idle_source_is_everything);
	tcase_add_loop_test(largest, largest_chunk_of_source_in_use, 0, 12);
	tcase_add_test(largest, search_fails_within_bounded_calls);
	tcase_add_test(largest, total_below_granularity_fails);
	tcase_add_test(largest, only_out_of_memory_is_retried);
	tcase_add_test(largest, first_size_is_remaining_room);
	suite_add_tcase(suite, largest);
	tcase_add_test_raise_signal(contract, grow_of_zero_bytes_aborts, SIGABRT);
	tcase_add_test_raise_signal(contract, grow_of_half_granule_aborts, SIGABRT);
	tcase_add_test_raise_signal(contract, unexpected_status_aborts, SIGABRT);
	tcase_add_test_raise_signal(contract, misaligned_chunk_aborts, SIGABRT);
	tcase_add_test_raise_signal(contract, shrink_of_unknown_chunk_aborts, SIGABRT);
	tcase_add_test_raise_signal(contract, shrink_of_half_granule_aborts, SIGABRT);
	suite_add_tcase(suite, contract);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
