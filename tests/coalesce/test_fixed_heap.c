/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fixed_heap.c - one block for many parts over a heap of objects, which coalesces requests
 * itself, and from which other lanes allocate at the same time.
 */
#include <stdlib.h>
#include <string.h>

#include "coalesce/fixed.h"
#include "coalesce/heap_kit.h"

struct plan {
	bool by_block, with_map;
	uint32_t bytes;
	struct mam_kmap *map;
};

#define ENTRIES 200u

static void begin(void *argument)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;

	okit_begin(argument);
	memset(plan->map, 0, mam_map_bytes(ENTRIES));
	mam_map_format(plan->map, ENTRIES);
}

static const char *check(void *argument)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;

	return mam_map_count(plan->map) ? "map has leftover entries" : okit_check_empty(argument);
}

static struct mam_kmap *map_of(const struct plan *plan)
{
	return plan->with_map ? plan->map : NULL;
}

/* A part starts with its own address, and ends with the lowest byte of it. */
static void put(unsigned char *part, uint32_t bytes)
{
	memcpy(part, &part, sizeof(part));
	part[bytes - 1] = (unsigned char)((uintptr_t)part >> 3);
}

static void release(struct okit *kit, unsigned char *part)
{
	const struct plan *plan = kit->plan;
	unsigned char *stored;

	memcpy(&stored, part, sizeof(stored));
	MAM_KASSERT(stored == part);
	MAM_KASSERT(part[plan->bytes - 1] == (unsigned char)((uintptr_t)part >> 3));
	MAM_KASSERT(mam_fixed_free(mam_base_heap(kit->heap), map_of(plan), part));
}

static unsigned char *get(struct okit *kit, uint32_t round)
{
	const struct plan *plan = kit->plan;
	struct mam_kbase base = mam_base_heap(kit->heap);
	unsigned char *part = plan->by_block
				      ? mam_fixed_alloc_block(base, map_of(plan), plan->bytes)
				      : mam_fixed_alloc_warp(base, map_of(plan), plan->bytes);

	(void)round;
	MAM_KASSERT(part);
	put(part, plan->bytes);
	return part;
}

START_TEST(parts_work_over_an_object_heap)
{
	struct plan plan = { .by_block = _i % 2,
			     .with_map = _i / 2 % 2,
			     .bytes = _i / 4 ? 300 : 20 };
	struct okit *kit = okit_create(32, 2, &plan);
	const struct hkit_way way = { get, release };

	kit->whole = plan.by_block;
	plan.map = aligned_alloc(128, (mam_map_bytes(ENTRIES) + 127) / 128 * 128);
	ck_assert_ptr_nonnull(plan.map);
	hkit_explore(kit, &way, begin, check, KIT_RACE ? 10 : 40);
	free(plan.map);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("coalesce/fixed_heap");
	TCase *tcase = tcase_create("fixed_heap");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 300);
	tcase_add_loop_test(tcase, parts_work_over_an_object_heap, 0, 8);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
