/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_large_late.c - large objects of a host that answers late or not at all: a request returns
 * NULL in time, the next user of the slot gets nothing that came late, and at the end host and
 * device agree.
 */
#include "heap/growth/large_kit.h"

#define WAIT 400u
/* More than a lane does in one request besides waiting: its pauses get longer each time. */
#define SLACK 3000u

static MAM_KERNEL(churn)
{
	uint32_t round;
	void *object;

	(void)argument;
	for (round = 0; round < 5; round++) {
		object = lkit_alloc((size_t)(1 + simt_random() % 3000));
		if (simt_random() % 4 == 0)
			object = lkit_swap((uint32_t)simt_random(), object);
		if (object)
			lkit_free(object);
	}
	lkit_leave();
}

/* Some answers are too late, others just in time. */
START_TEST(late_answer_returns_null)
{
	static const struct lkit_plan plan = {
		.wait_ns = WAIT, .slots = 5, .slow = 30, .patience = 300, .stale = 10
	};

	lkit_explore("late", &plan, churn, 2, 6, 150, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
	ck_assert_uint_gt(lkit.all_cancelled, 0);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_SILENT], 0);
}
END_TEST

/* The same with one slot and a host that is as slow with the end of a canceled request. */
START_TEST(late_answer_does_not_reach_next_user)
{
	static const struct lkit_plan plan = {
		.wait_ns = WAIT, .slots = 1, .slow = 70, .patience = 350, .stale = 30
	};

	lkit_explore("late, one slot", &plan, churn, 1, 3, 150, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
	ck_assert_uint_gt(lkit.all_cancelled, 0);
}
END_TEST

/* Answers arrive close to the moment at which a lane gives up. */
START_TEST(answer_races_with_timeout)
{
	static const struct lkit_plan plan = {
		.wait_ns = 120, .slots = 3, .slow = 80, .patience = 60, .units = 4
	};

	lkit_explore("just in time", &plan, churn, 1, 3, 300, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
	ck_assert_uint_gt(lkit.all_cancelled, 0);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_SILENT], 0);
}
END_TEST

START_TEST(lost_answer_returns_null)
{
	static const struct lkit_plan plan = { .wait_ns = WAIT, .slots = 6, .lost = 20 };

	lkit_explore("lost", &plan, churn, 2, 5, 100, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
	ck_assert_uint_gt(lkit.all_cancelled, 0);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_SILENT], 0);
}
END_TEST

/* Without time to wait there is one look, and no object is lost. */
START_TEST(zero_wait_loses_no_object)
{
	static const struct lkit_plan plan = { .wait_ns = 1, .slots = 4 };

	lkit_explore("no time", &plan, churn, 1, 5, 60, lkit_check);
	ck_assert_uint_gt(lkit.all_cancelled, 0);
}
END_TEST

/* The host dies in the middle: all lanes finish. */
START_TEST(requests_end_when_host_dies)
{
	static const struct lkit_plan plans[] = {
		{ .wait_ns = WAIT, .slots = 4, .dies_after = 1 },
		{ .wait_ns = WAIT, .slots = 4, .dies_after = 5 },
		{ .wait_ns = WAIT, .slots = 40, .dies_after = 16, .slow = 20, .patience = 300 },
	};

	lkit_explore("dies", &plans[_i], churn, 2, 5, 60, lkit_check);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_SILENT], 0);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_REFUSED], 0);
}
END_TEST

/* The number of steps of a request that fails. */
static uint64_t failing_steps(void)
{
	uint64_t begun = mam_timer();

	MAM_KASSERT(!lkit_alloc(5000));
	return mam_timer() - begun;
}

/* A failed wait happens once; no lane waits again for a host that shows no sign of life. */
static MAM_KERNEL(waits_once)
{
	uint32_t i;

	(void)argument;
	MAM_KASSERT(failing_steps() >= WAIT);
	MAM_KASSERT(lkit.growth.silent == lkit.mail.beat + 1);
	for (i = 0; i < 10; i++)
		MAM_KASSERT(failing_steps() < WAIT / 4);
	MAM_KASSERT(lkit.tallies.of[MAM_OBJECT_SILENT].value == 11);
	lkit_leave();
}

START_TEST(only_first_request_waits_for_absent_host)
{
	static const struct lkit_plan plan = { .wait_ns = WAIT, .slots = 4, .absent = true };

	lkit_explore("never was", &plan, waits_once, 1, 1, 5, lkit_check_empty);
}
END_TEST

/* A beat may have any value: no value looks like a failed wait before there was one. */
static MAM_KERNEL(any_beat)
{
	(void)argument;
	lkit.mail.beat = UINT64_MAX;
	MAM_KASSERT(failing_steps() >= WAIT);
	lkit.growth.silent = 0;
	lkit.mail.beat = 0;
	MAM_KASSERT(failing_steps() >= WAIT);
	lkit_leave();
}

START_TEST(any_beat_value_is_valid)
{
	static const struct lkit_plan plan = { .wait_ns = WAIT, .slots = 4, .absent = true };

	lkit_explore("any beat", &plan, any_beat, 1, 1, 3, lkit_check_empty);
}
END_TEST

/* No lane waits longer than permitted, however many lanes and however few slots there are. */
static MAM_KERNEL(bounded_wait)
{
	uint32_t i;

	(void)argument;
	for (i = 0; i < 3; i++)
		MAM_KASSERT(failing_steps() < WAIT + SLACK);
	lkit_leave();
}

