/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks exclude other threads, and debug builds abort a thread that takes them in the wrong order.
 *
 * Each forbidden sequence runs in a child process, which must end by abort().
 */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"

#define TURNS 20000

static struct mam_lock shared = MAM_LOCK_INIT(MAM_RANK_POOL, "shared");
static unsigned long turns;

static void *turn(void *unused)
{
	(void)unused;
	for (int i = 0; i < TURNS; i++) {
		mam_lock_take(&shared);
		turns = turns + 1;
		mam_lock_release(&shared);
	}
	return NULL;
}

START_TEST(lock_excludes_other_thread)
{
	pthread_t other;

	turns = 0;
	ck_assert_int_eq(pthread_create(&other, NULL, turn, NULL), 0);
	turn(NULL);
	pthread_join(other, NULL);
	ck_assert_uint_eq(turns, 2 * TURNS);
}
END_TEST

static void *slow_turn(void *unused)
{
	(void)unused;
	for (int i = 0; i < 300; i++) {
		unsigned long seen;

		mam_lock_take(&shared);
		seen = turns;
		if (i % 10 == 0)
			/*
			 * The others stop spinning and sleep: after a lost wake-up one would sleep
			 * forever.
			 */
			usleep(200);
		turns = seen + 1;
		mam_lock_release(&shared);
	}
	return NULL;
}

START_TEST(sleeping_waiters_are_woken)
{
	pthread_t other[6];

	turns = 0;
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(pthread_create(&other[i], NULL, slow_turn, NULL), 0);
	for (int i = 0; i < 6; i++)
		pthread_join(other[i], NULL);
	ck_assert_uint_eq(turns, 6 * 300);
}
END_TEST

START_TEST(lock_taken_by_single_thread_excludes_first_other)
{
	pthread_t other;

	turns = 0;
	mam_lock_take(&shared); /* the process has no other thread yet */
	ck_assert_int_eq(pthread_create(&other, NULL, slow_turn, NULL), 0);
	usleep(20000); /* by now it sleeps, or has wrongly entered */
	ck_assert_uint_eq(turns, 0);
	mam_lock_release(&shared);
	pthread_join(other, NULL);
	ck_assert_uint_eq(turns, 300);
}
END_TEST

START_TEST(locks_for_fork_may_have_equal_rank)
{
	struct mam_lock first, second;

	mam_lock_init(&first, MAM_RANK_POOL, "first");
	mam_lock_init(&second, MAM_RANK_POOL, "second");
	mam_lock_take_for_fork(&first);
	mam_lock_take_for_fork(&second);
	mam_lock_release_for_fork(&second);
	mam_lock_release_for_fork(&first);
	mam_lock_take(&first);
	mam_lock_release(&first);
	mam_lock_take(&second);
	mam_lock_release(&second);
}
END_TEST

START_TEST(ascending_ranks_are_allowed)
{
	struct mam_lock grow, pool, log;

	mam_lock_init(&grow, MAM_RANK_GROW, "grow");
	mam_lock_init(&pool, MAM_RANK_POOL, "pool");
	mam_lock_init(&log, MAM_RANK_LOG, "log");
	for (int again = 0; again < 2; again++) {
		mam_lock_take(&grow);
		mam_lock_take(&pool);
		mam_lock_take(&log);
		mam_lock_release(&log);
		mam_lock_release(&pool);
		mam_lock_take(&pool); /* taken again below a lock that is still held */
		mam_lock_release(&grow);
		mam_lock_release(&pool);
	}
	mam_lock_fini(&log);
	mam_lock_fini(&pool);
	mam_lock_fini(&grow);
}
END_TEST

START_TEST(ranks_are_tracked_per_thread)
{
	pthread_t other;
	struct mam_lock log;

	mam_lock_init(&log, MAM_RANK_LOG, "log");
	mam_lock_take(&log);
	/* Takes a lower rank, which is valid in another thread. */
	ck_assert_int_eq(pthread_create(&other, NULL, turn, NULL), 0);
	pthread_join(other, NULL);
	mam_lock_release(&log);
	mam_lock_fini(&log);
}
END_TEST

