/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_barrier.c - no lane passes a block barrier before all lanes of the block that have not ended
 * have arrived.
 */
#include "device/port.h"
#include "simt/expect.h"

#define LANES 70

struct counts {
	uint32_t come[2], rounds;
};

MAM_KERNEL(rounds)
{
	struct counts *counts = argument;
	uint32_t *come = &counts->come[mam_block()];

	for (uint32_t round = 1; round <= 3; round++) {
		mam_atomic_add32(come, 1, MAM_RELAXED, MAM_AT_DEVICE);
		mam_syncthreads();
		MAM_KASSERT(mam_atomic_load32(come, MAM_RELAXED, MAM_AT_DEVICE) == round * LANES);
		mam_syncthreads();
	}
}

START_TEST(barrier_waits_for_all_lanes)
{
	struct counts counts;
	struct expect what = { .kernel = rounds,
			       .grid = 2,
			       .block = LANES,
			       .argument = &counts,
			       .zero = sizeof(counts) };

	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

/* Some lanes end at once, some after one barrier: the rest wait for no other lane. */
MAM_KERNEL(some_leave)
{
	struct counts *counts = argument;

	if (simt_thread() % 5 == 0)
		return;
	mam_atomic_add32(&counts->rounds, 1, MAM_RELAXED, MAM_AT_DEVICE);
	mam_syncthreads();
	MAM_KASSERT(mam_atomic_load32(&counts->rounds, MAM_RELAXED, MAM_AT_DEVICE) >=
		    LANES / 5 * 4);
	if (simt_thread() % 5 == 1)
		return;
	mam_syncthreads();
	mam_atomic_add32(&counts->rounds, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

START_TEST(ended_lanes_count_as_arrived)
{
	struct counts counts;
	struct expect what = { .kernel = some_leave,
			       .grid = 1,
			       .block = LANES,
			       .argument = &counts,
			       .zero = sizeof(counts) };

	simt_expect(&what, SIMT_FINE, NULL);
	ck_assert_uint_eq(counts.rounds, LANES / 5 * 4 + LANES / 5 * 3);
}
END_TEST

/* A barrier of one block does not concern the other block. */
MAM_KERNEL(one_block_only)
{
	if (mam_block() == 0)
		mam_syncthreads();
	(void)argument;
}

START_TEST(blocks_have_separate_barriers)
{
	struct expect what = { .kernel = one_block_only, .grid = 3, .block = 33 };

	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

/* Since Volta each lane arrives individually: two places in the code are one barrier. */
MAM_KERNEL(two_lines)
{
	struct counts *counts = argument;

	mam_atomic_add32(&counts->rounds, 1, MAM_RELAXED, MAM_AT_DEVICE);
	if (simt_thread() % 2)
		mam_syncthreads();
	else
		mam_syncthreads();
	MAM_KASSERT(mam_atomic_load32(&counts->rounds, MAM_RELAXED, MAM_AT_DEVICE) == 64);
}

START_TEST(two_call_sites_share_a_barrier)
{
	struct counts counts;
	struct expect what = { .kernel = two_lines,
			       .grid = 1,
			       .block = 64,
			       .argument = &counts,
			       .zero = sizeof(counts) };

	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

/*
 * Some lanes read the active mask while the others are at the barrier: they do not wait for those.
 */
MAM_KERNEL(active_beside_a_barrier)
{
	(void)argument;
	if (mam_lane() % 2)
		MAM_KASSERT(!(mam_warp_active() & 0x55555555));
	mam_syncthreads();
}

START_TEST(active_mask_does_not_wait_for_barrier)
{
	struct expect what = { .kernel = active_beside_a_barrier, .grid = 1, .block = 64 };

	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

SIMT_SUITE("simt/barrier", barrier_waits_for_all_lanes, ended_lanes_count_as_arrived,
	   blocks_have_separate_barriers, two_call_sites_share_a_barrier,
	   active_mask_does_not_wait_for_barrier)
