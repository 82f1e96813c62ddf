/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_ring.c - records of the ring as lines for the trace reader, and the validation of its
 * header.
 */
#include <mam/trace_ring.h>

#include <check.h>
#include <string.h>

#include "trace/feed.h"

static void expect(const struct mam_trace_record *record, const char *wanted)
{
	char line[MAM_TRACE_RING_LINE + 1];
	size_t length = mam_trace_record_print(record, line);

	ck_assert_uint_le(length, MAM_TRACE_RING_LINE);
	line[length] = '\0';
	ck_assert_str_eq(line, wanted);
}

START_TEST(records_are_printed_as_lines)
{
	struct mam_trace_record record = { .number = 4,
					   .ns = 12,
					   .id = 3,
					   .bytes = 4096,
					   .stream = 7,
					   .context = 0xab0,
					   .thread = 21,
					   .kind = MAM_TRACE_RECORD_ALLOC };

	expect(&record, "a 3 4096 7 t=12 thread=21 context=0xab0\n");
	record.flags = MAM_TRACE_RECORD_DRIVER;
	record.context = 0;
	expect(&record, "a 3 4096 7 t=12 thread=21 by=driver\n");
	record.flags |= (7 + 1) << MAM_TRACE_RECORD_DEVICE_SHIFT;
	expect(&record, "a 3 4096 7 t=12 thread=21 device=7 by=driver\n");
	record.flags |= MAM_TRACE_RECORD_STACK;
	expect(&record, "a 3 4096 7 t=12 thread=21 device=7 by=driver\n"); /* unknown */
	record.who = 77;
	expect(&record, "a 3 4096 7 t=12 thread=21 device=7 by=driver stack=77\n");
	record.kind = MAM_TRACE_RECORD_FREE;
	expect(&record, "f 3 stream=7 t=12 thread=21\n");
	record.stream = 0;
	record.flags = MAM_TRACE_RECORD_IMPLIED;
	expect(&record, "f 3 t=12 thread=21 implied=yes\n");
	record.kind = MAM_TRACE_RECORD_LOST;
	expect(&record, "# lost: 4096 events, faster than they could be written\n");
	record.bytes = 1;
	expect(&record, "# lost: 1 event, faster than they could be written\n");
	record.kind = MAM_TRACE_RECORD_TEXT;
	expect(&record, "");
	record.kind = 5;
	expect(&record, "");
	record.kind = 0;
	expect(&record, "");
}
END_TEST

/* Any possible record is one line that the reader accepts. */
START_TEST(any_record_is_a_valid_line)
{
	struct mam_trace_record record;
	struct mam_trace_event event = { .size = sizeof(event) };
	struct mam_trace_reader *reader;
	struct feed feed;
	char line[MAM_TRACE_RING_LINE + 1];
	size_t length;

	memset(&record, 0xff, sizeof(record));
	record.kind = MAM_TRACE_RECORD_ALLOC;
	length = mam_trace_record_print(&record, line);
	ck_assert_uint_le(length, MAM_TRACE_RING_LINE);
	line[length] = '\0';
	reader = feed_open(&feed, line, SIZE_MAX);
	ck_assert_int_eq(mam_trace_next(reader, &event), MAM_OK);
	ck_assert_int_eq(event.kind, MAM_TRACE_ALLOC);
	ck_assert_uint_eq(event.id, UINT64_MAX - 1);
	ck_assert_uint_eq(event.bytes, UINT64_MAX);
	ck_assert_uint_eq(event.stream, UINT64_MAX);
	ck_assert_int_eq(mam_trace_next(reader, &event), MAM_OK);
	ck_assert_int_eq(event.kind, MAM_TRACE_END);
	mam_trace_reader_destroy(reader);
}
END_TEST

/* The text of a ring is untrusted: anything but one comment inside of it is refused. */
START_TEST(text_is_one_comment)
{
	static const char text[] = "a 1 1 0\n#frame 1\nx\0y\n#";
	const uint64_t bytes = sizeof(text) - 1;
	struct mam_trace_record record = { .id = 8, .bytes = 9, .kind = MAM_TRACE_RECORD_TEXT };
	size_t length = 0;

	ck_assert_ptr_eq(mam_trace_record_text(&record, text, bytes, &length), text + 8);
	ck_assert_uint_eq(length, 9);
	record.kind = MAM_TRACE_RECORD_ALLOC;
	ck_assert_ptr_null(mam_trace_record_text(&record, text, bytes, &length));
	record.kind = MAM_TRACE_RECORD_TEXT;
	for (record.id = 0; record.id < bytes + 4; record.id++)
		for (record.bytes = 0; record.bytes < bytes + 4; record.bytes++)
			ck_assert_msg((mam_trace_record_text(&record, text, bytes, &length) !=
				       NULL) == (record.id == 8 && record.bytes == 9),
				      "%d bytes at %d", (int)record.bytes, (int)record.id);
	record.id = 8;
	for (record.bytes = UINT64_MAX; record.bytes > UINT64_MAX - 100; record.bytes--)
		ck_assert_ptr_null(mam_trace_record_text(&record, text, bytes, &length));
	record.bytes = 9;
	for (record.id = UINT64_MAX; record.id > UINT64_MAX - 100; record.id--)
		ck_assert_ptr_null(mam_trace_record_text(&record, text, bytes, &length));
	ck_assert_ptr_null(mam_trace_record_text(&record, text, 0, &length));
}
END_TEST

START_TEST(invalid_ring_header_is_rejected)
{
	struct mam_trace_ring ring = { .magic = MAM_TRACE_RING_MAGIC, .capacity = 1024 };
	uint64_t bytes = MAM_TRACE_RING_HEAD + 1024 * sizeof(struct mam_trace_record);

	ck_assert_uint_eq(sizeof(struct mam_trace_record), 64);
	ck_assert(mam_trace_ring_is_sound(&ring, bytes));
	ck_assert(!mam_trace_ring_is_sound(&ring, bytes - 1));
	ring.capacity = 1023;
	ck_assert(!mam_trace_ring_is_sound(&ring, bytes));
	ring.capacity = 0;
	ck_assert(!mam_trace_ring_is_sound(&ring, bytes));
	ring.capacity = MAM_TRACE_RING_MAX * 2;
	ck_assert(!mam_trace_ring_is_sound(&ring, UINT64_MAX));
	ring.capacity = (uint64_t)1 << 63;
	ck_assert(!mam_trace_ring_is_sound(&ring, UINT64_MAX));
	ring.capacity = 1024;
	ring.text_bytes = 100;
	ck_assert(!mam_trace_ring_is_sound(&ring, bytes + 99));
	ck_assert(mam_trace_ring_is_sound(&ring, bytes + 100));
	ring.text_bytes = UINT64_MAX;
	ck_assert(!mam_trace_ring_is_sound(&ring, bytes + 100));
	ring.text_bytes = 0;
	ring.magic++;
	ck_assert(!mam_trace_ring_is_sound(&ring, bytes));
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("trace_ring");
	Suite *suite = suite_create("trace_ring");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_test(cases, records_are_printed_as_lines);
	tcase_add_test(cases, any_record_is_a_valid_line);
	tcase_add_test(cases, text_is_one_comment);
	tcase_add_test(cases, invalid_ring_header_is_rejected);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
