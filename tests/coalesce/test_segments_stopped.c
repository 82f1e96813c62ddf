/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_segments_stopped.c - a lane that stops forever in the middle of a free: all other lanes free
 * their segments and allocate new ones, wherever it stopped. Its block may remain allocated; once
 * the lane continues, the block is freed, too.
 */
#include <string.h>

#include "heap/stop.h"

#include "coalesce/segments_kit.h"

#define LANES 6u
#define ROUNDS 3u

struct stopped {
	struct segs segs;
	uint32_t stopper; /* the lane that stops */
	uint32_t after;   /* before this atomic of its free, counted from 1 */
	uint32_t count;   /* runs in which it stopped */
};

static void stopped_begin(struct ckit *kit)
{
	(void)kit;
	stop_begin(LANES - 1);
}

/* Each lane frees what another one allocated; one of them never completes its free. */
static MAM_KERNEL(stops)
{
	struct ckit *kit = argument;
	const struct stopped *plan = kit->own;
	uint32_t me = simt_thread(), i;
	void *part = segs_get(kit, 1 + 5 * me);

	ckit_keep(kit, me, part);
	mam_syncthreads();
	part = ckit_take(kit, (me + 1) % LANES);
	segs_disown(kit, part);
	if (me == plan->stopper)
		stop_after(plan->after);
	MAM_KASSERT(mam_segments_free(segs_base(kit), part));
	if (me == plan->stopper)
		return;
	for (i = 0; i < ROUNDS; i++) {
		part = segs_get(kit, 4 * me + 2);
		MAM_KASSERT(part);
		segs_release(kit, part);
	}
	stop_leave();
}

static const char *check_stops(void *argument)
{
	struct ckit *kit = argument;
	struct stopped *plan = kit->own;

	plan->count += stop.stopped;
	return ckit_check_served(argument);
}

START_TEST(other_lanes_continue_after_a_stop)
{
	struct stopped plan = { .stopper = (uint32_t)_i };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &plan;
	kit->begin = stopped_begin;
	kit->steps_max = 200000;
	for (plan.after = 1; plan.after < 8; plan.after++)
		ckit_explore(kit, "stops in a free", stops, 1, LANES, CKIT_RACE ? 60 : 200,
			     check_stops);
	ck_assert_uint_gt(plan.count, 0);
	ckit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("stopped");

	tcase_add_loop_test(tcase, other_lanes_continue_after_a_stop, 0, LANES);
	return ckit_run(tcase, "coalesce/segments stopped");
}
