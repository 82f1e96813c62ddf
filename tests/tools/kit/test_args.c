/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command line read by a table: valid sizes, and where values and operands are stored.
 */
#include <check.h>
#include <stdlib.h>

#include "kit/args.h"
#include "command.h"

START_TEST(sizes_are_read_in_every_spelling)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "512", 512 },
		{ "512B", 512 },
		{ "64K", 65536 },
		{ "64k", 65536 },
		{ "64KB", 65536 },
		{ "64KiB", 65536 },
		{ "1.5M", 1572864 },
		{ "1.99999999999999999999K", 2047 },
		{ "15.99999999999999999999E", UINT64_MAX },
		{ "80G", UINT64_C(85899345920) },
		{ "2T", UINT64_C(2199023255552) },
		{ "9007199254740993", UINT64_C(9007199254740993) },
		{ "18446744073709551615", UINT64_MAX },
	};
	uint64_t bytes;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ck_assert_msg(args_bytes(good[i].text, &bytes), "%s is a size", good[i].text);
		ck_assert_uint_eq(bytes, good[i].bytes);
	}
}
END_TEST

START_TEST(invalid_sizes_are_refused)
{
	static const char *const bad[] = {
		"",     "K",   "-1",  "+1",   "1e3",
		"0x10", "inf", "nan", "1.5",  "64Q",
		"64KK", "6 4", " 64", "64iB", "18446744073709551616",
		"16E",
	};
	uint64_t bytes;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!args_bytes(bad[i], &bytes), "'%s' is accepted as a size", bad[i]);
}
END_TEST

struct settings {
	bool flag;
	uint64_t count;
	uint64_t bytes;
	const char *text;
	uint64_t word;
};

static const struct args_word words[] = { { "most", 99 }, { NULL, 0 } };

static const struct args_word colors[] = { { "red", 1 }, { "green", 2 }, { NULL, 0 } };

static const struct args_option options[] = {
	{ "flag", 'f', ARGS_FLAG, offsetof(struct settings, flag), NULL, NULL, "" },
	{ "count", 'c', ARGS_COUNT, offsetof(struct settings, count), "N", words, "" },
	{ "bytes", 0, ARGS_BYTES, offsetof(struct settings, bytes), "BYTES", words, "" },
	{ "text", 't', ARGS_TEXT, offsetof(struct settings, text), "TEXT", NULL, "" },
	{ "color", 0, ARGS_WORD, offsetof(struct settings, word), "WHAT", colors, "" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	.name = "x", .use = "", .intro = "", .options = options
};
static const struct args_command stopping = {
	.name = "x", .use = "", .intro = "", .options = options, .stops = true
};

#define COUNT(words) ((int)(sizeof(words) / sizeof((words)[0])) - 1)

START_TEST(values_are_stored_in_their_fields)
{
	char *line[] = { "x",  "-f",   "operand", "--count", "7", "--bytes=2K",
			 "-t", "word", "--",      "-f",      NULL };
	struct settings settings = { false, 0, 0, NULL, 0 };
	int first, status;

	ck_assert(args_parse(&command, COUNT(line), line, &settings, &first, &status));
	ck_assert(settings.flag);
	ck_assert_uint_eq(settings.count, 7);
	ck_assert_uint_eq(settings.bytes, 2048);
	ck_assert_str_eq(settings.text, "word");
	ck_assert_int_eq(COUNT(line) - first, 2);
	ck_assert_str_eq(line[first], "operand");
	ck_assert_str_eq(line[first + 1], "-f");
}
END_TEST

START_TEST(keywords_stand_for_numbers)
{
	char *line[] = { "x", "-c", "most", "--bytes", "most", "--color=green", NULL };
	struct settings settings = { false, 0, 0, NULL, 0 };
	int first, status;

	ck_assert(args_parse(&command, COUNT(line), line, &settings, &first, &status));
	ck_assert_uint_eq(settings.count, 99);
	ck_assert_uint_eq(settings.bytes, 99);
	ck_assert_uint_eq(settings.word, 2);
}
END_TEST

START_TEST(stopping_command_leaves_the_rest_alone)
{
	char *line[] = { "x", "-f", "program", "-c", "0", NULL };
	struct settings settings = { false, 5, 0, NULL, 0 };
	int first, status;

	ck_assert(args_parse(&stopping, COUNT(line), line, &settings, &first, &status));
	ck_assert(settings.flag);
	ck_assert_uint_eq(settings.count, 5);
	ck_assert_int_eq(first, 2);
}
END_TEST

START_TEST(invalid_values_end_with_status_2)
{
	static char *const bad[] = { "--count=0", "--count=-1", "--count=x", "--bytes=x",
				     "--text",    "--no",       "-z",        "--flag=1",
				     "--color",   "--color=",   "--color=1", "--color=reds" };
	struct settings settings;
	int first, status;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *line[] = { "x", bad[i], NULL };

		ck_assert_msg(!args_parse(&command, 2, line, &settings, &first, &status), "%s",
			      bad[i]);
		ck_assert_int_eq(status, STATUS_BAD);
	}
}
END_TEST

/* "--" and "--flag" are not values unless they follow an equals sign. */
START_TEST(option_is_not_used_as_a_value)
{
	static char *const options_with_value[] = { "--text", "-t", "--count", "--bytes",
						    "--color" };
	static char *const words_after[] = { "--", "--flag", "--no-such" };
	char *exact[] = { "x", "--text=--", NULL }, *joined[] = { "x", "-t--", NULL },
	     *dash[] = { "x", "--text", "-", NULL };
	struct settings settings;
	int first, status;

	for (size_t i = 0; i < 5; i++) {
		for (size_t j = 0; j < 3; j++) {
			char *line[] = { "x", options_with_value[i], words_after[j], NULL };

			status = STATUS_GOOD;
			ck_assert(!args_parse(&stopping, 3, line, &settings, &first, &status));
			ck_assert_int_eq(status, STATUS_BAD);
		}
	}
	ck_assert(args_parse(&command, 2, exact, &settings, &first, &status));
	ck_assert_str_eq(settings.text, "--");
	ck_assert(args_parse(&command, 2, joined, &settings, &first, &status));
	ck_assert_str_eq(settings.text, "--");
	ck_assert(args_parse(&command, 3, dash, &settings, &first, &status));
	ck_assert_str_eq(settings.text, "-");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("args");
	TCase *tests = tcase_create("args");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, sizes_are_read_in_every_spelling);
	tcase_add_test(tests, invalid_sizes_are_refused);
	tcase_add_test(tests, values_are_stored_in_their_fields);
	tcase_add_test(tests, keywords_stand_for_numbers);
	tcase_add_test(tests, stopping_command_leaves_the_rest_alone);
	tcase_add_test(tests, invalid_values_end_with_status_2);
	tcase_add_test(tests, option_is_not_used_as_a_value);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
