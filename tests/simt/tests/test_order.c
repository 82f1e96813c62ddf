/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_order.c - the input of the race checker: barriers order, other collectives do not, and
 * shared memory is new for each block.
 */
#include "device/port.h"
#include "simt/expect.h"
#include "simt/hooks_core.h"

static uint32_t payload;

static void put(uint32_t *where)
{
	simt_plain(where, sizeof(*where), true, "put");
	*where = mam_block() + 1;
}

static uint32_t get(uint32_t *where)
{
	simt_plain(where, sizeof(*where), false, "get");
	return *where;
}

static struct expect racing(simt_kernel *kernel, unsigned int grid, unsigned int block)
{
	return (struct expect){ .kernel = kernel,
				.grid = grid,
				.block = block,
				.argument = &payload,
				.zero = sizeof(payload),
				.config = { .race = true } };
}

MAM_KERNEL(by_warp_sync)
{
	if (mam_lane() == 3)
		put(argument);
	mam_warp_sync(~0u);
	MAM_KASSERT(get(argument) == 1);
}

MAM_KERNEL(by_block_barrier)
{
	if (simt_thread() == 60)
		put(argument);
	mam_syncthreads();
	MAM_KASSERT(get(argument) == 1);
}

START_TEST(barriers_order_accesses)
{
	struct expect what = racing(by_warp_sync, 1, 32);

	simt_expect(&what, SIMT_FINE, NULL);
	what = racing(by_block_barrier, 1, 64);
	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

MAM_KERNEL(by_shuffle)
{
	if (mam_lane() == 3)
		put(argument);
	mam_warp_shuffle64(~0u, 1, 3);
	get(argument);
}

MAM_KERNEL(by_ballot)
{
	if (mam_lane() == 3)
		put(argument);
	mam_warp_ballot(~0u, true);
	get(argument);
}

MAM_KERNEL(by_match)
{
	if (mam_lane() == 3)
		put(argument);
	mam_warp_match32(~0u, 1);
	get(argument);
}

START_TEST(other_collectives_do_not_order)
{
	static simt_kernel *const kernels[] = { by_shuffle, by_ballot, by_match };

	for (int i = 0; i < 3; i++) {
		struct expect what = racing(kernels[i], 1, 32);

		simt_expect(&what, SIMT_RACE, "put");
		what.config.race = false;
		simt_expect(&what, SIMT_FINE, NULL);
	}
}
END_TEST

/* A barrier does not order lanes outside its mask. */
MAM_KERNEL(by_part)
{
	if (mam_lane() == 3)
		put(argument);
	mam_warp_sync(mam_lane() < 16 ? 0xffff : 0xffff0000);
	if (mam_lane() == 20)
		get(argument);
}

MAM_KERNEL(by_another_block)
{
	if (simt_thread() == 0 && mam_block() == 0)
		put(argument);
	mam_syncthreads();
	if (mam_block() == 1)
		get(argument);
}

START_TEST(barrier_orders_only_lanes_of_its_mask)
{
	struct expect what = racing(by_part, 1, 32);

	simt_expect(&what, SIMT_RACE, "put");
	what = racing(by_another_block, 2, 2);
	simt_expect(&what, SIMT_RACE, "put");
}
END_TEST

/* The next block uses the same memory, and does not race with the previous one. */
MAM_KERNEL(shares)
{
	MAM_SHARED(uint32_t, shared);

	(void)argument;
	if (simt_thread() == 0)
		put(shared);
	mam_syncthreads();
	MAM_KASSERT(get(shared) == mam_block() + 1);
}

START_TEST(shared_memory_is_new_for_each_block)
{
	struct expect what = racing(shares, 4, 3);

	what.config.resident = 1;
	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

/* A launch's lanes may read what the program wrote before the launch; so may a later launch. */
MAM_KERNEL(reads)
{
	get(argument);
}

START_TEST(consecutive_launches_are_ordered)
{
	struct expect what = racing(by_warp_sync, 1, 32);
	struct expect next = racing(reads, 2, 32);

	for (int i = 0; i < 3; i++) {
		simt_expect(&what, SIMT_FINE, NULL);
		simt_expect(&next, SIMT_FINE, NULL);
	}
}
END_TEST

SIMT_SUITE("simt/order", barriers_order_accesses, other_collectives_do_not_order,
	   barrier_orders_only_lanes_of_its_mask, shared_memory_is_new_for_each_block,
	   consecutive_launches_are_ordered)
