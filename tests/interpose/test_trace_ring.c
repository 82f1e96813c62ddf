/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_ring.c - the ring of events: order, a slow reader, and the contents of the file.
 */
#include "interpose/watch/trace_ring.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CAPACITY ((uint64_t)1 << 14)
#define EVENTS 40000 /* per thread */
#define THREADS 4

static const struct mam_trace_ring heading = { .magic = MAM_TRACE_RING_MAGIC,
					       .capacity = CAPACITY,
					       .token = 99 };

static void setup(void)
{
	ck_assert_int_eq(mam_trace_ring_open(NULL, &heading), 0);
}

/* Returns the number of the event's slot, 0: dropped. */
static uint64_t add(uint64_t id, uint32_t thread)
{
	bool full;
	uint64_t number;
	struct mam_trace_record *record = mam_trace_ring_reserve(&number, &full);

	if (record == NULL)
		return 0;
	record->kind = MAM_TRACE_RECORD_FREE;
	record->id = id;
	record->thread = thread;
	mam_trace_ring_commit(record, number);
	return number;
}

START_TEST(slots_are_in_order)
{
	uint64_t tail, number;
	bool full;

	for (uint64_t i = 1; i <= 100; i++)
		ck_assert_uint_eq(add(i * 7, 1), i);
	ck_assert_uint_eq(mam_trace_ring_waiting(&tail), 100);
	ck_assert_uint_eq(tail, 0);
	for (uint64_t i = 0; i < 100; i++)
		ck_assert_uint_eq(mam_trace_ring_record(i, 0)->id, (i + 1) * 7);
	ck_assert_ptr_nonnull(mam_trace_ring_reserve(&number, &full));
	ck_assert_uint_eq(number, 101);
	ck_assert_uint_eq(mam_trace_ring_waiting(&tail), 101);
	ck_assert_ptr_null(mam_trace_ring_record(100, 3)); /* incomplete */
	mam_trace_ring_advance(101);
	ck_assert_uint_eq(mam_trace_ring_waiting(&tail), 0);
	ck_assert_uint_eq(tail, 101);
}
END_TEST

START_TEST(end_of_a_segment_is_reported)
{
	struct mam_trace_record *record;
	uint64_t number, fulls = 0;
	bool full;

	for (uint64_t i = 1; i <= MAM_TRACE_SEGMENT + 1; i++) {
		record = mam_trace_ring_reserve(&number, &full);
		mam_trace_ring_commit(record, number);
		ck_assert_int_eq(full, i == MAM_TRACE_SEGMENT);
		fulls += full;
	}
	ck_assert_uint_eq(fulls, 1);
}
END_TEST

START_TEST(full_ring_drops_events_and_counts_them)
{
	struct timespec start, end;
	uint64_t last = 0, tail, dropped = 0, number;
	const struct mam_trace_record *record;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while ((number = add(1, 1)) != 0)
		last = number;
	while (dropped < 1000 && add(1, 1) == 0)
		dropped++;
	clock_gettime(CLOCK_MONOTONIC, &end);
	ck_assert_uint_eq(dropped, 1000);
	ck_assert_uint_le(last, CAPACITY);
	ck_assert_uint_ge(last, CAPACITY / 2);
	/* One call waited, a thousand did not. */
	ck_assert_int_lt(end.tv_sec - start.tv_sec, 3);
	mam_trace_ring_advance(100); /* little room: events are still dropped, so that drops do
				      * not alternate with events */
	ck_assert_uint_eq(add(1, 1), 0);
	mam_trace_ring_advance(last);
	ck_assert_uint_eq(add(77, 1), last + 2);
	ck_assert_uint_eq(mam_trace_ring_waiting(&tail), 2);
	record = mam_trace_ring_record(last, 0);
	ck_assert_uint_eq(record->kind, MAM_TRACE_RECORD_LOST);
	ck_assert_uint_eq(record->bytes, 1002);
	ck_assert_uint_eq(mam_trace_ring_record(last + 1, 0)->id, 77);
}
END_TEST

START_TEST(closed_ring_accepts_no_event)
{
	uint64_t tail;

	ck_assert_uint_eq(add(1, 1), 1);
	mam_trace_ring_close();
	ck_assert_uint_eq(add(2, 1), 0);
	ck_assert_uint_eq(mam_trace_ring_waiting(&tail), 1);
	ck_assert_uint_eq(mam_trace_ring_record(0, 0)->id, 1);
}
END_TEST

static void *produce(void *user)
{
	uint32_t thread = *(uint32_t *)user;

	for (uint64_t i = 0; i < EVENTS; i++)
		while (add(i, thread) == 0)
			; /* dropped: try again */
	return NULL;
}

