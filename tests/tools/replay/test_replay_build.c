/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a trace: its rules, its columns, and memory that runs out.
 */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>

#include "kit/message.h"
#include "replay/replay_build.h"
#include "tools/failing.h"

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

static void drop(struct replay_trace *dropped)
{
	for (uint32_t i = 0; i < dropped->name_count; i++)
		free(dropped->names[i]);
	free(dropped->names);
	free(dropped->origins);
	free(dropped->times);
	free(dropped->events);
	free(dropped->lines);
	free(dropped->blocks);
	free(dropped->free_streams);
}

static void begin(void)
{
	failing_left = -1;
	said[0] = '\0';
	replay_build_init(&build, &trace, "x.trace", "entry");
	ended = false;
}

/* The trace is complete: called once only. */
static void complete(void)
{
	replay_build_fini(&build);
	ended = true;
}

static void end(void)
{
	failing_left = -1;
	if (!ended)
		complete();
	drop(&trace);
}

static uint64_t place;

static bool alloc(uint64_t id, uint64_t bytes, uint64_t stream)
{
	struct replay_told told = { .id = id, .bytes = bytes, .stream = stream, .place = ++place };

	return replay_build_alloc(&build, &told);
}

static bool release(uint64_t id)
{
	struct replay_told told = { .id = id, .place = ++place };

	return replay_build_free(&build, &told);
}

