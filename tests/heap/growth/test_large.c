/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_large.c - large objects of a host that answers: lanes of several warps allocate, hand over
 * and free, and no object has two owners; a request that the host refuses returns NULL and is
 * counted under its cause.
 */
#include "heap/growth/large_kit.h"

/* Each lane allocates, sometimes swaps its object with another lane's, and frees what it has. */
static MAM_KERNEL(churn)
{
	uint32_t round;
	void *object;

	(void)argument;
	for (round = 0; round < 4; round++) {
		object = lkit_alloc((size_t)(1 + simt_random() % 3000));
		if (simt_random() % 2)
			object = lkit_swap((uint32_t)simt_random(), object);
		if (object && simt_random() % 4 == 0)
			MAM_KASSERT(mam_large_usable(&lkit.heap, object) >= LKIT_UNIT);
		if (object)
			lkit_free(object);
	}
	for (round = simt_thread(); round < LKIT_KEPT; round += simt_block_threads()) {
		object = lkit_swap(round, NULL);
		if (object)
			lkit_free(object);
	}
	lkit_leave();
}

/* Objects that a lane left after the last look there are still live. */
START_TEST(large_object_has_one_owner)
{
	static const struct lkit_plan plan = { .slots = 8 };

	lkit_explore("large churn", &plan, churn, 2, 18, 60, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_NO_SLOT], 0);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_SILENT], 0);
}
END_TEST

/* All lanes take turns in one slot, and all of the pool can be live at once. */
static MAM_KERNEL(takes_turns)
{
	void *object[LKIT_UNITS / 16];
	uint32_t i;

	(void)argument;
	for (i = 0; i < LKIT_UNITS / 16; i++) {
		object[i] = lkit_alloc(1);
		MAM_KASSERT(object[i]);
	}
	mam_syncthreads();
	for (i = 0; i < LKIT_UNITS / 16; i++)
		lkit_free(object[i]);
	lkit_leave();
}

START_TEST(one_slot_suffices_for_all)
{
	static const struct lkit_plan plan = { .slots = 1 };
	static const struct lkit_plan slow = { .slots = 1, .slow = 20, .patience = 60 };

	lkit_explore("one slot", &plan, takes_turns, 1, 16, 30, lkit_check_empty);
	lkit_explore("one slot, slow", &slow, takes_turns, 1, 16, 10, lkit_check_empty);
}
END_TEST

START_TEST(full_pool_returns_null)
{
	static const struct lkit_plan plan = { .slots = 16, .units = 6 };

	lkit_explore("large, small pool", &plan, churn, 2, 10, 60, lkit_check);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_POOL_FULL], 0);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_AT_LIMIT], 0);
}
END_TEST

START_TEST(limit_returns_null)
{
	static const struct lkit_plan plan = { .slots = 16, .limit = 5 };

	lkit_explore("large, limit", &plan, churn, 2, 10, 60, lkit_check);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_AT_LIMIT], 0);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_POOL_FULL], 0);
}
END_TEST

/* A host that looks only after a knock sees every message. */
START_TEST(host_sees_messages_after_knock)
{
	static const struct lkit_plan plan = { .slots = 8, .knocks = true };

	lkit_explore("large, knocks", &plan, churn, 1, 9, 150, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
}
END_TEST

/* Slow, and with answers to older generations first: lanes wait for the current answer. */
START_TEST(lanes_wait_for_slow_host)
{
	static const struct lkit_plan plan = {
		.slots = 8, .slow = 20, .patience = 60, .stale = 30
	};

	lkit_explore("large, slow", &plan, churn, 2, 9, 60, lkit_check);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_SILENT], 0);
	ck_assert_uint_eq(lkit.all_cancelled, 0);
}
END_TEST

