/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_objects_runs.c - objects that are too large for a slab: of every length up to the whole
 * heap, one or many at a time, until none fits; and beside slabs, whose units they get when a group
 * is idle and not before. Also objects of a class that get a run as no group fits.
 */
#include "heap/motion.h"

#define UNIT ((size_t)1 << MAM_UNIT_SHIFT)
#define BLOCK ((size_t)1 << MAM_BLOCK_SHIFT)

/* A lone lane requests every length, also one byte more and one byte less. */
static MAM_KERNEL(every_length)
{
	struct okit *kit = argument;
	size_t all = (size_t)kit->blocks * BLOCK, units, bytes;
	uint32_t i;
	void *run;

	for (units = 9; units <= all / UNIT; units += 1 + units / 7) {
		for (i = 0; i < 3; i++) {
			bytes = units * UNIT + i - 1;
			run = mam_objects_alloc(kit->heap, bytes);
			if (bytes > all) {
				okit_count_failure(kit, bytes);
				MAM_KASSERT(!run);
				continue;
			}
			MAM_KASSERT(run);
			okit_own(kit, run, bytes);
			MAM_KASSERT(mam_objects_usable(kit->heap, run) == okit_usable(bytes));
			MAM_KASSERT(!mam_objects_usable(kit->heap, (char *)run + UNIT));
			MAM_KASSERT(!mam_objects_usable(kit->heap, (char *)run + 16));
			okit_free(kit, run);
		}
	}
	run = okit_alloc(kit, all);
	MAM_KASSERT(run == kit->space);
	MAM_KASSERT(!okit_alloc(kit, all + 1));
	MAM_KASSERT(!okit_alloc(kit, all));
	MAM_KASSERT(okit_tally(kit, MAM_OBJECT_FULL) == 1);
	okit_free(kit, run);
}

