/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents in a file: blocks of zeros, errors of the file, and that no file remains, also after a
 * kill at each step.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "blocks.h"

static char folder[64];

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/mam-suspend.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void expect_empty_folder(void)
{
	ck_assert_int_eq(rmdir(folder), 0); /* fails if anything is in it */
	ck_assert_int_eq(mkdir(folder, 0700), 0);
}

/* The descriptor of the file without a name in the folder; -1: none. */
static int find_file(void)
{
	DIR *open_files = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[256];
	int found = -1;

	ck_assert_ptr_nonnull(open_files);
	while ((entry = readdir(open_files)) != NULL) {
		ssize_t length =
			readlinkat(dirfd(open_files), entry->d_name, target, sizeof(target) - 1);

		if (length < 0)
			continue;
		target[length] = '\0';
		if (strncmp(target, folder, strlen(folder)) == 0)
			found = atoi(entry->d_name);
	}
	closedir(open_files);
	return found;
}

/* A child of a fork keeps the descriptor. It does not keep the space on the disk. */
START_TEST(children_do_not_keep_the_space)
{
	struct stat file;
	pid_t child;
	int copy;

	begin("256M");
	make_folder();
	fill_pool();
	ck_assert_int_eq(suspend_to(folder, false), MAM_OK);
	child = fork();
	if (child == 0) {
		ck_assert_int_eq(mam_pool_resume(pool), MAM_ERROR_DESTROYED);
		ck_assert_int_eq(mam_pool_destroy(pool), MAM_ERROR_DESTROYED);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	copy = dup(find_file());
	ck_assert_int_eq(fstat(copy, &file), 0);
	ck_assert_uint_gt((size_t)file.st_blocks, 0);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	ck_assert_int_eq(fstat(copy, &file), 0);
	ck_assert_uint_eq((size_t)file.st_blocks, 0);
	close(copy);
	end_pool();
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(file_has_contents_and_holes)
{
	struct stat file;
	void *zeros;

	begin("256M");
	make_folder();
	fill_pool();
	ck_assert_int_eq(mam_malloc(pool, 64 * MIB, &zeros), MAM_OK);
	ck_assert_int_eq(cuda.cuMemsetD8_v2((uintptr_t)zeros, 0, 64 * MIB), CUDA_SUCCESS);
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(suspend_to(folder, false), MAM_OK);
		expect_empty_folder();
		ck_assert_int_eq(fstat(find_file(), &file), 0);
		ck_assert_uint_eq((size_t)file.st_size, stats_of(pool).suspended_bytes);
		ck_assert_uint_lt((size_t)file.st_blocks * 512, (size_t)file.st_size - 50 * MIB);
		ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
		ck_assert_int_eq(find_file(), -1);
		expect_usable();
		ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(words, (uintptr_t)zeros + 40 * MIB, 8),
				 CUDA_SUCCESS);
		ck_assert_uint_eq(words[0], 0);
	}
	ck_assert_int_eq(mam_free(pool, zeros), MAM_OK);
	end_pool();
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(file_that_cannot_be_written)
{
	struct rlimit limit = { 5 * MIB, 5 * MIB };

	begin("256M");
	make_folder();
	fill_pool();
	ck_assert_int_eq(suspend_to("/proc/nothing", false), MAM_ERROR_IO);
	expect_usable();
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(suspend_to(folder, false), MAM_ERROR_IO);
	ck_assert_int_eq(find_file(), -1);
	ck_assert_uint_eq(stats_of(pool).suspended_bytes, 0);
	expect_usable();
	end_pool();
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* Another byte, or a shorter file. The blocks that are not affected come back. */
START_TEST(file_that_has_changed)
{
	int file, i = 0;
	char byte = 0x55;

	begin("256M");
	make_folder();
	fill_pool();
	ck_assert_int_eq(suspend_to(folder, false), MAM_OK);
	file = find_file();
	if (_i == 0)
		ck_assert_int_eq(pwrite(file, &byte, 1, 3 * MIB + 77), 1);
	else
		ck_assert_int_eq(ftruncate(file, 20 * MIB), 0);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_ERROR_IO);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_ERROR_IO);
	prove();
	while (mam_pool_resume(pool) == MAM_ERROR_IO) {
		ck_assert_int_lt(i, (int)BLOCKS);
		free_block((size_t)i++);
	}
	ck_assert_int_gt(i, 0);
	expect_usable();
	end_pool();
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* The child ends at the n-th copy to the host, between which the file is written. */
START_TEST(nothing_remains_after_a_kill)
{
	char rule[64];
	int status = -1;
	pid_t child;

	make_folder();
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		setenv("FAKE_CUDA_MEMORY", "256M", 1);
		setenv("MAM_LOG_FILE", "/dev/null", 1);
		snprintf(rule, sizeof(rule), "%s:%d:kill",
			 _i < 5 ? "cuMemcpyDtoHAsync" : "cuMemUnmap", _i % 5 + 1);
		setenv("FAKE_CUDA_FAIL_AT", rule, 1);
		cuda = load();
		pool = new_pool("killed", 0);
		fill_pool();
		(void)suspend_to(folder, false);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suspend/file");
	TCase *tests = suite_case(suite, "file");

	tcase_add_test(tests, file_has_contents_and_holes);
	tcase_add_test(tests, children_do_not_keep_the_space);
	tcase_add_test(tests, file_that_cannot_be_written);
	tcase_add_loop_test(tests, file_that_has_changed, 0, 2);
	tcase_add_loop_test(tests, nothing_remains_after_a_kill, 0, 7);
	return suite_run(suite);
}
