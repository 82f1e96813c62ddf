/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the driver: once, whichever thread comes first; refusing a forked process; and the
 * meaning of results.
 *
 * The driver is opened once per process, and Check runs each test in its own process. Each test
 * first loads the fake, which mam then finds by its name. missing.sh tests machines without a
 * driver.
 */
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/load.h"
#include "source/driver.h"
#include "source/source.h"

static char log_path[64];
static char text[4096];

static void set_up(void)
{
	snprintf(log_path, sizeof(log_path), "/tmp/mam-driver.%d", (int)getpid());
	setenv("MAM_LOG_FILE", log_path, 1);
	unsetenv("MAM_LOG");
}

static const char *reports(void)
{
	FILE *file = fopen(log_path, "r");
	size_t length = 0;

	if (file) {
		length = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
		unlink(log_path);
	}
	text[length] = '\0';
	return text;
}

START_TEST(driver_is_found_and_initialized)
{
	const struct mam_driver *driver, *again;
	int version = 0;

	setenv("FAKE_CUDA_VERSION", "12040", 1);
	load_only();
	ck_assert_int_eq(mam_driver_get(&driver), MAM_OK);
	ck_assert_int_eq(mam_driver_get(&again), MAM_OK);
	ck_assert_ptr_eq(driver, again);
	ck_assert_uint_eq(driver->driver_get_version(&version), MAM_DRIVER_SUCCESS);
	ck_assert_int_eq(version, 12040);
	ck_assert_str_eq(reports(), "");
}
END_TEST

static void *get(void *user)
{
	const struct mam_driver **driver = user;

	return mam_driver_get(driver) == MAM_OK ? user : NULL;
}

START_TEST(concurrent_threads_get_same_driver)
{
	const struct mam_driver *drivers[8] = { NULL };
	pthread_t threads[8];
	void *result;

	load_only();
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, get, &drivers[i]), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &result);
		ck_assert_ptr_nonnull(result);
		ck_assert_ptr_eq(drivers[i], drivers[0]);
	}
}
END_TEST

START_TEST(failing_driver_is_reported)
{
	const struct mam_driver *driver = NULL;
	struct mam_source *source = NULL;

	setenv("FAKE_CUDA_FAIL_AT", "cuInit:1:100", 1);
	load_only();
	ck_assert_int_eq(mam_driver_get(&driver), MAM_ERROR_NO_DEVICE);
	ck_assert_ptr_null(driver);
	ck_assert_str_eq(mam_driver_reason(), "cuInit returned CUDA_ERROR_NO_DEVICE (100)");
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(mam_source_create("cudamalloc", -1, &source), MAM_ERROR_NO_DEVICE);
	ck_assert_ptr_null(source);
	/* Once, however often the driver is requested. */
	reports();
	ck_assert_ptr_nonnull(strstr(text, "cuInit returned"));
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}
END_TEST

START_TEST(child_of_fork_is_refused)
{
	const struct mam_driver *driver;
	int status;
	pid_t child;

	load_only();
	ck_assert_int_eq(mam_driver_get(&driver), MAM_OK);
	child = fork();
	if (child == 0)
		_exit(mam_driver_get(&driver) == MAM_ERROR_NO_DEVICE &&
				      strstr(mam_driver_reason(), "fork")
			      ? 0
			      : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(mam_driver_get(&driver), MAM_OK);
}
END_TEST

static void *open_driver(void *unused)
{
	const struct mam_driver *driver;

	ck_assert_int_eq(mam_driver_get(&driver), MAM_OK);
	return unused;
}

static void open_before_fork(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, open_driver, NULL), 0);
	pthread_join(thread, NULL);
}

/* Another thread opens the driver after a fork has begun. */
START_TEST(child_of_fork_in_progress_is_refused)
{
	const struct mam_driver *driver;
	int status;
	pid_t child;

	load_only();
	pthread_atfork(open_before_fork, NULL, NULL);
	child = fork();
	if (child == 0)
		_exit(mam_driver_get(&driver) == MAM_ERROR_NO_DEVICE ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(child_may_open_driver_first)
{
	int status;
	pid_t child;

	load_only();
	child = fork();
	if (child == 0) {
		const struct mam_driver *driver;

		_exit(mam_driver_get(&driver) == MAM_OK ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

static const struct {
	unsigned int result;
	enum mam_status status;
	const char *report; /* NULL: none */
} results[] = {
	{ 0, MAM_OK, NULL },
	{ 2, MAM_ERROR_OUT_OF_MEMORY, NULL },
	{ 100, MAM_ERROR_NO_DEVICE, NULL },
	{ 101, MAM_ERROR_NO_DEVICE, NULL },
	{ 999, MAM_ERROR_DRIVER, "cuThing returned CUDA_ERROR_UNKNOWN (999)\n" },
	{ 1, MAM_ERROR_DRIVER, "cuThing returned CUDA_ERROR_INVALID_VALUE (1)\n" },
	{ 98765, MAM_ERROR_DRIVER, "cuThing returned an unknown error (98765)\n" },
};

START_TEST(results_map_to_statuses)
{
	const struct mam_driver *driver;

	load_only();
	ck_assert_int_eq(mam_driver_get(&driver), MAM_OK);
	ck_assert_int_eq(mam_driver_status(driver, "cuThing", results[_i].result),
			 results[_i].status);
	reports();
	if (results[_i].report)
		ck_assert_ptr_nonnull(strstr(text, results[_i].report));
	else
		ck_assert_str_eq(text, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source/driver");
	TCase *opening = tcase_create("opening");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(opening, set_up, NULL);
	tcase_add_test(opening, driver_is_found_and_initialized);
	tcase_add_test(opening, concurrent_threads_get_same_driver);
	tcase_add_test(opening, failing_driver_is_reported);
	tcase_add_test(opening, child_of_fork_is_refused);
	tcase_add_test(opening, child_of_fork_in_progress_is_refused);
	tcase_add_test(opening, child_may_open_driver_first);
	tcase_add_loop_test(opening, results_map_to_statuses, 0,
			    sizeof(results) / sizeof(results[0]));
	suite_add_tcase(suite, opening);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
