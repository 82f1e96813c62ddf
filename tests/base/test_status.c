/* SPDX-License-Identifier: Apache-2.0 */
/* Every status has its own name and sentence, and no number makes the calls fail. */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mam/mam.h>

START_TEST(every_status_has_a_sentence)
{
	for (int i = MAM_OK; i <= MAM_ERROR_SUSPENDED; i++) {
		const char *sentence = mam_strerror((enum mam_status)i);

		ck_assert_uint_gt(strlen(sentence), 10);
		ck_assert_int_eq(sentence[strlen(sentence) - 1], '.');
		ck_assert_ptr_null(strchr(sentence, '\n'));
		for (int j = MAM_OK; j < i; j++)
			ck_assert_str_ne(sentence, mam_strerror((enum mam_status)j));
	}
}
END_TEST

START_TEST(names_match_header)
{
	ck_assert_str_eq(mam_status_name(MAM_OK), "MAM_OK");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_INVALID_VALUE), "MAM_ERROR_INVALID_VALUE");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_OUT_OF_MEMORY), "MAM_ERROR_OUT_OF_MEMORY");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_OUT_OF_HOST_MEMORY),
			 "MAM_ERROR_OUT_OF_HOST_MEMORY");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_NOT_OWNED), "MAM_ERROR_NOT_OWNED");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_INTERIOR), "MAM_ERROR_INTERIOR");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_DOUBLE_FREE), "MAM_ERROR_DOUBLE_FREE");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_LIVE_BLOCKS), "MAM_ERROR_LIVE_BLOCKS");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_DESTROYED), "MAM_ERROR_DESTROYED");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_NO_DEVICE), "MAM_ERROR_NO_DEVICE");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_WOULD_WAIT), "MAM_ERROR_WOULD_WAIT");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_DRIVER), "MAM_ERROR_DRIVER");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_CORRUPT), "MAM_ERROR_CORRUPT");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_UNSUPPORTED), "MAM_ERROR_UNSUPPORTED");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_IO), "MAM_ERROR_IO");
	ck_assert_str_eq(mam_status_name(MAM_ERROR_SUSPENDED), "MAM_ERROR_SUSPENDED");
}
END_TEST

START_TEST(unknown_numbers_have_a_sentence)
{
	static const int numbers[] = { -1, INT_MIN, INT_MAX, MAM_ERROR_SUSPENDED + 1 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		ck_assert_str_eq(mam_status_name((enum mam_status)numbers[i]), "MAM_ERROR_UNKNOWN");
		ck_assert_ptr_nonnull(
			strstr(mam_strerror((enum mam_status)numbers[i]), "Unknown status"));
	}
}
END_TEST

START_TEST(version_matches_header)
{
	char numbers[32];

	snprintf(numbers, sizeof(numbers), "%d.%d.%d", MAM_VERSION_MAJOR, MAM_VERSION_MINOR,
		 MAM_VERSION_PATCH);
	ck_assert_str_eq(MAM_VERSION, numbers);
	/* A suffix means a commit after a release, which may have changed the header (version.sh). */
	if (!strchr(mam_version(), '-'))
		ck_assert_str_eq(mam_version(), MAM_VERSION);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/status");
	TCase *words = tcase_create("words");
	SRunner *runner;
	int failed;

	tcase_add_test(words, every_status_has_a_sentence);
	tcase_add_test(words, names_match_header);
	tcase_add_test(words, unknown_numbers_have_a_sentence);
	tcase_add_test(words, version_matches_header);
	suite_add_tcase(suite, words);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
