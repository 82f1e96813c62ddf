/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_large_slots.c - the records and the slots of large objects: each object is found in any
 * table, within few steps; an invalid pointer is not found, and no message is sent about it; of
 * several concurrent frees of an object exactly one succeeds; and all slots are available to all
 * requests.
 */
#include <stdlib.h>

#include "heap/growth/large_kit.h"

#define ALL 64u

static void *all[ALL];

static bool unknown(const void *object)
{
	uint64_t posted = lkit_posted();

	return !mam_large_usable(&lkit.heap, object) &&
	       mam_large_free(&lkit.heap, object) == MAM_LARGE_UNKNOWN && lkit_posted() == posted;
}

/* As many objects as there is room for, more than slots. */
static MAM_KERNEL(finds_all)
{
	unsigned char *object;
	uint32_t i, j;

	(void)argument;
	for (i = 0; i < ALL; i++) {
		all[i] = lkit_alloc(1 + simt_random() % LKIT_UNIT);
		MAM_KASSERT(all[i]);
	}
	MAM_KASSERT(!lkit_alloc(1));
	MAM_KASSERT(lkit.tallies.of[MAM_OBJECT_POOL_FULL].value == 1);
	for (i = 0; i < ALL; i++) {
		object = all[i];
		MAM_KASSERT(mam_large_usable(&lkit.heap, object) == LKIT_UNIT);
		MAM_KASSERT(unknown(object + 1));
		MAM_KASSERT(unknown(object - 1));
		MAM_KASSERT(unknown(object + LKIT_UNIT / 2));
	}
	MAM_KASSERT(unknown(NULL));
	MAM_KASSERT(unknown(&lkit));
	MAM_KASSERT(unknown(lkit.space - LKIT_UNIT));
	MAM_KASSERT(unknown(lkit.space + (size_t)ALL * LKIT_UNIT));
	for (i = 0; i < ALL; i++) {
		j = (i * 37 + 11) % ALL;
		lkit_free(all[j]);
		MAM_KASSERT(unknown(all[j]));
	}
	for (i = 0; i < ALL; i++)
		MAM_KASSERT(unknown(all[i]));
	lkit_leave();
}

START_TEST(object_is_found_in_any_table)
{
	static const struct lkit_plan plan = { .slots = 4 };

	lkit_explore("each is found", &plan, finds_all, 1, 1, 12, lkit_check_empty);
}
END_TEST

/* An address inside of an object is found only if lanes have parts of that object. */
static MAM_KERNEL(finds_parts)
{
	unsigned char *object;
	struct mam_klarge large;
	uint32_t i;

	(void)argument;
	for (i = 0; i < ALL / 4; i++) {
		all[i] = lkit_alloc(4 * LKIT_UNIT);
		MAM_KASSERT(all[i]);
	}
	for (i = 0; i < ALL / 4; i++) {
		MAM_KASSERT(!mam_large_parts(&lkit.heap, all[i]).bytes);
		if (i % 3 == 0)
			mam_large_mark(&lkit.heap, (unsigned char *)all[i] + (i % 2 ? 100 : 0));
	}
	for (i = 0; i < ALL / 4; i++) {
		object = (unsigned char *)all[i] + simt_random() % (4 * LKIT_UNIT);
		large = mam_large_parts(&lkit.heap, object);
		MAM_KASSERT(large.bytes == (i % 3 ? 0 : 4 * LKIT_UNIT));
		MAM_KASSERT(i % 3 || large.address == (uintptr_t)all[i]);
		MAM_KASSERT(mam_large_usable(&lkit.heap, all[i]) == 4 * LKIT_UNIT);
	}
	MAM_KASSERT(!mam_large_parts(&lkit.heap, lkit.space - 1).bytes);
	MAM_KASSERT(!mam_large_parts(&lkit.heap, lkit.space + ALL * LKIT_UNIT).bytes);
	for (i = 0; i < ALL / 4; i++) {
		lkit_free(all[i]);
		MAM_KASSERT(!mam_large_parts(&lkit.heap, (unsigned char *)all[i] + 1).bytes);
	}
	/* The next objects there have no parts. */
	all[0] = lkit_alloc(LKIT_UNITS * LKIT_UNIT);
	MAM_KASSERT(all[0] && !mam_large_parts(&lkit.heap, all[0]).bytes);
	lkit_free(all[0]);
	lkit_leave();
}

