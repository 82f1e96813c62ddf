/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_account.c - the account of the devices: the limit is exact to the byte, also with threads; a
 * hundred thousand notes; contexts that end with their memory.
 *
 * Each test runs in a process of its own.
 */
#include "interpose/memory/account.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "interpose/routes/real.h"

#define LIMIT ((uint64_t)64 << 20)
#define MIB ((size_t)1 << 20)

static int places[2]; /* their addresses serve as contexts */

/* The limit is not shared here (test_shared.c). */
const struct mam_real_driver *_Atomic mam_real_driver_known;

const struct mam_real_driver *mam_real_driver_slow(void)
{
	return NULL;
}

static uint64_t now(enum mam_account_kind kind)
{
	struct mam_account_sums sums;

	mam_account_sum(-1, &sums);
	return sums.now[kind];
}

static void set_limit(void)
{
	setenv("MAM_LIMIT", "64M", 1);
}

START_TEST(limit_is_exact_over_five_kinds)
{
	static const enum mam_account_kind kinds[] = { MAM_ACCOUNT_CHUNK, MAM_ACCOUNT_DIRECT,
						       MAM_ACCOUNT_ASYNC, MAM_ACCOUNT_MANAGED,
						       MAM_ACCOUNT_PHYSICAL };

	set_limit();
	ck_assert_uint_eq(mam_account_room(0), LIMIT);
	for (int i = 0; i < 5; i++)
		ck_assert(mam_account_charge(0, kinds[i], 12 * MIB));
	ck_assert_uint_eq(mam_account_room(0), 4 * MIB);
	for (int i = 0; i < 5; i++) {
		ck_assert(!mam_account_charge(0, kinds[i], 4 * MIB + 1));
		ck_assert_uint_eq(now(kinds[i]), 12 * MIB);
		ck_assert(mam_account_charge(0, kinds[i], 4 * MIB));
		ck_assert_uint_eq(mam_account_room(0), 0);
		ck_assert(!mam_account_charge(0, kinds[i], 1));
		mam_account_refund(0, kinds[i], 4 * MIB);
	}
}
END_TEST

START_TEST(host_memory_and_arrays_do_not_count_under_the_limit)
{
	set_limit();
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_HOST, 100 * MIB));
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_ARRAY, 100 * MIB));
	ck_assert_uint_eq(now(MAM_ACCOUNT_HOST), 100 * MIB);
	ck_assert_uint_eq(now(MAM_ACCOUNT_ARRAY), 100 * MIB);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
	ck_assert_uint_eq(mam_account_room(0), 0);
}
END_TEST

START_TEST(each_device_has_its_own_limit)
{
	set_limit();
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
	ck_assert(mam_account_charge(63, MAM_ACCOUNT_DIRECT, LIMIT));
	ck_assert(!mam_account_charge(-1, MAM_ACCOUNT_DIRECT, 1));
	ck_assert(!mam_account_charge(64, MAM_ACCOUNT_DIRECT, 1)); /* counted for device 0 */
	ck_assert(mam_account_charge(1, MAM_ACCOUNT_DIRECT, 1));
	ck_assert_uint_eq(mam_account_room(1), LIMIT - 1);
}
END_TEST

START_TEST(only_overflow_is_refused_without_a_limit)
{
	unsetenv("MAM_LIMIT");
	ck_assert_uint_eq(mam_account_room(0), SIZE_MAX);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, 1));
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, SIZE_MAX));
	ck_assert_uint_eq(now(MAM_ACCOUNT_DIRECT), 1);
}
END_TEST

#define ROUNDS 100000
#define RACERS 4

static _Atomic uint64_t given; /* bytes, counted by the threads that charged them */
static atomic_bool passed_limit;

/* Each thread charges a third of the limit: of four threads at most three may succeed at a time. */
static void *race(void *unused)
{
	for (int round = 0; round < ROUNDS; round++) {
		if (!mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT / 3))
			continue;
		if (atomic_fetch_add(&given, LIMIT / 3) + LIMIT / 3 > LIMIT)
			atomic_store(&passed_limit, true);
		atomic_fetch_sub(&given, LIMIT / 3);
		mam_account_refund(0, MAM_ACCOUNT_DIRECT, LIMIT / 3);
	}
	return unused;
}

START_TEST(threads_never_exceed_the_limit_together)
{
	pthread_t threads[RACERS];

	set_limit();
	for (int i = 0; i < RACERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, race, NULL), 0);
	for (int i = 0; i < RACERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert(!passed_limit);
	ck_assert_uint_eq(now(MAM_ACCOUNT_DIRECT), 0);
	ck_assert_uint_eq(mam_account_room(0), LIMIT);
}
END_TEST

