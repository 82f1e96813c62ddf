/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_large_service.c - large objects of the library's host (post_look.h): whatever lanes do, and
 * however late its pool is, host and device agree on what is live; a lane that frees memory and
 * requests as much again gets it.
 */
#include "heap/growth/large_kit.h"
#include "heap/service/post_look.h"
#include "heap/service/post_quiet.h"

static struct mam_post_box box;
static uint64_t max_bytes; /* for large objects */
static uint64_t extent[LKIT_UNITS];

/* One of three requests for existing memory needs new memory instead, which takes time. */
static enum mam_status take(void *user, uint64_t bytes, uint64_t alignment, bool may_grow,
			    uint64_t *address)
{
	enum mam_mail_cause cause;

	(void)user;
	MAM_KASSERT(alignment <= LKIT_UNIT);
	if (!may_grow && lkit_chance(33))
		return MAM_ERROR_WOULD_WAIT;
	if (may_grow)
		lkit_wait(lkit.plan->patience);
	cause = lkit_take(bytes, address);
	if (cause != MAM_MAIL_GIVEN)
		return may_grow ? MAM_ERROR_OUT_OF_MEMORY : MAM_ERROR_WOULD_WAIT;
	extent[lkit_unit(*address)] = bytes;
	lkit_write(*address, bytes, 0);
	return MAM_OK;
}

static void give(void *user, uint64_t address)
{
	(void)user;
	lkit_write(address, extent[lkit_unit(address)], 1);
	lkit_return(address, extent[lkit_unit(address)]);
}

static bool look(void)
{
	bool any = mam_post_look(&box);

	for (uint32_t slot = 0; slot < MAM_MAIL_SLOTS; slot++) {
		lkit.given[slot].address = box.slot[slot].address;
		lkit.given[slot].bytes = box.slot[slot].bytes;
	}
	return any;
}

static void begin(void *argument)
{
	const struct mam_post_config config = { .max_bytes = max_bytes + LKIT_UNIT,
						.root_bytes = LKIT_UNIT };

	(void)argument;
	mam_post_open(&box, &lkit.mail, &config, (struct mam_post_pool){ take, give, NULL });
}

static MAM_KERNEL(churn)
{
	uint32_t round;
	void *object;

	(void)argument;
	for (round = 0; round < 4; round++) {
		object = lkit_alloc((size_t)(1 + simt_random() % 3000));
		if (simt_random() % 3 == 0)
			object = lkit_swap((uint32_t)simt_random(), object);
		if (object)
			lkit_free(object);
	}
	lkit_leave();
}

START_TEST(host_and_device_agree_on_live_objects)
{
	/* clang-format off */
	static const struct lkit_plan plans[] = {
		{ .slots = 8, .begin = begin, .look = look },
		{ .slots = 8, .units = 6, .patience = 20, .begin = begin, .look = look },
		{ .wait_ns = 900, .slots = 5, .units = 8, .patience = 600, .begin = begin,
		  .look = look },
	};
	/* clang-format on */

	max_bytes = LKIT_UNITS * LKIT_UNIT;
	lkit_explore("service", &plans[_i], churn, 2, 5, 40, lkit_check);
	ck_assert_uint_gt(lkit.all_given, 0);
	ck_assert_uint_eq(!lkit.all_failed[MAM_OBJECT_SILENT], _i < 2);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_TOO_LARGE], 0);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_REFUSED], 0);
}
END_TEST

/* Repeatedly allocates all that is available: freed memory is counted before the next request. */
static MAM_KERNEL(everything)
{
	uint32_t round;
	void *object;

	(void)argument;
	for (round = 0; round < 8; round++) {
		object = lkit_alloc(4 * LKIT_UNIT);
		MAM_KASSERT(object);
		lkit_free(object);
	}
	lkit_leave();
}

START_TEST(all_memory_can_be_allocated_repeatedly)
{
	static const struct lkit_plan limit = { .slots = 16, .begin = begin, .look = look };
	static const struct lkit_plan pool = {
		.slots = 16, .units = 4, .begin = begin, .look = look
	};

	max_bytes = 4 * LKIT_UNIT;
	lkit_explore("everything up to the limit", &limit, everything, 1, 1, 100, lkit_check_empty);
	max_bytes = LKIT_UNITS * LKIT_UNIT;
	lkit_explore("all of the pool", &pool, everything, 1, 1, 100, lkit_check_empty);
}
END_TEST

/* A request for more fails under the right cause only. */
static MAM_KERNEL(too_much)
{
	(void)argument;
	MAM_KASSERT(!lkit_alloc(5 * LKIT_UNIT));
	MAM_KASSERT(!lkit_alloc(SIZE_MAX / 2));
	lkit_leave();
}

START_TEST(oversized_request_fails_with_cause)
{
	static const struct lkit_plan limit = { .slots = 2, .begin = begin, .look = look };
	static const struct lkit_plan pool = {
		.slots = 2, .units = 4, .begin = begin, .look = look
	};

	max_bytes = 4 * LKIT_UNIT;
	lkit_explore("more than the limit", &limit, too_much, 1, 1, 10, lkit_check_empty);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_AT_LIMIT], 0);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_TOO_LARGE], 0);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_POOL_FULL], 0);
	max_bytes = LKIT_UNITS * LKIT_UNIT;
	lkit_explore("more than the pool", &pool, too_much, 1, 1, 10, lkit_check_empty);
	ck_assert_uint_gt(lkit.all_failed[MAM_OBJECT_POOL_FULL], 0);
	ck_assert_uint_eq(lkit.all_failed[MAM_OBJECT_AT_LIMIT], 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("large_service");

	tcase_add_loop_test(tcase, host_and_device_agree_on_live_objects, 0, 3);
	tcase_add_test(tcase, all_memory_can_be_allocated_repeatedly);
	tcase_add_test(tcase, oversized_request_fails_with_cause);
	return lkit_run(tcase, "heap/large_service");
}
