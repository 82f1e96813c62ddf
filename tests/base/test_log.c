/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message is one line, goes to the configured destination and has no side effects.
 *
 * Options are read once per process, so each test sets its environment first and relies on Check
 * running it in its own process.
 */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

static char text[8192];

/* Standard error goes to an unnamed file until heard() reads it back. */
static int captured;

static void capture(void)
{
	captured = memfd_create("stderr", 0);
	ck_assert_int_ge(captured, 0);
	ck_assert_int_ge(dup2(captured, STDERR_FILENO), 0);
}

static const char *heard(void)
{
	const ssize_t length = pread(captured, text, sizeof(text) - 1, 0);

	ck_assert_int_ge(length, 0);
	text[length] = '\0';
	return text;
}

START_TEST(warnings_are_printed_and_infos_are_not)
{
	capture();
	mam_log(MAM_LOG_INFO, "news");
	mam_log(MAM_LOG_DEBUG, "details");
	ck_assert_str_eq(heard(), "");
	mam_log(MAM_LOG_WARN, "chunk %d of %s", 7, "host");
	mam_log(MAM_LOG_ERROR, "broken");
	ck_assert_str_eq(heard(), "mam: chunk 7 of host\nmam: broken\n");
}
END_TEST

START_TEST(log_level_is_configurable)
{
	static const char *const words[] = { "error", "warn", "info", "debug" };

	setenv("MAM_LOG", words[_i], 1);
	capture();
	for (int level = MAM_LOG_ERROR; level <= MAM_LOG_DEBUG; level++) {
		ck_assert_int_eq(mam_log_wants((enum mam_log_level)level), level <= _i);
		mam_log((enum mam_log_level)level, "%d", level);
	}
	ck_assert_uint_eq(strlen(heard()), (size_t)(_i + 1) * strlen("mam: 0\n"));
}
END_TEST

START_TEST(log_file_gets_lines_with_process_id)
{
	char path[] = "/tmp/mam-log.XXXXXX", expected[128];
	const int file = mkstemp(path);
	ssize_t length;

	ck_assert_int_ge(file, 0);
	setenv("MAM_LOG_FILE", path, 1);
	capture();
	mam_log(MAM_LOG_WARN, "one");
	mam_log(MAM_LOG_WARN, "two");
	ck_assert_str_eq(heard(), "");
	length = read(file, text, sizeof(text) - 1);
	unlink(path);
	ck_assert_int_ge(length, 0);
	text[length] = '\0';
	snprintf(expected, sizeof(expected), "mam[%d]: one\nmam[%d]: two\n", (int)getpid(),
		 (int)getpid());
	ck_assert_str_eq(text, expected);
}
END_TEST

START_TEST(log_falls_back_to_stderr_without_file)
{
	setenv("MAM_LOG_FILE", "/nowhere/at/all", 1);
	capture();
	mam_log(MAM_LOG_WARN, "one");
	ck_assert_str_eq(heard(), "mam: one\n");
}
END_TEST

START_TEST(log_keeps_errno_and_leaves_no_file_open)
{
	const int before = dup(0);

	ck_assert_int_ge(before, 0);
	close(before);
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	errno = EXDEV;
	mam_log(MAM_LOG_WARN, "one");
	ck_assert_int_eq(errno, EXDEV);
	ck_assert_int_eq(dup(0), before);
	setenv("MAM_LOG_FILE", "", 1);
	close(STDERR_FILENO);
	errno = EXDEV;
	mam_log(MAM_LOG_WARN, "not printed anywhere");
	ck_assert_int_eq(errno, EXDEV);
}
END_TEST

START_TEST(long_line_is_truncated)
{
	char long_text[5000];
	size_t length;

	memset(long_text, 'x', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = '\0';
	capture();
	mam_log(MAM_LOG_WARN, "%s", long_text);
	length = strlen(heard());
	ck_assert_uint_gt(length, 1000);
	ck_assert_uint_le(length, 1024);
	ck_assert_str_eq(text + length - 5, "x...\n");
}
END_TEST

/* At each length around the limit the line is complete or marked as truncated, and ends once. */
START_TEST(lines_near_buffer_size_are_valid)
{
	char long_text[1100];
	const char *end;

	memset(long_text, 'x', sizeof(long_text));
	long_text[1010 + _i] = '\0';
	capture();
	mam_log(MAM_LOG_WARN, "%s", long_text);
	end = strchr(heard(), '\n');
	ck_assert_ptr_nonnull(end);
	ck_assert_uint_eq(end[1], '\0');
	if ((size_t)(end - text) != strlen("mam: ") + strlen(long_text))
		ck_assert(strncmp(end - 3, "...", 3) == 0);
}
END_TEST

START_TEST(control_characters_are_replaced)
{
	capture();
	mam_log(MAM_LOG_WARN, "a\nb\033[31mc\td\177e \303\274");
	ck_assert_str_eq(heard(), "mam: a?b?[31mc?d?e \303\274\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/log");
	TCase *lines = tcase_create("lines");
	SRunner *runner;
	int failed;

	unsetenv("MAM_LOG");
	unsetenv("MAM_LOG_FILE");
	tcase_add_test(lines, warnings_are_printed_and_infos_are_not);
	tcase_add_loop_test(lines, log_level_is_configurable, 0, 4);
	tcase_add_test(lines, log_file_gets_lines_with_process_id);
	tcase_add_test(lines, log_falls_back_to_stderr_without_file);
	tcase_add_test(lines, log_keeps_errno_and_leaves_no_file_open);
	tcase_add_test(lines, long_line_is_truncated);
	tcase_add_loop_test(lines, lines_near_buffer_size_are_valid, 0, 16);
	tcase_add_test(lines, control_characters_are_replaced);
	suite_add_tcase(suite, lines);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
