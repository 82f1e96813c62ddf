/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_grow_stopped.c - lanes that stop forever, before any one of their atomics, in a heap that
 * grows: while they request memory, while they own memory that they have not published, before they
 * zero its metadata, before they publish a part. The others are served from what there is, or fail
 * in bounded time; when the stopped lanes continue, every operation completes.
 */
#include <string.h>

#include "heap/stop.h"
#include "heap/growth/growth_kit.h"

#define HELD 4

struct plan {
	const char *name;
	uint32_t stoppers; /* the last thread blocks, in each warp of which a lane stops */
	uint32_t grid, block;
	uint32_t rounds;
	uint32_t soon; /* at most 4 << (soon - 1) atomics before the stop */
	size_t bytes[4];
	bool room; /* the root has room for the others, whatever the stopped lanes own */
	struct gkit_host host;
	uint32_t seeds, seeds_race;
};

static uint32_t runs, halts, nulls, in_fetch; /* totals of one case */

static void begin(void *argument)
{
	struct gkit *kit = argument;
	const struct plan *plan = kit->o.plan;

	gkit_begin(kit);
	stop_begin((plan->grid - plan->stoppers) * plan->block);
}

static bool stops(const struct plan *plan)
{
	return mam_block() >= plan->grid - plan->stoppers;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(simt_random() % n);
}

/* Records the stage of the fetch if a lane has stopped. Part of the test's own metadata. */
STOP_UNSEEN void look(const struct gkit *kit)
{
	in_fetch += stop.stopped && (kit->growth->stage.value & 255) != MAM_STAGE_IDLE;
}

static MAM_KERNEL(churn)
{
	struct gkit *kit = argument;
	const struct plan *plan = kit->o.plan;
	void *held[HELD] = { NULL };
	uint32_t i, n;

	if (stops(plan) && mam_lane() == below(plan->block))
		stop_after(1 + below(4u << below(plan->soon)));
	for (n = 0; n < plan->rounds; n++) {
		i = stops(plan) ? n % HELD : below(HELD);
		if (held[i])
			gkit_free(kit, held[i]);
		held[i] = gkit_alloc(kit, plan->bytes[below(4)]);
		MAM_KASSERT(held[i] || !plan->room);
	}
	for (i = 0; i < HELD; i++)
		gkit_free(kit, held[i]);
	if (stops(plan))
		return;
	look(kit);
	stop_leave();
}

static const char *complete_at_end(void *argument)
{
	const struct gkit *kit = argument;

	runs++;
	halts += stop.stopped != 0;
	nulls += kit->o.failed;
	if (gkit_tally(kit, MAM_OBJECT_SILENT) != kit->o.failed)
		return okit_wrong("%u requests failed, but only %u because the host was silent",
				  kit->o.failed, (uint32_t)gkit_tally(kit, MAM_OBJECT_SILENT));
	return gkit_check_empty(argument);
}

/* clang-format off */
static const struct plan plans[] = {
	{ "one stopped lane", 1, 4, 1, 8, 8, { 9000, 8192, 20000, 5000 }, false, { 0 }, 150, 50 },
	{ "one stopped lane, late host", 1, 4, 1, 8, 9, { 9000, 8192, 20000, 5000 }, false,
	  { .late = 1500 }, 100, 30 },
	{ "one stopped lane, grants ahead", 1, 4, 1, 8, 8, { 9000, 8192, 20000, 5000 }, false,
	  { .ahead = 3 }, 100, 30 },
	{ "two stopped lanes", 2, 5, 1, 8, 8, { 9000, 8192, 20000, 5000 }, false, { 0 }, 100, 30 },
	{ "stopped lane, warps", 1, 3, 8, 5, 8, { 9000, 8192, 3000, 5000 }, false, { 0 }, 40, 15 },
	{ "warps, grants of many sizes", 1, 3, 8, 5, 8, { 9000, 8192, 3000, 5000 }, false,
	  { .min = 1, .max = 4 }, 40, 15 },
};
/* clang-format on */

START_TEST(other_lanes_go_on)
{
	const struct plan *plan = &plans[_i];
	struct gkit *kit = gkit_create(1, 1, &plan->host, plan);
	struct simt_case test =
		gkit_case(kit, plan->name, KIT_RACE ? plan->seeds_race : plan->seeds,
			  gkit_build_one, complete_at_end);

	runs = halts = nulls = in_fetch = 0;
	kit->wait_ns = 3000;
	gkit_one.kernel = churn;
	gkit_one.grid = plan->grid;
	gkit_one.block = plan->block;
	test.begin = begin;
	simt_must_pass(&test);
	/* Otherwise the test is not meaningful. */
	ck_assert(runs < 30 || halts > runs / 4);
	ck_assert(runs < 100 || in_fetch);
	gkit_destroy(kit);
}
END_TEST

/* ---- room in the root ------------------------------------------------------------------- */

/*
 * One lane requests what only a new part has, and stops anywhere on the way. The others request
 * what the root has, and succeed each time.
 */
static MAM_KERNEL(at_home)
{
	struct gkit *kit = argument;
	const struct plan *plan = kit->o.plan;
	uint32_t n;
	void *object;

	if (stops(plan)) {
		stop_after(1 + below(4u << below(plan->soon)));
		object = gkit_alloc(kit, 66000);
		if (object)
			gkit_free(kit, object);
		return;
	}
	for (n = 0; n < plan->rounds; n++) {
		object = gkit_alloc(kit, plan->bytes[below(4)]);
		MAM_KASSERT(object);
		gkit_free(kit, object);
	}
	stop_leave();
}

START_TEST(root_serves_beside_stopped_growth)
{
	/*
	 * The largest class has four positions for a slab. Two other lanes own an object each, and
	 * the stopped lane may have been about to close a slab. An existing part has more room.
	 */
	static const struct plan plan = { "room in the root",   1,    4,     1,   6, 8,
					  { 100, 16, 64, 256 }, true, { 0 }, 200, 60 };
	struct gkit *kit = gkit_create(1, 1, &plan.host, &plan);
	struct simt_case test = gkit_case(kit, plan.name, KIT_RACE ? plan.seeds_race : plan.seeds,
					  gkit_build_one, complete_at_end);

	runs = halts = nulls = in_fetch = 0;
	kit->wait_ns = 3000;
	gkit_one.kernel = at_home;
	gkit_one.grid = plan.grid;
	gkit_one.block = plan.block;
	test.begin = begin;
	simt_must_pass(&test);
	ck_assert(runs < 30 || halts > runs / 8);
	gkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("grow_stopped");

	tcase_add_loop_test(tcase, other_lanes_go_on, 0, sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, root_serves_beside_stopped_growth);
	return kit_run(tcase, "heap/grow_stopped");
}