START_TEST(no_event_of_any_thread_is_lost)
{
	uint32_t names[THREADS];
	uint64_t next[THREADS] = { 0 }, seen = 0, tail, waiting;
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		names[i] = i;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &names[i]), 0);
	}
	while (seen < (uint64_t)THREADS * EVENTS) {
		waiting = mam_trace_ring_waiting(&tail);
		for (uint64_t i = tail; i < tail + waiting; i++) {
			const struct mam_trace_record *record = mam_trace_ring_record(i, 2000);

			ck_assert_ptr_nonnull(record);
			if (record->kind == MAM_TRACE_RECORD_LOST)
				continue;
			ck_assert_uint_lt(record->thread, THREADS);
			ck_assert_uint_eq(record->id, next[record->thread]++);
			seen++;
		}
		mam_trace_ring_advance(tail + waiting);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

START_TEST(file_contains_all_events)
{
	char folder[] = "/tmp/mam-test-ring.XXXXXX", path[64];
	struct mam_trace_ring written;
	struct mam_trace_record record;
	int file;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/ring", folder);
	ck_assert_int_eq(mam_trace_ring_open(path, &heading), 0);
	ck_assert_int_eq(mam_trace_ring_publish(false), 0);
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_int_eq(mam_trace_ring_open(path, &heading), 0);
	ck_assert_int_eq(mam_trace_ring_publish(true), 0);
	for (uint64_t i = 1; i <= 3; i++)
		ck_assert_uint_eq(add(i * 5, 9), i);
	file = open(path, O_RDONLY);
	ck_assert_int_eq(pread(file, &written, sizeof(written), 0), sizeof(written));
	ck_assert_int_eq(memcmp(&written, &heading, sizeof(written)), 0);
	ck_assert(mam_trace_ring_is_sound(&written, (uint64_t)lseek(file, 0, SEEK_END)));
	ck_assert_int_eq(pread(file, &record, sizeof(record), MAM_TRACE_RING_HEAD + 128),
			 sizeof(record));
	ck_assert_uint_eq(record.number, 3);
	ck_assert_uint_eq(record.id, 15);
	ck_assert_uint_eq(record.thread, 9);
	close(file);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("/tmp/mam-test-nothing", path), 0);
	ck_assert_int_eq(mam_trace_ring_open(path, &heading), ELOOP);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0); /* no other file remains in it */
}
END_TEST

/* Lines of text share a ring of bytes: each is in one piece, and none replaces one that is waiting. */
START_TEST(text_is_reused_after_it_was_written)
{
	static const struct mam_trace_ring with_text = { .magic = MAM_TRACE_RING_MAGIC,
							 .capacity = CAPACITY,
							 .text_bytes = 100 };
	const struct mam_trace_record *record;
	uint64_t tail, next = 0;
	char line[40];
	size_t length;
	bool full;

	ck_assert_int_eq(mam_trace_ring_open(NULL, &with_text), 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "# line %025d\n", i);
		if (!mam_trace_ring_add_text(line, strlen(line), &full)) {
			ck_assert_uint_ge(mam_trace_ring_waiting(&tail), 2);
			mam_trace_ring_advance(tail + mam_trace_ring_waiting(&tail));
			ck_assert(mam_trace_ring_add_text(line, strlen(line), &full));
		}
		mam_trace_ring_waiting(&tail);
		for (next = tail; next < tail + mam_trace_ring_waiting(&tail); next++) {
			record = mam_trace_ring_record(next, 0);
			ck_assert_ptr_nonnull(record);
			ck_assert_ptr_nonnull(mam_trace_ring_text(record, &length));
			snprintf(line, sizeof(line), "# line %025d\n", (int)next);
			ck_assert_uint_eq(length, strlen(line));
			ck_assert_mem_eq(mam_trace_ring_text(record, &length), line, length);
		}
		ck_assert_uint_eq(next, (uint64_t)i + 1);
	}
	ck_assert(!mam_trace_ring_add_text(line, 101, &full));
	ck_assert_int_eq(mam_trace_ring_open(NULL, &heading), 0);
	ck_assert(!mam_trace_ring_add_text(line, 10, &full)); /* a ring without text */
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("trace_ring");
	Suite *suite = suite_create("trace_ring");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(cases, setup, NULL);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, slots_are_in_order);
	tcase_add_test(cases, end_of_a_segment_is_reported);
	tcase_add_test(cases, full_ring_drops_events_and_counts_them);
	tcase_add_test(cases, closed_ring_accepts_no_event);
	tcase_add_test(cases, no_event_of_any_thread_is_lost);
	tcase_add_test(cases, file_contains_all_events);
	tcase_add_test(cases, text_is_reused_after_it_was_written);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
