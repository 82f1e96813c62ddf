/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_deadlock.c - if no lane can continue, the text lists which lanes wait where, and the next
 * launch works as the first one.
 */
#include "device/port.h"
#include "simt/expect.h"

MAM_KERNEL(barrier_against_ballot)
{
	(void)argument;
	if (mam_thread() == 0)
		mam_syncthreads();
	else if (mam_thread() < 32)
		mam_warp_ballot(~0u, true);
}

START_TEST(deadlock_text_lists_waiting_lanes)
{
	struct expect what = { .kernel = barrier_against_ballot, .grid = 1, .block = 33 };
	const struct simt_result *result = simt_expect(&what, SIMT_DEADLOCK, "nobody can go on");

	ck_assert_ptr_nonnull(
		strstr(result->text, "block 0 warp 0 lanes 0x1 wait at mam_syncthreads() at "));
	ck_assert_ptr_nonnull(strstr(
		result->text,
		"block 0 warp 0 lanes 0xfffffffe wait at mam_warp_ballot() of 0xffffffff at "));
	ck_assert_ptr_nonnull(strstr(result->text, "test_deadlock.c:"));
	ck_assert_ptr_null(strstr(result->text, "warp 1"));
}
END_TEST

MAM_KERNEL(fine)
{
	uint32_t *count = argument;

	mam_warp_sync(~0u);
	mam_syncthreads();
	mam_atomic_add32(count, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

START_TEST(launch_after_deadlock_works)
{
	uint32_t count;
	struct expect bad = {
		.kernel = barrier_against_ballot, .grid = 3, .block = 33, .seeds = 1
	};
	struct expect good = { .kernel = fine,
			       .grid = 3,
			       .block = 64,
			       .argument = &count,
			       .zero = sizeof(count),
			       .seeds = 1 };

	for (int i = 0; i < 200; i++) {
		simt_expect(&bad, SIMT_DEADLOCK, NULL);
		simt_expect(&good, SIMT_FINE, NULL);
		ck_assert_uint_eq(count, 3 * 64);
	}
}
END_TEST

/* Many lanes at many places: the text is cut at its maximum length. */
MAM_KERNEL(many_places)
{
	(void)argument;
	if (mam_lane())
		mam_warp_sync(1u | 1u << mam_lane());
	else
		mam_syncthreads();
}

START_TEST(long_deadlock_text_is_cut)
{
	struct expect what = { .kernel = many_places, .grid = 9, .block = 1024, .seeds = 2 };
	const struct simt_result *result = simt_expect(&what, SIMT_DEADLOCK, "nobody can go on");

	ck_assert_uint_lt(strlen(result->text), SIMT_TEXT_BYTES);
}
END_TEST

SIMT_SUITE("simt/deadlock", deadlock_text_lists_waiting_lanes, launch_after_deadlock_works,
	   long_deadlock_text_is_cut)
