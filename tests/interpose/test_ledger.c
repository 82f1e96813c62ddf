/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ledger.c - the ledger compared with an array.
 */
#include "interpose/watch/ledger.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#define BLOCKS 5000

static struct mam_ledger ledger;

static void setup(void)
{
	mam_ledger_restart(&ledger);
}

static uint64_t key_of(unsigned int block)
{
	return 0x7f0000000000u + (uint64_t)block * 512;
}

static bool put(unsigned int block, uint64_t id, void *context, struct mam_ledger_entry *old)
{
	struct mam_ledger_entry entry = { .key = key_of(block), .id = id, .context = context };

	return mam_ledger_put(&ledger, &entry, old);
}

START_TEST(entry_is_taken_exactly_once)
{
	struct mam_ledger_entry entry;

	ck_assert(!mam_ledger_take(&ledger, key_of(1), &entry));
	ck_assert(put(1, 11, NULL, &entry));
	ck_assert_uint_eq(entry.key, 0);
	ck_assert(put(1, 12, NULL, &entry)); /* removes the old entry, and adds none */
	ck_assert_uint_eq(entry.key, key_of(1));
	ck_assert_uint_eq(entry.id, 11);
	ck_assert(!mam_ledger_take(&ledger, key_of(1), &entry));
	ck_assert(put(1, 12, NULL, &entry));
	ck_assert_uint_eq(entry.key, 0);
	ck_assert(mam_ledger_take(&ledger, key_of(1), &entry));
	ck_assert_uint_eq(entry.id, 12);
	ck_assert(!mam_ledger_take(&ledger, key_of(1), &entry));
	ck_assert_uint_eq(mam_ledger_copy(&ledger, NULL, 0), 0);
}
END_TEST

START_TEST(entry_is_added_once_and_taken_if_it_is_the_same)
{
	struct mam_ledger_entry entry = { .key = key_of(1), .id = 11 }, found;

	ck_assert(!mam_ledger_take_same(&ledger, &entry));
	ck_assert(mam_ledger_add(&ledger, &entry));
	entry.id = 12;
	ck_assert(!mam_ledger_add(&ledger, &entry));
	ck_assert(!mam_ledger_take_same(&ledger, &entry));
	ck_assert(mam_ledger_find(&ledger, key_of(1), &found));
	ck_assert_uint_eq(found.id, 11);
	ck_assert(mam_ledger_take_same(&ledger, &found));
	ck_assert(!mam_ledger_find(&ledger, key_of(1), &found));
	for (unsigned int block = 0; block < BLOCKS; block++) {
		entry.key = key_of(block);
		ck_assert(mam_ledger_add(&ledger, &entry));
	}
	ck_assert_uint_eq(mam_ledger_copy(&ledger, NULL, 0), BLOCKS);
}
END_TEST

START_TEST(random_steps_match_an_array)
{
	static uint64_t ids[BLOCKS]; /* 0: no entry */
	struct mam_ledger_entry entry;
	uint64_t next = 1;
	size_t count = 0;

	srand(7);
	for (int step = 0; step < 200000; step++) {
		unsigned int block = (unsigned int)rand() % BLOCKS;

		if (rand() % 2 == 0) {
			ck_assert(put(block, next, NULL, &entry));
			ck_assert_uint_eq(entry.key, ids[block] == 0 ? 0 : key_of(block));
			if (ids[block] == 0) {
				count++;
				ids[block] = next++;
				continue;
			}
			ck_assert_uint_eq(entry.id, ids[block]);
			ids[block] = 0;
			count--;
		} else {
			ck_assert_int_eq(mam_ledger_find(&ledger, key_of(block), &entry),
					 ids[block] != 0);
			ck_assert(ids[block] == 0 || entry.id == ids[block]);
			entry.id = 0;
			ck_assert_int_eq(mam_ledger_take(&ledger, key_of(block), &entry),
					 ids[block] != 0);
			if (ids[block] == 0)
				continue;
			ck_assert_uint_eq(entry.id, ids[block]);
			ids[block] = 0;
			count--;
		}
	}
	ck_assert_uint_eq(mam_ledger_copy(&ledger, NULL, 0), count);
	for (unsigned int block = 0; block < BLOCKS; block++)
		ck_assert_int_eq(mam_ledger_take(&ledger, key_of(block), &entry), ids[block] != 0);
}
END_TEST

static unsigned int seen[BLOCKS];

static void see(const struct mam_ledger_entry *entry)
{
	seen[(entry->key - key_of(0)) / 512]++;
}