START_TEST(parts_are_found_in_marked_objects)
{
	static const struct lkit_plan plan = { .slots = 4 };

	lkit_explore("parts are found", &plan, finds_parts, 1, 1, 12, lkit_check_empty);
}
END_TEST

/* Steps that a lane takes to look up an address. */
static uint64_t steps_of(uint64_t address, size_t usable)
{
	uint64_t begun = mam_timer();

	MAM_KASSERT(mam_large_usable(&lkit.heap, (void *)(uintptr_t)address) == usable);
	return mam_timer() - begun;
}

/* A lookup reads one row of each table, and of a hit the record again, however many there are. */
static MAM_KERNEL(looks)
{
	/* The clock, and in builds with hooks plain reads, for example of the head. */
	const uint64_t plain = LKIT_RACE ? 4 : 1, row = MAM_LARGE_ROW;
	uint64_t address;
	uint32_t i;

	(void)argument;
	for (i = 0; i < ALL; i++) {
		address = ((uint64_t)i + 1) << 20;
		MAM_KASSERT(steps_of(address, 1024 * (1 + i)) <=
			    RECORDS_TABLES * (row + 1) + 2 + plain);
		MAM_KASSERT(steps_of(address + 1024, 0) <= RECORDS_TABLES * (row + 1) + 1 + plain);
	}
}

START_TEST(lookup_takes_bounded_steps)
{
	static const struct lkit_plan plan = { .slots = 1 };
	struct simt_config config = { .seed = 1 };
	struct simt_result result;
	struct mam_large *record;
	uint64_t tables;

	lkit.plan = &plan;
	lkit_begin(NULL);
	for (uint32_t i = 0; i < ALL; i++) {
		record = records_take(&lkit.records, ((uint64_t)i + 1) << 20, i, &tables);
		record->address = ((uint64_t)i + 1) << 20;
		record->bytes = 1024 * (1 + i);
	}
	for (uint32_t i = 1; i < RECORDS_TABLES; i++)
		lkit.growth.large_table[i - 1] = lkit.mail.large_table[i - 1];
	simt_set_shape(&config, (uint64_t)_i);
	ck_assert_msg(simt_launch(&config, looks, 1, 1, NULL, &result) == SIMT_FINE, "%s",
		      result.text);
}
END_TEST

/* All slots are usable, also where they are released one after the other. */
static MAM_KERNEL(turns)
{
	uint32_t round, i;

	(void)argument;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < ALL; i++) {
			all[i] = lkit_alloc(1);
			MAM_KASSERT(all[i]);
		}
		for (i = 0; i < ALL; i++)
			lkit_free(all[i]);
	}
	lkit_leave();
}

START_TEST(released_slots_are_reusable)
{
	static const struct lkit_plan plan = { .slots = ALL };
	static const struct lkit_plan slow = { .slots = ALL, .slow = 5, .patience = 500 };

	lkit_explore("all slots are released", &plan, turns, 1, 1, 8, lkit_check_empty);
	lkit_explore("all slots are released slowly", &slow, turns, 1, 1, 8, lkit_check_empty);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_NO_SLOT], 0);
}
END_TEST

/* Lanes that call alone start anywhere: after so many requests each slot was used. */
static MAM_KERNEL(anywhere)
{
	uint32_t i;

	(void)argument;
	for (i = 0; i < 40; i++)
		lkit_free(lkit_alloc(1));
	lkit_leave();
}

static uint32_t slots_seen[2], runs;

static const char *count_slots(void *argument)
{
	for (uint32_t slot = 0; slot < MAM_MAIL_SLOTS; slot++)
		if (lkit.seen[slot])
			slots_seen[slot / 64]++;
	runs++;
	return lkit_check_empty(argument);
}

