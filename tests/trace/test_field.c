/* SPDX-License-Identifier: Apache-2.0 */
/* The key=value fields after an event's numbers. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "trace/feed.h"

static struct feed feed;
static struct mam_trace_reader *reader;
static struct mam_trace_event event = { .size = sizeof(event) };

static void read_one(const char *text)
{
	reader = feed_open(&feed, text, 7);
	ck_assert_int_eq(mam_trace_next(reader, &event), MAM_OK);
}

static void close_reader(void)
{
	mam_trace_reader_destroy(reader);
}

static void expect_field(const char *key, const char *wanted)
{
	const char *value = NULL;
	size_t bytes = 0;

	ck_assert(mam_trace_field(&event, key, &value, &bytes));
	ck_assert_uint_eq(bytes, strlen(wanted));
	ck_assert_mem_eq(value, wanted, bytes);
}

static void expect_none(const char *key)
{
	const char *value;
	size_t bytes;

	ck_assert(!mam_trace_field(&event, key, &value, &bytes));
}

START_TEST(fields_are_found_by_key)
{
	read_one("a 1 2 3 thread=7  who=x=y\tempty= th=8\n");
	expect_field("thread", "7");
	expect_field("who", "x=y");
	expect_field("empty", "");
	expect_field("th", "8");
	expect_none("thre");
	expect_none("threads");
	expect_none("7");
	close_reader();
}
END_TEST

START_TEST(free_may_have_fields)
{
	read_one("f 1 thread=9\r\n");
	expect_field("thread", "9");
	close_reader();
}
END_TEST

START_TEST(event_may_have_no_fields)
{
	read_one("f 1   \n");
	ck_assert_uint_eq(event.fields_bytes, 0);
	expect_none("thread");
	close_reader();
}
END_TEST

START_TEST(value_may_have_any_printable_byte)
{
	read_one("a 1 2 3 who=\303\244</script>\"'\\\n");
	expect_field("who", "\303\244</script>\"'\\");
	close_reader();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("field");
	TCase *tests = tcase_create("field");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, fields_are_found_by_key);
	tcase_add_test(tests, free_may_have_fields);
	tcase_add_test(tests, event_may_have_no_fields);
	tcase_add_test(tests, value_may_have_any_printable_byte);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
