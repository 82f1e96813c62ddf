/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_large_stopped.c - lanes that stop forever while they allocate or free large objects: each
 * blocks at most the one slot that it is using, and no lane waits for that slot longer than for a
 * host that is gone.
 */
#include <string.h>

#include "heap/stop.h"
#include "heap/growth/large_kit.h"

#define STOPPED 6u
#define LANES 10u

/* Enough slots are left that no request of the others fails. */
#define SLOTS (STOPPED + LANES - STOPPED + 1)

static uint32_t served;

LKIT_UNSEEN void count_served(void)
{
	served++;
}

static MAM_KERNEL(some_stop)
{
	uint32_t round;
	void *object;

	(void)argument;
	if (simt_thread() < STOPPED)
		stop_after(1 + (uint32_t)simt_random() % 60);
	for (round = 0; round < 4; round++) {
		object = lkit_alloc(1 + simt_random() % 2000);
		/* Lanes that do not stop are served each time. */
		MAM_KASSERT(object || simt_thread() < STOPPED);
		if (object) {
			count_served();
			lkit_free(object);
		}
	}
	if (simt_thread() >= STOPPED)
		stop_leave();
	lkit_leave();
}

static void begin_stop(void *argument)
{
	(void)argument;
	stop_begin(LANES - STOPPED);
}

static uint32_t stopped_ever, runs;

static const char *check_stopped(void *argument)
{
	stopped_ever += stop.stopped;
	runs++;
	return lkit_check_empty(argument);
}

START_TEST(other_lanes_go_on)
{
	static const struct lkit_plan plan = { .slots = SLOTS, .begin = begin_stop };

	served = stopped_ever = 0;
	lkit_explore("other lanes go on", &plan, some_stop, 1, LANES, 300, check_stopped);
	ck_assert_uint_gt(stopped_ever, 0);
	ck_assert_uint_gt(served, 0);
}
END_TEST

/* One lane stops before each of its atomics in turn; the other uses the one remaining slot. */
static uint32_t where;

static MAM_KERNEL(at_each_point)
{
	uint32_t round;
	void *object;

	(void)argument;
	if (!simt_thread())
		stop_after(where);
	for (round = 0; round < 3; round++) {
		object = lkit_alloc(1000);
		MAM_KASSERT(object);
		lkit_free(object);
	}
	if (simt_thread())
		stop_leave();
	lkit_leave();
}

static void begin_one(void *argument)
{
	(void)argument;
	stop_begin(1);
}

START_TEST(lane_may_stop_before_any_atomic)
{
	static const struct lkit_plan plan = { .slots = 2, .begin = begin_one };
	char name[64];

	stopped_ever = runs = 0;
	for (where = 1; where < 50; where++) {
		snprintf(name, sizeof(name), "stops at %u", where);
		lkit_explore(name, &plan, at_each_point, 1, 2, 6, check_stopped);
	}
	/* In most runs the lane has that many atomics. */
	ck_assert_uint_gt(stopped_ever * 5, runs * 4);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("large_stopped");

	tcase_add_test(tcase, other_lanes_go_on);
	tcase_add_test(tcase, lane_may_stop_before_any_atomic);
	return lkit_run(tcase, "heap/large_stopped");
}
