/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_scans.c - scans that several requests share: a request fails by another warp's scan only if
 * that scan began after the request; no request waits forever; few scans serve many requests.
 */
#include <string.h>

#include "heap/stop.h"
#include "heap/motion.h"

#define CLASS 4 /* 64 bytes */

static struct mam_scan *record(const struct okit *kit, uint32_t class_)
{
	return &mam_metadata_searches(kit->heap)->scans[class_ - 1];
}

/* Nothing is free: slabs of three classes, and runs. */
static void begin_full(void *argument)
{
	struct okit *kit = argument;
	uint32_t block;

	okit_begin(kit);
	motion_slab(kit, CLASS, 0, okit_all_slots(CLASS));
	motion_slab(kit, 5, 1, okit_all_slots(5));
	motion_run(kit, 8, 56);
	for (block = 1; block < kit->blocks; block++) {
		motion_run(kit, 64 * block, 63);
		motion_slab(kit, 1, 64 * block + 63, ~(uint64_t)0);
	}
	stop_begin(3);
}

static uint64_t passes(const struct okit *kit)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < kit->columns; i++)
		sum += kit->heap->steps[i].passes;
	return sum;
}

/* ---- the protocol, step by step ------------------------------------------------------------- */

MAM_KERNEL(wait_alone)
{
	struct okit *kit = argument;
	struct mam_scan *scan = record(kit, CLASS);
	uint64_t since = mam_scans_draw(kit->heap), ticket;

	MAM_KASSERT(since == 1);
	MAM_KASSERT(mam_scans_wait(kit->heap, CLASS, since, 1) == 1 && scan->turn == 1);
	/* The scan does not end: it loses its turn, and does not end the next one's. */
	MAM_KASSERT(mam_scans_wait(kit->heap, CLASS, since, 1) == 3 && scan->turn == 3);
	ticket = mam_scans_draw(kit->heap);
	MAM_KASSERT(ticket == 2);
	mam_scans_end(kit->heap, CLASS, 1, 0);
	MAM_KASSERT(scan->turn == 3 && !scan->vain);
	mam_scans_end(kit->heap, CLASS, MAM_SCANS_ALONE, ticket);
	MAM_KASSERT(scan->turn == 3 && scan->vain == ticket);
	/* Only for requests that began before. */
	MAM_KASSERT(mam_scans_wait(kit->heap, CLASS, since, 1) == MAM_SCANS_VAIN);
	MAM_KASSERT(mam_scans_wait(kit->heap, CLASS, ticket - 1, 1) == MAM_SCANS_VAIN);
	MAM_KASSERT(scan->turn == 3);
	MAM_KASSERT(mam_scans_wait(kit->heap, CLASS, ticket, 1) == 5);
	MAM_KASSERT(mam_scans_draw(kit->heap) == 3);
	/* An older result does not replace it. */
	mam_scans_end(kit->heap, CLASS, 5, 1);
	MAM_KASSERT(scan->turn == 6 && scan->vain == ticket);
	MAM_KASSERT(mam_scans_wait(kit->heap, CLASS, ticket, 1) == 7);
	/* Of this class alone. */
	MAM_KASSERT(mam_scans_wait(kit->heap, CLASS + 1, since, 1) == 1);
	MAM_KASSERT(mam_scans_wait(kit->heap, CLASS - 1, since, 1) == 1);
	/* Numbers of turns repeat. */
	scan->turn = ~1u;
	MAM_KASSERT(mam_scans_wait(kit->heap, CLASS, 9, 1) == ~0u);
	mam_scans_end(kit->heap, CLASS, ~0u, 9);
	MAM_KASSERT(scan->turn == 0 && scan->vain == 9);
	/* A scan without a turn ends no turn, whatever the number of the last one. */
	scan->turn = MAM_SCANS_ALONE;
	mam_scans_end(kit->heap, CLASS, MAM_SCANS_ALONE, 0);
	MAM_KASSERT(scan->turn == MAM_SCANS_ALONE);
}

