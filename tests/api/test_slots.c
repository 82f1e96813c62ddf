/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles: which addresses are pools' handles, and that none is ever used twice.
 *
 * Each test runs in a process of its own, which begins without a slot.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "suite.h"
#include "api/slots.h"

START_TEST(nothing_is_a_handle_before_the_first_pool)
{
	char here;

	ck_assert(!mam_slots_know(NULL));
	ck_assert(!mam_slots_know((struct mam_pool *)1));
	ck_assert(!mam_slots_know((struct mam_pool *)&here));
	ck_assert(!mam_slots_know((struct mam_pool *)UINTPTR_MAX));
}
END_TEST

START_TEST(a_slot_is_a_handle_and_nothing_beside_it)
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
	ck_assert(!mam_slots_know(NULL));
}
END_TEST

START_TEST(slots_are_numbered_zeroed_and_apart)
{
	static const char zeroes[MAM_SLOT_BYTES];
	struct mam_slot *before = NULL;

	for (size_t i = 0; i < 1000; i++) {
		struct mam_slot *slot = mam_slots_take();

		ck_assert_ptr_nonnull(slot);
		ck_assert_uint_eq(mam_slots_number(&slot->pool), i);
		ck_assert_int_eq(memcmp(slot, zeroes, sizeof(*slot)), 0);
		memset(slot, 0xff, sizeof(*slot)); /* shows in the next one if they overlap */
		ck_assert(!before || (char *)slot - (char *)before == MAM_SLOT_BYTES);
		before = slot;
	}
}
END_TEST

START_TEST(a_slot_put_back_is_handed_out_again_zeroed)
{
	static const char zeroes[MAM_SLOT_BYTES];
	struct mam_slot *first = mam_slots_take();
	struct mam_slot *second = mam_slots_take();

	memset(first, 0xff, sizeof(*first));
	memset(second, 0xff, sizeof(*second));
	mam_slots_put_back(first);
	mam_slots_put_back(second);
	ck_assert_ptr_eq(mam_slots_take(), second);
	ck_assert_ptr_eq(mam_slots_take(), first);
	ck_assert_int_eq(memcmp(first, zeroes, sizeof(*first)), 0);
	ck_assert_int_eq(memcmp(second, zeroes, sizeof(*second)), 0);
	ck_assert_uint_eq(mam_slots_number(&mam_slots_take()->pool), 2);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* With less address space than the usual range there are fewer slots, and an end to them. */
START_TEST(slots_run_out_in_order_where_address_space_is_short)
{
	const size_t usual = (size_t)MAM_SLOTS_MOST * MAM_SLOT_BYTES;
	const struct rlimit limit = { usual / 2, usual / 2 };
	struct mam_slot *slot, *last = NULL;
	size_t count = 0;

	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	while ((slot = mam_slots_take())) {
		last = slot;
		count++;
	}
	ck_assert_uint_ge(count, 64);
	ck_assert_uint_lt(count, MAM_SLOTS_MOST);
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

	tcase_add_test(tests, nothing_is_a_handle_before_the_first_pool);
	tcase_add_test(tests, a_slot_is_a_handle_and_nothing_beside_it);
	tcase_add_test(tests, slots_are_numbered_zeroed_and_apart);
	tcase_add_test(tests, a_slot_put_back_is_handed_out_again_zeroed);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	tcase_add_test(tests, slots_run_out_in_order_where_address_space_is_short);
#endif
	return suite_run(suite);
}