START_TEST(peak_counts_confirmed_charges_only)
{
	struct mam_account_sums sums;

	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, 9 * MIB));
	mam_account_refund(0, MAM_ACCOUNT_DIRECT, 9 * MIB); /* the driver failed */
	mam_account_charge(0, MAM_ACCOUNT_DIRECT, 2 * MIB);
	mam_account_note(1, NULL, 0, MAM_ACCOUNT_DIRECT, 2 * MIB);
	mam_account_charge(0, MAM_ACCOUNT_CHUNK, 4 * MIB);
	mam_account_confirm(0, MAM_ACCOUNT_CHUNK);
	mam_account_drop(1, MAM_ACCOUNT_DIRECT);
	mam_account_charge(0, MAM_ACCOUNT_HOST, 5 * MIB);
	mam_account_note(2, NULL, 0, MAM_ACCOUNT_HOST, 5 * MIB);
	mam_account_sum(-1, &sums);
	ck_assert_uint_eq(sums.peak[MAM_ACCOUNT_DIRECT], 2 * MIB);
	ck_assert_uint_eq(sums.peak[MAM_ACCOUNT_CHUNK], 4 * MIB);
	ck_assert_uint_eq(sums.peak[MAM_ACCOUNT_HOST], 5 * MIB);
	ck_assert_uint_eq(sums.peak_together, 6 * MIB);
	ck_assert_uint_eq(sums.now[MAM_ACCOUNT_DIRECT], 0);
}
END_TEST

static void note(uint64_t key, void *context, enum mam_account_kind kind, size_t bytes)
{
	ck_assert(mam_account_charge(0, kind, bytes));
	mam_account_note(key, context, 0, kind, bytes);
}

#define MANY 100000

START_TEST(every_note_is_found_exactly_once)
{
	uint64_t sum = 0;

	for (uint64_t i = 1; i <= MANY; i++) {
		note(i << 21, NULL, MAM_ACCOUNT_ASYNC, i);
		sum += i;
	}
	ck_assert_uint_eq(now(MAM_ACCOUNT_ASYNC), sum);
	for (uint64_t i = 1; i <= MANY; i += 2)
		ck_assert_uint_eq(mam_account_drop(i << 21, MAM_ACCOUNT_ASYNC), i);
	for (uint64_t i = 1; i <= MANY; i++)
		ck_assert_uint_eq(mam_account_drop(i << 21, MAM_ACCOUNT_ASYNC), i % 2 ? 0 : i);
	ck_assert_uint_eq(now(MAM_ACCOUNT_ASYNC), 0);
	ck_assert(!mam_account_has_notes());
}
END_TEST

START_TEST(kinds_are_kept_apart)
{
	note(4096, NULL, MAM_ACCOUNT_ARRAY, 7);
	note(4096, NULL, MAM_ACCOUNT_MANAGED, 9);
	ck_assert_uint_eq(mam_account_drop(4096, MAM_ACCOUNT_PHYSICAL), 0);
	ck_assert_uint_eq(mam_account_drop(4096, MAM_ACCOUNT_MANAGED), 9);
	ck_assert_uint_eq(mam_account_drop(4096, MAM_ACCOUNT_MANAGED), 0);
	ck_assert_uint_eq(mam_account_drop(4096, MAM_ACCOUNT_ARRAY), 7);
}
END_TEST

/* The driver freed the address and another thread got it before the first note is dropped. */
START_TEST(older_of_two_notes_of_an_address_is_dropped_first)
{
	struct mam_account_noted noted;

	for (uint64_t round = 0; round < 100; round++) {
		note(4096, NULL, MAM_ACCOUNT_DIRECT, 1);
		note(8192 + round, NULL, MAM_ACCOUNT_DIRECT, 5);
		note(4096, NULL, MAM_ACCOUNT_DIRECT, 2);
		ck_assert_uint_eq(mam_account_drop(8192 + round, MAM_ACCOUNT_DIRECT), 5);
		ck_assert(mam_account_take(4096, MAM_ACCOUNT_DIRECT, &noted));
		ck_assert_uint_eq(noted.bytes, 1);
		ck_assert_uint_eq(mam_account_drop(4096, MAM_ACCOUNT_DIRECT), 2);
	}
}
END_TEST

START_TEST(charge_lasts_until_the_driver_frees)
{
	struct mam_account_noted noted;

	set_limit();
	note(4096, &places[0], MAM_ACCOUNT_MANAGED, LIMIT);
	ck_assert(mam_account_take(4096, MAM_ACCOUNT_MANAGED, &noted));
	ck_assert_uint_eq(mam_account_room(0), 0); /* until the driver frees it */
	mam_account_finish(&noted, false);
	ck_assert_uint_eq(mam_account_room(0), 0);
	ck_assert_uint_eq(now(MAM_ACCOUNT_MANAGED), LIMIT);
	ck_assert(mam_account_take(4096, MAM_ACCOUNT_MANAGED, &noted));
	mam_account_finish(&noted, true);
	ck_assert_uint_eq(mam_account_room(0), LIMIT);
	note(4096, &places[0], MAM_ACCOUNT_MANAGED, LIMIT);
	mam_account_context_gone(&places[0]);
	ck_assert_uint_eq(mam_account_room(0), LIMIT);
	ck_assert_uint_eq(mam_account_drop(4096, MAM_ACCOUNT_MANAGED), 0);
}
END_TEST