START_TEST(turns_and_results_follow_the_protocol)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "one lane", okit_begin, wait_alone, 1, 1, 1, NULL);
	okit_destroy(kit);
}
END_TEST

/* A lone lane waits for a stopped scan: so many polls of four steps each, then it has the turn. */
MAM_KERNEL(wait_for_stopped)
{
	struct okit *kit = argument;
	uint32_t blocks = *(const uint32_t *)kit->plan;

	record(kit, CLASS)->turn = 1;
	MAM_KASSERT(mam_scans_wait(kit->heap, CLASS, 1, blocks) == 3);
}

START_TEST(wait_is_as_long_as_a_scan_takes)
{
	const uint32_t blocks = _i ? 50 : 0;
	struct okit *kit = okit_create(1, 1, &blocks);
	struct simt_case test = {
		.name = "a stopped scan",
		.kernel = wait_for_stopped,
		.grid = 1,
		.block = 1,
		.argument = kit,
		.begin = okit_begin,
		.check = okit_check,
		.seeds = 3,
		.config = { .race = KIT_RACE,
			    .strict = true,
			    .steps_max = 4 * (MAM_SCANS_POLLS + 32 * blocks) + 20 },
	};

	simt_must_pass(&test);
	/* No less, either. */
	test.config.steps_max -= 40;
	simt_must_fail(&test, SIMT_LIVELOCK);
	okit_destroy(kit);
}
END_TEST

/*
 * Several lanes wait for a stopped scan at once: one of them gets its turn, and does not end. The
 * others wait no longer than twice that, even if they lose the turn at their last poll.
 */
static void begin_running(void *argument)
{
	okit_begin(argument);
	record(argument, CLASS)->turn = 1;
}

MAM_KERNEL(wait_together)
{
	MAM_KASSERT(mam_scans_wait(((struct okit *)argument)->heap, CLASS, 1, 0) != MAM_SCANS_VAIN);
}

START_TEST(lanes_that_lose_the_last_poll_do_not_wait)
{
	struct okit *kit = okit_create(1, 1, NULL);
	struct simt_case test = {
		.name = "several wait for a stopped scan",
		.kernel = wait_together,
		.grid = 4,
		.block = 1,
		.argument = kit,
		.begin = begin_running,
		.check = okit_check,
		.seeds = KIT_RACE ? 30 : 150,
		.config = { .race = KIT_RACE,
			    .strict = true,
			    .steps_max = 4 * 2 * 4 * MAM_SCANS_POLLS },
	};

	simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

/*
 * A scan is running, and ends without a result: a request that began before does not wait for it.
 * If another one begins and ends so, the request does not wait for a third.
 */
MAM_KERNEL(wait_for_vainless)
{
	struct okit *kit = argument;
	struct mam_scan *scan = record(kit, CLASS);
	uint32_t turn, i;

	if (!mam_block()) {
		turn = mam_scans_wait(kit->heap, CLASS, 1, 1);
		MAM_KASSERT(turn == 3 || turn == MAM_SCANS_ALONE);
		return;
	}
	/* The request begins meanwhile. One sleep may take no time at all. */
	for (i = 0; i < 20; i++)
		mam_nanosleep(3000);
	mam_atomic_store32(&scan->turn, 2, MAM_RELAXED, MAM_AT_DEVICE);
	turn = mam_atomic_cas32(&scan->turn, 2, 3, MAM_RELAXED, MAM_AT_DEVICE);
	mam_nanosleep(10000);
	if (turn == 2)
		/* The scan ends, and the next one never does. */
		mam_atomic_store32(&scan->turn, 5, MAM_RELAXED, MAM_AT_DEVICE);
}

START_TEST(request_does_not_wait_after_room_was_found)
{
	struct okit *kit = okit_create(1, 1, NULL);
	struct simt_case test = {
		.name = "scans that find room",
		.kernel = wait_for_vainless,
		.grid = 2,
		.block = 1,
		.argument = kit,
		.begin = begin_running,
		.check = okit_check,
		.seeds = 200,
		/* Far fewer than MAM_SCANS_POLLS polls. */
		.config = { .race = KIT_RACE, .strict = true, .steps_max = 300 },
	};

	simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

/* ---- a result is no older than the request -------------------------------------------------- */

/*
 * The only slab is full. Some lanes scan all the time, as requests do, but take nothing. The others
 * have an object each, free it, and request one, by a scan: there is room for them.
 */
static void begin_one_slab(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	motion_slab(kit, CLASS, 0, okit_all_slots(CLASS));
	motion_run(kit, 4, 60);
}

static void scan_in_vain(struct okit *kit, uint32_t class_, uint32_t rounds)
{
	uint64_t since, ticket;
	uint32_t turn, block;
	struct mam_klook look;
	bool room;

	while (rounds--) {
		since = mam_scans_draw(kit->heap);
		turn = mam_scans_wait(kit->heap, class_, since, 1);
		if (turn == MAM_SCANS_VAIN)
			continue;
		ticket = mam_scans_draw(kit->heap);
		room = false;
		for (block = 0; block < kit->blocks; block++) {
			look = mam_pass_block(kit->heap, class_, block);
			room = room || look.doubt || look.word != MAM_NO_WORD ||
			       look.unit != MAM_NO_PAGE;
		}
		mam_scans_end(kit->heap, class_, turn, room ? 0 : ticket);
	}
}

MAM_KERNEL(free_and_request)
{
	struct okit *kit = argument;
	void *object = mam_metadata_at(kit->heap, CLASS, 0, 5 * simt_block());
	uint32_t round;

	if (mam_block() < 2) {
		scan_in_vain(kit, CLASS, 4);
		return;
	}
	for (round = 0; round < 3; round++) {
		motion_wait(20);
		okit_free(kit, object);
		object = motion_by_pass(kit, CLASS);
		MAM_KASSERT(object);
	}
}

START_TEST(scan_before_request_proves_nothing)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "others scan in vain", begin_one_slab, free_and_request, 4, 1,
		       KIT_RACE ? 300 : 2000, NULL);
	okit_destroy(kit);
}
END_TEST