START_TEST(wait_is_bounded)
{
	static const struct lkit_plan plan = { .wait_ns = WAIT, .slots = 2, .absent = true };

	lkit_explore("no longer", &plan, bounded_wait, 1, 8, 20, lkit_check_empty);
	/* Lanes that found no slot, and lanes that got no answer. */
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_NO_SLOT], 0);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_SILENT], 0);
}
END_TEST

/*
 * If the host never answers a free, a lane waits for its slot as long as for an answer; then the
 * slot is unchanged.
 */
static MAM_KERNEL(after_a_free)
{
	void *object = lkit_alloc(1024);
	uint64_t state, stamp;

	(void)argument;
	MAM_KASSERT(object);
	lkit.growth.wait_ns = WAIT;
	lkit_free(object);
	for (uint32_t slot = 0; slot < MAM_MAIL_SLOTS; slot++) {
		if (!lkit_usable(slot))
			continue;
		state = lkit.growth.large_sent[slot];
		stamp = lkit.mail.ask[slot].stamp;
		MAM_KASSERT((state & 255) == MAM_MAIL_FREE);
		MAM_KASSERT(failing_steps() >= WAIT);
		MAM_KASSERT(lkit.growth.large_sent[slot] == state);
		MAM_KASSERT(lkit.mail.ask[slot].stamp == stamp);
	}
	MAM_KASSERT(lkit.growth.silent == lkit.mail.beat + 1);
	MAM_KASSERT(failing_steps() < WAIT / 4);
	lkit_leave();
}

START_TEST(unanswered_free_blocks_slot_for_bounded_time)
{
	static const struct lkit_plan plan = { .slots = 1, .dies_after = 1 };

	lkit_explore("end not said", &plan, after_a_free, 1, 1, 5, lkit_check_empty);
	ck_assert_uint_gt(lkit.all_given, 0);
}
END_TEST

/* A free always succeeds, and in time; its message is sent when the host is back. */
static MAM_KERNEL(late_message)
{
	void *object[3];
	uint64_t begun;
	uint32_t i;

	(void)argument;
	for (i = 0; i < 3; i++) {
		object[i] = lkit_alloc(1024);
		MAM_KASSERT(object[i]);
	}
	lkit.growth.wait_ns = WAIT;
	for (i = 0; i < 3; i++) {
		begun = mam_timer();
		lkit_free(object[i]);
		MAM_KASSERT(mam_timer() - begun < WAIT + SLACK);
		MAM_KASSERT(!mam_large_usable(&lkit.heap, object[i]));
		MAM_KASSERT(mam_large_free(&lkit.heap, object[i]) == MAM_LARGE_UNKNOWN);
		MAM_KASSERT((lkit.growth.large_unsent != 0) == (i != 0));
	}
	/* The second waited, but not the third. */
	MAM_KASSERT(mam_timer() - begun < WAIT);
	lkit.growth.wait_ns = LKIT_FOREVER;
	while (mam_atomic_load64(&lkit.mail.beat, MAM_RELAXED, MAM_AT_SYSTEM) + 1 ==
	       lkit.growth.silent)
		mam_nanosleep(50);
	object[0] = lkit_alloc(LKIT_UNITS * LKIT_UNIT);
	MAM_KASSERT(object[0] && !lkit.growth.large_unsent);
	lkit_free(object[0]);
	MAM_KASSERT(lkit_posted() == 3 + 3 + 2);
	lkit_leave();
}

START_TEST(free_message_is_sent_later)
{
	static const struct lkit_plan plan = {
		.slots = 1, .slow = 100, .patience = 4 * WAIT, .first = 4
	};

	lkit_explore("sent later", &plan, late_message, 1, 1, 10, lkit_check_empty);
}
END_TEST

/* When the host has looked again, lanes send requests and wait again. */
static MAM_KERNEL(wait_for_host)
{
	uint64_t silent;
	void *object;

	(void)argument;
	MAM_KASSERT(failing_steps() >= WAIT);
	do {
		silent = mam_atomic_load64(&lkit.growth.silent, MAM_RELAXED, MAM_AT_DEVICE);
		MAM_KASSERT(silent);
		while (mam_atomic_load64(&lkit.mail.beat, MAM_RELAXED, MAM_AT_SYSTEM) + 1 == silent)
			mam_nanosleep(50);
		object = lkit_alloc(1024);
	} while (!object);
	lkit_free(object);
	lkit_leave();
}

START_TEST(requests_succeed_when_host_returns)
{
	static const struct lkit_plan plan = {
		.wait_ns = WAIT, .slots = 4, .lost = 100, .first = 1
	};

	lkit_explore("comes back", &plan, wait_for_host, 1, 1, 20, lkit_check_empty);
	ck_assert_uint_gt(lkit.all_given, 0);
	ck_assert_uint_gt(lkit.all_cancelled, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("large_late");

	tcase_add_test(tcase, late_answer_returns_null);
	tcase_add_test(tcase, late_answer_does_not_reach_next_user);
	tcase_add_test(tcase, answer_races_with_timeout);
	tcase_add_test(tcase, lost_answer_returns_null);
	tcase_add_test(tcase, zero_wait_loses_no_object);
	tcase_add_loop_test(tcase, requests_end_when_host_dies, 0, 3);
	tcase_add_test(tcase, only_first_request_waits_for_absent_host);
	tcase_add_test(tcase, any_beat_value_is_valid);
	tcase_add_test(tcase, wait_is_bounded);
	tcase_add_test(tcase, unanswered_free_blocks_slot_for_bounded_time);
	tcase_add_test(tcase, free_message_is_sent_later);
	tcase_add_test(tcase, requests_succeed_when_host_returns);
	return lkit_run(tcase, "heap/large_late");
}
