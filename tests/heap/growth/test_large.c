/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_large.c - large objects of a host that answers: lanes of several warps take, hand over and
 * give back, and never two have the same; what the host refuses is NULL and counted by its cause.
 */
#include "heap/growth/large_kit.h"

/* Each lane takes, now and then hands what it has to another, and gives back what it got so. */
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

/* Objects that others left after a lane looked there are still somebody's. */
START_TEST(a_churn)
{
	static const struct lkit_plan plan = { .slots = 8 };

	lkit_explore("large churn", &plan, churn, 2, 18, 60, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_NO_SLOT], 0);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_SILENT], 0);
}
END_TEST

/* As many slots as lanes: none is ever without. */
START_TEST(slots_enough)
{
	static const struct lkit_plan plan = { .slots = 32 };

	lkit_explore("large, slots enough", &plan, churn, 2, 12, 40, lkit_check);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_NO_SLOT], 0);
}
END_TEST

START_TEST(a_small_pool)
{
	static const struct lkit_plan plan = { .slots = 16, .units = 6 };

	lkit_explore("large, small pool", &plan, churn, 2, 10, 60, lkit_check);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_POOL_FULL], 0);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_AT_LIMIT], 0);
}
END_TEST

START_TEST(a_limit)
{
	static const struct lkit_plan plan = { .slots = 16, .limit = 5 };

	lkit_explore("large, limit", &plan, churn, 2, 10, 60, lkit_check);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_AT_LIMIT], 0);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_POOL_FULL], 0);
}
END_TEST

/* A host that looks only where somebody has knocked has all that there is. */
START_TEST(a_knock_is_enough)
{
	static const struct lkit_plan plan = { .slots = 8, .knocks = true };

	lkit_explore("large, knocks", &plan, churn, 1, 9, 150, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
}
END_TEST

/* Takes its time, and answers with older generations before: that is waited for. */
START_TEST(a_slow_host)
{
	static const struct lkit_plan plan = {
		.slots = 8, .slow = 20, .patience = 60, .stale = 30
	};

	lkit_explore("large, slow", &plan, churn, 2, 9, 60, lkit_check);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_SILENT], 0);
	ck_assert_uint_eq(lkit.all_cancelled, 0);
}
END_TEST

/* All generations come again some day. */
START_TEST(generations_wrap)
{
	static const struct lkit_plan plan = { .slots = 2,
					       .generation = (UINT64_C(1) << 56) - 3,
					       .stale = 30 };

	lkit_explore("large, wrap", &plan, churn, 1, 6, 60, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
}
END_TEST

static const size_t sizes[] = { 1, 8, 1023, 1024, 1025, 4096, 5000, LKIT_UNITS << 10 };

/* Is it where the hint says? */
LKIT_UNSEEN bool hinted(const void *object)
{
	uint64_t address = (uintptr_t)object;
	uint32_t slot = lkit.growth.large_hint[mam_large_hint(address)];

	return slot < MAM_MAIL_SLOTS && lkit.growth.large[slot].address == address;
}

/* As many bytes as asked for, to the next unit; none that others have. */
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
		MAM_KASSERT(hinted(object));
		lkit_free(object);
		MAM_KASSERT(!mam_large_usable(&lkit.heap, object));
	}
	lkit_leave();
}

START_TEST(sizes_are_rounded)
{
	static const struct lkit_plan plan = { .slots = 4 };

	lkit_explore("large sizes", &plan, each_size, 1, 1, 10, lkit_check_empty);
	ck_assert_uint_gt(lkit.all_given, 0);
}
END_TEST

/* What the host would not understand is not even asked for; what it does not have it says. */
static MAM_KERNEL(too_large)
{
	(void)argument;
	MAM_KASSERT(!lkit_alloc(SIZE_MAX));
	MAM_KASSERT(!lkit_alloc(SIZE_MAX - LKIT_UNIT + 2));
	MAM_KASSERT(!lkit_alloc(0));
	MAM_KASSERT(lkit.tallies.of[MAM_OBJECT_TOO_LARGE].value == 3);
	MAM_KASSERT(lkit_posted() == 0);
	/* This is answered BAD. */
	MAM_KASSERT(!lkit_alloc(SIZE_MAX - LKIT_UNIT + 1));
	MAM_KASSERT(lkit_posted() == 1);
	MAM_KASSERT(!lkit_alloc((size_t)1 << 40));
	MAM_KASSERT(lkit.tallies.of[MAM_OBJECT_TOO_LARGE].value == 5);
	lkit_leave();
}

START_TEST(more_than_there_can_be)
{
	static const struct lkit_plan plan = { .slots = 2 };

	lkit_explore("too large", &plan, too_large, 1, 1, 5, lkit_check_empty);
}
END_TEST

/* A slot that was refused something serves the next one: there is but one. */
static MAM_KERNEL(refused_often)
{
	uint32_t i;

	(void)argument;
	for (i = 0; i < 5; i++)
		MAM_KASSERT(!lkit_alloc(1024));
	MAM_KASSERT(lkit_posted() == 5);
	lkit_leave();
}

/* Plans and what their refusals count as. */
static const struct {
	struct lkit_plan plan;
	enum mam_object_tally why;
} refusals[] = {
	{ { .slots = 1, .ended = true }, MAM_OBJECT_REFUSED },
	{ { .slots = 1, .nothing = true }, MAM_OBJECT_REFUSED },
	{ { .slots = 1, .odd = true }, MAM_OBJECT_REFUSED },
};

START_TEST(a_host_that_refuses)
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

	tcase_add_test(tcase, a_churn);
	tcase_add_test(tcase, slots_enough);
	tcase_add_test(tcase, a_small_pool);
	tcase_add_test(tcase, a_limit);
	tcase_add_test(tcase, a_knock_is_enough);
	tcase_add_test(tcase, a_slow_host);
	tcase_add_test(tcase, generations_wrap);
	tcase_add_test(tcase, sizes_are_rounded);
	tcase_add_test(tcase, more_than_there_can_be);
	tcase_add_loop_test(tcase, a_host_that_refuses, 0, 3);
	return lkit_run(tcase, "heap/large");
}