/* Two lanes request an object each. The third frees three objects and requests one. */
MAM_KERNEL(free_three)
{
	struct okit *kit = argument;
	uint32_t i;

	if (mam_block() < 2) {
		(void)motion_by_pass(kit, CLASS);
		return;
	}
	motion_wait(20);
	for (i = 0; i < 3; i++)
		okit_free(kit, mam_metadata_at(kit->heap, CLASS, 0, 20 * i));
	MAM_KASSERT(motion_by_pass(kit, CLASS));
}

START_TEST(request_before_free_proves_nothing)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "others request", begin_one_slab, free_three, 3, 1,
		       KIT_RACE ? 300 : 2000, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- a request with room of its own --------------------------------------------------------- */

/*
 * At any time there is room for each lane that requests an object of one class: two slots in one
 * word for two lanes; or a unit, an idle group or a run for one. All other memory is full, or other
 * lanes allocate and free it, by requests of which many fail. Another lane scans all the time, and
 * finds nothing while the object is allocated. No request fails.
 */
enum own { OWN_SLOTS, OWN_UNIT, OWN_IDLE, OWN_RUN, OWNS };

#define OWN_BLOCKS 3

static void begin_own(void *argument)
{
	struct okit *kit = argument;
	enum own own = (enum own)(uintptr_t)kit->plan;
	uint32_t block, first;

	okit_begin(kit);
	for (block = 0; block < OWN_BLOCKS; block++) {
		/* Four units for others, mostly full; then, in one block, a few of one lane. */
		first = 64 * block + 4;
		if (block != 1) {
			motion_run(kit, first, 60);
			continue;
		}
		motion_run(kit, first + 3, 57);
		motion_slab(kit, 1, first, ~(uint64_t)0);
		if (own == OWN_SLOTS)
			(void)motion_open_some(kit, CLASS, (first + 1) / 4, 0xffffu << 16,
					       0xffffu << 16 & ~0x180000u);
		if (own == OWN_IDLE)
			(void)motion_open_some(kit, CLASS, (first + 1) / 4, 0xffffu << 16, 0);
		if (own != OWN_RUN)
			motion_slab(kit, 1, first + 2, ~(uint64_t)0);
	}
}

