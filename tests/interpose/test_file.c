/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_file.c - names of the files that observers write, and that no reader sees an incomplete
 * file.
 */
#include "interpose/process/file.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A file system without unnamed files, such as NFS. */
static bool refuses_unnamed;

int open(const char *name, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	if (refuses_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	va_start(arguments, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}

static bool has_unnamed(void)
{
	int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);

	if (file >= 0)
		close(file);
	return file >= 0;
}

static char folder[] = "/tmp/mam-test-file.XXXXXX";
static char path[PATH_MAX];

/* Each test runs in a process of its own, which counts as the started one. */
static void setup(void)
{
	char number[32];

	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("MAM_RUN_PID", number, 1);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
}

static void teardown(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static int entries(void)
{
	char command[PATH_MAX + 32], count[16] = "";
	FILE *pipe;

	snprintf(command, sizeof(command), "ls -A '%s' | wc -l", folder);
	pipe = popen(command, "r");
	ck_assert_ptr_nonnull(fgets(count, sizeof(count), pipe));
	pclose(pipe);
	return atoi(count);
}

static void expect_name(const char *pattern, const char *format)
{
	char name[PATH_MAX], wanted[PATH_MAX], host[HOST_NAME_MAX + 1];

	gethostname(host, sizeof(host));
	snprintf(wanted, sizeof(wanted), format, (int)getpid(), host);
	ck_assert_int_eq(mam_file_name(pattern, sizeof(name), name), 0);
	ck_assert_str_eq(name, wanted);
}

START_TEST(names_expand_process_and_host)
{
	char name[20];

	expect_name("plain", "plain");
	expect_name("a%pb%h%%%q%", "a%1$db%2$s%%%%q%%");
	setenv("MAM_RUN_PID", "1", 1);
	expect_name("plain", "plain.%1$d");
	expect_name("a-%p", "a-%1$d");
	expect_name("a-%h", "a-%2$s.%1$d");
	unsetenv("MAM_RUN_PID");
	expect_name("plain", "plain.%1$d");
	setenv("RANK", "3", 1);
	expect_name("a-%r", "a-3");
	ck_assert(mam_file_is_of_rank("a-%r"));
	ck_assert(!mam_file_is_of_rank("a-%p%%r"));
	ck_assert_int_eq(mam_file_name("a-name-of-20-letters", sizeof(name), name), ENAMETOOLONG);
	ck_assert_int_eq(mam_file_name("a-name-of-16-let", sizeof(name), name), ENAMETOOLONG);
}
END_TEST

START_TEST(file_appears_complete)
{
	struct mam_file file;
	struct stat status;
	char read_back[16] = "";
	int old;

	ck_assert_int_eq(mam_file_open(path, &file), 0);
	ck_assert_int_eq(mam_file_write(&file, "hello", 5), 0);
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_int_eq(mam_file_publish(&file), 0);
	ck_assert_int_eq(mam_file_close(&file), 0);
	ck_assert_int_eq(entries(), 1);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq(status.st_mode & 0777, 0600);
	ck_assert_int_eq(status.st_size, 5);
	/* A process that has the old file open keeps it. */
	old = open(path, O_RDONLY);
	ck_assert_int_eq(mam_file_open(path, &file), 0);
	ck_assert_int_eq(mam_file_write(&file, "other", 5), 0);
	ck_assert_int_eq(mam_file_publish(&file), 0);
	ck_assert_int_eq(mam_file_close(&file), 0);
	ck_assert_int_eq(read(old, read_back, 5), 5);
	ck_assert_str_eq(read_back, "hello");
	close(old);
}
END_TEST

START_TEST(unpublished_file_is_removed)
{
	struct mam_file file;

	refuses_unnamed = _i == 1;
	ck_assert_int_eq(mam_file_open(path, &file), 0);
	ck_assert_int_eq(entries(), _i == 0 && has_unnamed() ? 0 : 1);
	ck_assert_int_eq(mam_file_close(&file), 0);
	ck_assert_int_eq(entries(), 0);
}
END_TEST

static void write_file(const char *text)
{
	struct mam_file file;

	ck_assert_int_eq(mam_file_open(path, &file), 0);
	ck_assert_int_eq(mam_file_write(&file, text, strlen(text)), 0);
	ck_assert_int_eq(mam_file_publish(&file), 0);
	ck_assert_int_eq(mam_file_close(&file), 0);
}

static void expect_text(const char *wanted)
{
	char text[16] = "";
	int file = open(path, O_RDONLY);

	ck_assert_int_ge(read(file, text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, wanted);
	close(file);
}

/* The old file stays, and no other file is next to it. */
START_TEST(killed_writer_leaves_no_file)
{
	struct mam_file file;
	pid_t child;
	int status;

	if (!has_unnamed())
		return;
	write_file("old");
	child = fork();
	if (child == 0) {
		if (mam_file_open(path, &file) == 0 && mam_file_write(&file, "half", 4) == 0)
			raise(SIGKILL);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(entries(), 1);
	expect_text("old");
}
END_TEST

/* The temporary name that exists just before the rename must not remain either. */
START_TEST(file_is_replaced_atomically)
{
	refuses_unnamed = _i == 1;
	write_file("old");
	write_file("new");
	expect_text("new");
	ck_assert_int_eq(entries(), 1);
}
END_TEST

/* flock() treats two descriptors of one process like those of two processes. */
START_TEST(open_file_is_locked)
{
	struct mam_file first, second;

	refuses_unnamed = _i == 1;
	write_file("old");
	ck_assert_int_eq(mam_file_open(path, &first), 0);
	ck_assert_int_eq(mam_file_open(path, &second), 0);
	ck_assert_int_eq(mam_file_write(&first, "first", 5), 0);
	ck_assert_int_eq(mam_file_publish_locked(&first), 0);
	ck_assert_int_eq(mam_file_publish_locked(&second), EBUSY);
	ck_assert_int_eq(mam_file_close(&second), 0);
	expect_text("first");
	ck_assert_int_eq(mam_file_close(&first), 0);
	ck_assert_int_eq(mam_file_open(path, &second), 0);
	ck_assert_int_eq(mam_file_write(&second, "second", 6), 0);
	ck_assert_int_eq(mam_file_publish_locked(&second), 0);
	ck_assert_int_eq(mam_file_close(&second), 0);
	expect_text("second");
	ck_assert_int_eq(entries(), 1);
}
END_TEST

/*
 * Of several processes that publish at once, the one that holds the lock finds its file under the
 * name.
 */
START_TEST(one_of_several_processes_gets_the_lock)
{
	enum { PROCESSES = 8, TURNS = 50 };
	pid_t children[PROCESSES];
	int status;

	for (int i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		if (children[i] != 0)
			continue;
		setenv("MAM_RUN_PID", "1", 1);
		for (int turn = 0; turn < TURNS; turn++) {
			struct mam_file file;
			struct stat there;
			int error = mam_file_create(path, &file);

			error = error != 0 ? error : mam_file_publish_locked(&file);
			if (error == 0 && (stat(path, &there) != 0 || there.st_ino != file.inode))
				_exit(1);
			if (error != 0 && error != EBUSY)
				_exit(2);
			mam_file_close(&file);
		}
		_exit(0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_int_eq(entries(), 1);
}
END_TEST

START_TEST(pipe_without_a_reader_is_an_error)
{
	struct mam_file file;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(mam_file_open(path, &file), ENXIO);
	ck_assert_int_eq(mam_file_close(&file), 0);
}
END_TEST

START_TEST(symbolic_link_is_refused)
{
	struct mam_file file;
	char target[PATH_MAX];

	snprintf(target, sizeof(target), "%s/target", folder);
	ck_assert_int_eq(symlink(target, path), 0);
	ck_assert_int_eq(mam_file_open(path, &file), ELOOP);
	ck_assert_int_eq(mam_file_close(&file), 0);
	ck_assert_int_eq(entries(), 1);
	ck_assert_int_eq(mam_file_open("/dev/stderr", &file), 0);
	ck_assert(file.in_place);
	ck_assert_int_eq(mam_file_close(&file), 0);
}
END_TEST

START_TEST(pipe_stays_a_pipe)
{
	struct mam_file file;
	char read_back[8] = "";
	struct stat status;
	int reader;

	setenv("MAM_RUN_PID", "1", 1); /* a pipe's name gets no process ID */
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	ck_assert_int_eq(mam_file_open(path, &file), 0);
	ck_assert_int_eq(mam_file_write(&file, "hi", 2), 0);
	ck_assert_int_eq(mam_file_publish(&file), 0);
	ck_assert_int_eq(mam_file_close(&file), 0);
	ck_assert_int_eq(read(reader, read_back, sizeof(read_back)), 2);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert(S_ISFIFO(status.st_mode));
	ck_assert_int_eq(mam_file_open(folder, &file), EISDIR);
	mam_file_close(&file);
	close(reader);
}
END_TEST

/* The program closed a descriptor that it does not know, and opened a file of its own. */
START_TEST(descriptor_reused_by_the_program_is_not_written)
{
	struct mam_file file;
	char own[PATH_MAX];
	struct stat status;
	int taken;

	snprintf(own, sizeof(own), "%s/own", folder);
	ck_assert_int_eq(mam_file_open(path, &file), 0);
	close(file.number);
	taken = open(own, O_CREAT | O_RDWR, 0600);
	ck_assert_int_eq(taken, file.number);
	ck_assert_int_eq(mam_file_write(&file, "spoilt", 6), EBADF);
	mam_file_close(&file);
	ck_assert_int_eq(fstat(taken, &status), 0);
	ck_assert_int_eq(status.st_size, 0);
}
END_TEST

START_TEST(file_size_limit_is_an_error_without_a_signal)
{
	struct mam_file_signals signals;
	struct rlimit limit = { 0, RLIM_INFINITY };
	struct mam_file file;
	sigset_t pending;

	ck_assert_int_eq(mam_file_open(path, &file), 0);
	setrlimit(RLIMIT_FSIZE, &limit);
	mam_file_hush(&signals);
	ck_assert_int_eq(mam_file_write(&file, "long", 4), EFBIG);
	mam_file_unhush(&signals);
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	sigpending(&pending);
	ck_assert_int_eq(sigismember(&pending, SIGXFSZ), 0);
	mam_file_close(&file);
}
END_TEST

START_TEST(long_text_is_written_completely)
{
	static struct mam_file_text text;
	struct mam_file file;
	struct stat status;
	size_t sum = 0;

	ck_assert_int_eq(mam_file_open(path, &file), 0);
	text.file = &file;
	for (int i = 0; i < 1000; i++) {
		mam_file_put(&text, "%*s|", i, "");
		sum += (size_t)i + 1;
	}
	mam_file_put(&text, "%s", "");
	ck_assert_int_eq(mam_file_flush(&text), 0);
	ck_assert_int_eq(fstat(file.number, &status), 0);
	ck_assert_uint_eq((size_t)status.st_size, sum);
	mam_file_put_bytes(&text, 1536);
	ck_assert_int_eq((int)text.length, 8);
	ck_assert_int_eq(memcmp(text.chars, "1.50 KiB", 8), 0);
	mam_file_close(&file);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("file");
	Suite *suite = suite_create("file");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, names_expand_process_and_host);
	tcase_add_test(cases, file_appears_complete);
	tcase_add_loop_test(cases, unpublished_file_is_removed, 0, 2);
	tcase_add_test(cases, killed_writer_leaves_no_file);
	tcase_add_loop_test(cases, file_is_replaced_atomically, 0, 2);
	tcase_add_loop_test(cases, open_file_is_locked, 0, 2);
	tcase_add_test(cases, one_of_several_processes_gets_the_lock);
	tcase_add_test(cases, pipe_without_a_reader_is_an_error);
	tcase_add_test(cases, symbolic_link_is_refused);
	tcase_add_test(cases, pipe_stays_a_pipe);
	tcase_add_test(cases, descriptor_reused_by_the_program_is_not_written);
	tcase_add_test(cases, file_size_limit_is_an_error_without_a_signal);
	tcase_add_test(cases, long_text_is_written_completely);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
