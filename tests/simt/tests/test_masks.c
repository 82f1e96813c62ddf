/* SPDX-License-Identifier: Apache-2.0 */
/* test_masks.c - wrong masks and wrong lanes are found and named, and what is allowed is not. */
#include "device/port.h"
#include "simt/expect.h"

MAM_KERNEL(not_in_its_own)
{
	(void)argument;
	if (mam_lane() == 3)
		mam_warp_ballot(7, true);
}

START_TEST(a_caller_must_be_in_its_mask)
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

START_TEST(a_shuffle_stays_inside_its_mask)
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

START_TEST(there_is_no_lane_99)
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

START_TEST(masks_must_agree)
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

START_TEST(kinds_must_agree)
{
	struct expect what = { .kernel = other_kind, .grid = 1, .block = 32 };

	simt_expect(&what, SIMT_BAD_MASK, "one call with one mask would let them go on");
}
END_TEST

/* Lanes that end no longer count, unless every lane of a mask is to be there. */
MAM_KERNEL(some_end)
{
	(void)argument;
	if (mam_lane() % 4 == 0)
		return;
	MAM_KASSERT(mam_warp_ballot(~0u, true) == 0xeeeeeeee);
}

START_TEST(lanes_that_ended_drop_out)
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

START_TEST(but_not_when_strict)
{
	struct expect what = {
		.kernel = some_end, .grid = 1, .block = 32, .config = { .strict = true }
	};

	simt_expect(&what, SIMT_BAD_MASK, "end");
	what.kernel = one_ends; /* before or after the other waits for it */
	what.block = 2;
	simt_expect(&what, SIMT_BAD_MASK, "end");
}
END_TEST

MAM_KERNEL(full_mask)
{
	(void)argument;
	mam_warp_sync(~0u);
}

START_TEST(strict_misses_lanes_that_never_were)
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

START_TEST(a_lane_that_ended_has_no_value)
{
	struct expect what = { .kernel = from_the_dead, .grid = 1, .block = 32 };

	simt_expect(&what, SIMT_BAD_LANE, "lane 0, which has ended");
}
END_TEST

/*
 * Each waits for the next one's call: nobody names a lane that waits for it, and still nobody goes
 * on.
 */
MAM_KERNEL(ring)
{
	static const uint32_t masks[] = { 3, 6, 5 };

	(void)argument;
	mam_warp_sync(masks[mam_lane()]);
}

START_TEST(a_ring_of_masks_is_a_deadlock)
{
	struct expect what = { .kernel = ring, .grid = 1, .block = 3 };

	simt_expect(&what, SIMT_DEADLOCK, "lanes 0x1 wait at mam_warp_sync() of 0x3");
}
END_TEST

SIMT_SUITE("simt/masks", a_caller_must_be_in_its_mask, a_shuffle_stays_inside_its_mask,
	   there_is_no_lane_99, masks_must_agree, kinds_must_agree, lanes_that_ended_drop_out,
	   but_not_when_strict, strict_misses_lanes_that_never_were, a_lane_that_ended_has_no_value,
	   a_ring_of_masks_is_a_deadlock)
