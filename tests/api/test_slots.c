/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles: which values are handles of pools, that handles are never reused, and that slots are.
 *
 * Each test runs in its own process, which starts without a slot.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "suite.h"
#include "api/slots.h"

START_TEST(no_value_is_a_handle_before_first_pool)
{
	char here;
	void *volatile none[] = { NULL, (void *)1, &here, (void *)UINTPTR_MAX };

	for (size_t i = 0; i < COUNT_OF(none); i++)
		ck_assert(!mam_slots_know(none[i]));
}
END_TEST

START_TEST(slot_is_a_handle_and_adjacent_values_are_not)
{
	struct mam_slot *slot = mam_slots_take();
	const uintptr_t at = (uintptr_t)slot;
	const size_t wrong[] = { 1, 8, 64, MAM_SLOT_BYTES / 2, MAM_SLOT_BYTES - 1, MAM_SLOT_BYTES };

	ck_assert_ptr_nonnull(slot);
	ck_assert(mam_slots_know(&slot->pool));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert(!mam_slots_know((struct mam_pool *)(at + wrong[i])));
		ck_assert(!mam_slots_know((struct mam_pool *)(at - wrong[i])));
	}
}
END_TEST

START_TEST(slots_are_numbered_zeroed_and_disjoint)
{
	static const char zeroes[MAM_SLOT_BYTES];
	struct mam_slot *before = NULL;

	for (size_t i = 0; i < 1000; i++) {
		struct mam_slot *slot = mam_slots_take();

		ck_assert_ptr_nonnull(slot);
		ck_assert_uint_eq(mam_slots_number(&slot->pool), i);
		ck_assert_int_eq(memcmp(slot, zeroes, sizeof(*slot)), 0);
		/* Would appear in the next one if they overlap. */
		memset(slot, 0xff, sizeof(*slot));
		ck_assert(!before || (char *)slot - (char *)before == MAM_SLOT_BYTES);
		before = slot;
	}
}
END_TEST

START_TEST(freed_slot_is_reused_zeroed)
{
	static const char zeroes[MAM_SLOT_BYTES];
	struct mam_slot *first = mam_slots_take();
	struct mam_slot *second = mam_slots_take();

	memset(first, 0xff, sizeof(*first));
	memset(second, 0xff, sizeof(*second));
	atomic_store(&first->pool.generation, 0);
	atomic_store(&second->pool.generation, 0);
	mam_slots_put_back(first);
	mam_slots_put_back(second);
	ck_assert_ptr_eq(mam_slots_take(), second);
	ck_assert_ptr_eq(mam_slots_take(), first);
	ck_assert_int_eq(memcmp(first, zeroes, sizeof(*first)), 0);
	ck_assert_int_eq(memcmp(second, zeroes, sizeof(*second)), 0);
	ck_assert_uint_eq(mam_slots_number(&mam_slots_take()->pool), 2);
}
END_TEST

static struct mam_pool *older(struct mam_pool *handle)
{
	return (struct mam_pool *)((uintptr_t)handle - ((uintptr_t)1 << MAM_HANDLE_SHIFT));
}

/* Retired slots, as pools leave them. */
static void retire(struct mam_slot *slot)
{
	atomic_store(&slot->pool.state, MAM_POOL_ENDED);
	mam_slots_retire(slot);
}

START_TEST(retired_slot_is_reused_with_other_handle)
{
	struct mam_slot *slots[MAM_SLOTS_RETIRED];
	struct mam_pool *handles[MAM_SLOTS_RETIRED], *handle, *pool;
	struct mam_section section;

	for (int i = 0; i < MAM_SLOTS_RETIRED; i++) {
		slots[i] = mam_slots_take();
		handles[i] = mam_handle_of(&slots[i]->pool);
		ck_assert_int_eq(mam_slots_enter(handles[i], &pool, &section), MAM_OK);
		ck_assert_ptr_eq(pool, &slots[i]->pool);
		mam_epoch_leave(section);
	}
	for (int i = 0; i < MAM_SLOTS_RETIRED; i++)
		retire(slots[i]);
	for (int i = 0; i < MAM_SLOTS_RETIRED; i++) {
		struct mam_slot *slot = mam_slots_take();

		ck_assert_uint_lt(mam_slots_number(&slot->pool), MAM_SLOTS_RETIRED);
		ck_assert_int_eq(atomic_load(&slot->pool.state), MAM_POOL_NONE);
		handle = mam_handle_of(&slot->pool);
		ck_assert_int_eq(mam_slots_enter(handle, &pool, &section), MAM_OK);
		mam_epoch_leave(section);
		ck_assert(mam_slots_know(older(handle)));
		ck_assert_int_eq(mam_slots_enter(older(handle), &pool, &section),
				 MAM_ERROR_DESTROYED);
		/* The next generation was never used. */
		handle =
			(struct mam_pool *)((uintptr_t)handle + ((uintptr_t)1 << MAM_HANDLE_SHIFT));
		ck_assert_int_eq(mam_slots_enter(handle, &pool, &section), MAM_ERROR_INVALID_VALUE);
	}
	ck_assert_uint_eq(mam_slots_number(&mam_slots_take()->pool), MAM_SLOTS_RETIRED);
}
END_TEST

