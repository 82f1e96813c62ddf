/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite.h - the main() of a test program: a case, or a table of Check tests, becomes a suite of one
 * case.
 */
#ifndef MAM_TESTS_SIMT_SUITE_H
#define MAM_TESTS_SIMT_SUITE_H

#include <check.h>
#include <stddef.h>
#include <stdlib.h>

#define SIMT_TEST_SECONDS 300 /* a search may take long under sanitizers */

#if CHECK_MAJOR_VERSION > 0 || CHECK_MINOR_VERSION >= 13
typedef const TTest *simt_test; /* the type that START_TEST() defines */
#else
typedef TFun simt_test;
#endif

/* Runs a suite of this one case; returns the exit status for main(). */
static inline int simt_run_case(TCase *tcase, const char *name)
{
	Suite *suite = suite_create(name);
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, SIMT_TEST_SECONDS);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static inline int simt_run_suite(const char *name, const simt_test *tests, size_t count)
{
	TCase *tcase = tcase_create(name);

	for (size_t i = 0; i < count; i++)
		tcase_add_test(tcase, tests[i]);
	return simt_run_case(tcase, name);
}

#define SIMT_SUITE(name, ...)                                                         \
	int main(void)                                                                \
	{                                                                             \
		const simt_test tests[] = { __VA_ARGS__ };                            \
                                                                                      \
		return simt_run_suite(name, tests, sizeof(tests) / sizeof(tests[0])); \
	}

#endif