/* Sizes that no single unit has room for; by scans, so that idle groups of any class are closed. */
static void churn(struct okit *kit, uint32_t rounds)
{
	static const uint32_t units[] = { 3, 3, 3, 4, 4, 9 };
	void *held[2] = { NULL, NULL };
	uint32_t i, n;

	while (rounds--) {
		i = motion_below(2);
		n = units[motion_below(6)];
		if (held[i]) {
			okit_free(kit, held[i]);
			held[i] = NULL;
		} else if (n > MAM_FEW_UNITS) {
			held[i] = okit_alloc(kit, n << MAM_UNIT_SHIFT);
		} else {
			held[i] = motion_by_pass(kit, mam_class_of((n << MAM_UNIT_SHIFT) - 64));
		}
	}
	for (i = 0; i < 2; i++)
		if (held[i])
			okit_free(kit, held[i]);
}

MAM_KERNEL(request_own)
{
	struct okit *kit = argument;
	enum own own = (enum own)(uintptr_t)kit->plan;
	uint32_t class_ = own == OWN_SLOTS ? CLASS : own == OWN_RUN ? 25 : 24, round;
	void *object;

	/* Two slots serve two lanes. */
	if (mam_block() >= (own == OWN_SLOTS ? 2 : 1)) {
		if (mam_block() < 4)
			churn(kit, 10);
		else
			scan_in_vain(kit, class_, 8);
		return;
	}
	for (round = 0; round < 6; round++) {
		motion_wait(30);
		object = motion_below(3) ? motion_by_pass(kit, class_)
					 : okit_alloc(kit, mam_class_bytes(class_));
		MAM_KASSERT(object);
		motion_wait(10);
		okit_free(kit, object);
	}
}