static pthread_mutex_t asleep = PTHREAD_MUTEX_INITIALIZER;

static void *sleep_on(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&asleep);
	pthread_mutex_unlock(&asleep);
	return NULL;
}

/* The only thread of a process needs no sections. */
static void have_a_thread(void)
{
	pthread_t thread;

	pthread_mutex_lock(&asleep);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_on, NULL), 0);
}

/* Whether `slot` is among those that `turns` pools get in sequence. */
static bool is_reused(const struct mam_slot *slot, int turns)
{
	while (turns-- > 0) {
		struct mam_slot *next = mam_slots_take();

		if (next == slot)
			return true;
		retire(next);
	}
	return false;
}

START_TEST(slot_is_not_reused_while_a_call_may_use_it)
{
	struct mam_slot *slot = mam_slots_take();
	struct mam_section section;
	struct mam_pool *pool;

	have_a_thread();
	if (_i == 0)
		ck_assert_int_eq(mam_slots_enter(mam_handle_of(&slot->pool), &pool, &section),
				 MAM_OK);
	else
		mam_slots_pin(&slot->pool);
	retire(slot);
	ck_assert(!is_reused(slot, 5 * MAM_SLOTS_RETIRED));
	ck_assert_int_eq(atomic_load(&slot->pool.state), MAM_POOL_ENDED);
	if (_i == 0)
		mam_epoch_leave(section);
	else
		mam_slots_unpin(&slot->pool);
	ck_assert(is_reused(slot, 20 * MAM_SLOTS_RETIRED));
}
END_TEST

START_TEST(slot_without_generations_left_is_not_reused)
{
	struct mam_slot *slot = mam_slots_take();
	struct mam_pool *last, *pool;
	struct mam_section section;

	atomic_store(&slot->pool.generation, MAM_HANDLE_GENERATIONS - 1);
	last = mam_handle_of(&slot->pool);
	ck_assert_uint_eq(mam_handle_generation(last), MAM_HANDLE_GENERATIONS - 1);
	retire(slot);
	ck_assert_int_eq(mam_slots_enter(last, &pool, &section), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_slots_enter(mam_handle_storage(last), &pool, &section),
			 MAM_ERROR_DESTROYED);
	ck_assert(!is_reused(slot, 5 * MAM_SLOTS_RETIRED));
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* With less address space than the usual range there are fewer slots, and they can run out. */
START_TEST(slots_run_out_cleanly_with_little_address_space)
{
	const size_t usual = (size_t)MAM_SLOTS_MAX * MAM_SLOT_BYTES;
	const struct rlimit limit = { usual / 2, usual / 2 };
	struct mam_slot *slot, *last = NULL;
	size_t count = 0;

	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	while ((slot = mam_slots_take())) {
		last = slot;
		count++;
	}
	ck_assert_uint_ge(count, 64);
	ck_assert_uint_lt(count, MAM_SLOTS_MAX);
	ck_assert(mam_slots_know(&last->pool));
	ck_assert(!mam_slots_know((struct mam_pool *)((char *)last + MAM_SLOT_BYTES)));
	ck_assert_ptr_null(mam_slots_take());
	mam_slots_put_back(last);
	ck_assert_ptr_eq(mam_slots_take(), last);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("api/slots");
	TCase *tests = suite_case(suite, "slots");

	tcase_add_test(tests, no_value_is_a_handle_before_first_pool);
	tcase_add_test(tests, slot_is_a_handle_and_adjacent_values_are_not);
	tcase_add_test(tests, slots_are_numbered_zeroed_and_disjoint);
	tcase_add_test(tests, freed_slot_is_reused_zeroed);
	tcase_add_test(tests, retired_slot_is_reused_with_other_handle);
	tcase_add_loop_test(tests, slot_is_not_reused_while_a_call_may_use_it, 0, 2);
	tcase_add_test(tests, slot_without_generations_left_is_not_reused);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	tcase_add_test(tests, slots_run_out_cleanly_with_little_address_space);
#endif
	return suite_run(suite);
}
