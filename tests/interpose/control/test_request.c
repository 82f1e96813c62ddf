/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_request.c - requests of mam ctl: each valid one is accepted in one spelling only.
 *
 * Each test runs in a process of its own.
 */
#include "interpose/control/request.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include <mam/control.h>

static struct mam_request request;

static const char *parse(const char *line)
{
	memset(&request, 0x5a, sizeof(request));
	return mam_request_parse(line, strlen(line), &request);
}

static void accepts(const char *line, enum mam_request_kind kind, uint64_t bytes)
{
	ck_assert_msg(parse(line) == NULL, "'%s' is refused", line);
	ck_assert_int_eq(request.kind, kind);
	ck_assert_uint_eq(request.number, bytes);
}

static void refuses(const char *line, const char *why)
{
	ck_assert_msg(parse(line) != NULL, "'%s' is accepted", line);
	ck_assert_msg(strstr(parse(line), why) != NULL, "'%s': %s", line, parse(line));
}

START_TEST(valid_requests_are_accepted)
{
	accepts("trim\n", MAM_REQUEST_TRIM, 0);
	accepts("dump\n", MAM_REQUEST_DUMP, 0);
	accepts("stats\n", MAM_REQUEST_STATS, 0);
	accepts("stats keys\n", MAM_REQUEST_STATS_KEYS, 0);
	accepts("limit 0\n", MAM_REQUEST_LIMIT, 0);
	accepts("limit 1073741824\n", MAM_REQUEST_LIMIT, 1073741824);
	accepts("limit 9223372036854775807\n", MAM_REQUEST_LIMIT, INT64_MAX);
	accepts("sites 0\n", MAM_REQUEST_SITES, 0);
	accepts("sites 60\n", MAM_REQUEST_SITES, 60);
	accepts("trace off\n", MAM_REQUEST_TRACE_OFF, 0);
	accepts("trace /tmp/a b off\n", MAM_REQUEST_TRACE, 0);
	ck_assert_str_eq(request.path, "/tmp/a b off");
}
END_TEST

START_TEST(incomplete_requests_are_refused)
{
	static const char whole[] = "stats keys\n";

	for (size_t length = 0; length < strlen(whole); length++)
		ck_assert_ptr_nonnull(mam_request_parse(whole, length, &request));
	refuses("trim", "incomplete");
	refuses("limit 4", "incomplete");
}
END_TEST

START_TEST(unknown_requests_are_refused)
{
	refuses("\n", "unknown");
	refuses(" trim\n", "unknown");
	refuses("trim \n", "unknown");
	refuses("trim now\n", "unknown");
	refuses("Trim\n", "unknown");
	refuses("trim\ntrim\n", "unknown");
	refuses("sites\n", "unknown");
	refuses("sites on\n", "number of seconds");
	refuses("stats  keys\n", "unknown");
	refuses("limit\n", "unknown");
	refuses("exec /bin/sh\n", "unknown");
	ck_assert_ptr_nonnull(mam_request_parse("trim\0\n", 6, &request));
}
END_TEST

START_TEST(limits_are_numbers)
{
	refuses("limit \n", "number");
	refuses("limit x\n", "number");
	refuses("limit -1\n", "number");
	refuses("limit 4K\n", "number");
	refuses("limit 04\n", "number");
	refuses("limit  4\n", "number");
	refuses("limit 9223372036854775808\n", "number");
	refuses("limit 18446744073709551616\n", "number");
	refuses("limit 99999999999999999999\n", "number");
}
END_TEST

START_TEST(traces_have_absolute_names)
{
	refuses("trace \n", "absolute");
	refuses("trace on\n", "absolute");
	refuses("trace off \n", "absolute");
	refuses("trace ./a\n", "absolute");
	refuses("trace /a\nb\n", "absolute");
	refuses("trace\n", "unknown");
	ck_assert_ptr_nonnull(mam_request_parse("trace /a\0b\n", 11, &request));
}
END_TEST

START_TEST(suspends_have_absolute_folders)
{
	refuses("suspend \n", "absolute");
	refuses("suspend host\n", "absolute");
	refuses("suspend ./a\n", "absolute");
	refuses("suspends\n", "unknown");
	refuses("resume now\n", "unknown");
	ck_assert_ptr_null(mam_request_parse("suspend\n", 8, &request));
	ck_assert_int_eq(request.kind, MAM_REQUEST_SUSPEND);
	ck_assert_str_eq(request.path, "");
	ck_assert_ptr_null(mam_request_parse("suspend /a b\n", 13, &request));
	ck_assert_str_eq(request.path, "/a b");
	ck_assert_ptr_null(mam_request_parse("suspend discard\n", 16, &request));
	ck_assert_int_eq(request.kind, MAM_REQUEST_SUSPEND_DISCARD);
	ck_assert_ptr_null(mam_request_parse("resume\n", 7, &request));
	ck_assert_int_eq(request.kind, MAM_REQUEST_RESUME);
}
END_TEST

START_TEST(longest_name_is_accepted)
{
	char line[MAM_CONTROL_REQUEST_MAX + 1];

	memset(line, 'x', sizeof(line));
	memcpy(line, "suspend /", 9);
	line[MAM_CONTROL_REQUEST_MAX - 1] = '\n';
	ck_assert_ptr_null(mam_request_parse(line, MAM_CONTROL_REQUEST_MAX, &request));
	ck_assert_uint_eq(strlen(request.path), PATH_MAX - 1);
	line[MAM_CONTROL_REQUEST_MAX - 1] = 'x';
	line[MAM_CONTROL_REQUEST_MAX] = '\n';
	ck_assert_str_eq(mam_request_parse(line, sizeof(line), &request),
			 "the request is too long");
}
END_TEST

START_TEST(long_requests_are_refused)
{
	char line[MAM_CONTROL_REQUEST_MAX + 2];

	memset(line, '0', sizeof(line));
	memcpy(line, "limit ", 6);
	line[sizeof(line) - 1] = '\n';
	ck_assert_str_eq(mam_request_parse(line, sizeof(line), &request),
			 "the request is too long");
	ck_assert_ptr_nonnull(mam_request_parse(line, sizeof(line) - 1, &request));
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("request");
	Suite *suite = suite_create("request");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_test(cases, valid_requests_are_accepted);
	tcase_add_test(cases, incomplete_requests_are_refused);
	tcase_add_test(cases, unknown_requests_are_refused);
	tcase_add_test(cases, limits_are_numbers);
	tcase_add_test(cases, traces_have_absolute_names);
	tcase_add_test(cases, suspends_have_absolute_folders);
	tcase_add_test(cases, longest_name_is_accepted);
	tcase_add_test(cases, long_requests_are_refused);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
