/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_segments_heap.c - segments over a heap of objects, which coalesces requests itself: full and
 * partial warps, some large segments, and lanes that allocate from the heap directly at the same
 * time.
 */
#include <stdlib.h>
#include <string.h>

#include "coalesce/segments.h"
#include "coalesce/heap_kit.h"

/* The heap as a base, and a count of its refusals, which must match the heap's own counters. */
static void *base_alloc(void *heap, size_t bytes)
{
	struct okit *kit = heap;
	void *block = mam_entry_alloc(kit->heap, bytes);

	if (!block)
		okit_count_failure(kit, bytes);
	return block;
}

static bool base_free(void *heap, void *block)
{
	struct okit *kit = heap;

	return mam_entry_free(kit->heap, block);
}

static struct mam_kbase base_of(struct okit *kit)
{
	struct mam_kbase base = { base_alloc, base_free, kit, 0 };

	return base;
}

static size_t some_bytes(void)
{
	static const size_t sizes[] = { 16, 20, 12, 40, 70, 33, 24, 400, 5000 };

	return sizes[simt_random() % (sizeof(sizes) / sizeof(sizes[0]))];
}

/*
 * A segment starts with its own address and the requested size, and ends with a byte of the
 * address.
 */
struct tag {
	unsigned char *self;
	uint32_t bytes;
};

static unsigned char *get(struct okit *kit, uint32_t round)
{
	size_t bytes = round ? some_bytes() : 24;
	unsigned char *part = mam_segments_alloc(base_of(kit), bytes);
	struct tag tag = { part, (uint32_t)bytes };

	MAM_KASSERT(part);
	memcpy(part, &tag.self, 8);
	memcpy(part + 8, &tag.bytes, 4);
	if (bytes > 12)
		part[bytes - 1] = (unsigned char)((uintptr_t)part >> 1);
	return part;
}

static void release(struct okit *kit, unsigned char *part)
{
	struct tag tag;

	memcpy(&tag.self, part, 8);
	memcpy(&tag.bytes, part + 8, 4);
	MAM_KASSERT(tag.self == part);
	if (tag.bytes > 12)
		MAM_KASSERT(part[tag.bytes - 1] == (unsigned char)((uintptr_t)part >> 1));
	MAM_KASSERT(mam_segments_free(base_of(kit), part));
}

START_TEST(segments_work_over_an_object_heap)
{
	struct okit *kit = okit_create(32, 2, NULL);
	const struct hkit_way way = { get, release };

	hkit_explore(kit, &way, okit_begin, okit_check_empty, KIT_RACE ? 25 : 100);
	okit_destroy(kit);
}
END_TEST

/* A heap too small for a warp's requests: a lane that gets NULL leaves nothing allocated. */
static MAM_KERNEL(too_much)
{
	struct okit *kit = argument;
	void *part[3];
	uint32_t i;

	for (i = 0; i < 3; i++)
		part[i] = mam_segments_alloc(base_of(kit), 3000);
	for (i = 0; i < 3; i++)
		MAM_KASSERT(mam_segments_free(base_of(kit), part[i]));
}

static uint32_t refusals;

static const char *check_full(void *argument)
{
	const struct okit *kit = argument;

	refusals += kit->failed;
	return okit_check_empty(argument);
}

START_TEST(full_heap_leaks_nothing)
{
	struct okit *kit = okit_create(2, 2, NULL);
	struct simt_case test = {
		.name = "over a full heap",
		.kernel = too_much,
		.grid = 2,
		.block = 20,
		.argument = kit,
		.begin = okit_begin,
		.check = check_full,
		.seeds = KIT_RACE ? 30 : 100,
		.config = { .race = KIT_RACE, .strict = true, .steps_max = 4000000 },
	};

	simt_must_pass(&test);
	ck_assert_uint_gt(refusals, 0);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("coalesce/segments heap");
	TCase *tcase = tcase_create("segments heap");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, segments_work_over_an_object_heap);
	tcase_add_test(tcase, full_heap_leaks_nothing);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
