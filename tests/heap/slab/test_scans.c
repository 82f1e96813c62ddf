/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_scans.c - scans that all warps share: a request fails by a scan only if that began after the
 * request, and saw everything; no request waits forever; few scans serve many requests.
 */
#include <string.h>

#include "heap/stop.h"
#include "heap/motion.h"

#define CLASS 4 /* 64 bytes */

static struct mam_scan *record(const struct okit *kit, uint32_t class_)
{
	return &mam_metadata_searches(kit->heap)->scans[class_ - 1];
}

static struct mam_scan_shared *shared(const struct okit *kit)
{
	return &mam_metadata_searches(kit->heap)->shared;
}

/* The number of the last result. */
static uint64_t full(const struct okit *kit, uint32_t class_)
{
	return record(kit, class_)->full / 16;
}

static struct mam_kset set_of(uint32_t class_)
{
	struct mam_kset set = { { 0, 0 } };

	mam_set_flip(&set, class_);
	return set;
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

/* ---- pieces --------------------------------------------------------------------------------- */

/* All blocks are in one piece, and few pieces are needed for any heap. */
START_TEST(pieces_cover_heap_of_any_size)
{
	static const uint32_t counts[][3] = {
		{ 1, 32, 1 },
		{ 32, 32, 1 },
		{ 33, 32, 2 },
		{ 32 * MAM_SCANS_PIECES, 32, MAM_SCANS_PIECES },
		{ 32 * MAM_SCANS_PIECES + 1, 64, MAM_SCANS_PIECES / 2 + 1 },
		{ 0x3fffffff, 32768, 32768 },
	};
	struct mam_kheap heap;
	size_t i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		heap.blocks = counts[i][0];
		ck_assert_uint_eq(1u << mam_scans_shift(&heap), counts[i][1]);
		ck_assert_uint_eq(mam_scans_pieces(&heap), counts[i][2]);
	}
	/* A lane of each warp of any GPU may add one more. */
	ck_assert_uint_lt(MAM_SCANS_PIECES, MAM_SCANS_TAKEN / 4);
}
END_TEST

/* ---- the protocol, step by step ------------------------------------------------------------- */

#define PIECES 3