START_TEST(search_starts_at_any_slot)
{
	static const struct lkit_plan plan = { .slots = ALL };

	slots_seen[0] = slots_seen[1] = runs = 0;
	lkit_explore("anywhere", &plan, anywhere, 1, 1, 20, count_slots);
	/* Of 64 slots in two words, 40 draws hit 30, half of them in each word. */
	ck_assert_uint_gt(slots_seen[0], 9 * runs);
	ck_assert_uint_gt(slots_seen[1], 9 * runs);
}
END_TEST

/* Lanes of several warps free one object, while others allocate the freed memory. */
static uint64_t won;

static MAM_KERNEL(all_at_once)
{
	uint32_t i;
	void *object;

	(void)argument;
	for (i = 0; i < 3; i++) {
		if (!simt_thread()) {
			won = 0;
			all[0] = lkit_alloc(1);
			MAM_KASSERT(all[0]);
			lkit_disown(all[0]);
		}
		mam_syncthreads();
		object = all[0];
		if (simt_thread() % 3 == 1) {
			/* The next owner does not free it meanwhile. */
			object = lkit_alloc(3 * LKIT_UNIT);
			mam_syncthreads();
			if (object)
				lkit_free(object);
		} else {
			if (mam_large_free(&lkit.heap, object) == MAM_LARGE_GIVEN)
				(void)mam_atomic_add64(&won, 1, MAM_RELAXED, MAM_AT_DEVICE);
			mam_syncthreads();
		}
		MAM_KASSERT(mam_atomic_load64(&won, MAM_RELAXED, MAM_AT_DEVICE) == 1);
		mam_syncthreads();
	}
	lkit_leave();
}

START_TEST(concurrent_free_succeeds_once)
{
	/*
	 * Three units in a row never start where a single one was: no lane gets the same address.
	 */
	static const struct lkit_plan plan = { .slots = 32, .apart = true };

	lkit_explore("one free succeeds", &plan, all_at_once, 1, 20, 60, lkit_check_empty);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_NO_SLOT], 0);
}
END_TEST

/*
 * One lane repeatedly frees an address at which another lane allocates. The free either hits that
 * lane's object, which is gone then, or fails.
 */
static MAM_KERNEL(old_addresses)
{
	void *object;
	uint32_t i;

	(void)argument;
	if (!mam_block() && !simt_thread()) {
		for (i = 0; i < 60; i++) {
			(void)mam_large_usable(&lkit.heap, lkit.space);
			(void)mam_large_free(&lkit.heap, lkit.space);
		}
	} else {
		for (i = 0; i < 4; i++) {
			object = mam_large_alloc(&lkit.heap, 1);
			if (object)
				(void)mam_large_free(&lkit.heap, object);
			else
				lkit_count();
		}
	}
	lkit_leave();
}

START_TEST(free_of_stale_address_is_harmless)
{
	static const struct lkit_plan plan = { .slots = 2, .stale = 10 };
	static const struct lkit_plan late = {
		.wait_ns = 150, .slots = 4, .units = 1, .slow = 40, .patience = 200
	};

	unsetenv("TEST_SHARE"); /* some of the seeds must meet a full pool */
	lkit_explore("old addresses", &plan, old_addresses, 1, 2, 200, lkit_check_empty);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_POOL_FULL], 0);
	lkit_explore("old addresses, another block", &plan, old_addresses, 2, 1, 200,
		     lkit_check_empty);
	lkit_explore("old addresses, failing requests", &late, old_addresses, 4, 1, 300,
		     lkit_check_empty);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_POOL_FULL], 0);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_SILENT], 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("large_slots");

	tcase_add_test(tcase, object_is_found_in_any_table);
	tcase_add_test(tcase, parts_are_found_in_marked_objects);
	tcase_add_loop_test(tcase, lookup_takes_bounded_steps, 0, SIMT_SHAPES);
	tcase_add_test(tcase, released_slots_are_reusable);
	tcase_add_test(tcase, search_starts_at_any_slot);
	tcase_add_test(tcase, concurrent_free_succeeds_once);
	tcase_add_test(tcase, free_of_stale_address_is_harmless);
	return lkit_run(tcase, "heap/large_slots");
}