static _Atomic int step; /* 1: the lock is held; 2: release it */

static void await(int what)
{
	while (atomic_load(&step) < what)
		usleep(200);
}

static void *hold_until_released(void *unused)
{
	(void)unused;
	mam_lock_take(&shared);
	atomic_store(&step, 1);
	await(2);
	mam_lock_release(&shared);
	return NULL;
}

START_TEST(timed_take_gives_up_after_timeout)
{
	uint64_t began;
	pthread_t other;

	ck_assert_int_eq(pthread_create(&other, NULL, hold_until_released, NULL), 0);
	await(1);
	ck_assert(!mam_lock_take_within(&shared, 0));
	for (uint64_t ns = 1000; ns < 40000000; ns *= 20) { /* some while they spin, some asleep */
		began = mam_clock_ns();
		ck_assert(!mam_lock_take_within(&shared, ns));
		ck_assert_uint_ge(mam_clock_ns() - began, ns);
		ck_assert_uint_lt(mam_clock_ns() - began, ns + 3000000000u);
	}
	atomic_store(&step, 2);
	ck_assert(mam_lock_take_within(&shared, 60000000000u));
	mam_lock_release(&shared);
	pthread_join(other, NULL);
	ck_assert(mam_lock_take_within(&shared, 0));
	mam_lock_release(&shared);
	mam_lock_take(&shared); /* the rank of a failed take is not held */
	mam_lock_release(&shared);
}
END_TEST

static void *impatient_turn(void *unused)
{
	unsigned long *taken = unused;

	for (int i = 0; i < 300; i++) {
		if (!mam_lock_take_within(&shared, 60000 + (uint64_t)(i % 7) * 30000))
			continue;
		turns = turns + 1;
		++*taken;
		mam_lock_release(&shared);
	}
	return NULL;
}

START_TEST(timed_out_waiters_leave_no_thread_asleep)
{
	unsigned long taken[3] = { 0 };
	pthread_t other[3], impatient[3];

	turns = 0;
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(pthread_create(&other[i], NULL, slow_turn, NULL), 0);
		ck_assert_int_eq(pthread_create(&impatient[i], NULL, impatient_turn, &taken[i]), 0);
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(other[i], NULL);
		pthread_join(impatient[i], NULL);
	}
	ck_assert_uint_eq(turns, 3 * 300 + taken[0] + taken[1] + taken[2]);
}
END_TEST

static _Atomic int looking;

/* Each needs one turn of any thread. */
static void *look(void *unused)
{
	(void)unused;
	atomic_fetch_add(&looking, 1);
	if (mam_lock_take_or_look(&shared))
		mam_lock_release(&shared);
	return NULL;
}

START_TEST(release_wakes_all_threads_that_look)
{
	pthread_t other[6];

	mam_lock_take(&shared);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(pthread_create(&other[i], NULL, look, NULL), 0);
	while (atomic_load(&looking) < 6)
		usleep(200);
	usleep(20000); /* by now they sleep */
	mam_lock_release(&shared);
	for (int i = 0; i < 6; i++)
		pthread_join(other[i], NULL);
	ck_assert(mam_lock_take_or_look(&shared));
	mam_lock_release(&shared);
	mam_lock_take(&shared); /* the rank of a look is not held */
	mam_lock_release(&shared);
}
END_TEST

#define IN_VAIN 8

static _Atomic int looks, takes;
static _Atomic bool served;

static void *look_in_vain(void *unused)
{
	(void)unused;
	atomic_fetch_add(&looking, 1);
	while (!atomic_load(&served)) {
		if (mam_lock_take_or_look(&shared)) {
			atomic_fetch_add(&takes, 1);
			mam_lock_release(&shared);
			usleep(100);
		} else {
			atomic_fetch_add(&looks, 1);
		}
	}
	return NULL;
}

