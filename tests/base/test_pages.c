/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: zeroed, aligned when large, preserved when moved, and refused without side effects. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/pages.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static const size_t sizes[] = { 4 * KIB, 64 * KIB, MIB, 2 * MIB, 4 * MIB, 64 * MIB };

START_TEST(pages_are_zero_and_writable)
{
	size_t bytes = sizes[_i];
	unsigned char *base = mam_pages_map(bytes);

	ck_assert_ptr_nonnull(base);
	for (size_t at = 0; at < bytes; at += 4 * KIB) {
		ck_assert_uint_eq(base[at], 0);
		base[at] = 1;
	}
	base[bytes - 1] = 1;
	mam_pages_unmap(base, bytes);
}
END_TEST

START_TEST(large_ranges_start_at_huge_page)
{
	size_t bytes = sizes[_i];
	char *base = mam_pages_map(bytes);

	ck_assert_ptr_nonnull(base);
	ck_assert_uint_eq((uintptr_t)base % (bytes >= 2 * MIB ? 2 * MIB : 4 * KIB), 0);
	mam_pages_unmap(base, bytes);
}
END_TEST

/* Doubles the size repeatedly: old contents are preserved, new memory is zero. */
START_TEST(moved_pages_keep_contents)
{
	size_t bytes = 4 * KIB;
	char *base = mam_pages_map(bytes);

	ck_assert_ptr_nonnull(base);
	for (; bytes < 32 * MIB; bytes *= 2) {
		base[0] = 7;
		base[bytes - 1] = (char)(bytes >> 12 | 1);
		base = mam_pages_move(base, bytes, bytes * 2);
		ck_assert_ptr_nonnull(base);
		ck_assert_int_eq(base[0], 7);
		ck_assert_int_eq(base[bytes - 1], (char)(bytes >> 12 | 1));
		ck_assert_int_eq(base[bytes], 0);
		ck_assert_int_eq(base[bytes * 2 - 1], 0);
		if (bytes * 2 >= 2 * MIB)
			ck_assert_uint_eq((uintptr_t)base % (2 * MIB), 0);
	}
	mam_pages_unmap(base, bytes);
}
END_TEST

/*
 * Each test runs in its own process, so the limit ends with it. Sanitizers need more address space
 * than it leaves.
 */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
START_TEST(refused_move_changes_nothing)
{
	char *base = mam_pages_map(MIB);
	struct rlimit limit = { 256 * MIB, 256 * MIB };

	ck_assert_ptr_nonnull(base);
	base[MIB - 1] = 5;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	ck_assert_ptr_null(mam_pages_map(1024 * MIB));
	ck_assert_ptr_null(mam_pages_move(base, MIB, 1024 * MIB));
	ck_assert_int_eq(base[MIB - 1], 5);
	base[0] = 6;
	mam_pages_unmap(base, MIB);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("base/pages");
	TCase *tcase = tcase_create("pages");
	SRunner *runner;
	int failed, count = (int)(sizeof(sizes) / sizeof(sizes[0]));

	tcase_add_loop_test(tcase, pages_are_zero_and_writable, 0, count);
	tcase_add_loop_test(tcase, large_ranges_start_at_huge_page, 0, count);
	tcase_add_test(tcase, moved_pages_keep_contents);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	tcase_add_test(tcase, refused_move_changes_nothing);
#endif
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
