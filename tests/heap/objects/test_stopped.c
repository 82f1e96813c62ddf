/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stopped.c - lanes that stop for ever in the middle of what they do, before any of their
 * atomics: all others go on, and their requests end. Where there is room they are served; and where
 * there may be some in what was left half done, nobody says that there is none.
 */
#include <string.h>

#include "heap/stop.h"
#include "heap/motion.h"

#define HELD 3

struct plan {
	const char *name;
	uint32_t blocks;   /* of the heap */
	uint32_t filled;   /* units of block 0 that somebody has */
	uint32_t stoppers; /* thread blocks, the first ones, each a warp of which a lane stops */
	uint32_t grid, block;
	uint32_t rounds;
	size_t bytes[4];
	bool room; /* all can be served, whatever those who stopped have */
	uint32_t seeds, seeds_race;
};

static const struct plan plans[] = {
	/* Each lane has 3 objects: of slabs of 4 units, or of a unit. */
	{ "small ones, room", 1, 0, 1, 3, 1, 12, { 16, 64, 64, 70 }, true, 400, 100 },
	{ "small ones, no room", 1, 56, 1, 3, 1, 8, { 16, 64, 100, 128 }, false, 400, 100 },
	{ "one class, one slab", 1, 60, 1, 4, 1, 8, { 64, 64, 64, 64 }, false, 400, 100 },
	{ "large ones, room", 12, 0, 1, 3, 1, 8, { 1000, 8192, 9000, 20000 }, true, 400, 100 },
	{ "large ones, no room", 1, 32, 1, 3, 1, 5, { 600, 9216, 16384, 32 }, false, 300, 80 },
	{ "two that stop", 1, 48, 2, 4, 1, 6, { 16, 128, 200, 9000 }, false, 300, 80 },
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

	/* Mostly soon, where much of a search is; one lane of the warp is enough. */
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

static const char *whole_in_the_end(void *argument)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;

	runs++;
	halts += stop.stopped;
	if (kit->live != !!plan->filled)
		return "something was not given back";
	return okit_check(kit);
}

START_TEST(others_go_on)
{
	const struct plan *plan = &plans[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);

	runs = halts = 0;
	motion_explore(kit, plan->name, begin, churn, plan->grid, plan->block,
		       KIT_RACE ? plan->seeds_race : plan->seeds, whole_in_the_end);
	/* Else this says nothing. */
	ck_assert(runs < 30 || halts > runs / 3);
	okit_destroy(kit);
}
END_TEST

/* ---- what somebody stopped in the middle of is no reason to say that there is no room --------- */

/*
 * Sixteen units are free, or of an idle slab; all else is taken. One closes that slab, or opens it
 * and has one slot, and stops in the middle. The other, on its way anywhere, wants something that
 * goes into these units: it is served, or hears that things moved; never that there is no room.
 */
struct middle {
	const char *name;
	bool opens;
	size_t bytes;
};

static const struct middle middles[] = {
	{ "a run where a slab ends", false, 16 << MAM_UNIT_SHIFT },
	{ "its class where a slab ends", false, 256 },
	{ "another where a slab ends", false, 128 },
	{ "one unit where a slab ends", false, 16 },
	{ "its class where a slab begins", true, 256 },
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
		/* Where the other is at its pass. */
		mam_nanosleep(motion_below(300));
		stop_after(2 + motion_below(11));
		if (plan->opens)
			(void)motion_open(kit, 12, 0, 1);
		else
			(void)mam_spans_close(kit->heap, 1);
		return;
	}
	object = okit_alloc(kit, plan->bytes);
	MAM_KASSERT(object || !okit_tally(kit, MAM_OBJECT_FULL));
	stop_leave();
}

START_TEST(nothing_is_full)
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

	tcase_add_loop_test(tcase, others_go_on, 0, sizeof(plans) / sizeof(plans[0]));
	tcase_add_loop_test(tcase, nothing_is_full, 0, sizeof(middles) / sizeof(middles[0]));
	return kit_run(tcase, "heap/stopped");
}
