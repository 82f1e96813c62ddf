/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace reader: what it accepts, what it rejects and with which messages, and that the results
 * do not depend on how the bytes arrive.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/feed.h"

static struct feed feed;
static struct mam_trace_reader *reader;

static void close_reader(void)
{
	mam_trace_reader_destroy(reader);
	reader = NULL;
}

START_TEST(events_are_read_from_any_pieces)
{
	static const char text[] = "# a comment\n\na 1 512 0\n \t\n  a\t2 0 7  \nf 1\r\na 1 9 "
				   "18446744073709551615\n#\nf 18446744073709551615";

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		reader = feed_open(&feed, text, piece);
		feed_expect(reader, MAM_TRACE_ALLOC, 1, 512, 0, 3);
		feed_expect(reader, MAM_TRACE_ALLOC, 2, 0, 7, 5);
		feed_expect(reader, MAM_TRACE_FREE, 1, 0, 0, 6);
		feed_expect(reader, MAM_TRACE_ALLOC, 1, 9, UINT64_MAX, 7);
		feed_expect(reader, MAM_TRACE_FREE, UINT64_MAX, 0, 0, 9);
		feed_expect(reader, MAM_TRACE_END, 0, 0, 0, 0);
		close_reader();
	}
}
END_TEST

START_TEST(end_is_permanent)
{
	reader = feed_open(&feed, "", 10);
	feed_expect(reader, MAM_TRACE_END, 0, 0, 0, 0);
	feed_expect(reader, MAM_TRACE_END, 0, 0, 0, 0);
	ck_assert_uint_eq(feed.calls, 1);
	ck_assert_ptr_null(mam_trace_problem_of(reader));
	close_reader();
}
END_TEST

static const struct {
	const char *text;
	uint64_t line;
	const char *sentence;
} refused[] = {
	{ "x\n", 1, "expected 'a ID BYTES STREAM', 'f ID' or '#', found 'x'" },
	{ "\n\naa 1 2 3\n", 3, "expected 'a ID BYTES STREAM', 'f ID' or '#', found 'aa'" },
	{ "a\n", 1, "the id is missing" },
	{ "f", 1, "the id is missing" },
	{ "a 1 \n", 1, "the number of bytes is missing" },
	{ "a 1 2\n", 1, "the stream is missing" },
	{ "a -1 2 3\n", 1, "the id '-1' is negative" },
	{ "a 1 -2 3\n", 1, "the number of bytes '-2' is negative" },
	{ "a 1 2 -3\n", 1, "the stream '-3' is negative" },
	{ "a 1 - 3\n", 1, "the number of bytes '-' is not a decimal number" },
	{ "a 1 -x 3\n", 1, "the number of bytes '-x' is not a decimal number" },
	{ "a 1 +2 3\n", 1, "the number of bytes '+2' is not a decimal number" },
	{ "a 1 2.5 3\n", 1, "the number of bytes '2.5' is not a decimal number" },
	{ "a 1 0x2 3\n", 1, "the number of bytes '0x2' is not a decimal number" },
	{ "f 18446744073709551616\n", 1, "the id '18446744073709551616' does not fit in 64 bits" },
	{ "f 99999999999999999999\n", 1, "the id '99999999999999999999' does not fit in 64 bits" },
	{ "f 1 2\n", 1, "expected key=value after the numbers, found '2'" },
	{ "a 1 2 3 k\n", 1, "expected key=value after the numbers, found 'k'" },
	{ "a 1 2 3 =v\n", 1, "expected key=value after the numbers, found '=v'" },
	{ "a 1 2 3 k=v k!=v\n", 1, "expected key=value after the numbers, found 'k!=v'" },
	{ "a 1 2 3 k=\033[2J\n", 1, "expected key=value after the numbers, found 'k=\\x1b[2J'" },
	{ "\377\001\n", 1, "expected 'a ID BYTES STREAM', 'f ID' or '#', found '\\xff\\x01'" },
};

START_TEST(invalid_lines_are_rejected_with_message)
{
	feed_refused(refused[_i].text, refused[_i].line, refused[_i].sentence);
}
END_TEST

