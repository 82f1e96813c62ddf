/* SPDX-License-Identifier: Apache-2.0 */
/* This test contains a copy of mam's code, and the C library none. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <check.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/object.h"

static int own_data;

START_TEST(own_addresses_are_distinguished)
{
	ck_assert(mam_object_has(&own_data));
	ck_assert(!mam_object_has(dlsym(RTLD_DEFAULT, "qsort")));
	ck_assert(!mam_object_has(NULL));
}
END_TEST

START_TEST(path_is_that_of_this_program)
{
	ck_assert_ptr_nonnull(mam_object_path());
	ck_assert_ptr_nonnull(strstr(mam_object_path(), "test_object"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/object");
	TCase *object = tcase_create("object");
	SRunner *runner;
	int failed;

	tcase_add_test(object, own_addresses_are_distinguished);
	tcase_add_test(object, path_is_that_of_this_program);
	suite_add_tcase(suite, object);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
