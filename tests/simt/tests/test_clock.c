/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_clock.c - time advances with the steps, sleeping lanes are skipped, and random numbers
 * depend on the seed.
 */
#include "device/port.h"
#include "simt/expect.h"

MAM_KERNEL(time_passes)
{
	uint32_t *late = argument;
	uint64_t before = mam_clock(), after;

	mam_nanosleep(500);
	after = mam_clock();
	MAM_KASSERT(after > before);
	if (after - before > 100)
		mam_atomic_add32(late, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

START_TEST(sleep_takes_time)
{
	uint32_t late;
	struct expect what = { .kernel = time_passes,
			       .grid = 1,
			       .block = 32,
			       .argument = &late,
			       .zero = sizeof(late) };

	simt_expect(&what, SIMT_FINE, NULL);
	ck_assert_uint_gt(late, 16);
}
END_TEST

/* One lane sleeps, the others have much work: usually they finish first. */
MAM_KERNEL(others_go_on)
{
	uint32_t *done = argument;

	if (mam_thread() == 0) {
		mam_nanosleep(900);
		done[1] = mam_atomic_load32(done, MAM_RELAXED, MAM_AT_DEVICE);
	} else {
		for (int i = 0; i < 5; i++)
			mam_atomic_add32(done, 1, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

START_TEST(other_lanes_continue_during_sleep)
{
	for (unsigned int policy = 0; policy < SIMT_POLICIES; policy++) {
		unsigned int first = 0;

		for (uint64_t seed = 0; seed < 100; seed++) {
			struct simt_config config = { .seed = seed, .policy = policy };
			uint32_t done[2] = { 0, 0 };

			ck_assert_int_eq(simt_launch(&config, others_go_on, 1, 8, done, NULL),
					 SIMT_FINE);
			first += done[1] == 35;
		}
		ck_assert_uint_gt(first, 80);
	}
}
END_TEST

/* Each step is a tick. */
MAM_KERNEL(ticks)
{
	uint32_t *word = argument;
	uint64_t before = mam_clock();

	for (int i = 0; i < 10; i++)
		mam_atomic_add32(word, 1, MAM_RELAXED, MAM_AT_DEVICE);
	MAM_KASSERT(mam_clock() >= before + 10);
}

START_TEST(each_step_is_a_tick)
{
	uint32_t word = 0;
	struct expect what = { .kernel = ticks, .grid = 1, .block = 3, .argument = &word };

	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

/* A sleeping lane cannot run: lanes that read the active mask do not wait for it. */
MAM_KERNEL(asks_beside_a_sleeper)
{
	uint32_t *seen = argument;

	if (mam_lane() == 0) {
		mam_nanosleep(900);
		seen[1] = mam_atomic_load32(seen, MAM_RELAXED, MAM_AT_DEVICE);
	} else {
		MAM_KASSERT(!(mam_warp_active() & 1));
		mam_atomic_store32(seen, 1, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

START_TEST(active_mask_does_not_wait_for_sleeper)
{
	unsigned int first = 0;

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct simt_config config = { .seed = seed };
		uint32_t seen[2] = { 0, 0 };

		ck_assert_int_eq(simt_launch(&config, asks_beside_a_sleeper, 1, 4, seen, NULL),
				 SIMT_FINE);
		first += seen[1];
	}
	ck_assert_uint_gt(first, 80);
}
END_TEST

/* If all lanes sleep, no steps are spent on waiting. */
MAM_KERNEL(all_sleep)
{
	(void)argument;
	for (int i = 0; i < 10; i++)
		mam_nanosleep(1000000);
}

START_TEST(sleep_of_all_lanes_takes_no_steps)
{
	struct expect what = { .kernel = all_sleep, .grid = 1, .block = 4, .seeds = 5 };

	ck_assert_uint_lt(simt_expect(&what, SIMT_FINE, NULL)->steps, 100);
}
END_TEST

MAM_KERNEL(rolls)
{
	uint64_t *roll = argument;

	roll[mam_thread()] = simt_random();
}

START_TEST(random_numbers_depend_on_seed)
{
	uint64_t roll[3][8];
	struct simt_config config = { .seed = 5 };

	for (int i = 0; i < 3; i++) {
		config.seed = i < 2 ? 5 : 6;
		ck_assert_int_eq(simt_launch(&config, rolls, 1, 8, roll[i], NULL), SIMT_FINE);
	}
	ck_assert_int_eq(memcmp(roll[0], roll[1], sizeof(roll[0])), 0);
	for (int i = 0; i < 8; i++) {
		ck_assert_uint_ne(roll[0][i], roll[2][i]);
		ck_assert_uint_ne(roll[0][i], roll[0][(i + 1) % 8]);
	}
}
END_TEST

SIMT_SUITE("simt/clock", each_step_is_a_tick, active_mask_does_not_wait_for_sleeper,
	   sleep_takes_time, other_lanes_continue_during_sleep, sleep_of_all_lanes_takes_no_steps,
	   random_numbers_depend_on_seed)
