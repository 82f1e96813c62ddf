/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap of a map after one event: which blocks are live, and what is a free block.
 */
#include <check.h>
#include <stdlib.h>

#include "map/map_heap.h"

/* Two chunks, at 0 and at 100. Blocks are born in the order of the table, one an event. */
static struct replay_block blocks[] = {
	{ .birth = 0, .death = REPLAY_ALIVE, .bytes = 9 }, /* 50..60 */
	{ .birth = 1, .death = 6, .bytes = 10 },           /* 10..20 */
	{ .birth = 2, .death = REPLAY_ALIVE, .bytes = 1 }, /* failed */
	{ .birth = 3, .death = 5, .bytes = 19 },           /* 130..150 */
	{ .birth = 4, .death = REPLAY_ALIVE, .bytes = 5 }, /* 20..25 */
};
static uint64_t places[] = { 50, 10, MAP_NOWHERE, 130, 20 };
static uint64_t sizes[] = { 10, 10, 0, 20, 5 };
static struct map_chunk chunks[] = { { .place = 0, .bytes = 100 }, { .place = 100, .bytes = 100 } };
static const struct replay_trace trace = {
	.blocks = blocks,
	.block_count = 5,
	.event_count = 7,
};
static const struct map map = {
	.trace = &trace,
	.places = places,
	.sizes = sizes,
	.chunks = chunks,
	.chunk_count = 2,
};

static struct map_heap heap;

static void look(uint32_t event)
{
	ck_assert(map_heap_at(&map, event, &heap));
}

static void is_free_block(size_t number, uint64_t place, uint64_t bytes)
{
	ck_assert_uint_lt(number, heap.free_block_count);
	ck_assert_uint_eq(heap.free_blocks[number].place, place);
	ck_assert_uint_eq(heap.free_blocks[number].bytes, bytes);
}

START_TEST(blocks_are_sorted_by_place_and_the_failed_left_out)
{
	static const uint32_t order[] = { 1, 4, 0, 3 };

	look(4);
	ck_assert_uint_eq(heap.block_count, 4);
	ck_assert_mem_eq(heap.blocks, order, sizeof(order));
	ck_assert_uint_eq(heap.asked_bytes, 9 + 10 + 19 + 5);
	ck_assert_uint_eq(heap.taken_bytes, 10 + 10 + 20 + 5);
	map_heap_fini(&heap);
}
END_TEST

START_TEST(free_blocks_begin_where_their_chunk_does_and_end_with_its_last_block)
{
	look(4);
	ck_assert_uint_eq(heap.free_block_count, 3);
	is_free_block(0, 0, 10);
	is_free_block(1, 25, 25);
	is_free_block(2, 100, 30);
	ck_assert_uint_eq(heap.largest, 2);
	ck_assert_uint_eq(heap.free_block_bytes, 65);
	map_heap_fini(&heap);
}
END_TEST

START_TEST(a_block_is_live_from_its_birth_until_before_its_death)
{
	look(0);
	ck_assert_uint_eq(heap.block_count, 1);
	is_free_block(0, 0, 50);
	map_heap_fini(&heap);
	look(5);
	ck_assert_uint_eq(heap.block_count, 3);
	ck_assert_uint_eq(heap.free_block_count, 2);
	ck_assert_uint_eq(heap.largest, 1);
	map_heap_fini(&heap);
	look(6);
	is_free_block(0, 0, 20);
	is_free_block(1, 25, 25);
	map_heap_fini(&heap);
}
END_TEST

START_TEST(a_block_at_the_begin_of_its_chunk_is_above_no_free_block)
{
	places[3] = 100;
	places[1] = 0;
	look(4);
	ck_assert_uint_eq(heap.free_block_count, 2);
	is_free_block(0, 10, 10);
	is_free_block(1, 25, 25);
	map_heap_fini(&heap);
}
END_TEST

START_TEST(of_equal_free_blocks_the_lowest_is_the_largest)
{
	places[4] = 30; /* 20..30 and 35..50 */
	places[1] = 15; /* 0..15 and 25..30 */
	look(4);
	is_free_block(0, 0, 15);
	is_free_block(2, 35, 15);
	chunks[1].place = 125;
	map_heap_fini(&heap);
	look(4);
	ck_assert_uint_eq(heap.largest, 0);
	map_heap_fini(&heap);
}
END_TEST

START_TEST(a_heap_of_nothing_has_no_free_blocks)
{
	static const struct replay_trace nothing = { .event_count = 0 };
	const struct map empty = { .trace = &nothing };

	ck_assert(map_heap_at(&empty, 0, &heap));
	ck_assert_uint_eq(heap.block_count + heap.free_block_count + heap.free_block_bytes, 0);
	map_heap_fini(&heap);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("map_heap");
	TCase *tests = tcase_create("map_heap");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, blocks_are_sorted_by_place_and_the_failed_left_out);
	tcase_add_test(tests, free_blocks_begin_where_their_chunk_does_and_end_with_its_last_block);
	tcase_add_test(tests, a_block_is_live_from_its_birth_until_before_its_death);
	tcase_add_test(tests, a_block_at_the_begin_of_its_chunk_is_above_no_free_block);
	tcase_add_test(tests, of_equal_free_blocks_the_lowest_is_the_largest);
	tcase_add_test(tests, a_heap_of_nothing_has_no_free_blocks);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
