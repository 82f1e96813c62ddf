/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_policies.c - each policy has its purpose: any order of lanes; warps nearly in step; and rare
 * orders that need a few changes at the right places.
 */
#include "device/port.h"
#include "simt/expect.h"
#include "simt/explore.h"

struct order {
	uint32_t next, lane[64];
	uint32_t turns;
};

MAM_KERNEL(signs)
{
	struct order *order = argument;

	order->lane[mam_atomic_add32(&order->next, 1, MAM_RELAXED, MAM_AT_DEVICE)] =
		mam_block() * 32 + mam_thread();
}

/* How often, over 300 seeds, each of four lanes was the first, second, and so on. */
START_TEST(by_lane_all_orders_are_equally_likely)
{
	unsigned int count[24] = { 0 };

	for (uint64_t seed = 0; seed < 2400; seed++) {
		struct simt_config config = { .seed = seed, .policy = SIMT_BY_LANE };
		struct order order = { .next = 0 };
		unsigned int which;

		ck_assert_int_eq(simt_launch(&config, signs, 1, 4, &order, NULL), SIMT_FINE);
		which = order.lane[0] * 6;
		which += (order.lane[1] - (order.lane[1] > order.lane[0])) * 2;
		which += order.lane[2] > order.lane[3];
		count[which]++;
	}
	for (int i = 0; i < 24; i++) {
		ck_assert_uint_gt(count[i], 50);
		ck_assert_uint_lt(count[i], 160);
	}
}
END_TEST

/* Two warps: how often the next lane is of the same warp, and follows the last one. */
static void neighbours(enum simt_policy policy, unsigned int *same, unsigned int *next)
{
	*same = *next = 0;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct simt_config config = { .seed = seed, .policy = policy };
		struct order order = { .next = 0 };

		ck_assert_int_eq(simt_launch(&config, signs, 2, 32, &order, NULL), SIMT_FINE);
		for (int i = 1; i < 64; i++) {
			*same += order.lane[i] / 32 == order.lane[i - 1] / 32;
			*next += order.lane[i] == order.lane[i - 1] + 1;
		}
	}
}

START_TEST(by_warp_lanes_run_one_after_the_other)
{
	unsigned int same, next;

	neighbours(SIMT_BY_WARP, &same, &next);
	ck_assert_uint_gt(same, 63 * 85);
	ck_assert_uint_gt(next, 63 * 60);
	ck_assert_uint_lt(next, 63 * 99);
	neighbours(SIMT_BY_LANE, &same, &next);
	ck_assert_uint_lt(same, 63 * 60);
	ck_assert_uint_lt(next, 63 * 10);
}
END_TEST

/* How long a lane continues before another one does: by PCT nearly to its end. */
MAM_KERNEL(takes_turns)
{
	struct order *order = argument;

	for (int i = 0; i < 20; i++) {
		uint32_t me = mam_thread() + 1;

		if (mam_atomic_xchg32(&order->next, me, MAM_RELAXED, MAM_AT_DEVICE) != me)
			order->turns++;
	}
}

START_TEST(by_pct_lanes_change_rarely)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct simt_config config = { .seed = seed, .policy = SIMT_BY_PCT, .changes = 5 };
		struct order order = { .next = 0 };

		ck_assert_int_eq(simt_launch(&config, takes_turns, 1, 8, &order, NULL), SIMT_FINE);
		ck_assert_uint_ge(order.turns, 8);
		ck_assert_uint_le(order.turns, 8 + 5);
	}
}
END_TEST

/*
 * Lane 1 must run all of its many steps between two steps of lane 0: with a random choice per step,
 * this happens in one run of two to the power of 24; one change at the right place is enough for
 * PCT.
 */
struct window {
	uint32_t open, done, hit;
};

MAM_KERNEL(narrow)
{
	struct window *window = argument;

	if (mam_thread() == 0) {
		mam_atomic_store32(&window->open, 1, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_store32(&window->open, 0, MAM_RELAXED, MAM_AT_DEVICE);
		return;
	}
	for (int i = 0; i < 12; i++) {
		if (!mam_atomic_load32(&window->open, MAM_RELAXED, MAM_AT_DEVICE))
			return;
		mam_atomic_add32(&window->done, 1, MAM_RELAXED, MAM_AT_DEVICE);
	}
	MAM_KASSERT(!"all of it in between");
}

static void clear(void *argument)
{
	memset(argument, 0, sizeof(struct window));
}

static bool finds(unsigned int policies, unsigned int seeds)
{
	static struct window window;
	struct simt_case test = { .name = "narrow",
				  .kernel = narrow,
				  .grid = 1,
				  .block = 2,
				  .argument = &window,
				  .begin = clear,
				  .seeds = seeds,
				  .policies = policies };
	struct simt_search search;

	return !simt_explore(&test, &search);
}

START_TEST(pct_finds_rare_order)
{
	ck_assert(finds(1u << SIMT_BY_PCT, 500));
	ck_assert(!finds(1u << SIMT_BY_LANE, 5000));
}
END_TEST

/* More changes than the array can hold are reduced to its size. */
START_TEST(excess_changes_are_harmless)
{
	struct simt_config config = { .seed = 3, .policy = SIMT_BY_PCT, .changes = 1000000 };
	struct order order = { .next = 0 };

	ck_assert_int_eq(simt_launch(&config, signs, 2, 32, &order, NULL), SIMT_FINE);
	ck_assert_uint_eq(order.next, 64);
}
END_TEST

/* Lane 0 waits for lane 1: of its own warp, or of another. */
MAM_KERNEL(waits_for_lane_1)
{
	uint32_t *flag = argument;

	if (mam_block() * mam_block_threads() + mam_thread() == 1)
		mam_atomic_store32(flag, 1, MAM_RELEASE, MAM_AT_DEVICE);
	else
		while (!mam_atomic_load32(flag, MAM_ACQUIRE, MAM_AT_DEVICE))
			;
}

static unsigned int livelocks(unsigned int grid, unsigned int block, bool lockstep)
{
	unsigned int found = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct simt_config config = { .seed = seed,
					      .policy = SIMT_BY_WARP,
					      .steps_max = 20000,
					      .lockstep = lockstep };
		uint32_t flag = 0;

		found += simt_launch(&config, waits_for_lane_1, grid, block, &flag, NULL) ==
			 SIMT_LIVELOCK;
	}
	return found;
}

START_TEST(in_lockstep_wait_for_own_warp_is_a_livelock)
{
	ck_assert_uint_eq(livelocks(1, 2, false), 0);
	ck_assert_uint_gt(livelocks(1, 3, true), 5);
	ck_assert_uint_eq(livelocks(2, 1, true), 0);
}
END_TEST

SIMT_SUITE("simt/policies", by_lane_all_orders_are_equally_likely,
	   by_warp_lanes_run_one_after_the_other, by_pct_lanes_change_rarely, pct_finds_rare_order,
	   excess_changes_are_harmless, in_lockstep_wait_for_own_warp_is_a_livelock)
