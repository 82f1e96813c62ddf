/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_residency.c - at most the configured number of blocks is resident; code that waits for a
 * block that may not have started is detected; blocks run on SMs.
 */
#include "device/port.h"
#include "simt/expect.h"

struct flight {
	uint32_t now, max, done;
	uint32_t warp_of_sm[8][64];
};

MAM_KERNEL(flies)
{
	struct flight *flight = argument;
	uint32_t *slot = &flight->warp_of_sm[mam_smid()][mam_warpid()];

	if (mam_thread() == 0) {
		uint32_t now = mam_atomic_add32(&flight->now, 1, MAM_RELAXED, MAM_AT_DEVICE) + 1;

		if (now > flight->max)
			flight->max = now;
	}
	if (mam_lane() == 0)
		MAM_KASSERT(!mam_atomic_xchg32(slot, 1, MAM_RELAXED, MAM_AT_DEVICE));
	mam_syncthreads();
	if (mam_lane() == 0)
		mam_atomic_store32(slot, 0, MAM_RELAXED, MAM_AT_DEVICE);
	if (mam_thread() == 0) {
		mam_atomic_add32(&flight->now, ~0u, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_add32(&flight->done, 1, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

START_TEST(resident_blocks_are_limited)
{
	struct flight flight;
	struct expect what = { .kernel = flies,
			       .grid = 10,
			       .block = 64,
			       .argument = &flight,
			       .zero = sizeof(flight),
			       .seeds = 5 };

	for (unsigned int resident = 1; resident <= 5; resident += 2) {
		what.config.resident = resident;
		what.config.sms = resident;
		simt_expect(&what, SIMT_FINE, NULL);
		ck_assert_uint_eq(flight.done, 10);
		ck_assert_uint_le(flight.max, resident);
	}
	what.config.resident = 0;
	what.config.sms = 3;
	simt_expect(&what, SIMT_FINE, NULL);
	ck_assert_uint_gt(flight.max, 5);
}
END_TEST

MAM_KERNEL(waits_for_the_next)
{
	uint32_t *flag = argument;

	if (mam_block() == 1)
		mam_atomic_store32(flag, 1, MAM_RELEASE, MAM_AT_DEVICE);
	else
		while (!mam_atomic_load32(flag, MAM_ACQUIRE, MAM_AT_DEVICE))
			mam_nanosleep(20);
}

START_TEST(wait_for_later_block_is_a_livelock)
{
	uint32_t flag;
	struct expect what = { .kernel = waits_for_the_next,
			       .grid = 2,
			       .block = 4,
			       .argument = &flag,
			       .zero = sizeof(flag),
			       .config = { .resident = 2, .steps_max = 20000 } };

	simt_expect(&what, SIMT_FINE, NULL);
	what.config.resident = 1;
	simt_expect(&what, SIMT_LIVELOCK, "while 1 block is not resident");
	what.grid = 4;
	simt_expect(&what, SIMT_LIVELOCK, "while 3 blocks are not resident");
}
END_TEST

MAM_KERNEL(waits_for_the_last)
{
	uint32_t *done = argument;

	if (mam_block())
		while (mam_atomic_load32(done, MAM_ACQUIRE, MAM_AT_DEVICE) < mam_block())
			;
	mam_atomic_store32(done, mam_block() + 1, MAM_RELEASE, MAM_AT_DEVICE);
}

START_TEST(wait_for_earlier_block_succeeds)
{
	uint32_t done;
	struct expect what = { .kernel = waits_for_the_last,
			       .grid = 6,
			       .block = 1,
			       .argument = &done,
			       .zero = sizeof(done) };

	for (unsigned int resident = 1; resident <= 3; resident++) {
		what.config.resident = resident;
		simt_expect(&what, SIMT_FINE, NULL);
	}
}
END_TEST

/* The last block starts as soon as the first one has ended, though the second is still busy. */
MAM_KERNEL(waits_for_room)
{
	uint32_t *flag = argument;

	if (mam_block() == 2)
		mam_atomic_store32(flag, 1, MAM_RELEASE, MAM_AT_DEVICE);
	while (mam_block() == 1 && !mam_atomic_load32(flag, MAM_ACQUIRE, MAM_AT_DEVICE))
		;
}

START_TEST(ended_block_is_replaced_at_once)
{
	uint32_t flag;
	struct expect what = { .kernel = waits_for_room,
			       .grid = 3,
			       .block = 2,
			       .argument = &flag,
			       .zero = sizeof(flag),
			       .config = { .resident = 2, .steps_max = 20000 } };

	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

/* Blocks are spread over the SMs, and the first one is not always on the same SM. */
MAM_KERNEL(where)
{
	uint32_t *sm = argument;

	sm[mam_block()] = mam_smid() + 1;
}

START_TEST(blocks_are_spread_over_sms)
{
	uint32_t sm[4], first[5] = { 0 };

	for (uint64_t seed = 1; seed < 40; seed++) {
		struct simt_config config = { .seed = seed };
		uint32_t all = 0;

		ck_assert_int_eq(simt_launch(&config, where, 4, 1, sm, NULL), SIMT_FINE);
		for (int i = 0; i < 4; i++)
			all |= 1u << sm[i];
		ck_assert_uint_eq(all, 0x1e);
		first[sm[0]]++;
	}
	for (int i = 1; i <= 4; i++)
		ck_assert_uint_gt(first[i], 0);
}
END_TEST

SIMT_SUITE("simt/residency", resident_blocks_are_limited, wait_for_later_block_is_a_livelock,
	   wait_for_earlier_block_succeeds, ended_block_is_replaced_at_once,
	   blocks_are_spread_over_sms)
