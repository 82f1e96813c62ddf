/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_results.c - scans of two pieces, step by step, by lanes of different warps: what the lane with
 * a piece sees of the request and of the scan's first warp, and what a request sees of a result.
 */
#include <string.h>

#include "heap/motion.h"

#define CLASS 4 /* 64 bytes */
#define PIECES 2
#define BLOCKS (MAM_SCANS_BLOCKS * (PIECES - 1) + 1)
#define LAST (BLOCKS - 1) /* the block of the second piece */

static struct mam_scan *record(const struct okit *kit)
{
	return &mam_metadata_searches(kit->heap)->scans[CLASS - 1];
}

static struct mam_scan_shared *shared(const struct okit *kit)
{
	return &mam_metadata_searches(kit->heap)->shared;
}

static uint64_t load(uint64_t *at)
{
	return mam_atomic_load64(at, MAM_RELAXED, MAM_AT_DEVICE);
}

static struct mam_kset wanted_class(void)
{
	struct mam_kset set = { { 0, 0 } };

	mam_set_flip(&set, CLASS);
	return set;
}

/*
 * Takes part in scans until one that began after the draw of `since` is over. With `looks`: looks at the
 * block of the second piece; otherwise records that a block of the scan's number has room. Returns
 * whether such a scan ended.
 */
static bool scan(struct okit *kit, uint64_t since, bool looks)
{
	struct mam_kwanted wanted = { { { 0, 0 } }, { { 0, 0 } }, MAM_PASS_SILENT };
	struct mam_scan_shared *at = shared(kit);
	struct mam_kset mine = wanted_class();
	uint64_t ticket;
	uint32_t piece;

	while ((piece = mam_scans_join(kit->heap, &mine, since)) < MAM_SCANS_ALONE) {
		/* The other lanes take the next piece. */
		if (motion_below(2))
			mam_nanosleep(MAM_SCANS_NS);
		mam_scans_wanted(kit->heap, &wanted.others, &wanted.turn);
		ticket = load(&at->ticket[wanted.turn]);
		/* It runs until this lane reports its piece. Its turn is not that of the scan before. */
		MAM_KASSERT(piece < PIECES && load(&at->work) & MAM_SCANS_RUNS);
		MAM_KASSERT(ticket > load(&at->over));
		MAM_KASSERT(load(&at->ticket[wanted.turn ^ 1]) == load(&at->over));
		MAM_KASSERT(mam_set_has(&wanted.others, CLASS));
		if (!looks)
			mam_pass_record(kit->heap, CLASS, (uint32_t)ticket, wanted.turn);
		else if (piece)
			MAM_KASSERT(!mam_pass_block(kit->heap, &wanted, LAST).doubt);
		(void)mam_scans_report(kit->heap, false, false);
	}
	return piece == MAM_SCANS_OVER;
}

/* ---- a list belongs to its result ----------------------------------------------------------- */

/* Two lanes scan. The other one reads results all the time: a list has the blocks of one scan. */
MAM_KERNEL(read_lists)
{
	struct okit *kit = argument;
	struct mam_kset mine = wanted_class();
	struct mam_kresult result;
	uint32_t i;
	uint64_t full;

	if (mam_block() < 2) {
		for (i = 0; i < 6; i++)
			(void)scan(kit, mam_scans_want(kit->heap, &mine), false);
		(void)mam_atomic_add64(&kit->kept[0], 1, MAM_RELAXED, MAM_AT_DEVICE);
		return;
	}
	while (load(&kit->kept[0]) < 2) {
		/* Meanwhile, two scans begin. */
		for (i = motion_below(4); i; i--)
			mam_nanosleep(MAM_SCANS_BEGIN_NS);
		full = load(&record(kit)->full);
		mam_scans_result(kit->heap, CLASS, 0, &result);
		if (!result.final)
			continue;
		MAM_KASSERT(result.count == PIECES && result.rooms[0] == result.rooms[1]);
		MAM_KASSERT(16 * result.rooms[0] + PIECES >= full);
		if (load(&record(kit)->full) == full)
			MAM_KASSERT(16 * result.rooms[0] + PIECES == full);
	}
}

