/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_livelock.c - a run without an end is stopped after steps_max points, whatever its loop does.
 */
#include "device/port.h"
#include "simt/expect.h"

static struct expect spinning(simt_kernel *kernel, uint32_t *flag)
{
	return (struct expect){ .kernel = kernel,
				.grid = 1,
				.block = 8,
				.argument = flag,
				.zero = sizeof(*flag),
				.config = { .steps_max = 5000 } };
}

MAM_KERNEL(loads)
{
	uint32_t *flag = argument;

	while (!mam_atomic_load32(flag, MAM_RELAXED, MAM_AT_DEVICE))
		;
}

START_TEST(endless_loads_are_stopped)
{
	uint32_t flag;
	struct expect what = spinning(loads, &flag);
	const struct simt_result *result =
		simt_expect(&what, SIMT_LIVELOCK, "no end after 5000 steps");

	ck_assert_uint_eq(result->steps, 5001);
	ck_assert_ptr_nonnull(strstr(result->text, "lanes 0xff are at "));
	ck_assert_ptr_null(strstr(result->text, "resident"));
}
END_TEST

MAM_KERNEL(sleeps)
{
	(void)argument;
	for (;;)
		mam_nanosleep(100);
}

START_TEST(endless_sleeps_are_stopped)
{
	uint32_t flag;
	struct expect what = spinning(sleeps, &flag);

	simt_expect(&what, SIMT_LIVELOCK, "no end");
}
END_TEST

MAM_KERNEL(ballots)
{
	(void)argument;
	while (mam_warp_ballot(0xff, true))
		;
}

START_TEST(endless_ballots_are_stopped)
{
	uint32_t flag;
	struct expect what = spinning(ballots, &flag);

	simt_expect(&what, SIMT_LIVELOCK, "no end");
}
END_TEST

MAM_KERNEL(barriers)
{
	(void)argument;
	for (;;)
		mam_syncthreads();
}

START_TEST(endless_barriers_are_stopped)
{
	uint32_t flag;
	struct expect what = spinning(barriers, &flag);

	simt_expect(&what, SIMT_LIVELOCK, "no end");
}
END_TEST

MAM_KERNEL(clocks)
{
	(void)argument;
	while (mam_clock() < UINT64_MAX)
		;
}

START_TEST(endless_clock_reads_are_stopped)
{
	uint32_t flag;
	struct expect what = spinning(clocks, &flag);

	simt_expect(&what, SIMT_LIVELOCK, "no end");
}
END_TEST

/* One lane waits for another, which a policy might postpone forever. */
MAM_KERNEL(waits)
{
	uint32_t *flag = argument;

	if (mam_thread() == 7)
		mam_atomic_store32(flag, 1, MAM_RELEASE, MAM_AT_DEVICE);
	else
		while (!mam_atomic_load32(flag, MAM_ACQUIRE, MAM_AT_DEVICE))
			;
}

MAM_KERNEL(waits_together)
{
	uint32_t *flag = argument;

	if (mam_thread() == 7)
		mam_atomic_store32(flag, 1, MAM_RELEASE, MAM_AT_DEVICE);
	else
		while (!mam_atomic_load32(flag, MAM_ACQUIRE, MAM_AT_DEVICE))
			mam_warp_sync(0x7f);
}

START_TEST(lane_that_waits_for_another_makes_progress)
{
	uint32_t flag;
	struct expect what = spinning(waits, &flag);

	what.config.steps_max = 50000;
	simt_expect(&what, SIMT_FINE, NULL);
	what.kernel = waits_together;
	what.block = 8;
	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

/*
 * Pairs that keep each other running, and one lane that all of them wait for: a few priority
 * changes do not select it.
 */
MAM_KERNEL(pairs_wait)
{
	uint32_t *flag = argument;

	if (mam_thread() == 6)
		mam_atomic_store32(flag, 1, MAM_RELEASE, MAM_AT_DEVICE);
	else
		while (!mam_atomic_load32(flag, MAM_ACQUIRE, MAM_AT_DEVICE))
			mam_warp_sync(3u << (mam_lane() & ~1u));
}

START_TEST(pairs_that_wait_for_another_lane_make_progress)
{
	uint32_t flag;
	struct expect what = spinning(pairs_wait, &flag);

	what.config.steps_max = 50000;
	what.config.changes = 1;
	what.block = 7;
	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

SIMT_SUITE("simt/livelock", endless_loads_are_stopped, endless_sleeps_are_stopped,
	   endless_ballots_are_stopped, endless_barriers_are_stopped,
	   endless_clock_reads_are_stopped, lane_that_waits_for_another_makes_progress,
	   pairs_that_wait_for_another_lane_make_progress)
