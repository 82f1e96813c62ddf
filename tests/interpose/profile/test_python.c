/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_python.c - line tables, offsets, and a program without Python.
 */
#include "interpose/profile/python.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/profile/python_intern.h"
#include "interpose/profile/python_layout.h"
#include "interpose/profile/python_line.h"

#define LINE(format, table, first, instruction) \
	mam_python_line(MAM_PYTHON_LINES_##format, table, sizeof(table), first, instruction)

START_TEST(test_lines_3_9)
{
	/* 6 bytes on line 10, then 300 on line 12 (a pair counts to 255), then line 11 */
	const uint8_t table[] = { 6, 2, 255, 0, 45, 0xff };

	ck_assert_uint_eq(LINE(3_9, table, 10, 0), 10);
	ck_assert_uint_eq(LINE(3_9, table, 10, 4), 10);
	ck_assert_uint_eq(LINE(3_9, table, 10, 6), 12);
	ck_assert_uint_eq(LINE(3_9, table, 10, 305), 12);
	ck_assert_uint_eq(LINE(3_9, table, 10, 306), 11);
	ck_assert_uint_eq(LINE(3_9, table, 10, 100000), 11);
}
END_TEST

START_TEST(test_lines_3_10)
{
	/* 6 bytes on line 11, 4 without line, 2 on line 8 */
	const uint8_t table[] = { 6, 1, 4, 0x80, 2, 0xfd };

	ck_assert_uint_eq(LINE(3_10, table, 10, 0), 11);
	ck_assert_uint_eq(LINE(3_10, table, 10, 5), 11);
	ck_assert_uint_eq(LINE(3_10, table, 10, 6), 0);
	ck_assert_uint_eq(LINE(3_10, table, 10, 10), 8);
	ck_assert_uint_eq(LINE(3_10, table, 10, 12), 0);
}
END_TEST

START_TEST(test_lines_3_11)
{
	const uint8_t table[] = { 0x80, /* form 0, 1 unit: the same line */
				  0x10,
				  0x80 | 12 << 3 | 1, /* one line, 2 units: 2 lines on */
				  0x01,
				  0x02,
				  0x80 | 13 << 3, /* no columns: -3 */
				  0x07,
				  0x80 | 14 << 3 | 7, /* long, 8 units: 70 lines on */
				  0x4c,
				  0x02,
				  0x00,
				  0x01,
				  0x01,
				  0x80 | 15 << 3, /* no line */
				  0x80,           /* the same line as the last one */
				  0x00 };

	ck_assert_uint_eq(LINE(3_11, table, 100, 0), 100);
	ck_assert_uint_eq(LINE(3_11, table, 100, 2), 102);
	ck_assert_uint_eq(LINE(3_11, table, 100, 5), 102);
	ck_assert_uint_eq(LINE(3_11, table, 100, 6), 99);
	ck_assert_uint_eq(LINE(3_11, table, 100, 8), 169);
	ck_assert_uint_eq(LINE(3_11, table, 100, 23), 169);
	ck_assert_uint_eq(LINE(3_11, table, 100, 24), 0);
	ck_assert_uint_eq(LINE(3_11, table, 100, 26), 169);
	ck_assert_uint_eq(LINE(3_11, table, 100, 28), 0);
}
END_TEST

/* Any bytes are a table: no read leaves it (a sanitizer would report that). */
START_TEST(test_lines_of_any_table)
{
	uint32_t random = 1, sum = 0;

	for (size_t bytes = 0; bytes < 64; bytes++)
		for (int i = 0; i < 200; i++) {
			uint8_t *table = malloc(bytes != 0 ? bytes : 1);

			for (size_t j = 0; j < bytes; j++) {
				random = random * 1664525 + 1013904223;
				table[j] = (uint8_t)(random >> 24);
			}
			for (int format = MAM_PYTHON_LINES_3_9; format <= MAM_PYTHON_LINES_3_11;
			     format++)
				sum += mam_python_line((enum mam_python_lines)format, table, bytes,
						       1, random >> 25);
			free(table);
		}
	ck_assert_uint_ne(sum, 0);
}
END_TEST

START_TEST(test_versions)
{
	struct mam_python_layout layout;
	uint64_t table[128] = { 0 };

	ck_assert(mam_python_layout(0x030900f0, table, &layout));
	ck_assert(mam_python_layout(0x030c00c1, table, &layout));
	ck_assert(!mam_python_layout(0x030c00b4, table, &layout)); /* a beta version */
	ck_assert(mam_python_layout(0x030c0cf0, table, &layout));
	ck_assert(!mam_python_layout(0x030800f0, table, &layout));
	ck_assert(!mam_python_layout(0x040900f0, table, &layout));
	ck_assert(!mam_python_layout(0, table, &layout));

	/* Since 3.13, only with the debuggers' table of this very version. */
	ck_assert(!mam_python_layout(0x030d00f0, table, &layout));
	memcpy(table, "xdebugpy", sizeof(table[0]));
	ck_assert(!mam_python_layout(0x030d00f0, table, &layout));
	table[1] = 0x030d00f0;
	ck_assert(mam_python_layout(0x030d00f0, table, &layout));
	ck_assert(!mam_python_layout(0x030d01f0, table, &layout));
	table[30] = 1 << 20;
	ck_assert(!mam_python_layout(0x030d00f0, table, &layout));
	table[30] = 0;
	table[1] = 0x031000f0;
	ck_assert(!mam_python_layout(0x031000f0, table, &layout));
}
END_TEST

/* A free-threaded build has a copy of the code per thread since 3.14. */
START_TEST(test_free_threaded)
{
	struct mam_python_layout layout;
	uint64_t table[128] = { [1] = 0x030e00f0, [2] = 1, [38] = 72, [49] = 200 };

	memcpy(table, "xdebugpy", sizeof(table[0]));
	ck_assert(mam_python_layout(0x030e00f0, table, &layout));
	ck_assert_uint_eq(layout.copy, 72);
	ck_assert_uint_eq(layout.code_copies, 200);
	table[2] = 0;
	ck_assert(mam_python_layout(0x030e00f0, table, &layout));
	ck_assert_uint_eq(layout.copy, MAM_PYTHON_ABSENT);
	table[1] = 0x030d00f0;
	table[2] = 1;
	ck_assert(mam_python_layout(0x030d00f0, table, &layout));
	ck_assert_uint_eq(layout.copy, MAM_PYTHON_ABSENT);
}
END_TEST

START_TEST(test_intern)
{
	const char *one = mam_python_intern("one", 4);

	ck_assert_str_eq(one, "one");
	ck_assert_ptr_eq(mam_python_intern("one", 4), one);
	ck_assert_ptr_ne(mam_python_intern("one", 3), one);
	ck_assert_ptr_ne(mam_python_intern("two", 4), one);
	ck_assert_uint_eq((uintptr_t)one % sizeof(void *), 0);
}
END_TEST

START_TEST(test_intern_is_bounded)
{
	char *data = calloc(1, 1 << 19);
	size_t stored = 0;

	while (stored < 1000) {
		memcpy(data, &stored, sizeof(stored));
		if (mam_python_intern(data, 1 << 19) == NULL)
			break;
		stored++;
	}
	ck_assert_uint_ge(stored, 100);
	ck_assert_uint_lt(stored, 200);
	memset(data, 0, sizeof(stored));
	ck_assert_ptr_nonnull(mam_python_intern(data, 1 << 19)); /* stored already */
	free(data);
}
END_TEST

/* The line table of a large module, for example. */
START_TEST(test_intern_large)
{
	const size_t bytes = (size_t)3 << 20;
	char *data = calloc(1, bytes);
	const char *one;

	data[bytes - 1] = 1;
	one = mam_python_intern(data, bytes);
	ck_assert_ptr_nonnull(one);
	ck_assert_int_eq(memcmp(one, data, bytes), 0);
	ck_assert_ptr_eq(mam_python_intern(data, bytes), one);
	free(data);
}
END_TEST

/* Inputs that differ in one bit, in length or in the order of their words. */
START_TEST(test_hash)
{
	uint8_t data[40] = { 0 };
	uint64_t zero = mam_python_hash(data, sizeof(data), 7);

	ck_assert_uint_ne(mam_python_hash(data, sizeof(data) - 1, 7), zero);
	ck_assert_uint_ne(mam_python_hash(data, sizeof(data), 8), zero);
	for (size_t i = 0; i < sizeof(data) * 8; i++) {
		data[i / 8] = (uint8_t)(1 << i % 8);
		ck_assert_uint_ne(mam_python_hash(data, sizeof(data), 7), zero);
		data[i / 8] = 0;
	}
	data[0] = 1;
	zero = mam_python_hash(data, sizeof(data), 7);
	data[0] = 0;
	data[16] = 1;
	ck_assert_uint_ne(mam_python_hash(data, sizeof(data), 7), zero);
}
END_TEST

START_TEST(test_no_python)
{
	const struct mam_python_frame *frames[4];

	ck_assert_uint_eq(mam_python_frames(frames, 4), 0);
	ck_assert(!mam_python_owns(frames));
	ck_assert_ptr_null(mam_python_unsupported());
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("interpose/python");
	TCase *tests = tcase_create("python");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, test_lines_3_9);
	tcase_add_test(tests, test_lines_3_10);
	tcase_add_test(tests, test_lines_3_11);
	tcase_add_test(tests, test_lines_of_any_table);
	tcase_add_test(tests, test_versions);
	tcase_add_test(tests, test_free_threaded);
	tcase_add_test(tests, test_intern);
	tcase_add_test(tests, test_intern_large);
	tcase_add_test(tests, test_intern_is_bounded);
	tcase_add_test(tests, test_hash);
	tcase_add_test(tests, test_no_python);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