MAM_KERNEL(follow_protocol)
{
	struct okit *kit = argument;
	struct mam_scan_shared *at = shared(kit);
	struct mam_kset mine = set_of(CLASS), other = set_of(70), seen;
	const struct mam_kheap *heap = kit->heap;
	struct mam_kresult result;
	uint32_t turn, i, n;

	MAM_KASSERT(mam_scans_pieces(heap) == PIECES);
	MAM_KASSERT(mam_scans_want(heap, &other) == 1);
	MAM_KASSERT(mam_scans_want(heap, &mine) == 2);
	MAM_KASSERT(mam_scans_want(heap, &mine) == 3);
	MAM_KASSERT(at->wants.has[0] == mine.has[0] && at->wants.has[1] == other.has[1]);
	record(kit, CLASS)->count[1] = 7;
	record(kit, CLASS + 1)->count[1] = 7;
	record(kit, 70)->count[1] = 7;

	/* The first scan, for both classes, although its first warp wants one. */
	MAM_KASSERT(mam_scans_join(heap, &mine, 3) == 0);
	MAM_KASSERT(at->ticket[1] == 4 && !at->wants.has[0] && !at->wants.has[1]);
	mam_scans_wanted(heap, &seen, &turn);
	MAM_KASSERT(seen.has[0] == mine.has[0] && seen.has[1] == other.has[1] && turn == 1);
	MAM_KASSERT(!record(kit, CLASS)->count[1] && record(kit, CLASS + 1)->count[1] == 7);
	MAM_KASSERT(!record(kit, 70)->count[1]);
	MAM_KASSERT(mam_scans_join(heap, &mine, 3) == 1);
	/* A report that takes the last piece, and one that takes none. */
	MAM_KASSERT(mam_scans_report(heap, false, true) == 2);
	MAM_KASSERT(mam_scans_report(heap, false, true) >= PIECES);
	MAM_KASSERT(!at->over && !full(kit, CLASS));
	/* All pieces are taken, one is not reported: others wait in vain. */
	MAM_KASSERT(mam_scans_join(heap, &mine, 3) == MAM_SCANS_ALONE);
	(void)mam_scans_report(heap, false, false);
	MAM_KASSERT(at->over == 4 && !(at->work & MAM_SCANS_RUNS));
	MAM_KASSERT(full(kit, CLASS) == 4 && full(kit, 70) == 4);
	MAM_KASSERT(!full(kit, CLASS + 1));
	MAM_KASSERT(passes(kit) == 1);
	/* For requests that began before, not for later ones. */
	MAM_KASSERT(mam_scans_join(heap, &mine, 3) == MAM_SCANS_OVER);
	at->work = 12; /* from warps that were late */
	MAM_KASSERT(mam_scans_join(heap, &mine, 4) == 0);
	mam_scans_wanted(heap, &seen, &turn);
	MAM_KASSERT(seen.has[0] == mine.has[0] && !seen.has[1] && !turn);

	/* A doubt in any piece: no result. */
	MAM_KASSERT(mam_scans_report(heap, true, true) == 1 && at->work & MAM_SCANS_RUNS);
	MAM_KASSERT(mam_scans_report(heap, false, true) == 2);
	(void)mam_scans_report(heap, false, false);
	MAM_KASSERT(at->over == 5 && full(kit, CLASS) == 4);
	record(kit, CLASS)->count[1] = 7;
	MAM_KASSERT(mam_scans_join(heap, &mine, 5) == 0);
	MAM_KASSERT(!record(kit, CLASS)->count[1]);
	MAM_KASSERT(mam_scans_report(heap, false, true) == 1);
	MAM_KASSERT(mam_scans_report(heap, false, true) == 2);
	(void)mam_scans_report(heap, true, false);
	MAM_KASSERT(at->over == 6 && full(kit, CLASS) == 4);

	/* Few blocks with room: the result has all of them, for each request. */
	MAM_KASSERT(mam_scans_want(heap, &other) == 7);
	MAM_KASSERT(mam_scans_join(heap, &mine, 7) == 0);
	mam_scans_wanted(heap, &seen, &turn);
	for (i = 0; i < MAM_SCAN_ROOMS + 3; i++)
		mam_pass_record(heap, 70, i, turn);
	record(kit, 70)->count[turn] = 40; /* by lanes that add at the same time */
	for (i = 0; i < MAM_SCAN_ROOMS; i++)
		mam_pass_record(heap, CLASS, 3 * i, turn);
	MAM_KASSERT(mam_scans_report(heap, false, true) == 1);
	MAM_KASSERT(mam_scans_report(heap, false, true) == 2);
	(void)mam_scans_report(heap, false, false);
	MAM_KASSERT(at->over == 8 && full(kit, CLASS) == 8 && full(kit, 70) == 8);
	for (i = 0; i < MAM_SCAN_ROOMS + 1; i++) {
		mam_scans_result(heap, CLASS, 7, &result);
		MAM_KASSERT(result.final && result.count == MAM_SCAN_ROOMS);
		MAM_KASSERT(result.first == i % MAM_SCAN_ROOMS);
		for (n = 0; n < MAM_SCAN_ROOMS; n++)
			MAM_KASSERT(result.rooms[n] == 3 * n);
	}
	mam_scans_result(heap, CLASS, 8, &result);
	MAM_KASSERT(!result.final && !result.count);
	/* Many: other hints for each. */
	for (i = 0; i < 5; i++) {
		mam_scans_result(heap, 70, 7, &result);
		MAM_KASSERT(!result.final && !result.count);
		MAM_KASSERT(result.tries && result.first == i * result.tries);
	}
	MAM_KASSERT(mam_scans_dry(heap, CLASS) && !mam_scans_dry(heap, 70));
	MAM_KASSERT(!mam_scans_dry(heap, CLASS + 1));

	/* The lists stay while the next scan runs, and are gone when the one after it does. */
	MAM_KASSERT(mam_scans_join(heap, &mine, 8) == 0);
	mam_scans_result(heap, CLASS, 7, &result);
	MAM_KASSERT(result.final && result.rooms[1] == 3);
	MAM_KASSERT(mam_scans_report(heap, true, true) == 1);
	MAM_KASSERT(mam_scans_report(heap, false, true) == 2);
	(void)mam_scans_report(heap, false, false);
	mam_scans_result(heap, CLASS, 7, &result);
	MAM_KASSERT(result.final && result.rooms[1] == 3);
	MAM_KASSERT(mam_scans_join(heap, &mine, 9) == 0);
	mam_scans_result(heap, CLASS, 7, &result);
	MAM_KASSERT(!result.final);
	/* Without blocks it needs no list. */
	MAM_KASSERT(mam_scans_report(heap, false, true) == 1);
	MAM_KASSERT(mam_scans_report(heap, false, true) == 2);
	(void)mam_scans_report(heap, false, false);
	mam_scans_result(heap, CLASS, 9, &result);
	MAM_KASSERT(result.final && !result.count && mam_scans_dry(heap, CLASS));
}

