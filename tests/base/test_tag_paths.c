/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tags of threads: nesting, bounds, names of any bytes, paths that many threads make at once, and
 * the child of a fork. Each test has a process of its own.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mam/tag.h>
#include <mam/tag_paths.h>

#define THREADS 8
#define NAMES 2000

static void push(const char *name, enum mam_status wanted, const char *path)
{
	ck_assert_int_eq(mam_tag_push(name), wanted);
	ck_assert_str_eq(mam_tag_path(), path);
}

static void pop(enum mam_status wanted, const char *path)
{
	ck_assert_int_eq(mam_tag_pop(), wanted);
	ck_assert_str_eq(mam_tag_path(), path);
}

START_TEST(tags_nest)
{
	char name[] = "training";
	const char *path;

	ck_assert_str_eq(mam_tag_path(), "");
	push(name, MAM_OK, "training");
	path = mam_tag_path();
	name[0] = 'T'; /* the name was copied */
	push("optimizer", MAM_OK, "training/optimizer");
	pop(MAM_OK, "training");
	push("optimizer", MAM_OK, "training/optimizer");
	pop(MAM_OK, "training");
	ck_assert_ptr_eq(mam_tag_path(), path);
	pop(MAM_OK, "");
	push("training", MAM_OK, "training");
	ck_assert_ptr_eq(mam_tag_path(), path);
	pop(MAM_OK, "");
}
END_TEST

START_TEST(a_pop_too_many_is_an_error)
{
	pop(MAM_ERROR_INVALID_VALUE, "");
	push("a", MAM_OK, "a");
	pop(MAM_OK, "");
	for (int i = 0; i < 3; i++)
		pop(MAM_ERROR_INVALID_VALUE, "");
	push("a", MAM_OK, "a");
	pop(MAM_OK, "");
}
END_TEST

/* A push that fails needs its pop, and so do those that follow it. */
START_TEST(failed_pushes_nest)
{
	push("a", MAM_OK, "a");
	push(NULL, MAM_ERROR_INVALID_VALUE, "a");
	push("b", MAM_ERROR_OUT_OF_HOST_MEMORY, "a");
	push("", MAM_ERROR_INVALID_VALUE, "a");
	pop(MAM_OK, "a");
	pop(MAM_OK, "a");
	pop(MAM_OK, "a");
	push("b", MAM_OK, "a/b");
	pop(MAM_OK, "a");
	pop(MAM_OK, "");
	pop(MAM_ERROR_INVALID_VALUE, "");
}
END_TEST

START_TEST(names_may_have_any_bytes)
{
	push("kv cache", MAM_OK, "kv%20cache");
	pop(MAM_OK, "");
	push("a/b%c=d#\"<&>'", MAM_OK, "a%2Fb%25c=d#\"<&>'");
	pop(MAM_OK, "");
	push("\x01\n\t\x7f\x80\xff", MAM_OK, "%01%0A%09%7F%80%FF");
	push("a", MAM_OK, "%01%0A%09%7F%80%FF/a");
	pop(MAM_OK, "%01%0A%09%7F%80%FF");
	pop(MAM_OK, "");
	push("a/b", MAM_OK, "a%2Fb"); /* not the path of a and b */
	pop(MAM_OK, "");
}
END_TEST

START_TEST(long_paths_are_refused)
{
	static char name[10001], path[MAM_TAG_PATH_BYTES];
	int count = 0;

	memset(name, 'n', sizeof(name) - 1);
	push(name, MAM_ERROR_OUT_OF_HOST_MEMORY, "");
	pop(MAM_OK, "");
	memset(path, 'n', sizeof(path) - 1);
	push(path, MAM_OK, path);
	push("n", MAM_ERROR_OUT_OF_HOST_MEMORY, path);
	pop(MAM_OK, path);
	pop(MAM_OK, "");
	path[MAM_TAG_PATH_BYTES - 3] = '\0';
	push(path, MAM_OK, path);
	push("ab", MAM_ERROR_OUT_OF_HOST_MEMORY, path);
	pop(MAM_OK, path);
	push("\n", MAM_ERROR_OUT_OF_HOST_MEMORY, path);
	pop(MAM_OK, path);
	push("a", MAM_OK, strcat(strcpy(name, path), "/a"));
	pop(MAM_OK, path);
	pop(MAM_OK, "");
	for (int i = 0; i < 1000; i++)
		count += mam_tag_push("r") == MAM_OK;
	ck_assert_int_eq(count, MAM_TAG_PATH_BYTES / 2);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(mam_tag_pop(), MAM_OK);
	pop(MAM_ERROR_INVALID_VALUE, "");
}
END_TEST

START_TEST(the_number_of_paths_is_limited)
{
	char name[16];
	unsigned int count = 0;

	for (unsigned int i = 0; i < MAM_TAG_PATHS_MAX + 100; i++) {
		snprintf(name, sizeof(name), "%u", i);
		count += mam_tag_push(name) == MAM_OK;
		ck_assert_int_eq(mam_tag_pop(), MAM_OK);
	}
	ck_assert_uint_eq(count, MAM_TAG_PATHS_MAX);
	push("0", MAM_OK, "0"); /* it exists */
	pop(MAM_OK, "");
}
END_TEST

static const char *found[THREADS][NAMES];
static pthread_barrier_t barrier;

static void *make_paths(void *user)
{
	const char **mine = user;
	char name[16];

	ck_assert_str_eq(mam_tag_path(), "");
	for (int i = 0; i < NAMES; i++) {
		if (i % 50 == 0)
			pthread_barrier_wait(&barrier);
		snprintf(name, sizeof(name), "name %d", i);
		ck_assert_int_eq(mam_tag_push(name), MAM_OK);
		mine[i] = mam_tag_path();
		ck_assert_int_eq(mam_tag_pop(), MAM_OK);
	}
	return NULL;
}

/* Also: a new thread has no tags. */
START_TEST(threads_share_paths)
{
	pthread_t threads[THREADS];

	push("main", MAM_OK, "main");
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, make_paths, found[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < THREADS; i++)
		for (int j = 0; j < NAMES; j++)
			ck_assert_ptr_eq(found[i][j], found[0][j]);
	ck_assert_str_eq(mam_tag_path(), "main");
	pop(MAM_OK, "");
}
END_TEST

START_TEST(a_child_has_the_tags_of_its_thread)
{
	int status;
	pid_t child;

	push("parent", MAM_OK, "parent");
	child = fork();
	if (child == 0) {
		bool good =
			strcmp(mam_tag_path(), "parent") == 0 && mam_tag_push("child") == MAM_OK;

		good = good && strcmp(mam_tag_path(), "parent/child") == 0;
		good = good && mam_tag_pop() == MAM_OK && mam_tag_pop() == MAM_OK;
		_exit(good && mam_tag_pop() == MAM_ERROR_INVALID_VALUE ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	pop(MAM_OK, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/tag_paths");
	TCase *cases = tcase_create("tags");
	SRunner *runner;
	int failed;

	tcase_add_test(cases, tags_nest);
	tcase_add_test(cases, a_pop_too_many_is_an_error);
	tcase_add_test(cases, failed_pushes_nest);
	tcase_add_test(cases, names_may_have_any_bytes);
	tcase_add_test(cases, long_paths_are_refused);
	tcase_add_test(cases, the_number_of_paths_is_limited);
	tcase_add_test(cases, threads_share_paths);
	tcase_add_test(cases, a_child_has_the_tags_of_its_thread);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
