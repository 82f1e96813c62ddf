/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers formatted for output.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "kit/format.h"

START_TEST(bytes_have_a_suitable_unit)
{
	ck_assert_str_eq(format_bytes(0).text, "0 B");
	ck_assert_str_eq(format_bytes(1023).text, "1023 B");
	ck_assert_str_eq(format_bytes(1024).text, "1.00 KiB");
	ck_assert_str_eq(format_bytes(1024 * 1024 - 1).text, "1.00 MiB");
	ck_assert_str_eq(format_bytes(UINT64_C(85899345920)).text, "80.00 GiB");
	ck_assert_str_eq(format_bytes(UINT64_MAX).text, "16.00 EiB");
}
END_TEST

START_TEST(counts_have_commas)
{
	ck_assert_str_eq(format_count(0).text, "0");
	ck_assert_str_eq(format_count(999).text, "999");
	ck_assert_str_eq(format_count(1000).text, "1,000");
	ck_assert_str_eq(format_count(1234567).text, "1,234,567");
	ck_assert_str_eq(format_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}
END_TEST

START_TEST(plurals_fit_the_number)
{
	ck_assert_str_eq(format_counted(0, "block").text, "0 blocks");
	ck_assert_str_eq(format_counted(1, "block").text, "1 block");
	ck_assert_str_eq(format_counted(2000, "block").text, "2,000 blocks");
	ck_assert_str_eq(format_counted(UINT64_MAX, "allocation").text,
			 "18,446,744,073,709,551,615 allocations");
}
END_TEST

START_TEST(quotients_with_zero_are_defined)
{
	ck_assert_double_eq(format_quotient(3, 2), 1.5);
	ck_assert_double_eq(format_quotient(0, 0), 1);
	ck_assert_double_eq(format_quotient(5, 0), 0);
}
END_TEST

START_TEST(names_are_shortened)
{
	ck_assert_str_eq(format_name("a/b/gpt2.trace.gz", 39).text, "gpt2");
	ck_assert_str_eq(format_name("gpt2.trace", 39).text, "gpt2");
	ck_assert_str_eq(format_name("gpt2.gz", 39).text, "gpt2");
	ck_assert_str_eq(format_name("folder/", 39).text, "folder/");
	ck_assert_str_eq(format_name(".trace.gz", 39).text, ".trace");
	ck_assert_str_eq(format_name("-", 39).text, "standard input");
	ck_assert_str_eq(format_name("0123456789abcdef.trace", 10).text, "0123..cdef");
	ck_assert_str_eq(format_name("a\033[31mb", 39).text, "a?[31mb");
	for (int columns = 4; columns < 60; columns++)
		ck_assert_uint_le(strlen(format_name("a/long/path/"
						     "0123456789012345678901234567890123456789"
						     "01234567890123456789.trace",
						     columns)
						 .text),
				  (size_t)columns);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("format");
	TCase *tests = tcase_create("format");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, bytes_have_a_suitable_unit);
	tcase_add_test(tests, counts_have_commas);
	tcase_add_test(tests, plurals_fit_the_number);
	tcase_add_test(tests, quotients_with_zero_are_defined);
	tcase_add_test(tests, names_are_shortened);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
