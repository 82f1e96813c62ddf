/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fixed_stopped.c - lanes that stop forever in the middle of an allocation or a free of
 * coalesced parts: lanes of other warps and blocks continue, also with parts that were meant for
 * the stopped lanes or that they owned.
 */
#include <string.h>

#include "heap/stop.h"
#include "coalesce/fixed_kit.h"

#define GRID 3u
#define LANES 4u
#define KEPT 10u

static uint32_t runs, halts;

static void begin(struct ckit *kit)
{
	fixed_begin(kit);
	stop_begin((GRID - 1) * LANES);
}

/* One lane of block 0 stops. Lanes pass parts to one another. */
static MAM_KERNEL(exchange)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	void *part, *other;
	uint32_t round;

	if (mam_block() == 0 && simt_thread() == simt_random() % LANES)
		stop_after(1 + (uint32_t)(simt_random() % 40));
	for (round = 0; round < plan->rounds; round++) {
		part = fixed_alloc(kit, plan->bytes);
		MAM_KASSERT(part);
		ckit_own(kit, part, plan->bytes);
		other = (void *)(uintptr_t)mam_atomic_xchg64(&kit->kept[simt_random() % KEPT],
							     (uintptr_t)part, MAM_ACQ_REL,
							     MAM_AT_DEVICE);
		if (other)
			fixed_release(kit, other);
	}
	if (mam_block())
		stop_leave();
}

static MAM_KERNEL(sweep)
{
	struct ckit *kit = argument;
	uint32_t i;
	void *part;

	for (i = 0; i < KEPT; i++) {
		part = ckit_take(kit, i);
		if (part)
			fixed_release(kit, part);
	}
}

static bool build(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, exchange, GRID, LANES, argument) &&
	       simt_world_launch(world, 0, sweep, 1, 1, argument);
}

static const char *check(void *argument)
{
	runs++;
	halts += stop.stopped;
	return fixed_check(argument);
}

START_TEST(other_lanes_continue_after_a_stop)
{
	struct plan plan = { .way = (uint32_t)_i % WAYS, .bytes = 12, .rounds = 4, .entries = 40 };
	struct ckit *kit = fixed_create(&plan, 1 << 14);

	kit->begin = begin;
	runs = halts = 0;
	ckit_explore_world(kit, "others continue", build, fixed_seeds(300), check);
	/* With fewer stops the test proves nothing. */
	ck_assert(runs < 30 || halts > runs / 3);
	fixed_destroy(kit, &plan);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fixed_stopped");

	tcase_add_loop_test(tcase, other_lanes_continue_after_a_stop, 0, WAYS);
	return ckit_run(tcase, "coalesce/fixed_stopped");
}