START_TEST(threads_that_look_in_vain_do_not_wake_each_other)
{
	pthread_t other[IN_VAIN];
	int before;

	atomic_store(&looking, 0);
	mam_lock_take(&shared);
	for (int i = 0; i < IN_VAIN; i++)
		ck_assert_int_eq(pthread_create(&other[i], NULL, look_in_vain, NULL), 0);
	while (atomic_load(&looking) < IN_VAIN)
		usleep(200);
	usleep(20000); /* by now they sleep */
	mam_lock_release(&shared);
	mam_lock_take(&shared);
	before = atomic_load(&takes);
	usleep(200000); /* the lock is held */
	ck_assert_int_eq(atomic_load(&takes), before);
	ck_assert_int_le(atomic_load(&looks), (before + 1) * 4 * IN_VAIN);
	atomic_store(&served, true);
	mam_lock_release(&shared);
	for (int i = 0; i < IN_VAIN; i++)
		pthread_join(other[i], NULL);
}
END_TEST

START_TEST(timed_take_of_lower_rank_aborts)
{
	struct mam_lock grow, pool;

	mam_lock_init(&grow, MAM_RANK_GROW, "grow");
	mam_lock_init(&pool, MAM_RANK_POOL, "pool");
	mam_lock_take(&pool);
	(void)mam_lock_take_within(&grow, 1000);
}
END_TEST

START_TEST(take_of_lower_rank_aborts)
{
	struct mam_lock grow, pool;

	mam_lock_init(&grow, MAM_RANK_GROW, "grow");
	mam_lock_init(&pool, MAM_RANK_POOL, "pool");
	mam_lock_take(&pool);
	mam_lock_take(&grow);
}
END_TEST

START_TEST(take_of_equal_rank_aborts)
{
	struct mam_lock first, second;

	mam_lock_init(&first, MAM_RANK_POOL, "first");
	mam_lock_init(&second, MAM_RANK_POOL, "second");
	mam_lock_take(&first);
	mam_lock_take(&second);
}
END_TEST

START_TEST(release_without_take_aborts)
{
	struct mam_lock lock;

	mam_lock_init(&lock, MAM_RANK_SOURCE, "lock");
	mam_lock_release(&lock);
}
END_TEST

START_TEST(reinit_releases_lock_held_for_fork)
{
	struct mam_lock lock;

	mam_lock_init(&lock, MAM_RANK_POOL, "lock");
	mam_lock_take_for_fork(&lock);
	mam_lock_reinit(&lock);
	mam_lock_take(&lock);
	mam_lock_release(&lock);
	mam_lock_fini(&lock);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/lock");
	TCase *use = tcase_create("use");
	TCase *order = tcase_create("order");
	SRunner *runner;
	int failed;

	tcase_add_test(use, lock_excludes_other_thread);
	tcase_add_test(use, sleeping_waiters_are_woken);
	tcase_add_test(use, lock_taken_by_single_thread_excludes_first_other);
	tcase_add_test(use, locks_for_fork_may_have_equal_rank);
	tcase_add_test(use, ascending_ranks_are_allowed);
	tcase_add_test(use, ranks_are_tracked_per_thread);
	tcase_add_test(use, reinit_releases_lock_held_for_fork);
	tcase_add_test(use, timed_take_gives_up_after_timeout);
	tcase_add_test(use, timed_out_waiters_leave_no_thread_asleep);
	tcase_add_test(use, release_wakes_all_threads_that_look);
	tcase_add_test(use, threads_that_look_in_vain_do_not_wake_each_other);
	suite_add_tcase(suite, use);
	tcase_add_test_raise_signal(order, take_of_lower_rank_aborts, SIGABRT);
	tcase_add_test_raise_signal(order, timed_take_of_lower_rank_aborts, SIGABRT);
	tcase_add_test_raise_signal(order, take_of_equal_rank_aborts, SIGABRT);
	tcase_add_test_raise_signal(order, release_without_take_aborts, SIGABRT);
	suite_add_tcase(suite, order);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