START_TEST(run_of_every_length_is_served)
{
	static const uint32_t blocks[] = { 1, 2, 5 };
	struct okit *kit = okit_create(blocks[_i], 1, NULL);
	char name[64];

	snprintf(name, sizeof(name), "every length, %u blocks", blocks[_i]);
	okit_explore(kit, name, every_length, 1, 1, 6, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/* Lanes of one warp with a length each, live at the same time; there is room for all. */
static MAM_KERNEL(together)
{
	struct okit *kit = argument;
	uint32_t round;
	void *run;

	for (round = 0; round < 2; round++) {
		run = okit_alloc(kit, (9 + (mam_lane() * 5 + round) % 60) * UNIT - mam_lane());
		MAM_KASSERT(run);
		okit_free(kit, run);
	}
}

START_TEST(lanes_get_runs_of_own_length)
{
	static const struct {
		uint32_t grid, block;
	} rows[] = { { 1, 12 }, { 3, 4 }, { 12, 1 } };
	struct okit *kit = okit_create(24, 1, NULL);
	char name[64];

	/* Each splits at most two blocks. */
	snprintf(name, sizeof(name), "a length per lane, %u blocks", rows[_i].grid);
	okit_explore(kit, name, together, rows[_i].grid, rows[_i].block, 30, okit_check_served);
	okit_destroy(kit);
}
END_TEST

/* All lanes allocate runs until none fits: of one length, or of several, each until it fails. */
static MAM_KERNEL(until_full)
{
	struct okit *kit = argument;
	const size_t *units = kit->plan;
	uint32_t first = mam_lane(), i;

	for (i = 0; i < 3; i++)
		while (okit_alloc(kit, units[(first + i) % 3] * UNIT))
			;
}

START_TEST(runs_fill_heap)
{
	static const size_t units[][3] = {
		{ 9, 9, 9 }, { 63, 63, 63 }, { 64, 64, 64 }, { 9, 30, 70 }, { 128, 10, 65 },
	};
	struct okit *kit = okit_create(4, 1, units[_i]);
	char name[64];

	snprintf(name, sizeof(name), "until full, %zu units", units[_i][0]);
	kit->only_taken = true;
	kit->steps_max = 20000000;
	okit_explore(kit, name, until_full, 2, 20, 12, okit_check_full);
	okit_destroy(kit);
}
END_TEST

/* ---- without gaps -------------------------------------------------------------------------- */

#define MANY_WARPS (1u << MAM_WALK_FEW_SHIFT)
#define MANY_BLOCKS 16u

/*
 * As many runs as fit into all blocks of the heap, by lanes of a launch that claims before it
 * looks.
 */
static MAM_KERNEL(dense)
{
	struct okit *kit = argument;
	const uint32_t units = *(const uint32_t *)kit->plan;

	if (mam_block() * SIMT_WARP + simt_thread() < 64 / units * MANY_BLOCKS)
		(void)okit_alloc(kit, units * UNIT);
}

static const char *check_dense(void *argument)
{
	const struct okit *kit = argument;
	const uint32_t units = *(const uint32_t *)kit->plan, fit = 64 / units * MANY_BLOCKS;

	if (kit->live < fit * 9 / 10)
		return okit_wrong("%u runs are live, but %u fit", kit->live, fit);
	return NULL;
}

START_TEST(runs_leave_no_gaps)
{
	static const uint32_t units[] = { 9, 11, 12, 17, 21 };
	struct okit *kit = okit_create(MANY_BLOCKS, 1, &units[_i]);
	struct simt_case test = {
		.name = "runs without gaps",
		.kernel = dense,
		.grid = MANY_WARPS,
		.block = SIMT_WARP,
		.argument = kit,
		.begin = okit_begin,
		.check = check_dense,
		.seeds = 1,
		.config = { .race = KIT_RACE, .strict = true, .resident = 8 },
	};

	simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

/* Each lane must own the whole heap once: they get it one after the other. */
static MAM_KERNEL(everything)
{
	struct okit *kit = argument;
	void *run;

	while (!(run = okit_alloc(kit, (size_t)kit->blocks * BLOCK)))
		mam_nanosleep(100);
	MAM_KASSERT(run == kit->space);
	okit_free(kit, run);
}

START_TEST(each_lane_gets_whole_heap_once)
{
	static const struct {
		uint32_t blocks, grid, block;
	} rows[] = { { 1, 1, 8 }, { 3, 2, 5 }, { 2, 8, 1 } };
	struct okit *kit = okit_create(rows[_i].blocks, 1, NULL);
	char name[64];

	snprintf(name, sizeof(name), "the whole heap, %u blocks", rows[_i].blocks);
	kit->steps_max = 30000000;
	okit_explore(kit, name, everything, rows[_i].grid, rows[_i].block, 30, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/* ---- beside slabs -------------------------------------------------------------------------- */

/* A group with one live object keeps its units; when it is idle, a run gets them. */
static MAM_KERNEL(beside)
{
	struct okit *kit = argument;
	const size_t *bytes = kit->plan;
	uint32_t class_ = mam_class_of(*bytes), i, unit, units;
	size_t all = (size_t)kit->blocks * BLOCK;
	void *slot, *run, *rest;

	slot = okit_alloc(kit, *bytes);
	MAM_KASSERT(!okit_alloc(kit, all));
	unit = (uint32_t)(((unsigned char *)slot - kit->space) / UNIT);
	units = okit_group_units(class_, okit_group(class_, unit));
	MAM_KASSERT(!okit_alloc(kit, all - (units - 1) * UNIT));
	run = okit_alloc(kit, (all - BLOCK) / 2);
	MAM_KASSERT(run);
	okit_free(kit, run);
	/* Groups of other classes, idle again, do not block the run. */
	for (i = 1; i <= MAM_CLASSES; i += 7) {
		rest = okit_alloc(kit, mam_class_bytes(i));
		MAM_KASSERT(rest);
		okit_free(kit, rest);
	}
	okit_free(kit, slot);
	run = okit_alloc(kit, all);
	MAM_KASSERT(run);
	MAM_KASSERT(!okit_alloc(kit, *bytes));
	okit_free(kit, run);
	slot = okit_alloc(kit, *bytes);
	MAM_KASSERT(slot);
	okit_free(kit, slot);
}

START_TEST(run_takes_units_of_idle_groups_only)
{
	static const size_t bytes[] = { 48, 256, 1050, 8192 };
	struct okit *kit = okit_create(3, 2, &bytes[_i]);
	char name[64];

	snprintf(name, sizeof(name), "beside %zu bytes", bytes[_i]);
	okit_explore(kit, name, beside, 1, 1, 10, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/* Some lanes request slots, others runs, together more than fits: no object overlaps another. */
static MAM_KERNEL(slots_and_runs)
{
	static const size_t bytes[] = { 16, 9000, 500, 70000, 8192, 20000, 1100, 64 };
	struct okit *kit = argument;
	void *before = NULL, *object;
	uint32_t round;

	for (round = 0; round < 3; round++) {
		object = okit_alloc(kit, bytes[(mam_lane() + mam_block() + round) % 8]);
		okit_free(kit, before);
		before = object;
	}
	okit_free(kit, before);
}

START_TEST(slots_and_runs_do_not_overlap)
{
	static const struct {
		uint32_t blocks, grid, block;
	} rows[] = { { 2, 1, 24 }, { 3, 4, 8 }, { 6, 2, 20 }, { 1, 12, 1 } };
	struct okit *kit = okit_create(rows[_i].blocks, 2, NULL);
	char name[64];

	kit->steps_max = 20000000;
	snprintf(name, sizeof(name), "slots and runs, %u blocks", rows[_i].blocks);
	okit_explore(kit, name, slots_and_runs, rows[_i].grid, rows[_i].block, 25, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- short runs ---------------------------------------------------------------------------- */

/*
 * Units `first` to `first` + n - 1 are free, and all others live. No group of a class fits whose
 * objects need n units, unless they are a power of two.
 */
struct few {
	uint32_t first, n;
};

static const struct few few[] = {
	{ 17, 1 }, { 41, 2 }, { 62, 2 }, { 5, 3 }, { 31, 3 }, { 1, 4 },  { 18, 5 },
	{ 40, 5 }, { 50, 6 }, { 3, 7 },  { 9, 7 }, { 21, 8 }, { 56, 8 },
};

static void begin_few(void *argument)
{
	struct okit *kit = argument;
	const struct few *plan = kit->plan;
	uint32_t end = plan->first + plan->n;

	okit_begin(kit);
	motion_run(kit, 0, plan->first);
	if (end < MAM_BLOCK_UNITS)
		motion_run(kit, end, MAM_BLOCK_UNITS - end);
}

/* Allocated, looked up and freed as any other object. */
static void use_few(struct okit *kit, size_t bytes, uint32_t n)
{
	const struct few *plan = kit->plan;
	unsigned char *object = okit_alloc(kit, bytes);
	struct mam_karound around;
	size_t at;

	MAM_KASSERT(object == kit->space + plan->first * UNIT);
	MAM_KASSERT(okit_owner_of(kit, plan->first) == MAM_OWNER_FEW + n);
	MAM_KASSERT(mam_objects_usable(kit->heap, object) == n * UNIT);
	for (at = 16; at < n * UNIT; at += 64) {
		MAM_KASSERT(!mam_objects_usable(kit->heap, object + at));
		around = mam_place_around(kit->heap, mam_place_of(kit->heap, object + at),
					  object + at);
		MAM_KASSERT(around.base == object && around.bytes == n * UNIT);
		if (at % 512)
			continue;
		MAM_KASSERT(!mam_objects_free(kit->heap, object + at));
		MAM_KASSERT(okit_tally(kit, MAM_OBJECT_INTERIOR) == at / 512);
	}
	kit->heap->tallies->of[MAM_OBJECT_INTERIOR].value = 0;
	MAM_KASSERT(!okit_check(kit));
	okit_free(kit, object);
	MAM_KASSERT(!okit_taken(kit, plan->first) && !mam_objects_usable(kit->heap, object));
	MAM_KASSERT(!mam_objects_free(kit->heap, object));
	MAM_KASSERT(okit_tally(kit, MAM_OBJECT_FOREIGN) == 1);
	kit->heap->tallies->of[MAM_OBJECT_FOREIGN].value = 0;
}

/* Those classes for which no group fits; each has one object at a time. */
static MAM_KERNEL(each_class)
{
	struct okit *kit = argument;
	const struct few *plan = kit->plan;
	uint32_t class_, n, runs = 0;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		n = (mam_class_quanta(class_) + OKIT_UNIT_GRAINS - 1) / OKIT_UNIT_GRAINS;
		if (okit_room_slots(kit, class_))
			continue;
		if (!okit_room(kit, class_)) {
			MAM_KASSERT(!okit_alloc(kit, mam_class_bytes(class_)));
			continue;
		}
		MAM_KASSERT(n <= plan->n);
		use_few(kit, mam_class_bytes(class_), n);
		use_few(kit, mam_class_bytes(class_ - 1) + 1, n);
		runs++;
	}
	MAM_KASSERT(runs);
}

START_TEST(run_is_used_where_no_group_fits)
{
	struct okit *kit = okit_create(1, 1, &few[_i]);

	kit->steps_max = 20000000;
	motion_explore(kit, "a short run", begin_few, each_class, 1, 1, 2, okit_check);
	okit_destroy(kit);
}
END_TEST

/* All lanes of a warp, and other warps, want one, until there is none. */
static MAM_KERNEL(share_few)
{
	struct okit *kit = argument;
	uint32_t round;
	void *object;

	for (round = 0; round < 3; round++) {
		object = okit_alloc(kit, 1500 + 16 * mam_lane());
		if (simt_random() & 1)
			mam_nanosleep(50);
		okit_free(kit, object);
	}
}

/* The 6 units are for up to three of the objects, of 2 units each or 1.5 KiB; two others stay live. */
static const char *check_some(void *argument)
{
	const struct okit *kit = argument;

	if (kit->live != 2 || kit->max < 3)
		return okit_wrong("%u objects were live at once", kit->max);
	return okit_check(argument);
}

START_TEST(lanes_share_few_units)
{
	static const struct few six = { 33, 6 };
	struct okit *kit = okit_create(1, 1, &six);

	motion_explore(kit, "short runs for some", begin_few, share_few, 2, 5, KIT_RACE ? 20 : 60,
		       check_some);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects_runs");

	tcase_add_loop_test(tcase, run_of_every_length_is_served, 0, 3);
	tcase_add_loop_test(tcase, lanes_get_runs_of_own_length, 0, 3);
	tcase_add_loop_test(tcase, runs_fill_heap, 0, 5);
	/* The race checker takes a minute for five. */
	tcase_add_loop_test(tcase, runs_leave_no_gaps, 0, KIT_RACE ? 1 : 5);
	tcase_add_loop_test(tcase, each_lane_gets_whole_heap_once, 0, 3);
	tcase_add_loop_test(tcase, run_takes_units_of_idle_groups_only, 0, 4);
	tcase_add_loop_test(tcase, slots_and_runs_do_not_overlap, 0, 4);
	tcase_add_loop_test(tcase, run_is_used_where_no_group_fits, 0,
			    sizeof(few) / sizeof(few[0]));
	tcase_add_test(tcase, lanes_share_few_units);
	return kit_run(tcase, "heap/objects_runs");
}