START_TEST(rejection_is_permanent)
{
	struct mam_trace_event event = { .size = sizeof(event) };

	reader = feed_open(&feed, "x\na 1 2 3\n", 100);
	ck_assert_int_eq(mam_trace_next(reader, &event), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_trace_next(reader, &event), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(mam_trace_problem_of(reader)->line, 1);
	close_reader();
}
END_TEST

START_TEST(rejection_leaves_event_unchanged)
{
	struct mam_trace_event event = { .size = sizeof(event), .id = 77 };

	reader = feed_open(&feed, "a 1 2\n", 100);
	ck_assert_int_eq(mam_trace_next(reader, &event), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(event.id, 77);
	close_reader();
}
END_TEST

START_TEST(zero_byte_is_rejected_even_in_comment)
{
	struct mam_trace_event event = { .size = sizeof(event) };

	reader = feed_open(&feed, "# x\n", 100);
	feed.text = "# \0\n";
	ck_assert_int_eq(mam_trace_next(reader, &event), MAM_ERROR_INVALID_VALUE);
	ck_assert_str_eq(mam_trace_problem_of(reader)->text,
			 "the line contains a zero byte: not a text file");
	close_reader();
}
END_TEST

/* A comment of this many bytes, including its newline, followed by an event. */
static char *long_line(size_t bytes)
{
	char *text = malloc(bytes + 16);

	ck_assert_ptr_nonnull(text);
	memset(text, '#', bytes);
	strcpy(text + bytes - 1, "\nf 1\n");
	return text;
}

START_TEST(longest_line_is_accepted)
{
	char *text = long_line(MAM_TRACE_LINE_BYTES);

	reader = feed_open(&feed, text, 1000);
	feed_expect(reader, MAM_TRACE_FREE, 1, 0, 0, 2);
	close_reader();
	free(text);
}
END_TEST

START_TEST(longer_line_is_rejected_without_reading_on)
{
	char *text = long_line(MAM_TRACE_LINE_BYTES + 1);
	struct mam_trace_event event = { .size = sizeof(event) };

	for (size_t piece = 1; piece < 100000; piece *= 10) {
		reader = feed_open(&feed, text, piece);
		ck_assert_int_eq(mam_trace_next(reader, &event), MAM_ERROR_INVALID_VALUE);
		ck_assert_str_eq(mam_trace_problem_of(reader)->text,
				 "the line is longer than 4095 bytes");
		close_reader();
	}
	free(text);
}
END_TEST

START_TEST(failed_read_returns_complete_lines_first)
{
	static const char text[] = "a 1 2 3\nf 1\na 2 345 6\n";
	struct mam_trace_event event = { .size = sizeof(event) };

	/*
	 * Truncated anywhere in the third line: the first two are returned, and the third is
	 * rejected.
	 */
	for (size_t cut = 12; cut < sizeof(text) - 1; cut++) {
		reader = feed_open(&feed, text, 5);
		feed.fails_at = cut;
		feed_expect(reader, MAM_TRACE_ALLOC, 1, 2, 3, 1);
		feed_expect(reader, MAM_TRACE_FREE, 1, 0, 0, 2);
		ck_assert_int_eq(mam_trace_next(reader, &event), MAM_ERROR_IO);
		ck_assert_int_eq(mam_trace_next(reader, &event), MAM_ERROR_IO);
		ck_assert(mam_trace_problem_of(reader)->cut);
		ck_assert_uint_eq(mam_trace_problem_of(reader)->line, 2);
		close_reader();
	}
}
END_TEST

START_TEST(only_last_line_without_newline_is_truncated)
{
	static const struct {
		const char *text;
		bool cut;
	} ends[] = {
		{ "f 1\na 2", true },
		{ "f 1\na 2\n", false },
		{ "a 2\nf 1", false },
	};
	struct mam_trace_event event = { .size = sizeof(event) };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		reader = feed_open(&feed, ends[i].text, 3);
		while (mam_trace_next(reader, &event) == MAM_OK)
			;
		ck_assert_int_eq(mam_trace_problem_of(reader)->cut, ends[i].cut);
		close_reader();
	}
}
END_TEST

START_TEST(long_trace_is_read_to_its_end)
{
	const unsigned int lines = 50000;
	char *text = malloc(lines * 24), *end = text;
	struct mam_trace_event event = { .size = sizeof(event) };

	ck_assert_ptr_nonnull(text);
	for (unsigned int i = 0; i < lines; i++)
		end += sprintf(end, "a %u %u 0\n", i, 7 * i);
	reader = feed_open(&feed, text, 60000);
	for (unsigned int i = 0; i < lines; i++) {
		ck_assert_int_eq(mam_trace_next(reader, &event), MAM_OK);
		ck_assert_uint_eq(event.id, i);
		ck_assert_uint_eq(event.bytes, 7 * i);
		ck_assert_uint_eq(event.line, i + 1);
	}
	feed_expect(reader, MAM_TRACE_END, 0, 0, 0, 0);
	close_reader();
	free(text);
}
END_TEST

START_TEST(null_arguments_are_rejected)
{
	struct mam_trace_event event = { .size = sizeof(event) };

	ck_assert_int_eq(mam_trace_reader_create(NULL, NULL, &reader), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_trace_next(NULL, &event), MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_null(mam_trace_problem_of(NULL));
	mam_trace_reader_destroy(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace");
	TCase *tests = tcase_create("trace");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, events_are_read_from_any_pieces);
	tcase_add_test(tests, end_is_permanent);
	tcase_add_loop_test(tests, invalid_lines_are_rejected_with_message, 0,
			    sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tests, rejection_is_permanent);
	tcase_add_test(tests, rejection_leaves_event_unchanged);
	tcase_add_test(tests, zero_byte_is_rejected_even_in_comment);
	tcase_add_test(tests, longest_line_is_accepted);
	tcase_add_test(tests, longer_line_is_rejected_without_reading_on);
	tcase_add_test(tests, failed_read_returns_complete_lines_first);
	tcase_add_test(tests, only_last_line_without_newline_is_truncated);
	tcase_add_test(tests, long_trace_is_read_to_its_end);
	tcase_add_test(tests, null_arguments_are_rejected);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