START_TEST(list_is_of_one_scan)
{
	struct okit *kit = okit_create(BLOCKS, 1, NULL);

	motion_explore(kit, "lists", okit_begin, read_lists, 3, 1, KIT_RACE ? 300 : 200, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- a result is not older than the request ------------------------------------------------- */

static void begin_last(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	motion_slab(kit, CLASS, 16 * LAST, okit_all_slots(CLASS));
	motion_run(kit, 64 * LAST + 4, 60);
}

/* Two lanes scan. The other one frees its slot before each request: the result has that block. */
MAM_KERNEL(free_and_scan)
{
	struct okit *kit = argument;
	struct mam_kset mine = wanted_class();
	struct mam_kresult result;
	uint32_t round;
	uint64_t since;

	for (round = 0; round < 4; round++) {
		if (mam_block() == 2)
			motion_release(kit, CLASS, 16 * LAST, 1u << 5);
		since = mam_scans_want(kit->heap, &mine);
		if (scan(kit, since, true))
			MAM_KASSERT(load(&record(kit)->full) / 16 > since);
		if (mam_block() != 2)
			continue;
		mam_scans_result(kit->heap, CLASS, since, &result);
		MAM_KASSERT(!result.final || (result.count == 1 && result.rooms[0] == LAST));
		MAM_KASSERT(motion_claim(kit, CLASS, 16 * LAST, 1u << 5));
	}
}

START_TEST(result_is_not_older_than_request)
{
	struct okit *kit = okit_create(BLOCKS, 1, NULL);

	motion_explore(kit, "free, then scan", begin_last, free_and_scan, 3, 1,
		       KIT_RACE ? 300 : 200, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- waits ---------------------------------------------------------------------------------- */

#define SLOW 4

/* One lane has all pieces and reports them in time, but not soon: the other one waits for the last. */
MAM_KERNEL(wait_for_slow)
{
	struct okit *kit = argument;
	struct mam_kset mine = wanted_class();
	uint64_t since = 1;
	uint32_t i, n;

	if (mam_block()) {
		while ((load(&shared(kit)->work) & MAM_SCANS_TAKEN) < SLOW &&
		       !load(&shared(kit)->over))
			mam_nanosleep(100);
		MAM_KASSERT(mam_scans_join(kit->heap, &mine, since) == MAM_SCANS_OVER);
		return;
	}
	MAM_KASSERT(mam_scans_want(kit->heap, &mine) == since);
	for (i = 0; i < SLOW; i++)
		MAM_KASSERT(mam_scans_join(kit->heap, &mine, since) == i);
	for (i = 0; i < SLOW; i++) {
		for (n = 0; n < MAM_SCANS_POLLS * 3 / 5; n++)
			mam_nanosleep(MAM_SCANS_NS);
		(void)mam_scans_report(kit->heap, false, false);
	}
}

START_TEST(waits_for_slow_scan)
{
	struct okit *kit = okit_create(MAM_SCANS_BLOCKS * SLOW, 1, NULL);

	motion_explore(kit, "a slow scan", okit_begin, wait_for_slow, 2, 1, KIT_RACE ? 5 : 20,
		       NULL);
	okit_destroy(kit);
}
END_TEST

/* Its first warp has stopped; or one that has a piece. */
static uint64_t stopped_at(const struct okit *kit)
{
	return kit->plan ? MAM_SCANS_BEGINS : MAM_SCANS_RUNS | 1;
}

/* A lone lane waits for a stopped scan: so many polls of five steps each, then it scans alone. */
static void begin_running(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	shared(kit)->work = stopped_at(kit);
}

MAM_KERNEL(wait_for_stopped)
{
	struct okit *kit = argument;
	struct mam_kset mine = wanted_class();

	MAM_KASSERT(mam_scans_join(kit->heap, &mine, 1) == MAM_SCANS_ALONE);
	/* It has taken no pieces that there are not. */
	MAM_KASSERT(shared(kit)->work == stopped_at(kit));
}

START_TEST(wait_for_stopped_scan_is_limited)
{
	struct okit *kit = okit_create(1, 1, (const void *)(uintptr_t)_i);
	struct simt_case test = {
		.name = "a stopped scan",
		.kernel = wait_for_stopped,
		.grid = 1,
		.block = 1,
		.argument = kit,
		.begin = begin_running,
		.check = okit_check,
		.seeds = 3,
		.config = { .race = KIT_RACE, .strict = true, .steps_max = 5 * MAM_SCANS_POLLS },
	};

	simt_must_pass(&test);
	/* Not much less, either. */
	test.config.steps_max /= 2;
	simt_must_fail(&test, SIMT_LIVELOCK);
	okit_destroy(kit);
}
END_TEST

/* ---- what a lane reads ---------------------------------------------------------------------- */

/* The set and the result of a lane, and nothing after them. */
MAM_KERNEL(read_all)
{
	struct okit *kit = argument;
	struct mam_kset mine = wanted_class(), sets[2] = { { { 0, 0 } }, { { 7, 7 } } };
	struct mam_kresult results[2];
	uint32_t turn;

	memset(results, 7, sizeof(results));
	MAM_KASSERT(mam_scans_want(kit->heap, &mine) == 1);
	MAM_KASSERT(mam_scans_join(kit->heap, &mine, 1) == 0);
	mam_scans_wanted(kit->heap, &sets[0], &turn);
	MAM_KASSERT(sets[0].has[0] == mine.has[0] && sets[1].has[0] == 7);
	mam_pass_record(kit->heap, CLASS, 0, turn);
	(void)mam_scans_report(kit->heap, false, false);
	mam_scans_result(kit->heap, CLASS, 1, &results[0]);
	MAM_KASSERT(results[0].final == 1 && results[1].final == 0x07070707);
}

START_TEST(lane_reads_what_there_is)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "one lane", okit_begin, read_all, 1, 1, 1, NULL);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("results");

	tcase_add_test(tcase, list_is_of_one_scan);
	tcase_add_test(tcase, result_is_not_older_than_request);
	tcase_add_test(tcase, waits_for_slow_scan);
	tcase_add_loop_test(tcase, wait_for_stopped_scan_is_limited, 0, 2);
	tcase_add_test(tcase, lane_reads_what_there_is);
	return kit_run(tcase, "heap/results");
}