/* All kinds that have notes, in turn. */
static enum mam_account_kind kind_of(uint64_t i)
{
	return (enum mam_account_kind)(MAM_ACCOUNT_DIRECT + i / 3 % 6);
}

START_TEST(context_end_drops_all_notes_of_the_context)
{
	for (uint64_t i = 1; i <= MANY; i++)
		note(i << 9, i % 3 == 0 ? NULL : &places[i % 3 - 1], kind_of(i), 1);
	mam_account_context_gone(NULL);
	mam_account_context_gone(&places[0]);
	for (uint64_t i = 1; i <= MANY; i++)
		ck_assert_uint_eq(mam_account_drop(i << 9, kind_of(i)), i % 3 != 1);
	for (int kind = 0; kind < MAM_ACCOUNT_COUNT; kind++)
		ck_assert_uint_eq(now((enum mam_account_kind)kind), 0);
}
END_TEST

START_TEST(note_with_key_0_is_not_kept)
{
	note(0, NULL, MAM_ACCOUNT_DIRECT, 5);
	ck_assert_uint_eq(now(MAM_ACCOUNT_DIRECT), 0);
	ck_assert(!mam_account_has_notes());
}
END_TEST

START_TEST(other_memory_is_the_rest_of_the_used_memory)
{
	struct mam_account_sums sums;

	mam_account_charge(1, MAM_ACCOUNT_CHUNK, 10 * MIB);
	mam_account_charge(1, MAM_ACCOUNT_ARRAY, 5 * MIB);
	mam_account_charge(1, MAM_ACCOUNT_HOST, 50 * MIB);
	mam_account_look(1, 100 * MIB, 60 * MIB);
	mam_account_sum(-1, &sums);
	ck_assert_uint_eq(sums.other, 25 * MIB);
	mam_account_look(1, 100 * MIB, 90 * MIB); /* the driver's number is newer */
	mam_account_sum(-1, &sums);
	ck_assert_uint_eq(sums.other, 0);
}
END_TEST

/*
 * A kind that only the driver knows may exceed the limit. When it shrinks, it frees its room again.
 */
START_TEST(memory_reported_by_the_driver_counts)
{
	struct mam_account_sums sums;

	setenv("MAM_LIMIT", "100", 1);
	mam_account_set(0, MAM_ACCOUNT_GRAPH, 60);
	ck_assert_uint_eq(mam_account_room(0), 40);
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 41));
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, 40));
	mam_account_set(0, MAM_ACCOUNT_GRAPH, 130);
	ck_assert_uint_eq(mam_account_room(0), 0);
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 1));
	mam_account_set(0, MAM_ACCOUNT_GRAPH, 10);
	ck_assert_uint_eq(mam_account_room(0), 50);
	mam_account_set(0, MAM_ACCOUNT_GRAPH, 0);
	mam_account_refund(0, MAM_ACCOUNT_DIRECT, 40);
	ck_assert_uint_eq(mam_account_room(0), 100);
	mam_account_sum(-1, &sums);
	ck_assert_uint_eq(sums.now[MAM_ACCOUNT_GRAPH], 0);
	ck_assert_uint_eq(sums.peak[MAM_ACCOUNT_GRAPH], 130);
	ck_assert_uint_eq(sums.peak_together, 170);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("account");
	Suite *suite = suite_create("account");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, limit_is_exact_over_five_kinds);
	tcase_add_test(cases, host_memory_and_arrays_do_not_count_under_the_limit);
	tcase_add_test(cases, each_device_has_its_own_limit);
	tcase_add_test(cases, only_overflow_is_refused_without_a_limit);
	tcase_add_test(cases, threads_never_exceed_the_limit_together);
	tcase_add_test(cases, peak_counts_confirmed_charges_only);
	tcase_add_test(cases, every_note_is_found_exactly_once);
	tcase_add_test(cases, kinds_are_kept_apart);
	tcase_add_test(cases, older_of_two_notes_of_an_address_is_dropped_first);
	tcase_add_test(cases, charge_lasts_until_the_driver_frees);
	tcase_add_test(cases, context_end_drops_all_notes_of_the_context);
	tcase_add_test(cases, note_with_key_0_is_not_kept);
	tcase_add_test(cases, other_memory_is_the_rest_of_the_used_memory);
	tcase_add_test(cases, memory_reported_by_the_driver_counts);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