START_TEST(request_with_room_never_fails)
{
	static const char *const names[] = { "a slot stays free", "a unit stays free",
					     "a group stays idle", "a run stays free" };
	struct okit *kit = okit_create(OWN_BLOCKS, 2, (const void *)(uintptr_t)_i);

	kit->steps_max = 4000000;
	motion_explore(kit, names[_i], begin_own, request_own, 5, 1, KIT_RACE ? 40 : 150, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- many requests -------------------------------------------------------------------------- */

/* Warps, some of whose lanes request three classes, in an order of their own. */
struct many {
	const char *name;
	uint32_t blocks, grid, block, classes;
	uint32_t seeds, seeds_race;
};

static const struct many many[] = {
	{ "one lane each", 1, 12, 1, 1, 60, 20 },
	{ "warps", 3, 8, 5, 1, 40, 10 },
	{ "warps and classes", 3, 8, 5, 3, 40, 10 },
	{ "many blocks", 40, 4, 3, 2, 10, 4 },
};

/* All begin before any of them scans. */
MAM_KERNEL(fail_together)
{
	static const uint32_t classes[] = { CLASS, 1, 5 };
	struct okit *kit = argument;
	const struct many *plan = kit->plan;
	struct mam_krequest request = motion_request(kit, 1, (1u << plan->block) - 1);
	uint64_t since;
	uint32_t i;

	mam_search_since(&request);
	since = request.since;
	(void)mam_atomic_add64(&kit->kept[0], 1, MAM_ACQ_REL, MAM_AT_DEVICE);
	while (mam_atomic_load64(&kit->kept[0], MAM_ACQUIRE, MAM_AT_DEVICE) <
	       (uint64_t)plan->grid * plan->block)
		mam_nanosleep(100);
	for (i = 0; i < plan->classes; i++) {
		request.since = since;
		request.class_ = classes[(mam_block() + i) % plan->classes];
		mam_search_scan(&request, request.mask, request.class_);
		MAM_KASSERT(!request.object);
	}
}

static const char *one_scan_each(void *argument)
{
	struct okit *kit = argument;
	const struct many *plan = kit->plan;

	if (passes(kit) != plan->classes)
		return "more than one scan for a class";
	return okit_tally(kit, MAM_OBJECT_FULL) == plan->grid * plan->block * plan->classes
		       ? NULL
		       : "failures were not counted";
}

START_TEST(one_scan_serves_all_that_wait)
{
	const struct many *plan = &many[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);

	/* A lane that sees a result late scans as well. */
	kit->fresh = true;
	motion_explore(kit, plan->name, begin_full, fail_together, plan->grid, plan->block,
		       KIT_RACE ? plan->seeds_race : plan->seeds, one_scan_each);
	okit_destroy(kit);
}
END_TEST

/* Lanes of a few warps that arrive at different times, and want different classes. */
MAM_KERNEL(fail_apart)
{
	static const size_t bytes[] = { 64, 80, 64, 100, 80, 3000 };
	struct okit *kit = argument;

	motion_wait(200);
	MAM_KASSERT(!okit_alloc(kit, bytes[(mam_lane() + mam_block()) % 6]));
}

static const char *all_failed(void *argument)
{
	struct okit *kit = argument;

	return kit->failed == 21 && okit_tally(kit, MAM_OBJECT_FULL) == 21
		       ? okit_check(kit)
		       : "failures were not counted";
}

START_TEST(lanes_of_a_warp_wait_for_each_other)
{
	struct okit *kit = okit_create(2, 1, NULL);

	kit->only_taken = true;
	motion_explore(kit, "lanes apart", begin_full, fail_apart, 3, 7, KIT_RACE ? 30 : 200,
		       all_failed);
	okit_destroy(kit);
}
END_TEST

/* ---- stopped scans -------------------------------------------------------------------------- */

/* A lane of the first warp stops somewhere in its scan. All others fail, twice. */
MAM_KERNEL(stop_in_scan)
{
	struct okit *kit = argument;
	uint32_t round;

	if (!mam_block()) {
		stop_after(1 + motion_below(40));
		MAM_KASSERT(!motion_by_pass(kit, CLASS));
		return;
	}
	motion_wait(100);
	for (round = 0; round < 2; round++)
		MAM_KASSERT(!motion_by_pass(kit, CLASS));
	stop_leave();
}

static uint32_t runs, halts;

static const char *seven_failed(void *argument)
{
	struct okit *kit = argument;

	runs++;
	halts += stop.stopped;
	return okit_tally(kit, MAM_OBJECT_FULL) == 7 ? okit_check(kit)
						     : "failures were not counted";
}

START_TEST(stopped_scan_stops_no_other)
{
	struct okit *kit = okit_create(2, 1, NULL);
	struct simt_case test = {
		.name = "a scan stops",
		.kernel = stop_in_scan,
		.grid = 4,
		.block = 1,
		.argument = kit,
		.begin = begin_full,
		.check = seven_failed,
		.seeds = KIT_RACE ? 100 : 500,
		/* One wait for each of three lanes, and scans. */
		.config = { .race = KIT_RACE, .strict = true, .steps_max = 8000 },
	};

	runs = halts = 0;
	simt_must_pass(&test);
	ck_assert(runs < 30 || halts > runs / 3);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("scans");

	tcase_add_test(tcase, turns_and_results_follow_the_protocol);
	tcase_add_loop_test(tcase, wait_is_as_long_as_a_scan_takes, 0, 2);
	tcase_add_test(tcase, lanes_that_lose_the_last_poll_do_not_wait);
	tcase_add_test(tcase, request_does_not_wait_after_room_was_found);
	tcase_add_test(tcase, scan_before_request_proves_nothing);
	tcase_add_test(tcase, request_before_free_proves_nothing);
	tcase_add_loop_test(tcase, request_with_room_never_fails, 0, OWNS);
	tcase_add_loop_test(tcase, one_scan_serves_all_that_wait, 0,
			    sizeof(many) / sizeof(many[0]));
	tcase_add_test(tcase, lanes_of_a_warp_wait_for_each_other);
	tcase_add_test(tcase, stopped_scan_stops_no_other);
	return kit_run(tcase, "heap/scans");
}
