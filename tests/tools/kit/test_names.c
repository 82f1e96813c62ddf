/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that are stored once and numbered.
 */
#include <check.h>
#include <stdio.h>

#include "kit/names.h"
#include "tools/failing.h"

#define COUNT 5000

static struct names names;

static void begin(void)
{
	failing_left = -1;
	ck_assert(names_init(&names));
}

static void end(void)
{
	failing_left = -1;
	names_fini(&names);
}

static uint32_t number_of(const char *text)
{
	uint32_t number = UINT32_MAX;

	ck_assert(names_number(&names, text, strlen(text), &number));
	return number;
}

START_TEST(first_name_is_empty)
{
	ck_assert_uint_eq(names.count, 1);
	ck_assert_str_eq(names.texts[0], "");
	ck_assert_uint_eq(number_of(""), 0);
	ck_assert_uint_eq(names.count, 1);
}
END_TEST

START_TEST(numbers_follow_the_first_occurrence)
{
	ck_assert_uint_eq(number_of("b"), 1);
	ck_assert_uint_eq(number_of("a"), 2);
	ck_assert_uint_eq(number_of("b"), 1);
	ck_assert_uint_eq(number_of("ab"), 3);
	ck_assert_uint_eq(number_of("a"), 2);
	ck_assert_uint_eq(names.count, 4);
}
END_TEST

START_TEST(zero_byte_ends_a_text)
{
	uint32_t one, two;

	ck_assert(names_number(&names, "abc\0def", 7, &one));
	ck_assert(names_number(&names, "abcdef", 3, &two));
	ck_assert_uint_eq(one, two);
	ck_assert_str_eq(names.texts[one], "abc");
	ck_assert(names_number(&names, "\0", 1, &one));
	ck_assert_uint_eq(one, 0);
}
END_TEST

START_TEST(many_texts_have_distinct_numbers)
{
	char text[32];
	uint32_t wrong = 0;

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < COUNT; i++) {
			snprintf(text, sizeof(text), "file%u.py:%u", i % 70, i);
			wrong += number_of(text) != i + 1;
		}
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		snprintf(text, sizeof(text), "file%u.py:%u", i % 70, i);
		wrong += strcmp(names.texts[i + 1], text) != 0;
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(names.count, COUNT + 1);
}
END_TEST

/* FNV-1a, with its published constants. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return hash;
}

/* As if the hashes of three texts, one a prefix of another, were equal. */
START_TEST(texts_with_equal_hashes_are_chained)
{
	uint32_t abc = number_of("abc"), ab, x;

	*idtable_at(&names.firsts, hash_of("ab")) = abc;
	ab = number_of("ab");
	ck_assert_uint_ne(ab, abc);
	*idtable_at(&names.firsts, hash_of("x")) = ab;
	x = number_of("x");
	ck_assert_uint_eq(names.count, 4);
	*idtable_at(&names.firsts, hash_of("abc")) = x;
	*idtable_at(&names.firsts, hash_of("ab")) = x;
	ck_assert_uint_eq(number_of("abc"), abc);
	ck_assert_uint_eq(number_of("ab"), ab);
	ck_assert_uint_eq(number_of("x"), x);
	ck_assert_uint_eq(names.count, 4);
}
END_TEST

START_TEST(out_of_memory_loses_nothing)
{
	char text[32];
	uint32_t number, fails = 0;

	for (uint32_t i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "%u", i);
		number = 77;
		for (failing_left = 0; !names_number(&names, text, strlen(text), &number);
		     failing_left = fails % 4) {
			ck_assert_uint_eq(number, 77);
			fails++;
		}
		failing_left = -1;
		ck_assert_uint_eq(number, i + 1);
	}
	ck_assert_uint_ge(fails, 300);
	ck_assert_uint_eq(names.count, 301);
	ck_assert_uint_eq(number_of("299"), 300);
}
END_TEST

START_TEST(init_without_memory_leaves_nothing)
{
	struct names other;
	long enough = 0;

	for (;; enough++) {
		failing_left = enough;
		if (names_init(&other))
			break;
		ck_assert_ptr_null(other.texts);
		ck_assert_uint_eq(other.count, 0);
	}
	ck_assert_int_ge(enough, 3);
	failing_left = -1;
	names_fini(&other);
	ck_assert_ptr_null(other.texts);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("names");
	TCase *cases = tcase_create("names");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, begin, end);
	tcase_add_test(cases, first_name_is_empty);
	tcase_add_test(cases, numbers_follow_the_first_occurrence);
	tcase_add_test(cases, zero_byte_ends_a_text);
	tcase_add_test(cases, many_texts_have_distinct_numbers);
	tcase_add_test(cases, texts_with_equal_hashes_are_chained);
	tcase_add_test(cases, out_of_memory_loses_nothing);
	tcase_add_test(cases, init_without_memory_leaves_nothing);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
