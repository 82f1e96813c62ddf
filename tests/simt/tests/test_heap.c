/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_heap.c - the smallest key comes first, and the smallest number among equal keys, after
 * removals from the middle as well.
 */
#include <string.h>

#include "simt/heap.h"
#include "simt/sched.h"
#include "simt/suite.h"

#define LANES 100

static struct simt_lane lane[LANES];
static struct simt_lane *heap[LANES];
static uint32_t count;

static void fill(uint64_t seed, uint32_t keys)
{
	count = 0;
	for (uint32_t i = 0; i < LANES; i++) {
		lane[i].number = (i * 37) % LANES;
		lane[i].key = simt_below(&seed, keys);
		simt_heap_add(heap, &count, &lane[i]);
	}
}

static void drain(uint32_t left)
{
	uint64_t key = 0;
	uint32_t number = 0;

	while (count) {
		struct simt_lane *first = heap[0];

		ck_assert(first->key > key || (first->key == key && first->number >= number));
		key = first->key;
		number = first->number;
		simt_heap_remove(heap, &count, first);
		left--;
	}
	ck_assert_uint_eq(left, 0);
}

START_TEST(pop_returns_smallest)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		fill(seed, seed % 2 ? 5 : 1000000);
		drain(LANES);
	}
}
END_TEST

START_TEST(any_lane_can_be_removed)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		uint64_t dice = seed;

		fill(seed, 50);
		for (uint32_t left = LANES; left > LANES / 3; left--)
			simt_heap_remove(heap, &count, heap[simt_below(&dice, left)]);
		for (uint32_t i = 0; i < count; i++)
			ck_assert_uint_eq(heap[i]->place, i);
		drain(LANES / 3);
	}
}
END_TEST

SIMT_SUITE("simt/heap", pop_returns_smallest, any_lane_can_be_removed)
