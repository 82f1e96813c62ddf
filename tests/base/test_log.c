/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is one line, goes where it was told to and disturbs nothing.
 *
 * Options are read once a process, so each test sets its environment first and relies on Check
 * running it in a process of its own.
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

/* Standard error goes to a file with no name until heard() reads it back. */
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

START_TEST(warnings_are_heard_and_news_is_not)
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

START_TEST(the_level_is_an_option)
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

START_TEST(a_file_gets_the_lines_with_the_process)
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

START_TEST(without_its_file_it_takes_standard_error)
{
	setenv("MAM_LOG_FILE", "/nowhere/at/all", 1);
	capture();
	mam_log(MAM_LOG_WARN, "one");
	ck_assert_str_eq(heard(), "mam: one\n");
}
END_TEST

START_TEST(it_keeps_errno_and_leaves_no_file_open)
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
	mam_log(MAM_LOG_WARN, "nobody can hear this");
	ck_assert_int_eq(errno, EXDEV);
}
END_TEST

START_TEST(a_long_line_is_cut)
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

/* At each length around the cut the line is whole or marked as cut, and ends once. */
START_TEST(lines_about_as_long_as_the_buffer_are_sound)
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

START_TEST(control_characters_do_not_reach_the_terminal)
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
	tcase_add_test(lines, warnings_are_heard_and_news_is_not);
	tcase_add_loop_test(lines, the_level_is_an_option, 0, 4);
	tcase_add_test(lines, a_file_gets_the_lines_with_the_process);
	tcase_add_test(lines, without_its_file_it_takes_standard_error);
	tcase_add_test(lines, it_keeps_errno_and_leaves_no_file_open);
	tcase_add_test(lines, a_long_line_is_cut);
	tcase_add_loop_test(lines, lines_about_as_long_as_the_buffer_are_sound, 0, 16);
	tcase_add_test(lines, control_characters_do_not_reach_the_terminal);
	suite_add_tcase(suite, lines);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