START_TEST(events_and_blocks_refer_to_each_other)
{
	place = 10;
	ck_assert(alloc(1000, 64, 0) && alloc(7, 32, 0) && release(1000) && alloc(1000, 8, 5));
	ck_assert_uint_eq(trace.event_count, 4);
	ck_assert_uint_eq(trace.block_count, 3);
	ck_assert_uint_eq(trace.stream_count, 2);
	ck_assert_uint_eq(trace.events[0], 0 << 1);
	ck_assert_uint_eq(trace.events[1], 1 << 1);
	ck_assert_uint_eq(trace.events[2], 0 << 1 | 1);
	ck_assert_uint_eq(trace.events[3], 2 << 1);
	ck_assert_uint_eq(trace.lines[0], 11);
	ck_assert_uint_eq(trace.lines[3], 14);
	ck_assert_uint_eq(trace.blocks[0].id, 1000);
	ck_assert_uint_eq(trace.blocks[0].bytes, 64);
	ck_assert_uint_eq(trace.blocks[0].birth, 0);
	ck_assert_uint_eq(trace.blocks[0].death, 2);
	ck_assert_uint_eq(trace.blocks[1].death, REPLAY_ALIVE);
	ck_assert_uint_eq(trace.blocks[2].stream, 5);
	ck_assert_uint_eq(trace.blocks[2].birth, 3);
	ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(live_blocks_are_known)
{
	ck_assert_uint_eq(replay_build_alive(&build, 5), REPLAY_NOBODY);
	ck_assert(alloc(9, 1, 0) && alloc(5, 1, 0));
	ck_assert_uint_eq(replay_build_alive(&build, 5), 1);
	ck_assert(release(5));
	ck_assert_uint_eq(replay_build_alive(&build, 5), REPLAY_NOBODY);
	ck_assert(alloc(5, 1, 0));
	ck_assert_uint_eq(replay_build_alive(&build, 5), 2);
}
END_TEST

START_TEST(streams_are_counted_once)
{
	static const uint64_t streams[] = { 5, 0, 5, 0, 7, 7, 0, UINT64_MAX };

	for (uint64_t i = 0; i < 8; i++)
		ck_assert(alloc(i, 1, streams[i]));
	ck_assert_uint_eq(trace.stream_count, 4);
}
END_TEST

START_TEST(second_alloc_of_a_live_id_is_an_error)
{
	place = 0;
	ck_assert(alloc(42, 1, 0) && alloc(43, 1, 0));
	ck_assert(!alloc(42, 1, 0));
	ck_assert_str_eq(said, "x.trace: entry 3: block 42 is allocated again before it is freed, "
			       "first on entry 1");
	ck_assert_uint_eq(trace.event_count, 2);
	ck_assert_uint_eq(trace.block_count, 2);
}
END_TEST

START_TEST(second_free_of_an_id_is_an_error)
{
	place = 0;
	ck_assert(alloc(42, 1, 0) && release(42));
	ck_assert(!release(42));
	ck_assert_str_eq(said, "x.trace: entry 3: double free of block 42, first freed on entry 2");
	ck_assert(!release(43));
	ck_assert_str_eq(said, "x.trace: entry 4: invalid free: block 43 was never allocated");
	ck_assert_uint_eq(trace.event_count, 2);
}
END_TEST

START_TEST(peak_is_the_first_of_the_highest)
{
	ck_assert(alloc(1, 100, 0) && alloc(2, 50, 0) && release(1) && alloc(3, 100, 0));
	ck_assert_uint_eq(trace.peak_event, 1);
	ck_assert(alloc(4, UINT64_MAX, 0) && alloc(5, UINT64_MAX, 0) && release(4) && release(5));
	ck_assert_uint_eq(trace.peak_event, 5);
}
END_TEST

START_TEST(missing_columns_are_added_when_first_used)
{
	ck_assert(alloc(1, 1, 3) && release(1));
	ck_assert_ptr_null(trace.times);
	ck_assert_ptr_null(trace.origins);
	ck_assert_ptr_null(trace.free_streams);
	ck_assert(!trace.has_threads);
	complete();
	ck_assert_ptr_null(trace.names);
	ck_assert_uint_eq(trace.name_count, 0);
}
END_TEST

static bool alloc_at(uint64_t id, uint64_t time)
{
	struct replay_told told = { .id = id, .bytes = 1, .time = time, .has_time = true };

	return replay_build_alloc(&build, &told);
}

START_TEST(times_start_at_the_first_and_never_decrease)
{
	ck_assert(alloc(1, 1, 0) && alloc_at(2, 1000) && alloc_at(3, 1700) && alloc_at(4, 1500) &&
		  alloc(5, 1, 0) && alloc_at(6, 10) && alloc_at(7, 1800));
	ck_assert_uint_eq(trace.times[0], 0);
	ck_assert_uint_eq(trace.times[1], 0);
	ck_assert_uint_eq(trace.times[2], 700);
	ck_assert_uint_eq(trace.times[3], 700);
	ck_assert_uint_eq(trace.times[4], 700);
	ck_assert_uint_eq(trace.times[5], 700);
	ck_assert_uint_eq(trace.times[6], 800);
}
END_TEST

START_TEST(origins_start_with_the_first)
{
	struct replay_told told = { .id = 2, .who = "a.py:1 f", .who_bytes = 8 };

	ck_assert(alloc(1, 1, 0) && replay_build_alloc(&build, &told));
	told = (struct replay_told){ .id = 3, .thread = 77, .has_thread = true };
	ck_assert(replay_build_alloc(&build, &told));
	told = (struct replay_told){ .id = 4, .who = "a.py:1 f()", .who_bytes = 8, .thread = 5 };
	ck_assert(replay_build_alloc(&build, &told));
	ck_assert(alloc(5, 1, 0));
	complete();
	ck_assert(trace.has_threads);
	ck_assert_uint_eq(trace.name_count, 2);
	ck_assert_str_eq(trace.names[1], "a.py:1 f");
	ck_assert_uint_eq(trace.origins[0].who, 0);
	ck_assert_uint_eq(trace.origins[1].who, 1);
	ck_assert_uint_eq(trace.origins[2].who, 0);
	ck_assert_uint_eq(trace.origins[2].thread, 77);
	ck_assert_uint_eq(trace.origins[3].who, 1);
	ck_assert_uint_eq(trace.origins[3].thread, 0);
	ck_assert_uint_eq(trace.origins[4].who, 0);
	ck_assert_uint_eq(trace.origins[4].thread, 0);
}
END_TEST

START_TEST(streams_of_frees_start_with_the_first_other)
{
	struct replay_told told = { .id = 1, .stream = 3, .has_stream = true };

	ck_assert(alloc(1, 1, 3) && alloc(2, 1, 4) && replay_build_free(&build, &told));
	ck_assert_ptr_null(trace.free_streams);
	told = (struct replay_told){ .id = 2, .stream = 9, .has_stream = true };
	ck_assert(replay_build_free(&build, &told) && alloc(8, 1, 7));
	ck_assert_ptr_nonnull(trace.free_streams);
	ck_assert_uint_eq(trace.free_streams[0], 3);
	ck_assert_uint_eq(trace.free_streams[1], 9);
	ck_assert_uint_eq(trace.free_streams[2], 7);
	ck_assert_uint_eq(trace.stream_count, 4);
}
END_TEST

/* All columns, beyond their initial size. */
static bool report_all(uint32_t count)
{
	char who[20];

	for (uint32_t i = 0; i < count; i++) {
		struct replay_told told = { .id = i,
					    .bytes = i,
					    .stream = i % 3,
					    .place = i + 1,
					    .time = i,
					    .thread = i % 5,
					    .who = who,
					    .has_time = true,
					    .has_thread = true };

		told.who_bytes = (size_t)snprintf(who, sizeof(who), "%u", i % 100);
		if (!replay_build_alloc(&build, &told))
			return false;
		told.stream = 3;
		told.has_stream = true;
		if (i % 2 && !replay_build_free(&build, &told))
			return false;
	}
	return true;
}

START_TEST(columns_grow_together)
{
	const uint32_t count = 20000;
	uint32_t wrong = 0, event = 0;

	ck_assert(report_all(count));
	complete();
	ck_assert_uint_eq(trace.block_count, count);
	ck_assert_uint_eq(trace.event_count, count + count / 2);
	for (uint32_t i = 0; i < count; i++) {
		char who[20];

		snprintf(who, sizeof(who), "%u", i % 100);
		wrong += trace.blocks[i].birth != event || trace.times[event] != i ||
			 trace.lines[event] != i + 1 || trace.origins[i].thread != i % 5 ||
			 strcmp(trace.names[trace.origins[i].who], who) != 0 ||
			 trace.free_streams[i] != (i % 2 ? 3 : i % 3);
		event += 1 + i % 2;
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

/*
 * One event of several devices: `count` blocks of the devices 0, 10, 20 and so on, in turn. `only`:
 * no event of any other device.
 */
static bool add_devices(uint32_t count, uint32_t devices, uint64_t only)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < 2 * count; i++) {
		uint32_t block = i < count ? i : i - count;
		uint64_t device = block % devices * 10;
		struct replay_told told = { .id = block,
					    .bytes = 1 + block % 977,
					    .stream = block % 13,
					    .place = ++at,
					    .time = 100 + i,
					    .thread = block % 5,
					    .device = device,
					    .has_time = true,
					    .has_thread = true,
					    .has_device = i < count };

		if (only != UINT64_MAX && device != only)
			continue;
		if (i < count ? !replay_build_alloc(&build, &told) : false)
			return false;
		told.has_stream = true;
		told.stream = block % 4 ? told.stream : 14;
		if (i >= count && block % 7 && !replay_build_free(&build, &told))
			return false;
	}
	return true;
}

static void expect_same(const struct replay_trace *a, const struct replay_trace *b)
{
	uint32_t wrong = 0;

	ck_assert_uint_eq(a->event_count, b->event_count);
	ck_assert_uint_eq(a->block_count, b->block_count);
	ck_assert_uint_eq(a->stream_count, b->stream_count);
	ck_assert_uint_eq(a->peak_event, b->peak_event);
	for (uint32_t i = 0; i < a->event_count; i++)
		wrong += a->events[i] != b->events[i] || a->lines[i] != b->lines[i] ||
			 a->times[i] != b->times[i];
	for (uint32_t i = 0; i < a->block_count; i++)
		wrong += a->blocks[i].id != b->blocks[i].id ||
			 a->blocks[i].bytes != b->blocks[i].bytes ||
			 a->blocks[i].stream != b->blocks[i].stream ||
			 a->blocks[i].birth != b->blocks[i].birth ||
			 a->blocks[i].death != b->blocks[i].death ||
			 a->free_streams[i] != b->free_streams[i] ||
			 a->origins[i].thread != b->origins[i].thread;
	ck_assert_uint_eq(wrong, 0);
}

/* A device of a trace of three is replayed as if it were alone in the file. */
START_TEST(device_is_replayed_as_if_alone)
{
	struct replay_trace alone;

	ck_assert(add_devices(9000, 3, 10 * (uint64_t)_i));
	complete();
	alone = trace;
	begin();
	build.device = 10 * (uint64_t)_i + 1;
	ck_assert(add_devices(9000, 3, UINT64_MAX));
	ck_assert(replay_devices_reduce(&build));
	complete();
	ck_assert_uint_eq(trace.device, 10 * (uint64_t)_i);
	ck_assert_uint_eq(trace.device_count, 3);
	ck_assert_str_eq(said, "");
	expect_same(&trace, &alone);
	drop(&alone);
}
END_TEST

static bool alloc_on(uint64_t id, uint64_t device)
{
	struct replay_told told = { .id = id, .bytes = 1, .device = device, .has_device = true };

	return replay_build_alloc(&build, &told);
}

START_TEST(busiest_device_is_chosen)
{
	ck_assert(alloc(1, 1, 0) && alloc(2, 1, 0) && alloc(3, 1, 0) && alloc(4, 1, 0));
	ck_assert(alloc_on(5, 9) && alloc_on(6, 3) && alloc_on(7, 9) && alloc_on(8, 3));
	ck_assert(replay_devices_reduce(&build));
	ck_assert_uint_eq(trace.device, 3);
	ck_assert_uint_eq(trace.event_count, 2);
	ck_assert_uint_eq(trace.blocks[1].id, 8);
	ck_assert_str_eq(said,
			 "x.trace: device 3 is replayed, with 2 events; 2 other devices have 6 "
			 "events (use --device N to choose)");
}
END_TEST

START_TEST(one_event_is_singular)
{
	ck_assert(alloc_on(1, 1) && alloc_on(2, 0));
	ck_assert(replay_devices_reduce(&build));
	ck_assert_str_eq(said, "x.trace: device 0 is replayed, with 1 event; 1 other device has 1 "
			       "event (use --device N to choose)");
}
END_TEST

START_TEST(device_missing_in_the_file_is_an_error)
{
	build.device = 4 + 1;
	ck_assert(alloc_on(1, 1));
	ck_assert(!replay_devices_reduce(&build));
	ck_assert_str_eq(said, "x.trace: --device 4: the file has events of device 1 only");
	ck_assert(alloc_on(2, 0) && alloc(3, 1, 0) && alloc_on(4, UINT64_MAX));
	ck_assert(!replay_devices_reduce(&build));
	ck_assert_str_eq(said, "x.trace: --device 4: the file has events of devices 1, 0 and "
			       "18446744073709551615 only");
	for (uint64_t i = 5; i < 25; i++)
		ck_assert(alloc_on(i, i));
	ck_assert(!replay_devices_reduce(&build));
	ck_assert_ptr_nonnull(strstr(said, "17 and 7 more only"));
}
END_TEST

START_TEST(file_cannot_add_devices)
{
	ck_assert(alloc(1, 1, 0) && replay_devices_reduce(&build));
	ck_assert_uint_eq(trace.device_count, 0);
	build.device = 0 + 1;
	ck_assert(!replay_devices_reduce(&build));
	ck_assert_str_eq(said, "x.trace: --device 0: the file has no device numbers");
}
END_TEST

/* Out of memory is reported at any allocation, and the earlier contents are complete and freed. */
START_TEST(out_of_memory_is_reported)
{
	long enough = 0;

	for (;; enough++) {
		said[0] = '\0';
		failing_left = enough;
		if (report_all(6000))
			break;
		ck_assert_str_eq(said, "x.trace: out of memory");
		ck_assert_uint_le(trace.block_count, 6000);
		end();
		begin();
	}
	ck_assert_int_ge(enough, 20);
	ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(out_of_memory_with_devices_is_reported)
{
	for (failing_left = 0;; failing_left = (long)_i + 1, _i++) {
		said[0] = '\0';
		build.device = 10 + 1;
		if (add_devices(3000, 20, UINT64_MAX) && replay_devices_reduce(&build))
			break;
		ck_assert_str_eq(said, "x.trace: out of memory");
		end();
		begin();
	}
	ck_assert_int_ge(_i, 20);
	ck_assert_uint_eq(trace.block_count, 150);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("replay_build");
	TCase *cases = tcase_create("replay_build");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, begin, end);
	tcase_add_test(cases, events_and_blocks_refer_to_each_other);
	tcase_add_test(cases, live_blocks_are_known);
	tcase_add_test(cases, streams_are_counted_once);
	tcase_add_test(cases, second_alloc_of_a_live_id_is_an_error);
	tcase_add_test(cases, second_free_of_an_id_is_an_error);
	tcase_add_test(cases, peak_is_the_first_of_the_highest);
	tcase_add_test(cases, missing_columns_are_added_when_first_used);
	tcase_add_test(cases, times_start_at_the_first_and_never_decrease);
	tcase_add_test(cases, origins_start_with_the_first);
	tcase_add_test(cases, streams_of_frees_start_with_the_first_other);
	tcase_add_test(cases, columns_grow_together);
	tcase_add_test(cases, out_of_memory_is_reported);
	tcase_add_loop_test(cases, device_is_replayed_as_if_alone, 0, 3);
	tcase_add_test(cases, busiest_device_is_chosen);
	tcase_add_test(cases, one_event_is_singular);
	tcase_add_test(cases, device_missing_in_the_file_is_an_error);
	tcase_add_test(cases, file_cannot_add_devices);
	tcase_add_test(cases, out_of_memory_with_devices_is_reported);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
