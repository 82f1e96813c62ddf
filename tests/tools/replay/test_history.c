/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of logs that are out of order, and the trace made of them.
 */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>

#include "read/history.h"
#include "kit/message.h"
#include "tools/failing.h"

static struct history history;
static struct replay_build build;
static struct replay_trace trace;
static char said[400];
static bool ended;

/* Replaces tools/message.c. */
void message_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
}

void message_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
}

static void begin(void)
{
	failing_left = -1;
	said[0] = '\0';
	replay_build_init(&build, &trace, "x.log", "line");
	ck_assert(history_init(&history));
	ended = false;
}

static void end(void)
{
	failing_left = -1;
	history_fini(&history);
	if (!ended)
		replay_build_fini(&build);
	for (uint32_t i = 0; i < trace.name_count; i++)
		free(trace.names[i]);
	free(trace.names);
	free(trace.origins);
	free(trace.times);
	free(trace.events);
	free(trace.lines);
	free(trace.blocks);
	free(trace.free_streams);
}

/*
 * A log as words: "a1" allocates address 1, "f1" frees it; "@5" after them is the time, "a1@5".
 * Places count from 1. False: no memory.
 */
static bool add(const char *log)
{
	struct history_event event = { .bytes = 64, .has_bytes = true };

	for (; *log; log += strcspn(log, " "), log += *log == ' ') {
		unsigned int address, time = 0;
		int fields = sscanf(log + 1, "%u@%u", &address, &time);

		ck_assert_int_ge(fields, 1);
		event.id = address;
		event.time = time;
		event.has_time = fields == 2;
		event.frees = *log == 'f';
		event.place++;
		if (!history_add(&history, &event))
			return false;
	}
	return true;
}

/* The events of the trace, in the same words, with the place of each event: "a1:1 f1:2". */
static const char *events(void)
{
	static char text[1000];
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < trace.event_count; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%c%u:%u", i ? " " : "",
				       trace.events[i] & 1 ? 'f' : 'a',
				       (unsigned int)trace.blocks[trace.events[i] >> 1].id,
				       trace.lines[i]);
	return text;
}

static const struct {
	const char *log;
	bool may_sort;
	const char *events;
	uint64_t late, older, unknown;
	bool by_time;
} logs[] = {
	{ "", true, "", 0, 0, 0, false },
	{ "a1 a2 f1 a1 f2", false, "a1:1 a2:2 f1:3 a1:4 f2:5", 0, 0, 0, false },
	/* Older than the log; sorted by address. */
	{ "f9 a1 f3 f1", false, "a3:3 a9:1 f9:1 a1:2 f3:3 f1:4", 0, 2, 0, false },
	{ "f9 a9 f9 a9", false, "a9:1 f9:1 a9:2 f9:3 a9:4", 0, 1, 0, false },
	/* A double free, or a free whose allocation was lost in a gap. */
	{ "a1 f1 f1 a1", false, "a1:1 f1:2 a1:4", 0, 0, 1, false },
	/* The free was overtaken: it comes later, followed by another one. */
	{ "a1 a1 f1 f1", false, "a1:1 f1:2 a1:2 f1:4", 1, 0, 0, false },
	{ "a1 a1 a2 f1 f2 f1 a1", false, "a1:1 f1:2 a1:2 a2:3 f2:5 f1:6 a1:7", 1, 0, 0, false },
	/* The free was lost. */
	{ "a1 a1 f1 a1", false, "a1:1 f1:2 a1:2 f1:3 a1:4", 1, 0, 0, false },
	{ "a1 a1", false, "a1:1 f1:2 a1:2", 1, 0, 0, false },
	{ "a1 a1 a1 f1", false, "a1:1 f1:2 a1:2 f1:3 a1:3 f1:4", 2, 0, 0, false },
	/* Times are used only if the order is inconsistent and the times are less so. */
	{ "a1@5 f1@4 a1@9 f1@8", true, "a1:1 f1:2 a1:3 f1:4", 0, 0, 0, false },
	{ "a1@1 a1@3 f1@2 f1@4", true, "a1:1 f1:3 a1:2 f1:4", 0, 0, 0, true },
	{ "a1@1 a1@3 f1@2 f1@4", false, "a1:1 f1:2 a1:2 f1:4", 1, 0, 0, false },
	{ "a1@4 a1@3 f1@2 f1@1", true, "a1:1 f1:2 a1:2 f1:4", 1, 0, 0, false },
	/* Events with equal times keep their order. */
	{ "a2@2 a1@1 f2@2 a1@3 f1@2 a2@2 f2@2", true, "a1:2 a2:1 f2:3 f1:5 a2:6 f2:7 a1:4", 0, 0, 0,
	  true },
};

