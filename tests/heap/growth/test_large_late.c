/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_large_late.c - large objects of a host that answers late, or not at all: who asks gets NULL
 * in time, whoever has the slot next gets nothing of what came late, and when all is said, host and
 * device agree.
 */
#include "heap/growth/large_kit.h"

#define WAIT 400u
/* More than a lane does, besides waiting, in one request: its pauses are longer each time. */
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

/* Some answers come too late, others just so. */
START_TEST(late_answers)
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

/* The same where the host is as slow with the end of what was cancelled, and there is one slot. */
START_TEST(late_in_one_slot)
{
	static const struct lkit_plan plan = {
		.wait_ns = WAIT, .slots = 1, .slow = 70, .patience = 350, .stale = 30
	};

	lkit_explore("late, one slot", &plan, churn, 1, 3, 150, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
	ck_assert_uint_gt(lkit.all_cancelled, 0);
}
END_TEST

/* Whether an answer comes before a lane gives up is settled anywhere between. */
START_TEST(just_in_time)
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

START_TEST(lost_answers)
{
	static const struct lkit_plan plan = { .wait_ns = WAIT, .slots = 6, .lost = 20 };

	lkit_explore("lost", &plan, churn, 2, 5, 100, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
	ck_assert_uint_gt(lkit.all_cancelled, 0);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_SILENT], 0);
}
END_TEST

/* Without time to wait there is one look, and no object is lost. */
START_TEST(no_time)
{
	static const struct lkit_plan plan = { .wait_ns = 1, .slots = 4 };

	lkit_explore("no time", &plan, churn, 1, 5, 60, lkit_check);
	ck_assert_uint_gt(lkit.all_cancelled, 0);
}
END_TEST

/* The host goes away in the middle: all lanes come to their end. */
START_TEST(a_host_that_dies)
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

/* Steps that a request took, which got nothing. */
static uint64_t in_vain(void)
{
	uint64_t begun = mam_timer();

	MAM_KASSERT(!lkit_alloc(5000));
	return mam_timer() - begun;
}

/* Who waited in vain waited once; others, and itself, do not wait for a host that shows no sign. */
static MAM_KERNEL(waits_once)
{
	uint32_t i;

	(void)argument;
	MAM_KASSERT(in_vain() >= WAIT);
	MAM_KASSERT(lkit.growth.silent == lkit.mail.beat + 1);
	for (i = 0; i < 10; i++)
		MAM_KASSERT(in_vain() < WAIT / 4);
	MAM_KASSERT(lkit.tallies.of[MAM_OBJECT_SILENT].value == 11);
	lkit_leave();
}

START_TEST(a_host_that_never_was)
{
	static const struct lkit_plan plan = { .wait_ns = WAIT, .slots = 4, .absent = true };

	lkit_explore("never was", &plan, waits_once, 1, 1, 5, lkit_check_empty);
}
END_TEST

/* A beat may have any value: where nobody has waited in vain yet, none says that somebody did. */
static MAM_KERNEL(any_beat)
{
	(void)argument;
	lkit.mail.beat = UINT64_MAX;
	MAM_KASSERT(in_vain() >= WAIT);
	lkit.growth.silent = 0;
	lkit.mail.beat = 0;
	MAM_KASSERT(in_vain() >= WAIT);
	lkit_leave();
}

START_TEST(a_beat_of_any_value)
{
	static const struct lkit_plan plan = { .wait_ns = WAIT, .slots = 4, .absent = true };

	lkit_explore("any beat", &plan, any_beat, 1, 1, 3, lkit_check_empty);
}
END_TEST

/* Nobody waits longer than it may, however many they are and however few slots there are. */
static MAM_KERNEL(waits_no_longer)
{
	uint32_t i;

	(void)argument;
	for (i = 0; i < 3; i++)
		MAM_KASSERT(in_vain() < WAIT + SLACK);
	lkit_leave();
}

START_TEST(no_wait_is_longer)
{
	static const struct lkit_plan plan = { .wait_ns = WAIT, .slots = 2, .absent = true };

	lkit_explore("no longer", &plan, waits_no_longer, 1, 8, 20, lkit_check_empty);
}
END_TEST

/* A slot whose end is never said is waited for as long as an answer; then it is as it was. */
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
		state = lkit.growth.large[slot].state;
		stamp = lkit.mail.ask[slot].stamp;
		MAM_KASSERT((state & 255) == MAM_LARGE_LEAVING);
		MAM_KASSERT(in_vain() >= WAIT);
		MAM_KASSERT(lkit.growth.large[slot].state == state);
		MAM_KASSERT(lkit.mail.ask[slot].stamp == stamp);
	}
	MAM_KASSERT(lkit.growth.silent == lkit.mail.beat + 1);
	MAM_KASSERT(in_vain() < WAIT / 4);
	lkit_leave();
}

START_TEST(an_end_that_is_not_said)
{
	static const struct lkit_plan plan = { .slots = 1, .dies_after = 1 };

	lkit_explore("end not said", &plan, after_a_free, 1, 1, 5, lkit_check_empty);
	ck_assert_uint_gt(lkit.all_given, 0);
}
END_TEST

/* As soon as the host has looked again it is asked again, and waited for. */
static MAM_KERNEL(comes_back)
{
	uint64_t silent;
	void *object;

	(void)argument;
	MAM_KASSERT(in_vain() >= WAIT);
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

START_TEST(a_host_that_comes_back)
{
	static const struct lkit_plan plan = {
		.wait_ns = WAIT, .slots = 4, .lost = 100, .first = 1
	};

	lkit_explore("comes back", &plan, comes_back, 1, 1, 20, lkit_check_empty);
	ck_assert_uint_gt(lkit.all_given, 0);
	ck_assert_uint_gt(lkit.all_cancelled, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("large_late");

	tcase_add_test(tcase, late_answers);
	tcase_add_test(tcase, late_in_one_slot);
	tcase_add_test(tcase, just_in_time);
	tcase_add_test(tcase, lost_answers);
	tcase_add_test(tcase, no_time);
	tcase_add_loop_test(tcase, a_host_that_dies, 0, 3);
	tcase_add_test(tcase, a_host_that_never_was);
	tcase_add_test(tcase, a_beat_of_any_value);
	tcase_add_test(tcase, no_wait_is_longer);
	tcase_add_test(tcase, an_end_that_is_not_said);
	tcase_add_test(tcase, a_host_that_comes_back);
	return lkit_run(tcase, "heap/large_late");
}
