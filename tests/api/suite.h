/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite.h - run a suite in which each test has its own process, whatever CK_FORK is. Options,
 * default pools and handles start fresh in each, and a test that crashes or exits with a nonzero
 * status fails alone.
 */
#ifndef TESTS_API_SUITE_H
#define TESTS_API_SUITE_H

#include <check.h>
#include <stdlib.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static inline int suite_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A test case with enough time for a slow machine under a sanitizer. */
static inline TCase *suite_case(Suite *suite, const char *name)
{
	TCase *tests = tcase_create(name);

	tcase_set_timeout(tests, 120);
	suite_add_tcase(suite, tests);
	return tests;
}

#endif
