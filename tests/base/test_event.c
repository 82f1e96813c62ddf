/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners get each event that is emitted while they are subscribed, in order, one event at a
 * time.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/event.h"

#define THREADS 4
#define EMITS 1000

/* The events that a listener got. */
struct ear {
	unsigned int count;
	struct mam_event last;
	unsigned int *turn; /* counts calls over several listeners, to record their order */
	unsigned int turn_seen;
};

static void hear(const struct mam_event *event, void *user)
{
	struct ear *ear = user;

	ear->count++;
	ear->last = *event;
	if (ear->turn)
		ear->turn_seen = ++*ear->turn;
}

START_TEST(event_without_listeners_is_dropped)
{
	struct ear ear = { 0 };

	mam_event_emit(MAM_EVENT_ALLOC, &ear, &ear, 1);
	ck_assert_uint_eq(ear.count, 0);
	ck_assert_uint_eq(mam_event_listeners, 0);
}
END_TEST

START_TEST(listener_gets_all_fields_of_event)
{
	struct ear ear = { 0 };
	int pool, block;

	ck_assert(mam_event_subscribe(hear, &ear));
	mam_event_emit(MAM_EVENT_FREE, &pool, &block, 512);
	ck_assert(mam_event_unsubscribe(hear, &ear));
	mam_event_emit(MAM_EVENT_ALLOC, NULL, NULL, 0);
	ck_assert_uint_eq(ear.count, 1);
	ck_assert_int_eq(ear.last.kind, MAM_EVENT_FREE);
	ck_assert_ptr_eq(ear.last.pool, &pool);
	ck_assert_ptr_eq(ear.last.address, &block);
	ck_assert_uint_eq(ear.last.bytes, 512);
}
END_TEST

static struct ear recorded;
static struct ear *inner;

/* Another thread could emit here: no lock is held. */
static void record(const struct mam_event *event)
{
	hear(event, &recorded);
	if (inner != NULL && event->kind == MAM_EVENT_ALLOC)
		mam_event_emit(MAM_EVENT_FAIL, NULL, NULL, 0);
}

START_TEST(recorder_gets_events_first_and_without_the_lock)
{
	struct ear ear = { 0 };
	int pool, block, stream;

	recorded = (struct ear){ 0 };
	inner = &ear;
	mam_event_record(record);
	mam_event_record(record);
	ck_assert_uint_eq(mam_event_listeners, 1);
	mam_event_emit_on(MAM_EVENT_FREE, &pool, &block, 512, &stream);
	ck_assert_uint_eq(recorded.count, 1);
	ck_assert_ptr_eq(recorded.last.stream, &stream);
	ck_assert_ptr_eq(recorded.last.address, &block);
	ck_assert(mam_event_subscribe(hear, &ear));
	mam_event_emit(MAM_EVENT_ALLOC, &pool, &block, 512);
	ck_assert_uint_eq(recorded.count, 3);
	ck_assert_uint_eq(ear.count, 2);
	ck_assert_int_eq(ear.last.kind, MAM_EVENT_ALLOC);
	mam_event_record(NULL);
	mam_event_record(NULL);
	ck_assert_uint_eq(mam_event_listeners, 1);
	mam_event_emit(MAM_EVENT_FREE, &pool, &block, 512);
	ck_assert_uint_eq(recorded.count, 3);
	ck_assert_uint_eq(ear.count, 3);
	ck_assert(mam_event_unsubscribe(hear, &ear));
	ck_assert_uint_eq(mam_event_listeners, 0);
}
END_TEST

START_TEST(listeners_are_called_in_order_of_subscription)
{
	unsigned int turn = 0;
	struct ear ears[3] = { { .turn = &turn }, { .turn = &turn }, { .turn = &turn } };

	for (int i = 0; i < 3; i++)
		ck_assert(mam_event_subscribe(hear, &ears[i]));
	mam_event_emit(MAM_EVENT_GROW, NULL, NULL, 0);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_uint_eq(ears[i].turn_seen, i + 1);
	ck_assert(mam_event_unsubscribe(hear, &ears[0]));
	mam_event_emit(MAM_EVENT_GROW, NULL, NULL, 0);
	ck_assert_uint_eq(ears[0].count, 1);
	ck_assert_uint_eq(ears[1].turn_seen, 4);
	ck_assert_uint_eq(ears[2].turn_seen, 5);
}
END_TEST

