/* SPDX-License-Identifier: Apache-2.0 */
/* test_masks.c - invalid masks and lanes are detected and named, and valid ones are accepted. */
#include "device/port.h"
#include "simt/expect.h"

MAM_KERNEL(not_in_its_own)
{
	(void)argument;
	if (mam_lane() == 3)
		mam_warp_ballot(7, true);
}

START_TEST(caller_outside_its_mask_fails)
{
	struct expect what = { .kernel = not_in_its_own, .grid = 1, .block = 32 };

	simt_expect(&what, SIMT_BAD_MASK,
		    "block 0 thread 3 (lane 3 of warp 0) is not in the mask 0x7 that it gives to "
		    "mam_warp_ballot() at ");
}
END_TEST

MAM_KERNEL(from_outside)
{
	(void)argument;
	if (mam_lane() < 2)
		(void)mam_warp_shuffle32(3, 1, mam_lane() + 1);
}

START_TEST(shuffle_from_outside_mask_fails)
{
	struct expect what = { .kernel = from_outside, .grid = 1, .block = 32 };

	simt_expect(&what, SIMT_BAD_LANE,
		    "asks for the value of lane 2, which is not in its mask 0x3");
}
END_TEST

MAM_KERNEL(lane_99)
{
	(void)argument;
	mam_warp_shuffle64(~0u, 1, mam_lane() ? 0 : 99);
}

START_TEST(shuffle_from_lane_99_fails)
{
	struct expect what = { .kernel = lane_99, .grid = 1, .block = 32 };

	simt_expect(&what, SIMT_BAD_LANE, "lane 99");
}
END_TEST

MAM_KERNEL(other_mask)
{
	(void)argument;
	mam_warp_sync(mam_lane() == 5 ? ~0u : 0xffff);
}

START_TEST(different_masks_of_one_call_fail)
{
	struct expect what = { .kernel = other_mask, .grid = 1, .block = 16 };

	simt_expect(&what, SIMT_BAD_MASK, "mam_warp_sync() of 0xffffffff");
}
END_TEST

MAM_KERNEL(other_kind)
{
	(void)argument;
	if (mam_lane() == 5)
		mam_warp_sync(~0u);
	else
		mam_warp_match32(~0u, 1);
}

START_TEST(different_kinds_of_one_mask_fail)
{
	struct expect what = { .kernel = other_kind, .grid = 1, .block = 32 };

	simt_expect(&what, SIMT_BAD_MASK, "one call with one mask would let them go on");
}
END_TEST

/* Lanes that end no longer count, unless all lanes of a mask must be alive. */
MAM_KERNEL(some_end)
{
	(void)argument;
	if (mam_lane() % 4 == 0)
		return;
	MAM_KASSERT(mam_warp_ballot(~0u, true) == 0xeeeeeeee);
}

START_TEST(ended_lanes_leave_the_mask)
{
	struct expect what = { .kernel = some_end, .grid = 1, .block = 32 };

	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

MAM_KERNEL(one_ends)
{
	(void)argument;
	if (mam_lane())
		mam_warp_sync(3);
}

START_TEST(ended_lanes_fail_in_strict_mode)
{
	struct expect what = {
		.kernel = some_end, .grid = 1, .block = 32, .config = { .strict = true }
	};

	simt_expect(&what, SIMT_BAD_MASK, "end");
	what.kernel = one_ends; /* before or after the other lane waits for it */
	what.block = 2;
	simt_expect(&what, SIMT_BAD_MASK, "end");
}
END_TEST

MAM_KERNEL(full_mask)
{
	(void)argument;
	mam_warp_sync(~0u);
}

START_TEST(absent_lanes_fail_in_strict_mode)
{
	struct expect what = { .kernel = full_mask, .grid = 1, .block = 40 };

	simt_expect(&what, SIMT_FINE, NULL);
	what.config.strict = true;
	simt_expect(&what, SIMT_BAD_MASK, "lane 8 does not exist");
}
END_TEST

MAM_KERNEL(from_the_dead)
{
	(void)argument;
	if (mam_lane())
		(void)mam_warp_shuffle32(~0u, 1, 0);
}

START_TEST(shuffle_from_ended_lane_fails)
{
	struct expect what = { .kernel = from_the_dead, .grid = 1, .block = 32 };

	simt_expect(&what, SIMT_BAD_LANE, "lane 0, which has ended");
}
END_TEST

/*
 * Each lane waits for the next one's call: no two lanes wait for each other, but no lane continues.
 */
MAM_KERNEL(ring)
{
	static const uint32_t masks[] = { 3, 6, 5 };

	(void)argument;
	mam_warp_sync(masks[mam_lane()]);
}

START_TEST(ring_of_masks_is_a_deadlock)
{
	struct expect what = { .kernel = ring, .grid = 1, .block = 3 };

	simt_expect(&what, SIMT_DEADLOCK, "lanes 0x1 wait at mam_warp_sync() of 0x3");
}
END_TEST

SIMT_SUITE("simt/masks", caller_outside_its_mask_fails, shuffle_from_outside_mask_fails,
	   shuffle_from_lane_99_fails, different_masks_of_one_call_fail,
	   different_kinds_of_one_mask_fail, ended_lanes_leave_the_mask,
	   ended_lanes_fail_in_strict_mode, absent_lanes_fail_in_strict_mode,
	   shuffle_from_ended_lane_fails, ring_of_masks_is_a_deadlock)
