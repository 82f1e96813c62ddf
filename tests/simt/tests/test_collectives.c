/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collectives.c - ballots, shuffles and matches return the right value to each lane, in whole
 * warps and in parts of them, in whichever order lanes arrive.
 */
#include <stdlib.h>
#include <string.h>

#include "device/port.h"
#include "simt/explore.h"
#include "simt/suite.h"

static void pass(const char *name, simt_kernel *kernel, unsigned int grid, unsigned int block,
		 unsigned int seeds)
{
	struct simt_case test = { .name = name,
				  .kernel = kernel,
				  .grid = grid,
				  .block = block,
				  .seeds = seeds,
				  .config = { .strict = true } };

	simt_must_pass(&test);
}

MAM_KERNEL(whole_warp)
{
	uint32_t lane = mam_lane();

	(void)argument;
	MAM_KASSERT(mam_warp_ballot(~0u, lane % 3 == 0) == 0x49249249);
	MAM_KASSERT(mam_warp_shuffle32(~0u, lane * 10, (lane + 1) % 32) == (lane + 1) % 32 * 10);
	MAM_KASSERT(mam_warp_shuffle64(~0u, (uint64_t)lane << 40, 31 - lane) ==
		    (uint64_t)(31 - lane) << 40);
	MAM_KASSERT(mam_warp_match32(~0u, lane % 2) == (lane % 2 ? 0xaaaaaaaa : 0x55555555));
	MAM_KASSERT(mam_warp_match64(~0u, (uint64_t)(lane / 16) << 32) ==
		    (lane / 16 ? 0xffff0000 : 0xffff));
	MAM_KASSERT(mam_warp_match32(~0u, lane) == 1u << lane);
}

START_TEST(full_warp_collectives_return_right_values)
{
	pass("whole warp", whole_warp, 2, 64, 50);
}
END_TEST

/* The same call with two masks at the same time, and a single lane that forms its own group. */
MAM_KERNEL(parts)
{
	uint32_t lane = mam_lane();
	uint32_t mask = lane < 10 ? 0x3ff : lane == 10 ? 0x400 : 0xfffff800;

	(void)argument;
	for (uint32_t i = 0; i < 3; i++) {
		MAM_KASSERT(mam_warp_ballot(mask, lane & 1) == (0xaaaaaaaa & mask));
		MAM_KASSERT(mam_warp_shuffle32(mask, lane + i, mam_ffs32(mask) - 1) ==
			    mam_ffs32(mask) - 1 + i);
		MAM_KASSERT(mam_warp_match32(mask, 7) == mask);
		mam_warp_sync(mask);
	}
}

START_TEST(two_masks_of_a_warp_work_concurrently)
{
	pass("parts", parts, 2, 32, 100);
}
END_TEST

/* Lane 1 first has a collective with lane 2, while lane 0 already waits for lane 1. */
MAM_KERNEL(chain)
{
	(void)argument;
	if (mam_lane() >= 1)
		MAM_KASSERT(mam_warp_ballot(6, mam_lane() == 2) == 4);
	if (mam_lane() <= 1)
		MAM_KASSERT(mam_warp_ballot(3, true) == 3);
}

START_TEST(awaited_lane_may_wait_elsewhere_first)
{
	pass("chain", chain, 1, 3, 100);
}
END_TEST

/* Any call of the same kind and mask matches: CUDA does not require the same line. */
MAM_KERNEL(two_lines)
{
	uint32_t all;

	(void)argument;
	if (mam_lane() % 2)
		all = mam_warp_ballot(~0u, true);
	else
		all = mam_warp_ballot(~0u, false);
	MAM_KASSERT(all == 0xaaaaaaaa);
}

START_TEST(two_call_sites_share_a_ballot)
{
	pass("two lines", two_lines, 1, 32, 30);
}
END_TEST

MAM_KERNEL(partial_warp)
{
	(void)argument;
	MAM_KASSERT(mam_warp_ballot(simt_thread() < 32 ? ~0u : 0xff, true) ==
		    (simt_thread() < 32 ? ~0u : 0xff));
	MAM_KASSERT(mam_lane() == simt_thread() % 32);
}