START_TEST(number_of_listeners_is_bounded)
{
	struct ear ears[MAM_EVENT_LISTENERS + 1] = { 0 };

	for (int i = 0; i < MAM_EVENT_LISTENERS; i++)
		ck_assert(mam_event_subscribe(hear, &ears[i]));
	ck_assert(!mam_event_subscribe(hear, &ears[MAM_EVENT_LISTENERS]));
	mam_event_emit(MAM_EVENT_FAIL, NULL, NULL, 7);
	ck_assert_uint_eq(ears[MAM_EVENT_LISTENERS].count, 0);
	ck_assert_uint_eq(ears[MAM_EVENT_LISTENERS - 1].count, 1);
	ck_assert(mam_event_unsubscribe(hear, &ears[3]));
	ck_assert(mam_event_subscribe(hear, &ears[MAM_EVENT_LISTENERS]));
}
END_TEST

START_TEST(unsubscribe_of_unknown_listener_fails)
{
	struct ear ear = { 0 }, stranger = { 0 };

	ck_assert(!mam_event_unsubscribe(hear, &ear));
	ck_assert(mam_event_subscribe(hear, &ear));
	ck_assert(!mam_event_unsubscribe(hear, &stranger));
	ck_assert_uint_eq(mam_event_listeners, 1);
}
END_TEST

static bool overlapped;

/* Yields in the middle, so that a concurrent call would be detected. */
static void hear_slowly(const struct mam_event *event, void *user)
{
	static _Atomic bool inside;

	if (atomic_exchange(&inside, true))
		overlapped = true;
	sched_yield();
	hear(event, user);
	atomic_store(&inside, false);
}

static void *emit_many(void *unused)
{
	(void)unused;
	for (int i = 0; i < EMITS; i++)
		mam_event_emit(MAM_EVENT_ALLOC, NULL, NULL, 1);
	return NULL;
}

START_TEST(events_of_threads_are_serialized)
{
	struct ear ear = { 0 };
	pthread_t threads[THREADS];

	ck_assert(mam_event_subscribe(hear_slowly, &ear));
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, emit_many, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(ear.count, THREADS * EMITS);
	ck_assert(!overlapped);
}
END_TEST

START_TEST(events_continue_on_both_sides_of_fork)
{
	struct ear ear = { 0 };
	int status;
	pid_t child;

	ck_assert(mam_event_subscribe(hear, &ear));
	mam_event_fork_prepare();
	child = fork();
	if (child == 0) {
		mam_event_fork_child();
		mam_event_emit(MAM_EVENT_ALLOC, NULL, NULL, 1);
		_exit(ear.count == 1 && mam_event_unsubscribe(hear, &ear) ? 0 : 1);
	}
	ck_assert_int_gt(child, 0);
	mam_event_fork_parent();
	mam_event_emit(MAM_EVENT_ALLOC, NULL, NULL, 1);
	ck_assert_uint_eq(ear.count, 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/event");
	TCase *listening = tcase_create("listening");
	SRunner *runner;
	int failed;

	tcase_add_test(listening, event_without_listeners_is_dropped);
	tcase_add_test(listening, listener_gets_all_fields_of_event);
	tcase_add_test(listening, recorder_gets_events_first_and_without_the_lock);
	tcase_add_test(listening, listeners_are_called_in_order_of_subscription);
	tcase_add_test(listening, number_of_listeners_is_bounded);
	tcase_add_test(listening, unsubscribe_of_unknown_listener_fails);
	tcase_add_test(listening, events_of_threads_are_serialized);
	tcase_add_test(listening, events_continue_on_both_sides_of_fork);
	suite_add_tcase(suite, listening);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
