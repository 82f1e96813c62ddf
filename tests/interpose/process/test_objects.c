/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_objects.c - forks while other threads visit the loaded objects.
 */
#include "interpose/process/objects.h"

#include <check.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define FORKS 300

static atomic_bool is_over, is_inside;

static int count_one(struct dl_phdr_info *object, size_t bytes, void *user)
{
	(void)object;
	(void)bytes;
	++*(int *)user;
	return 0;
}

static void *visit_often(void *unused)
{
	while (!is_over) {
		int count = 0;

		mam_objects_visit(count_one, &count);
		ck_assert_int_gt(count, 1);
	}
	return unused;
}

/* Without the wait, some child gets the linker's lock while another thread held it. */
START_TEST(child_of_a_fork_can_visit)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, visit_often, NULL), 0);
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();
		int status, count = 0;

		if (child == 0) {
			alarm(20);
			mam_objects_visit(count_one, &count);
			_exit(count > 1 ? 0 : 1);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_msg(status == 0, "child %d ended with 0x%x", i, status);
	}
	is_over = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

static int stay(struct dl_phdr_info *object, size_t bytes, void *user)
{
	(void)object;
	(void)bytes;
	is_inside = true;
	while (!is_over)
		usleep(1000);
	*(int *)user = 1;
	return 1;
}

static void *visit_long(void *done)
{
	mam_objects_visit(stay, done);
	return NULL;
}

START_TEST(fork_does_not_wait_for_long_visits)
{
	pthread_t thread;
	int done = 0, status;
	pid_t child;

	ck_assert_int_eq(pthread_create(&thread, NULL, visit_long, &done), 0);
	while (!is_inside)
		usleep(1000);
	child = fork();
	if (child == 0)
		_exit(done == 0 ? 0 : 1);
	is_over = true; /* the visit ends after the fork only */
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(done, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("interpose/objects");
	TCase *tests = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, child_of_a_fork_can_visit);
	tcase_add_test(tests, fork_does_not_wait_for_long_visits);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