START_TEST(logs_are_put_in_order)
{
	ck_assert(add(logs[_i].log));
	ck_assert(history_report(&history, &build, logs[_i].may_sort));
	ck_assert_str_eq(events(), logs[_i].events);
	ck_assert_uint_eq(history.late, logs[_i].late);
	ck_assert_uint_eq(history.older, logs[_i].older);
	ck_assert_uint_eq(history.unknown, logs[_i].unknown);
	ck_assert_int_eq(history.by_time, logs[_i].by_time);
	ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(older_blocks_come_first)
{
	struct history_event one = { .id = 7, .bytes = 10, .place = 1 };
	struct history_event two = { .id = 5, .bytes = 20, .place = 1 };

	ck_assert(add("f5 a6 f8"));
	ck_assert(history_add_before(&history, &one) && history_add_before(&history, &two));
	ck_assert(history_report(&history, &build, false));
	ck_assert_str_eq(events(), "a5:1 a7:1 a8:3 f5:1 a6:2 f8:3");
	ck_assert_uint_eq(history.older, 3);
	ck_assert_uint_eq(trace.blocks[0].bytes, 20);
}
END_TEST

START_TEST(older_blocks_are_counted_once)
{
	struct history_event one = { .id = 7, .bytes = 10, .place = 1 };

	ck_assert(history_add_before(&history, &one) && history_add_before(&history, &one));
	ck_assert(add("f7"));
	ck_assert(history_report(&history, &build, false));
	ck_assert_str_eq(events(), "a7:1 f7:1");
	ck_assert_uint_eq(history.unknown, 1);
}
END_TEST

START_TEST(free_of_unknown_size_is_ignored)
{
	struct history_event event = { .id = 7, .place = 1, .frees = true };

	ck_assert(history_add(&history, &event) && add("a7 f7"));
	ck_assert(history_report(&history, &build, false));
	ck_assert_str_eq(events(), "a7:1 f7:2");
	ck_assert_uint_eq(history.unknown, 1);
	ck_assert_uint_eq(history.older, 0);
}
END_TEST

/* Its time and thread are unknown; only the block is known. */
START_TEST(older_blocks_have_the_first_time)
{
	struct history_event event = { .id = 9,
				       .bytes = 1,
				       .place = 3,
				       .time = 500,
				       .thread = 5,
				       .has_time = true,
				       .frees = true,
				       .has_bytes = true,
				       .has_thread = true };

	ck_assert(add("a1@100 a2@200") && history_add(&history, &event));
	ck_assert(history_report(&history, &build, false));
	ck_assert_str_eq(events(), "a9:3 a1:1 a2:2 f9:3");
	ck_assert_uint_eq(trace.times[0], 0);
	ck_assert_uint_eq(trace.times[1], 0);
	ck_assert_uint_eq(trace.times[2], 100);
	ck_assert_uint_eq(trace.times[3], 400);
	ck_assert(!trace.has_threads);
}
END_TEST

START_TEST(all_known_fields_are_kept)
{
	struct history_event event = { .id = 7,
				       .bytes = 11,
				       .stream = 3,
				       .place = 4,
				       .thread = 55,
				       .time = 1000,
				       .who = 0,
				       .has_thread = true,
				       .has_time = true };

	ck_assert(names_number(&history.names, "f.py:1 g", 8, &event.who));
	ck_assert(history_add(&history, &event));
	event.frees = true;
	event.stream = 9;
	event.time = 5000;
	ck_assert(history_add(&history, &event));
	ck_assert(history_report(&history, &build, false));
	replay_build_fini(&build);
	ended = true;
	ck_assert_uint_eq(trace.blocks[0].bytes, 11);
	ck_assert_uint_eq(trace.blocks[0].stream, 3);
	ck_assert_uint_eq(trace.free_streams[0], 9);
	ck_assert_uint_eq(trace.origins[0].thread, 55);
	ck_assert_str_eq(trace.names[trace.origins[0].who], "f.py:1 g");
	ck_assert_uint_eq(trace.times[1], 4000);
}
END_TEST

/* Thousands in any order of time: sorted, and none lost. */
START_TEST(many_events_are_sorted)
{
	enum { COUNT = 3000 };
	static uint32_t turns[COUNT]; /* of each place */
	uint64_t random = 1;
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t other = (uint32_t)(random >> 33) % (i + 1);

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		turns[i] = turns[other];
		turns[other] = i;
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		struct history_event event = { .id = turns[i] / 2 % 20,
					       .bytes = 1,
					       .place = i + 1,
					       .time = 10 * turns[i],
					       .has_bytes = true,
					       .has_time = true };

		event.frees = turns[i] % 2;
		ck_assert(history_add(&history, &event));
	}
	ck_assert(history_report(&history, &build, true));
	ck_assert(history.by_time);
	ck_assert_uint_eq(trace.event_count, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		wrong += turns[trace.lines[i] - 1] != i;
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(history.late + history.older + history.unknown, 0);
}
END_TEST

START_TEST(out_of_memory_is_reported)
{
	long enough = 0;

	for (;; enough++) {
		said[0] = '\0';
		failing_left = enough;
		if (!add("a1@1 a1@3 f1@2 f1@4 f7@5"))
			ck_assert_str_eq(said, "");
		else if (history_report(&history, &build, true))
			break;
		else
			ck_assert_ptr_nonnull(strstr(said, "out of memory"));
		end();
		begin();
	}
	ck_assert_int_ge(enough, 8);
	ck_assert_uint_eq(trace.event_count, 6);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("history");
	TCase *cases = tcase_create("history");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, begin, end);
	tcase_add_loop_test(cases, logs_are_put_in_order, 0, (int)(sizeof(logs) / sizeof(logs[0])));
	tcase_add_test(cases, older_blocks_come_first);
	tcase_add_test(cases, older_blocks_are_counted_once);
	tcase_add_test(cases, free_of_unknown_size_is_ignored);
	tcase_add_test(cases, older_blocks_have_the_first_time);
	tcase_add_test(cases, all_known_fields_are_kept);
	tcase_add_test(cases, many_events_are_sorted);
	tcase_add_test(cases, out_of_memory_is_reported);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
