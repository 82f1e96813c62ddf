/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears whole or not at all: the contents of the folder after success and after each
 * failure.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "kit/whole_file.h"

/* A file system without unnamed files, such as NFS. */
static bool refuses_unnamed;
/* The signal that arrives when the next file is open; 0: none. */
static int raised;

int open(const char *name, int flags, ...)
{
	va_list arguments;
	mode_t mode;
	int number;

	if (refuses_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	va_start(arguments, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	number = (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
	if (raised)
		raise(raised);
	return number;
}

static char folder[64];

static void make_folder(void)
{
	strcpy(folder, "whole_file.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

static void remove_folder(void)
{
	static const char *const names[] = { "new", "link" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	ck_assert_int_eq(chdir(".."), 0);
	ck_assert_int_eq(rmdir(folder), 0); /* fails if a file remains */
}

static int count_files(void)
{
	DIR *dir = opendir(".");
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	for (const struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void write_old(const char *text)
{
	FILE *file = fopen("new", "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static void assert_holds(const char *text)
{
	FILE *file = fopen("new", "r");
	char room[100];

	ck_assert_ptr_nonnull(file);
	room[fread(room, 1, sizeof(room) - 1, file)] = '\0';
	fclose(file);
	ck_assert_str_eq(room, text);
}

START_TEST(file_appears_when_it_is_closed)
{
	struct whole_file whole;
	FILE *file = whole_file_open(&whole, "new", "a test");

	ck_assert_ptr_nonnull(file);
	fputs("text", file);
	fflush(file);
	ck_assert_int_eq(access("new", F_OK), -1);
	ck_assert(whole_file_close(&whole, true));
	assert_holds("text");
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(failure_leaves_the_old_file)
{
	struct whole_file whole;
	FILE *file;

	write_old("old");
	file = whole_file_open(&whole, "new", "a test");
	ck_assert_ptr_nonnull(file);
	fputs("half", file);
	ck_assert(!whole_file_close(&whole, false));
	assert_holds("old");
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(full_disk_is_a_failure)
{
	struct whole_file whole;
	FILE *file;

	write_old("old");
	file = whole_file_open(&whole, "new", "a test");
	ck_assert_ptr_nonnull(file);
	ck_assert_ptr_nonnull(freopen("/dev/full", "w", file));
	fputs("lost", file);
	ck_assert(!whole_file_close(&whole, true));
	assert_holds("old");
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(mode_is_that_of_a_new_file)
{
	struct whole_file whole;
	struct stat status;

	umask(027);
	ck_assert_ptr_nonnull(whole_file_open(&whole, "new", "a test"));
	ck_assert(whole_file_close(&whole, true));
	ck_assert_int_eq(stat("new", &status), 0);
	ck_assert_int_eq(status.st_mode & 0777, 0640);
}
END_TEST

START_TEST(symbolic_link_stays_a_link)
{
	struct whole_file whole;
	struct stat status;
	FILE *file;

	write_old("old");
	ck_assert_int_eq(symlink("new", "link"), 0);
	file = whole_file_open(&whole, "link", "a test");
	ck_assert_ptr_nonnull(file);
	fputs("through it", file);
	ck_assert(whole_file_close(&whole, true));
	ck_assert_int_eq(lstat("link", &status), 0);
	ck_assert(S_ISLNK(status.st_mode));
	assert_holds("through it");
	ck_assert_int_eq(count_files(), 2);
}
END_TEST

START_TEST(only_regular_files_are_replaced)
{
	static const char *const paths[] = { "/dev/null", ".", "nowhere/new", "" };
	struct whole_file whole;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		ck_assert_ptr_null(whole_file_open(&whole, paths[i], "a test"));
		ck_assert(!whole_file_close(&whole, true));
	}
	ck_assert_int_eq(count_files(), 0);
}
END_TEST

/*
 * A signal in the middle of a write: the old file stays, and no other file is next to it, on file
 * systems with unnamed files and without.
 */
START_TEST(signal_leaves_no_file)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ };
	const int number = signals[_i % 6];
	struct rlimit none = { 0, 0 };
	struct whole_file whole;
	int status;
	pid_t child;

	refuses_unnamed = _i >= 6;
	write_old("old");
	child = fork();
	if (child == 0) {
		FILE *file;

		signal(number, SIG_DFL); /* Check has handlers of its own */
		file = whole_file_open(&whole, "new", "a test");
		setrlimit(RLIMIT_CORE, &none);
		if (number == SIGXFSZ)
			setrlimit(RLIMIT_FSIZE, &none);
		fputs("half", file);
		fflush(file);
		raise(number);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), number);
	assert_holds("old");
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

/* The results of a benchmark too, whose writer blocks signals instead of installing a handler. */
START_TEST(signal_leaves_no_results)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGXFSZ };
	const int number = signals[_i % 3];
	struct rlimit none = { 0, 0 };
	struct bench_results results = { 0 };
	struct bench_machine machine = { 0 };
	int status;
	pid_t child;

	write_old("old");
	child = fork();
	if (child == 0) {
		refuses_unnamed = _i >= 3;
		signal(number, SIG_DFL);
		setrlimit(RLIMIT_CORE, &none);
		if (number == SIGXFSZ)
			setrlimit(RLIMIT_FSIZE, &none);
		raised = number;
		bench_results_add(&results, "pair", "mam", "256B", "pair_ns", 9);
		bench_results_save(&results, &machine, "bench", "new");
		_exit(1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), number);
	if (number == SIGXFSZ)
		assert_holds("old");
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

/* A handler of the command's own is left alone, and works again afterwards. */
START_TEST(signal_handlers_are_restored)
{
	struct whole_file whole;
	struct sigaction action;

	refuses_unnamed = true;
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	ck_assert_ptr_nonnull(whole_file_open(&whole, "new", "a test"));
	sigaction(SIGINT, NULL, &action);
	ck_assert(action.sa_handler == SIG_IGN);
	sigaction(SIGTERM, NULL, &action);
	ck_assert(action.sa_handler != SIG_DFL);
	ck_assert(whole_file_close(&whole, true));
	sigaction(SIGTERM, NULL, &action);
	ck_assert(action.sa_handler == SIG_DFL);
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

static Suite *whole_file_suite(void)
{
	Suite *suite = suite_create("whole_file");
	TCase *tests = tcase_create("whole_file");

	tcase_add_checked_fixture(tests, make_folder, remove_folder);
	tcase_add_test(tests, file_appears_when_it_is_closed);
	tcase_add_test(tests, failure_leaves_the_old_file);
	tcase_add_test(tests, full_disk_is_a_failure);
	tcase_add_test(tests, mode_is_that_of_a_new_file);
	tcase_add_test(tests, symbolic_link_stays_a_link);
	tcase_add_test(tests, only_regular_files_are_replaced);
	tcase_add_loop_test(tests, signal_leaves_no_file, 0, 12);
	tcase_add_loop_test(tests, signal_leaves_no_results, 0, 6);
	tcase_add_test(tests, signal_handlers_are_restored);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(whole_file_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