/* Generations wrap around. */
START_TEST(generation_wraps_safely)
{
	static const struct lkit_plan plan = { .slots = 2,
					       .generation = (UINT64_C(1) << 56) - 3,
					       .stale = 30 };

	lkit_explore("large, wrap", &plan, churn, 1, 6, 60, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
}
END_TEST

static const size_t sizes[] = { 1, 8, 1023, 1024, 1025, 4096, 5000, LKIT_UNITS << 10 };

/* The requested bytes, rounded up to a unit; no memory of others. */
static MAM_KERNEL(each_size)
{
	size_t usable, i;
	void *object;

	(void)argument;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		object = lkit_alloc(sizes[i]);
		MAM_KASSERT(object);
		usable = mam_large_usable(&lkit.heap, object);
		MAM_KASSERT(usable >= sizes[i] && usable < sizes[i] + LKIT_UNIT);
		MAM_KASSERT(usable % LKIT_UNIT == 0);
		lkit_free(object);
		MAM_KASSERT(!mam_large_usable(&lkit.heap, object));
	}
	lkit_leave();
}

START_TEST(size_is_rounded_up_to_unit)
{
	static const struct lkit_plan plan = { .slots = 4 };

	lkit_explore("large sizes", &plan, each_size, 1, 1, 10, lkit_check_empty);
	ck_assert_uint_gt(lkit.all_given, 0);
}
END_TEST

/*
 * Sizes that the host cannot represent are not sent; the host refuses sizes that it does not have.
 */
static MAM_KERNEL(too_large)
{
	(void)argument;
	MAM_KASSERT(!lkit_alloc(SIZE_MAX));
	MAM_KASSERT(!lkit_alloc(SIZE_MAX - LKIT_UNIT + 2));
	MAM_KASSERT(!lkit_alloc(0));
	MAM_KASSERT(lkit.tallies.of[MAM_OBJECT_TOO_LARGE].value == 3);
	MAM_KASSERT(lkit_posted() == 0);
	/* The host answers BAD. */
	MAM_KASSERT(!lkit_alloc(SIZE_MAX - LKIT_UNIT + 1));
	MAM_KASSERT(lkit_posted() == 1);
	MAM_KASSERT(!lkit_alloc((size_t)1 << 40));
	MAM_KASSERT(lkit.tallies.of[MAM_OBJECT_TOO_LARGE].value == 5);
	lkit_leave();
}

START_TEST(oversized_request_returns_null)
{
	static const struct lkit_plan plan = { .slots = 2 };

	lkit_explore("too large", &plan, too_large, 1, 1, 5, lkit_check_empty);
}
END_TEST

/* There is only one slot: after a refused request it serves the next one. */
static MAM_KERNEL(refused_often)
{
	uint32_t i;

	(void)argument;
	for (i = 0; i < 5; i++)
		MAM_KASSERT(!lkit_alloc(1024));
	MAM_KASSERT(lkit_posted() == 5);
	lkit_leave();
}

/* Plans, and the cause under which their refusals are counted. */
static const struct {
	struct lkit_plan plan;
	enum mam_object_tally why;
} refusals[] = {
	{ { .slots = 1, .ended = true }, MAM_OBJECT_REFUSED },
	{ { .slots = 1, .nothing = true }, MAM_OBJECT_REFUSED },
	{ { .slots = 1, .odd = true }, MAM_OBJECT_REFUSED },
};

START_TEST(refused_request_is_counted_by_cause)
{
	lkit_explore("refusals", &refusals[_i].plan, refused_often, 1, 1, 3, lkit_check_empty);
	ck_assert_uint_gt(lkit.all_failed[refusals[_i].why], 0);
	for (uint32_t i = 0; i < MAM_OBJECT_TALLIES; i++)
		ck_assert(i == (uint32_t)refusals[_i].why || !lkit.all_failed[i]);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("large");

	tcase_add_test(tcase, large_object_has_one_owner);
	tcase_add_test(tcase, one_slot_suffices_for_all);
	tcase_add_test(tcase, full_pool_returns_null);
	tcase_add_test(tcase, limit_returns_null);
	tcase_add_test(tcase, host_sees_messages_after_knock);
	tcase_add_test(tcase, lanes_wait_for_slow_host);
	tcase_add_test(tcase, generation_wraps_safely);
	tcase_add_test(tcase, size_is_rounded_up_to_unit);
	tcase_add_test(tcase, oversized_request_returns_null);
	tcase_add_loop_test(tcase, refused_request_is_counted_by_cause, 0, 3);
	return lkit_run(tcase, "heap/large");
}