START_TEST(entries_of_a_context_are_taken_once)
{
	int one, other;
	struct mam_ledger_entry entry;

	for (unsigned int block = 0; block < BLOCKS; block++)
		ck_assert(put(block, block, block % 3 == 0 ? &one : &other, &entry));
	mam_ledger_take_context(&ledger, &one, see);
	for (unsigned int block = 0; block < BLOCKS; block++)
		ck_assert_uint_eq(seen[block], block % 3 == 0);
	mam_ledger_take_context(&ledger, &one, see);
	for (unsigned int block = 0; block < BLOCKS; block++) {
		ck_assert_uint_eq(seen[block], block % 3 == 0);
		ck_assert_int_eq(mam_ledger_take(&ledger, key_of(block), &entry), block % 3 != 0);
	}
}
END_TEST

START_TEST(copy_is_truncated_to_the_buffer)
{
	struct mam_ledger_entry entries[10], old;

	for (unsigned int block = 0; block < 20; block++)
		ck_assert(put(block, block, NULL, &old));
	entries[9].key = 0;
	ck_assert_uint_eq(mam_ledger_copy(&ledger, entries, 10), 20);
	ck_assert_uint_ne(entries[9].key, 0);
	mam_ledger_restart(&ledger);
	ck_assert_uint_eq(mam_ledger_copy(&ledger, entries, 10), 0);
}
END_TEST

/* A handle may have the same value as an address. */
static bool count_until_7(const struct mam_ledger_entry *entry, void *sum)
{
	*(uint64_t *)sum += entry->id < 7 ? entry->id : 1000;
	return entry->id < 7;
}

START_TEST(visit_ends_early_if_asked)
{
	struct mam_ledger_entry old;
	uint64_t sum = 0;

	for (unsigned int i = 1; i <= 6; i++)
		ck_assert(put(i, i, NULL, &old));
	mam_ledger_visit(&ledger, count_until_7, &sum);
	ck_assert_uint_eq(sum, 21);
	/* Many in each part of the ledger. */
	for (unsigned int i = 7; i < 5000; i++)
		ck_assert(put(i, 7, NULL, &old));
	sum = 0;
	mam_ledger_visit(&ledger, count_until_7, &sum);
	ck_assert_uint_eq(sum / 1000, 1);
}
END_TEST

START_TEST(handle_and_address_have_different_keys)
{
	void *number = (void *)(uintptr_t)0x7f1234567000;
	uint64_t address = mam_ledger_key(MAM_TABLE_cudaMalloc, number);

	ck_assert_uint_eq(address, mam_ledger_key(MAM_TABLE_cudaFree, number));
	ck_assert_uint_eq(address, mam_ledger_key(MAM_TABLE_cuMemFreeAsync, number));
	ck_assert_uint_ne(address, mam_ledger_key(MAM_TABLE_cuMemCreate, number));
	ck_assert_uint_eq(mam_ledger_key(MAM_TABLE_cuMemCreate, number),
			  mam_ledger_key(MAM_TABLE_cuMemRelease, number));
	ck_assert_uint_ne(address, mam_ledger_key(MAM_TABLE_cuArrayCreate_v2, number));
	ck_assert_uint_eq(mam_ledger_key(MAM_TABLE_cuArray3DCreate_v2, number),
			  mam_ledger_key(MAM_TABLE_cuArrayDestroy, number));
}
END_TEST

static void *churn(void *user)
{
	unsigned int first = *(unsigned int *)user, wrong = 0;
	struct mam_ledger_entry entry;

	for (int round = 0; round < 100; round++) {
		for (unsigned int block = first; block < BLOCKS; block += 4)
			wrong += !put(block, block, NULL, &entry) || entry.key != 0;
		for (unsigned int block = first; block < BLOCKS; block += 4)
			wrong += !mam_ledger_take(&ledger, key_of(block), &entry) ||
				 entry.id != block;
	}
	return (void *)(uintptr_t)wrong;
}

START_TEST(threads_use_separate_entries)
{
	unsigned int first[4] = { 0, 1, 2, 3 };
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, &first[i]), 0);
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		ck_assert_ptr_null(wrong);
	}
	ck_assert_uint_eq(mam_ledger_copy(&ledger, NULL, 0), 0);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("ledger");
	Suite *suite = suite_create("ledger");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(cases, setup, NULL);
	tcase_add_test(cases, entry_is_taken_exactly_once);
	tcase_add_test(cases, entry_is_added_once_and_taken_if_it_is_the_same);
	tcase_add_test(cases, random_steps_match_an_array);
	tcase_add_test(cases, entries_of_a_context_are_taken_once);
	tcase_add_test(cases, copy_is_truncated_to_the_buffer);
	tcase_add_test(cases, visit_ends_early_if_asked);
	tcase_add_test(cases, handle_and_address_have_different_keys);
	tcase_add_test(cases, threads_use_separate_entries);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
