/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain data as a pickle, byte by byte: Python's pickletools reads the expected bytes back as the
 * value in the comment.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "write/pickle_put.h"

static struct pickle_put put;
static unsigned char wrote[1000];
static size_t wrote_bytes;

static void begin(void)
{
	FILE *file = tmpfile();

	ck_assert_ptr_nonnull(file);
	ck_assert(pickle_put_begin(&put, file));
}

static void end(void)
{
	ck_assert(pickle_put_end(&put));
	rewind(put.file);
	wrote_bytes = fread(wrote, 1, sizeof(wrote), put.file);
	fclose(put.file);
}

#define BYTES(text) text, sizeof(text) - 1

static void assert_wrote(const char *bytes, size_t count)
{
	ck_assert_uint_eq(wrote_bytes, count);
	ck_assert_mem_eq(wrote, bytes, count);
}

static const struct {
	int64_t number;
	const char *bytes;
	size_t count;
} numbers[] = {
	{ 0, BYTES("\x80\x02K\x00.") },
	{ 255, BYTES("\x80\x02K\xff.") },
	{ 256, BYTES("\x80\x02M\x00\x01.") },
	{ 65535, BYTES("\x80\x02M\xff\xff.") },
	{ 65536, BYTES("\x80\x02J\x00\x00\x01\x00.") },
	{ INT32_MAX, BYTES("\x80\x02J\xff\xff\xff\x7f.") },
	{ -1, BYTES("\x80\x02J\xff\xff\xff\xff.") },
	{ INT32_MIN, BYTES("\x80\x02J\x00\x00\x00\x80.") },
	{ 2147483648, BYTES("\x80\x02\x8a\x05\x00\x00\x00\x80\x00.") },
	{ 549755813887, BYTES("\x80\x02\x8a\x05\xff\xff\xff\xff\x7f.") },
	{ 549755813888, BYTES("\x80\x02\x8a\x06\x00\x00\x00\x00\x80\x00.") },
	{ -2147483649, BYTES("\x80\x02\x8a\x05\xff\xff\xff\x7f\xff.") },
	{ INT64_MAX, BYTES("\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.") },
	{ INT64_MIN, BYTES("\x80\x02\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.") },
};

START_TEST(numbers_use_the_shortest_form)
{
	begin();
	pickle_put_number(&put, numbers[_i].number);
	end();
	assert_wrote(numbers[_i].bytes, numbers[_i].count);
}
END_TEST

/* {'a': [True, False], 'b': (1, 2)} */
START_TEST(containers_are_built)
{
	begin();
	pickle_put_open_dict(&put);
	pickle_put_text(&put, "a");
	pickle_put_open_list(&put);
	pickle_put_bool(&put, true);
	pickle_put_item(&put);
	pickle_put_bool(&put, false);
	pickle_put_item(&put);
	pickle_put_text(&put, "b");
	pickle_put_number(&put, 1);
	pickle_put_number(&put, 2);
	pickle_put_pair(&put);
	pickle_put_close_dict(&put);
	end();
	assert_wrote(BYTES("\x80\x02}(X\x01\x00\x00\x00"
			   "a]\x88"
			   "a\x89"
			   "aX\x01\x00\x00\x00"
			   "bK\x01K\x02\x86u."));
}
END_TEST

/* ['x', 'x', 'y', 'x', 'y'] */
START_TEST(repeated_word_is_stored_once)
{
	static const char *const words[] = { "x", "x", "y", "x", "y" };

	begin();
	pickle_put_open_list(&put);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		pickle_put_word(&put, words[i]);
		pickle_put_item(&put);
	}
	end();
	assert_wrote(BYTES("\x80\x02]X\x01\x00\x00\x00xq\x02"
			   "ah\x02"
			   "aX\x01\x00\x00\x00yq\x04"
			   "ah\x02"
			   "ah\x04"
			   "a."));
}
END_TEST

/* [[], the same list], and numbers that need more than a byte */
START_TEST(stored_value_is_used_again)
{
	begin();
	pickle_put_open_list(&put);
	pickle_put_open_list(&put);
	pickle_put_keep(&put, 3);
	pickle_put_item(&put);
	pickle_put_again(&put, 3);
	pickle_put_item(&put);
	pickle_put_bool(&put, true);
	pickle_put_keep(&put, 200);
	pickle_put_item(&put);
	pickle_put_again(&put, 200);
	pickle_put_item(&put);
	end();
	assert_wrote(BYTES("\x80\x02]]q\x07"
			   "ah\x07"
			   "a\x88r\x91\x01\x00\x00"
			   "aj\x91\x01\x00\x00"
			   "a."));
}
END_TEST

/* ['', '', 'a\ufffd'] */
START_TEST(texts_may_contain_any_bytes)
{
	begin();
	pickle_put_open_list(&put);
	pickle_put_word(&put, "");
	pickle_put_item(&put);
	pickle_put_word(&put, "");
	pickle_put_item(&put);
	pickle_put_word(&put, "a\xff");
	pickle_put_item(&put);
	end();
	assert_wrote(BYTES("\x80\x02]X\x00\x00\x00\x00"
			   "aX\x00\x00\x00\x00"
			   "aX\x04\x00\x00\x00"
			   "a\xef\xbf\xbdq\x02"
			   "a."));
}
END_TEST

START_TEST(full_disk_is_reported)
{
	FILE *file = fopen("/dev/full", "w");

	ck_assert_ptr_nonnull(file);
	setvbuf(file, NULL, _IONBF, 0);
	ck_assert(pickle_put_begin(&put, file));
	pickle_put_bool(&put, true);
	ck_assert(!pickle_put_end(&put));
	fclose(file);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pickle_put");
	TCase *tests = tcase_create("pickle_put");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tests, numbers_use_the_shortest_form, 0,
			    sizeof(numbers) / sizeof(numbers[0]));
	tcase_add_test(tests, containers_are_built);
	tcase_add_test(tests, repeated_word_is_stored_once);
	tcase_add_test(tests, stored_value_is_used_again);
	tcase_add_test(tests, texts_may_contain_any_bytes);
	tcase_add_test(tests, full_disk_is_reported);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
