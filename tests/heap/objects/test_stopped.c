/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stopped.c - lanes that stop forever in the middle of an operation, before any of their
 * atomics: all others go on, and their requests end. Where there is room they are served; where an
 * incomplete operation may have left some, no request reports that there is none.
 */
#include <string.h>

#include "heap/stop.h"
#include "heap/motion.h"

#define HELD 3

struct plan {
	const char *name;
	uint32_t blocks;   /* of the heap */
	uint32_t filled;   /* units of block 0 that are allocated from the start */
	uint32_t stoppers; /* the first thread blocks, each a warp with a lane that stops */
	uint32_t grid, block;
	uint32_t rounds;
	size_t bytes[4];
	bool room; /* all requests can be served, whatever the stopped lanes own */
	uint32_t seeds, seeds_race;
};

static const struct plan plans[] = {
	/* Each lane owns up to 3 objects: of slabs of 4 units, or of one unit. */
	{ "small objects, room", 1, 0, 1, 3, 1, 12, { 16, 64, 64, 70 }, true, 400, 100 },
	{ "small objects, no room", 1, 56, 1, 3, 1, 8, { 16, 64, 100, 128 }, false, 400, 100 },
	{ "one class, one slab", 1, 60, 1, 4, 1, 8, { 64, 64, 64, 64 }, false, 400, 100 },
	{ "large objects, room", 12, 0, 1, 3, 1, 8, { 1000, 8192, 9000, 20000 }, true, 400, 100 },
	{ "large objects, no room", 1, 32, 1, 3, 1, 5, { 600, 9216, 16384, 32 }, false, 300, 80 },
	{ "two stopped lanes", 1, 48, 2, 4, 1, 6, { 16, 128, 200, 9000 }, false, 300, 80 },
	{ "warps, room", 1, 0, 1, 3, 8, 4, { 16, 48, 48, 128 }, true, 200, 40 },
	{ "warps, no room", 1, 40, 1, 3, 8, 3, { 16, 100, 256, 3000 }, false, 150, 40 },
};

static uint32_t runs, halts; /* of one case */

static void begin(void *argument)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;

	okit_begin(kit);
	if (plan->filled)
		motion_run(kit, 64 - plan->filled, plan->filled);
	stop_begin((plan->grid - plan->stoppers) * plan->block);
}

MAM_KERNEL(churn)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	bool stops = mam_block() < plan->stoppers;
	void *held[HELD] = { NULL };
	uint32_t i, n;

	/* Mostly soon, where most of a search happens; one lane of the warp is enough. */
	if (stops && mam_lane() == motion_below(plan->block))
		stop_after(1 + motion_below(4u << motion_below(8)));
	for (n = 0; n < plan->rounds; n++) {
		i = motion_below(HELD);
		if (held[i]) {
			okit_free(kit, held[i]);
			held[i] = NULL;
			continue;
		}
		held[i] = okit_alloc(kit, plan->bytes[motion_below(4)]);
		MAM_KASSERT(held[i] || !plan->room);
	}
	for (i = 0; i < HELD; i++)
		okit_free(kit, held[i]);
	if (!stops)
		stop_leave();
}

static const char *complete_at_end(void *argument)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;

	runs++;
	halts += stop.stopped;
	if (kit->live != !!plan->filled)
		return "an object was not freed";
	return okit_check(kit);
}

START_TEST(other_lanes_go_on)
{
	const struct plan *plan = &plans[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);

	/* Requests wait for a scan whose lane stopped, MAM_SCANS_POLLS polls each. */
	kit->steps_max = 20000000;
	runs = halts = 0;
	motion_explore(kit, plan->name, begin, churn, plan->grid, plan->block,
		       KIT_RACE ? plan->seeds_race : plan->seeds, complete_at_end);
	/* Otherwise the test is not meaningful. */
	ck_assert(runs < 30 || halts > runs / 3);
	okit_destroy(kit);
}
END_TEST

/* ---- an incomplete operation does not prove a full heap ----------------------------- */

/*
 * Sixteen units are free, or belong to an empty slab; all others are allocated. One lane closes
 * that slab, or opens it with one slot of its own, and stops in the middle. The other, somewhere in
 * its search, requests an object that fits into these units: it is served, or the failure is
 * counted as contention; never as a full heap.
 */
struct middle {
	const char *name;
	bool opens;
	size_t bytes;
};

static const struct middle middles[] = {
	{ "a run where a slab closes", false, 16 << MAM_UNIT_SHIFT },
	{ "the same class where a slab closes", false, 256 },
	{ "another class where a slab closes", false, 128 },
	{ "one unit where a slab closes", false, 16 },
	{ "the same class where a slab opens", true, 256 },
};

/* Class 12: 256 bytes. */
static void begin_middle(void *argument)
{
	struct okit *kit = argument;
	const struct middle *plan = kit->plan;

	okit_begin(kit);
	motion_run(kit, 16, 48);
	if (!plan->opens)
		motion_slab(kit, 12, 0, 0);
	stop_begin(1);
}

MAM_KERNEL(stop_in_the_middle)
{
	struct okit *kit = argument;
	const struct middle *plan = kit->plan;
	void *object;

	if (!mam_block()) {
		/* While the other lane makes its pass. */
		mam_nanosleep(motion_below(300));
		stop_after(2 + motion_below(11));
		if (plan->opens)
			(void)motion_open(kit, 12, 0, 1);
		else
			motion_close_idle(kit);
		return;
	}
	object = okit_alloc(kit, plan->bytes);
	MAM_KASSERT(object || !okit_tally(kit, MAM_OBJECT_FULL));
	stop_leave();
}

START_TEST(stopped_lane_causes_no_full_report)
{
	const struct middle *plan = &middles[_i];
	struct okit *kit = okit_create(1, 1, plan);

	motion_explore(kit, plan->name, begin_middle, stop_in_the_middle, 2, 1,
		       KIT_RACE ? 400 : 1500, NULL);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("stopped");

	tcase_add_loop_test(tcase, other_lanes_go_on, 0, sizeof(plans) / sizeof(plans[0]));
	tcase_add_loop_test(tcase, stopped_lane_causes_no_full_report, 0,
			    sizeof(middles) / sizeof(middles[0]));
	return kit_run(tcase, "heap/stopped");
}