START_TEST(scan_follows_the_protocol)
{
	struct okit *kit = okit_create(32 * (PIECES - 1) + 1, 1, NULL);

	motion_explore(kit, "one lane", okit_begin, follow_protocol, 1, 1, 1, NULL);
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

static void scan_in_vain(const struct okit *kit, uint32_t class_, uint32_t rounds)
{
	struct mam_kwanted wanted = { { { 0, 0 } }, { { 0, 0 } }, MAM_PASS_SILENT };
	struct mam_kset mine = set_of(class_);
	uint32_t block, doubt;
	uint64_t since;

	while (rounds--) {
		since = mam_scans_want(kit->heap, &mine);
		while (mam_scans_join(kit->heap, &mine, since) < MAM_SCANS_ALONE) {
			mam_scans_wanted(kit->heap, &wanted.others, &wanted.turn);
			for (doubt = block = 0; block < kit->blocks; block++)
				doubt |= mam_pass_block(kit->heap, &wanted, block).doubt;
			(void)mam_scans_report(kit->heap, doubt, false);
		}
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

/* Warps, some of whose lanes request three classes. */
struct many {
	const char *name;
	uint32_t blocks, grid, block, classes;
	uint32_t seeds, seeds_race;
};

static const struct many many[] = {
	{ "one lane each", 1, 12, 1, 1, 60, 20 },
	{ "warps", 3, 8, 5, 1, 40, 10 },
	{ "warps and classes", 3, 8, 5, 3, 40, 10 },
	{ "many blocks", 70, 4, 3, 2, 10, 4 },
};

/* All begin before any of them scans: one scan, in which all take part, is enough. */
MAM_KERNEL(fail_together)
{
	static const uint32_t classes[] = { CLASS, 1, 5 };
	struct okit *kit = argument;
	const struct many *plan = kit->plan;
	uint32_t class_ = classes[(mam_lane() + mam_block()) % plan->classes];
	struct mam_krequest request = motion_request(kit, class_, (1u << plan->block) - 1);

	mam_search_classes(&request, request.mask);
	if (!mam_lane())
		request.since = mam_scans_want(kit->heap, &request.wanted.mine);
	(void)mam_atomic_add64(&kit->kept[0], 1, MAM_ACQ_REL, MAM_AT_DEVICE);
	while (mam_atomic_load64(&kit->kept[0], MAM_ACQUIRE, MAM_AT_DEVICE) <
	       (uint64_t)plan->grid * plan->block)
		mam_nanosleep(100);
	MAM_KASSERT(mam_search_pieces(&request, request.mask) == request.mask);
	MAM_KASSERT(!request.alone && full(kit, class_) > 0);
}

static const char *one_scan(void *argument)
{
	return passes(argument) == 1 ? NULL : "not one scan";
}

START_TEST(one_scan_serves_all_that_wait)
{
	const struct many *plan = &many[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);

	/* A lane that sees a result late scans as well. */
	kit->fresh = true;
	motion_explore(kit, plan->name, begin_full, fail_together, plan->grid, plan->block,
		       KIT_RACE ? plan->seeds_race : plan->seeds, one_scan);
	okit_destroy(kit);
}
END_TEST

/* Lanes of one warp that want different classes fail by one scan. */
MAM_KERNEL(fail_by_class)
{
	struct okit *kit = argument;
	struct mam_krequest request = motion_request(kit, 1 + mam_lane() * 9, 255);

	mam_search_scan(&request, request.mask, 0);
	MAM_KASSERT(!request.object && request.mine.slot == MAM_SLOT_REFUSED);
}

static const char *eight_failed(void *argument)
{
	return passes(argument) == 1 && okit_tally(argument, MAM_OBJECT_FULL) == 8
		       ? NULL
		       : "not one scan, or failures were not counted";
}

START_TEST(one_scan_serves_all_classes)
{
	struct okit *kit = okit_create(3, 2, NULL);

	motion_explore(kit, "eight classes", begin_full, fail_by_class, 1, 8, KIT_RACE ? 10 : 40,
		       eight_failed);
	okit_destroy(kit);
}
END_TEST

/* ---- the last block with room --------------------------------------------------------------- */

/*
 * A warp that takes part in a scan finds room that it does not want: a free slot, a unit, or a run.
 * Another one that wants it takes it after the scan; the next one fails, as there is no more.
 */
enum rest { REST_SLOT, REST_UNIT, REST_RUN, RESTS };

static void begin_rest(void *argument)
{
	struct okit *kit = argument;
	enum rest rest = (enum rest)(uintptr_t)kit->plan;

	okit_begin(kit);
	motion_slab(kit, CLASS, 0, okit_all_slots(CLASS) - (rest == REST_SLOT));
	motion_run(kit, 4, 58);
	if (rest == REST_SLOT)
		motion_run(kit, 62, 2);
	else if (rest == REST_UNIT)
		motion_slab(kit, 1, 63, ~(uint64_t)0);
	motion_run(kit, 64, 63);
	motion_slab(kit, 1, 127, ~(uint64_t)0);
}

MAM_KERNEL(take_rest)
{
	struct okit *kit = argument;
	enum rest rest = (enum rest)(uintptr_t)kit->plan;
	/* Class 25 has groups of 17 units, and objects of two. */
	uint32_t class_ = rest == REST_SLOT ? CLASS : rest == REST_UNIT ? 24 : 25, block;
	struct mam_krequest request = motion_request(kit, class_, 1);
	struct mam_kwanted wanted = { set_of(72), set_of(class_), 1 };
	struct mam_klook look;

	/* By a scan with ticket 2. */
	request.since = mam_scans_want(kit->heap, &wanted.others);
	MAM_KASSERT(mam_scans_join(kit->heap, &wanted.mine, 1) == 0);
	for (block = 0; block < 2; block++) {
		look = mam_pass_block(kit->heap, &wanted, block);
		MAM_KASSERT(look.word == MAM_NO_WORD && look.unit == MAM_NO_PAGE && !look.doubt);
	}
	MAM_KASSERT(record(kit, class_)->count[1] == 1 && !record(kit, class_)->rooms[1][0]);
	MAM_KASSERT(!record(kit, 72)->count[1]);
	/* Without a result, or by an old one, it searches again. */
	mam_search_verdict(&request);
	MAM_KASSERT(!request.object && request.mine.slot == MAM_NO_SLOT);
	(void)mam_scans_report(kit->heap, false, false);
	request.since = 2;
	mam_search_verdict(&request);
	MAM_KASSERT(!request.object && request.mine.slot == MAM_NO_SLOT);
	request.since = 1;
	mam_search_verdict(&request);
	MAM_KASSERT(request.object);
	request.object = NULL;
	mam_search_verdict(&request);
	MAM_KASSERT(!request.object && request.mine.slot == MAM_SLOT_REFUSED);
}

static const char *nothing(void *argument)
{
	(void)argument;
	return NULL;
}

START_TEST(last_room_is_taken)
{
	static const char *const names[] = { "a slot", "a unit", "a run" };
	struct okit *kit = okit_create(2, 1, (const void *)(uintptr_t)_i);

	motion_explore(kit, names[_i], begin_rest, take_rest, 1, 1, 3, nothing);
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
		/* Two waits for each of three lanes, and scans. */
		.config = { .race = KIT_RACE,
			    .strict = true,
			    .steps_max = 6 * 5 * MAM_SCANS_POLLS + 6000 },
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

	tcase_add_test(tcase, pieces_cover_heap_of_any_size);
	tcase_add_test(tcase, scan_follows_the_protocol);
	tcase_add_test(tcase, scan_before_request_proves_nothing);
	tcase_add_test(tcase, request_before_free_proves_nothing);
	tcase_add_loop_test(tcase, request_with_room_never_fails, 0, OWNS);
	tcase_add_loop_test(tcase, one_scan_serves_all_that_wait, 0,
			    sizeof(many) / sizeof(many[0]));
	tcase_add_test(tcase, one_scan_serves_all_classes);
	tcase_add_loop_test(tcase, last_room_is_taken, 0, RESTS);
	tcase_add_test(tcase, lanes_of_a_warp_wait_for_each_other);
	tcase_add_test(tcase, stopped_scan_stops_no_other);
	return kit_run(tcase, "heap/scans");
}
