/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_large_service.c - large objects of the library's host (post_look.h): whatever lanes do, and
 * however late its pool is, host and device agree on what is live; a lane that frees memory and
 * requests as much again gets it; and thousands of objects can be live at once.
 */
#include "heap/growth/large_kit.h"
#include "heap/service/post_look.h"
#include "heap/service/post_quiet.h"

static struct mam_post_box box;
static uint64_t max_bytes; /* for large objects */
static uint64_t extent[LKIT_UNITS];

/* Memory for tables is not in the pool. */
static unsigned char tables[2][MAM_LARGE_ROWS * MAM_LARGE_ROW * 4 * sizeof(struct mam_large)];
static uint32_t zeroing;

/* One of three requests for existing memory needs new memory instead, which takes time. */
static enum mam_status take(void *user, uint64_t bytes, uint64_t alignment, bool may_grow,
			    uint64_t *address)
{
	enum mam_mail_cause cause;

	(void)user;
	MAM_KASSERT(alignment <= LKIT_UNIT);
	if (alignment != MAM_POST_LARGE_ALIGNMENT) {
		MAM_KASSERT(bytes <= sizeof(tables[0]) && box.tables <= 2);
		*address = (uintptr_t)tables[box.tables - 1];
		memset(tables[box.tables - 1], 0x5b, bytes);
		return MAM_OK;
	}
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
	if (address - (uintptr_t)lkit.space >= LKIT_UNITS * LKIT_UNIT)
		return;
	lkit_write(address, extent[lkit_unit(address)], 1);
	lkit_return(address, extent[lkit_unit(address)]);
}

/* Takes a few looks. */
static enum mam_status zero(void *user, uint64_t address, uint64_t bytes)
{
	(void)user;
	if (zeroing++ % 4 != 3)
		return MAM_ERROR_WOULD_WAIT;
	memset((void *)(uintptr_t)address, 0, bytes);
	return MAM_OK;
}

LKIT_UNSEEN void see_objects(void)
{
	memset(lkit.given, 0, sizeof(lkit.given));
	for (uint32_t n = 0; n < box.tables; n++)
		for (uint32_t i = 0; i < mam_large_rows(n) * MAM_LARGE_ROW; i++) {
			const struct mam_post_large *large = &box.table[n].large[i];

			if (large->address)
				lkit.given[lkit_unit(large->address)] = (struct lkit_given){
					large->bytes,
					(struct mam_large *)(uintptr_t)box.table[n].at + i
				};
		}
}

static bool look(void)
{
	bool any = mam_post_look(&box);

	see_objects();
	return any;
}

static void begin(void *argument)
{
	const struct mam_post_config config = { .max_bytes = max_bytes + LKIT_UNIT,
						.root_bytes = LKIT_UNIT,
						.large = (uintptr_t)lkit.growth.large };

	(void)argument;
	for (uint32_t n = 1; n < box.tables; n++)
		free(box.table[n].large); /* of the last run */
	mam_post_open(&box, &lkit.mail, &config, (struct mam_post_pool){ take, give, zero, NULL });
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

/* ---- many objects, in memory that is not accessed ---- */

#define MANY 5000u
#define MANY_LANES 8u
#define MANY_BYTES ((uint64_t)300 << 10)

static struct {
	uint64_t unused[MANY]; /* addresses */
	uint32_t left;
	void *table[MAM_LARGE_TABLES];
	uint32_t tables;
	void *object[MANY];
} many;

static enum mam_status many_take(void *user, uint64_t bytes, uint64_t alignment, bool may_grow,
				 uint64_t *address)
{
	(void)user;
	(void)may_grow;
	if (alignment == MAM_POST_LARGE_ALIGNMENT) {
		MAM_KASSERT(bytes == MANY_BYTES);
		if (!many.left)
			return may_grow ? MAM_ERROR_OUT_OF_MEMORY : MAM_ERROR_WOULD_WAIT;
		*address = many.unused[--many.left];
	} else {
		many.table[many.tables] = aligned_alloc(MAM_PAGES_LINE, bytes);
		memset(many.table[many.tables], 0x5b, bytes);
		*address = (uintptr_t)many.table[many.tables++];
	}
	return MAM_OK;
}

static void many_give(void *user, uint64_t address)
{
	(void)user;
	for (uint32_t i = 0; i < many.tables; i++)
		if ((uintptr_t)many.table[i] == address) {
			free(many.table[i]);
			return;
		}
	many.unused[many.left++] = address;
}

static bool many_look(void)
{
	return mam_post_look(&box);
}

static void many_begin(void *argument)
{
	const struct mam_post_config config = { .max_bytes = UINT64_MAX,
						.root_bytes = LKIT_UNIT,
						.large = (uintptr_t)lkit.growth.large };

	(void)argument;
	many.tables = 0;
	for (many.left = 0; many.left < MANY; many.left++)
		many.unused[many.left] = ((uint64_t)1 << 40) + many.left * MANY_BYTES * 3;
	mam_post_open(&box, &lkit.mail, &config,
		      (struct mam_post_pool){ many_take, many_give, zero, NULL });
}

static const char *many_check(void *argument)
{
	struct mam_post_counts counts;

	(void)argument;
	while (mam_post_look(&box))
		;
	counts = box.counts;
	mam_post_close(&box);
	if (counts.large != 0 || counts.bad != 0 || many.left != MANY)
		return lkit_wrong("%u objects are live", (uint32_t)counts.large, 0);
	return NULL;
}

/* Each lane takes its share, then all are live at once, and each frees another one's share. */
static MAM_KERNEL(take_many)
{
	const uint32_t lane = simt_thread(), each = MANY / MANY_LANES;
	uint32_t i;

	(void)argument;
	for (i = 0; i < each; i++) {
		many.object[lane * each + i] = mam_large_alloc(&lkit.heap, MANY_BYTES);
		MAM_KASSERT(many.object[lane * each + i]);
	}
	mam_syncthreads();
	MAM_KASSERT(box.counts.large == MANY);
	if (!lane)
		MAM_KASSERT(!mam_large_alloc(&lkit.heap, MANY_BYTES));
	mam_syncthreads();
	for (i = lane; i < MANY; i += MANY_LANES) {
		MAM_KASSERT(mam_large_usable(&lkit.heap, many.object[i]) == MANY_BYTES);
		MAM_KASSERT(mam_large_free(&lkit.heap, many.object[i]) == MAM_LARGE_GIVEN);
		MAM_KASSERT(mam_large_free(&lkit.heap, many.object[i]) == MAM_LARGE_UNKNOWN);
	}
	lkit_leave();
}

START_TEST(thousands_of_objects_are_live_at_once)
{
	static const struct lkit_plan plan = { .slots = 16,
					       .begin = many_begin,
					       .look = many_look };

	ck_assert_uint_gt(MANY, 4 * MAM_MAIL_SLOTS);
	lkit_steps = 200000000;
	lkit_explore("many", &plan, take_many, 1, MANY_LANES, 1, many_check);
	ck_assert_uint_ge(many.tables, 3);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("large_service");

	tcase_add_loop_test(tcase, host_and_device_agree_on_live_objects, 0, 3);
	tcase_add_test(tcase, all_memory_can_be_allocated_repeatedly);
	tcase_add_test(tcase, oversized_request_fails_with_cause);
	tcase_add_test(tcase, thousands_of_objects_are_live_at_once);
	return lkit_run(tcase, "heap/large_service");
}
