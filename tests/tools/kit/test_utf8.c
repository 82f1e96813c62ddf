/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytes are UTF-8, and how the others are replaced; and texts as JSON.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/json_put.h"
#include "kit/utf8.h"

static const struct {
	const char *text;
	size_t length;
} firsts[] = {
	{ "a", 1 },
	{ "\x7f", 1 },
	{ "\xc2\x80", 2 },
	{ "\xdf\xbf", 2 },
	{ "\xe0\xa0\x80", 3 },
	{ "\xed\x9f\xbf", 3 },
	{ "\xee\x80\x80", 3 },
	{ "\xf0\x90\x80\x80", 4 },
	{ "\xf4\x8f\xbf\xbf", 4 },
	{ "\xe2\x82\xac and more", 3 },
	{ "", 0 },
	{ "\x80", 0 },             /* starts in the middle */
	{ "\xc1\xbf", 0 },         /* longer than needed */
	{ "\xe0\x9f\xbf", 0 },     /* the same */
	{ "\xf0\x8f\xbf\xbf", 0 }, /* the same */
	{ "\xed\xa0\x80", 0 },     /* half of a surrogate pair */
	{ "\xf4\x90\x80\x80", 0 }, /* above the highest code point */
	{ "\xff", 0 },
	{ "\xc2", 0 }, /* truncated */
	{ "\xe2\x82", 0 },
	{ "\xe2\x82z", 0 },
	{ "\xf0\x90\x80", 0 },
};

START_TEST(first_character_is_measured)
{
	ck_assert_uint_eq(utf8_length(firsts[_i].text, strlen(firsts[_i].text)), firsts[_i].length);
}
END_TEST

START_TEST(text_ends_at_its_length)
{
	ck_assert_uint_eq(utf8_length("\xe2\x82\xac", 3), 3);
	ck_assert_uint_eq(utf8_length("\xe2\x82\xac", 2), 0);
	ck_assert_uint_eq(utf8_length("\xc2\x80", 1), 0);
	ck_assert_uint_eq(utf8_length("a", 0), 0);
}
END_TEST

START_TEST(invalid_bytes_are_replaced_one_by_one)
{
	size_t bytes;
	char *text = utf8_repaired("a\xff\xe2\x82z\xe2\x82\xac", 8, &bytes);

	ck_assert_str_eq(text, "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xe2\x82\xac");
	ck_assert_uint_eq(bytes, strlen(text));
	free(text);
}
END_TEST

/* The output of a function, up to 200 bytes. */
static char wrote[200];

static FILE *begin(void)
{
	FILE *file = tmpfile();

	ck_assert_ptr_nonnull(file);
	return file;
}

static void end(FILE *file)
{
	rewind(file);
	wrote[fread(wrote, 1, sizeof(wrote) - 1, file)] = '\0';
	fclose(file);
}

START_TEST(json_escapes_are_complete)
{
	FILE *file = begin();

	json_put_text(file, "a\"b\\c\n\x01\x1f \x7f/</script>\xff\xe2\x82\xac");
	end(file);
	ck_assert_str_eq(wrote, "\"a\\\"b\\\\c\\u000a\\u0001\\u001f \\u007f/</script>\xef\xbf\xbd"
				"\xe2\x82\xac\"");
}
END_TEST

START_TEST(json_numbers_stay_exact)
{
	FILE *file = begin();

	json_put_number(file, 0);
	putc(' ', file);
	json_put_number(file, (uint64_t)1 << 53);
	putc(' ', file);
	json_put_number(file, ((uint64_t)1 << 53) + 1);
	putc(' ', file);
	json_put_number(file, UINT64_MAX);
	end(file);
	ck_assert_str_eq(wrote, "0 9007199254740992 \"9007199254740993\" "
				"\"18446744073709551615\"");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("utf8");
	TCase *tests = tcase_create("utf8");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tests, first_character_is_measured, 0,
			    sizeof(firsts) / sizeof(firsts[0]));
	tcase_add_test(tests, text_ends_at_its_length);
	tcase_add_test(tests, invalid_bytes_are_replaced_one_by_one);
	tcase_add_test(tests, json_escapes_are_complete);
	tcase_add_test(tests, json_numbers_stay_exact);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
