/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block map alone: it may forget a block, but rarely; it never returns a wrong one, and stays
 * correct while it grows.
 */
#include <check.h>
#include <stdlib.h>

#include "index/blockmap.h"

#define MANY 20000

static struct mam_records segments;
static struct mam_blockmap map;
static uint32_t handle[MANY];

static void setup(void)
{
	ck_assert_int_eq(mam_records_init(&segments, sizeof(struct mam_segment)), MAM_OK);
	ck_assert_int_eq(mam_blockmap_init(&map), MAM_OK);
}

static void teardown(void)
{
	mam_blockmap_fini(&map);
	mam_records_fini(&segments);
}

static uint64_t address_of(size_t n)
{
	return 0x7f0000000000 + n * 512;
}

static uint32_t live(uint64_t base)
{
	uint32_t fresh;

	ck_assert_int_eq(mam_records_reserve(&segments, 1), MAM_OK);
	fresh = mam_records_take(&segments);
	*mam_segment_at(&segments, fresh) = (struct mam_segment){
		.base = base, .bytes = 512, .state = MAM_SEGMENT_LIVE, .requested = 1
	};
	mam_blockmap_insert(&map, &segments, fresh);
	return fresh;
}

static void dead(uint64_t base, uint32_t known_as)
{
	if (mam_blockmap_take(&map, &segments, base) == 0)
		mam_blockmap_missed(&map);
	mam_segment_at(&segments, known_as)->state = MAM_SEGMENT_IDLE;
	mam_records_put(&segments, known_as);
}

static void ck_assert_sound(void)
{
	const char *fault = mam_blockmap_check(&map, &segments);

	ck_assert_msg(fault == NULL, "%s", fault);
}

/* How many of the first `count` blocks are found; aborts if a block is found as another one. */
static size_t found(size_t count)
{
	size_t hits = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t found_handle = mam_blockmap_find(&map, &segments, address_of(i));

		if (found_handle != 0 && found_handle != handle[i])
			ck_abort_msg("block %zu was found as another block", i);
		hits += found_handle != 0;
	}
	return hits;
}

START_TEST(map_finds_nearly_every_block_at_every_size)
{
	for (size_t count = 0; count < MANY; count++) {
		handle[count] = live(address_of(count));
		if ((count & (count - 1)) != 0 && count % 1777 != 0)
			continue;
		ck_assert_sound();
		ck_assert_uint_eq(map.count, count + 1);
		/*
		 * A bucket has room for twice the mean: about one block in a hundred finds it full.
		 */
		ck_assert_msg(found(count + 1) * 100 >= (count + 1) * 90,
			      "of %zu blocks %zu are found", count + 1, found(count + 1));
	}
}
END_TEST

START_TEST(freed_blocks_are_not_found_and_live_ones_are)
{
	size_t hits = 0;

	for (size_t i = 0; i < MANY; i++)
		handle[i] = live(address_of(i));
	for (size_t i = 0; i < MANY; i += 2)
		dead(address_of(i), handle[i]);
	ck_assert_sound();
	ck_assert_uint_eq(map.count, MANY / 2);
	for (size_t i = 0; i < MANY; i += 2)
		if (mam_blockmap_find(&map, &segments, address_of(i)) != 0)
			ck_abort_msg("block %zu was freed and is still found", i);
	for (size_t i = 1; i < MANY; i += 2) {
		uint32_t found_handle = mam_blockmap_find(&map, &segments, address_of(i));

		if (found_handle != 0 && found_handle != handle[i])
			ck_abort_msg("block %zu was found as another block", i);
		hits += found_handle != 0;
	}
	ck_assert_uint_ge(hits * 100, (size_t)MANY / 2 * 90);
}
END_TEST

START_TEST(reused_record_is_not_found_at_old_address)
{
	uint32_t first = live(address_of(1)), second;

	dead(address_of(1), first);
	second = live(address_of(2));
	ck_assert_uint_eq(first, second);
	ck_assert_uint_eq(mam_blockmap_find(&map, &segments, address_of(1)), 0);
	ck_assert_uint_eq(mam_blockmap_find(&map, &segments, address_of(2)), second);
	ck_assert_uint_eq(mam_blockmap_take(&map, &segments, address_of(1)), 0);
	ck_assert_uint_eq(map.count, 1);
}
END_TEST

START_TEST(map_stays_correct_while_it_grows)
{
	size_t low = 0;
	uint64_t state = 1;

	for (size_t high = 0; high < MANY; high++) {
		handle[high] = live(address_of(high));
		state = state * 6364136223846793005u + 1442695040888963407u;
		if (state >> 62 != 0 || low > high)
			continue;
		dead(address_of(low), handle[low]);
		low++;
		if (high % 64 == 0)
			ck_assert_sound();
	}
	ck_assert_sound();
	ck_assert_uint_eq(map.count, MANY - low);
	for (size_t i = 0; i < MANY; i++) {
		uint32_t found_handle = mam_blockmap_find(&map, &segments, address_of(i));

		if (found_handle != 0 && (i < low || found_handle != handle[i]))
			ck_abort_msg("block %zu: wrong result", i);
	}
}
END_TEST

START_TEST(memory_is_16_to_32_bytes_per_block)
{
	for (size_t i = 0; i < MANY; i++)
		live(address_of(i));
	ck_assert_uint_ge(mam_blockmap_bytes(&map), 8 * MANY);
	ck_assert_uint_le(mam_blockmap_bytes(&map), 48 * MANY);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("index/blockmap");
	TCase *tcase = tcase_create("map");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, map_finds_nearly_every_block_at_every_size);
	tcase_add_test(tcase, freed_blocks_are_not_found_and_live_ones_are);
	tcase_add_test(tcase, reused_record_is_not_found_at_old_address);
	tcase_add_test(tcase, map_stays_correct_while_it_grows);
	tcase_add_test(tcase, memory_is_16_to_32_bytes_per_block);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