START_TEST(last_warp_may_be_partial)
{
	pass("partial warp", partial_warp, 2, 40, 30);
}
END_TEST

/* Lanes that wait for their partners agree on the active mask. */
struct active {
	uint32_t seen[32];
	uint32_t whole, part, twice;
};

MAM_KERNEL(active_kernel)
{
	struct active *active = argument;
	uint32_t mask;

	if (mam_lane() % 2)
		mask = mam_warp_active();
	else
		mask = mam_warp_active();
	active->seen[mam_lane()] = mask;
	MAM_KASSERT(mask >> mam_lane() & 1);
	MAM_KASSERT(!(mask & (mam_lane() % 2 ? 0x55555555 : 0xaaaaaaaa)));
	MAM_KASSERT(mam_warp_ballot(mask, true) == mask);
}

static const char *agreed(void *argument)
{
	struct active *active = argument;

	for (uint32_t i = 0; i < 32; i++) {
		for (uint32_t j = 0; j < 32; j++) {
			if ((active->seen[i] >> j & 1) && active->seen[j] != active->seen[i])
				return "lanes disagree on the active mask";
		}
	}
	if (active->seen[0] == 0x55555555 && active->seen[1] == 0xaaaaaaaa)
		active->whole++;
	else
		active->part++;
	return NULL;
}

START_TEST(active_mask_is_consistent_and_may_be_partial)
{
	static struct active active;
	struct simt_case test = { .name = "active",
				  .kernel = active_kernel,
				  .grid = 1,
				  .block = 32,
				  .argument = &active,
				  .check = agreed,
				  .seeds = 100 };

	unsetenv("TEST_SHARE"); /* the counts are those of all seeds */
	simt_must_pass(&test);
	ck_assert_uint_gt(active.whole, 75);
	ck_assert_uint_gt(active.part, 75);
}
END_TEST

/* Lane 0 must set what lane 1 waits for, and reads the active mask: it must be able to continue. */
MAM_KERNEL(spinner)
{
	uint32_t *flag = argument;

	if (mam_lane() == 0) {
		mam_warp_active();
		mam_atomic_store32(flag, 1, MAM_RELEASE, MAM_AT_DEVICE);
	} else {
		while (!mam_atomic_load32(flag, MAM_ACQUIRE, MAM_AT_DEVICE))
			;
	}
}

static void clear(void *argument)
{
	*(uint32_t *)argument = 0;
}

START_TEST(spinning_lane_does_not_block_its_warp)
{
	static uint32_t flag;
	struct simt_case test = { .name = "spinner",
				  .kernel = spinner,
				  .grid = 1,
				  .block = 4,
				  .argument = &flag,
				  .begin = clear,
				  .seeds = 50,
				  .config = { .steps_max = 20000 } };

	simt_must_pass(&test);
}
END_TEST

START_TEST(caller_outside_launch_is_a_single_lane)
{
	ck_assert_uint_eq(mam_warp_active(), 1);
	ck_assert_uint_eq(mam_warp_ballot(1, true), 1);
	ck_assert_uint_eq(mam_warp_ballot(1, false), 0);
	ck_assert_uint_eq(mam_warp_shuffle32(1, 77, 0), 77);
	ck_assert_uint_eq(mam_warp_match64(1, 5), 1);
	mam_warp_sync(1);
	mam_syncthreads();
	ck_assert_uint_eq(mam_lane() + simt_thread() + mam_block() + mam_smid() + mam_warpid(), 0);
	ck_assert_uint_eq(simt_block_threads() * mam_grid_blocks(), 1);
}
END_TEST

SIMT_SUITE("simt/collectives", full_warp_collectives_return_right_values,
	   two_masks_of_a_warp_work_concurrently, awaited_lane_may_wait_elsewhere_first,
	   two_call_sites_share_a_ballot, last_warp_may_be_partial,
	   active_mask_is_consistent_and_may_be_partial, spinning_lane_does_not_block_its_warp,
	   caller_outside_launch_is_a_single_lane)
