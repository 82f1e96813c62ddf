/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pass.c - the pass that reports "no room": never while there is room, whatever opens and
 * closes meanwhile; always where there is none.
 */
#include "heap/motion.h"

/* Returns whether no group is idle. */
OKIT_UNSEEN bool is_tidy(const struct okit *kit)
{
	uint32_t unit;

	for (unit = 0; unit < kit->blocks * 64; unit++)
		if (okit_taken(kit, unit) && okit_to_be_had(kit, unit))
			return false;
	return true;
}

/*
 * Units 0 to 7 are four slabs of class 3, which have one group of two units, with one object each.
 * One lane frees these and opens a group of class 11 there, of seven units. The other requests class
 * 1, which has room in unit 8. Groups of other lengths than those that it passed first may hide that
 * room.
 */
static void begin_joined(void *argument)
{
	struct okit *kit = argument;
	uint32_t i;

	okit_begin(kit);
	for (i = 0; i < 4; i++)
		motion_slab(kit, 3, i, 1);
	motion_slab(kit, 1, 8, 1);
	motion_run(kit, 9, 55);
}

MAM_KERNEL(join_slabs)
{
	struct okit *kit = argument;
	uint32_t i;

	if (!mam_block()) {
		MAM_KASSERT(motion_by_pass(kit, 1));
		return;
	}
	for (i = 0; i < 4; i++)
		okit_free(kit, mam_metadata_at(kit->heap, 3, i, 0));
	(void)motion_by_pass(kit, 11);
}

START_TEST(merged_slabs_hide_no_room)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "slabs merge after the pass has gone by", begin_joined, join_slabs, 2,
		       1, 1500, NULL);
	okit_destroy(kit);
}
END_TEST

/*
 * One slab, of one group, is empty, nothing else is free. A lane that requests a run of units closes
 * it; two others request its class. One reopens it at the same place, and there is room for both.
 */
static void begin_reopened(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	motion_slab(kit, 5, 0, 0);
	motion_run(kit, 4, 60);
}

MAM_KERNEL(reopen)
{
	struct okit *kit = argument;
	uint32_t tries = 30;

	switch (mam_block()) {
	case 0:
		/* Makes its pass start shortly before the slab closes. */
		motion_wait(4);
		MAM_KASSERT(motion_by_pass(kit, 5));
		return;
	case 1: motion_close_idle(kit); return;
	}
	while (tries-- && !motion_open(kit, 5, 0, 1))
		;
}

START_TEST(reopened_slab_hides_no_room)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "closed and reopened", begin_reopened, reopen, 3, 1, 3000, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- without other lanes --------------------------------------------------------------------- */

/* Opens what is free of random slabs, empty, in use or full, and runs; the rest stays free. */
static void lay_anything(struct okit *kit)
{
	uint32_t n, class_, word, run, units;
	uint64_t *bits = mam_pages_bits(kit->heap->units), used;

	okit_begin(kit);
	for (n = motion_below(30); n--;) {
		class_ = 1 + motion_below(motion_below(8) ? 16 : MAM_CLASSES);
		word = motion_below(mam_metadata_word_count(kit->heap, class_));
		used = motion_below(3) ? ~(uint64_t)0 : motion_below(2) ? 0 : simt_random();
		(void)motion_open(kit, class_, word, used & okit_all_slots(class_));
		run = motion_below(50);
		units = 1 + motion_below(12);
		if (!motion_below(4) && !(bits[0] & mam_bits_span(run, units)))
			motion_run(kit, run, units);
	}
	/* Leaves little free. */
	for (n = 0; n < kit->blocks * 64; n++)
		if (motion_below(4))
			(void)motion_open(kit, 1, n, ~(uint64_t)0);
}

/*
 * There is room exactly if the shadow has room, and no doubt; an unsuccessful pass leaves no group
 * idle.
 */
MAM_KERNEL(look_at_anything)
{
	struct okit *kit = argument;
	uint32_t round, class_, room;
	struct mam_klook look;

	for (round = 0; round < 20; round++) {
		lay_anything(kit);
		class_ = motion_below(3) ? 1 + motion_below(16) : motion_below(MAM_CLASSES + 1);
		room = class_ ? okit_room(kit, class_) : 0;
		look = motion_look(kit, class_, 0);
		MAM_KASSERT(!look.doubt);
		MAM_KASSERT((look.word != MAM_NO_WORD || look.unit != MAM_NO_PAGE) == !!room);
		/* A run only where no slot is left. */
		if (look.unit != MAM_NO_PAGE)
			MAM_KASSERT(look.word == MAM_NO_WORD && !okit_room_slots(kit, class_));
		MAM_KASSERT(!class_ || okit_room(kit, class_) == room);
		if (!room)
			MAM_KASSERT(is_tidy(kit));
		else
			MAM_KASSERT(motion_by_pass(kit, class_));
		MAM_KASSERT(!okit_check(kit));
	}
}

START_TEST(pass_finds_room_exactly_if_there_is)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "anything", NULL, look_at_anything, 1, 1, KIT_RACE ? 2 : 10, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- groups in a block ----------------------------------------------------------------------- */

/* Whether a unit is free, and in the block. */
static bool is_free(uint64_t taken, uint32_t unit)
{
	return unit < MAM_BLOCK_UNITS && !(taken >> unit & 1);
}

/*
 * The first free group of the class that starts at `from` or later, or else the first; by search.
 * `exact`: only where no unit is free directly before a group of full length, or after it.
 */
static uint32_t open_by_model(uint32_t class_, uint64_t taken, uint32_t from, bool exact)
{
	uint32_t n, unit, group;

	for (n = 0; n < MAM_BLOCK_UNITS; n++) {
		unit = (from + n) % MAM_BLOCK_UNITS;
		if (exact && (is_free(taken, unit - 1) ||
			      is_free(taken, unit + mam_class_group_units(class_))))
			continue;
		group = okit_group(class_, unit);
		if (group < okit_groups(class_) &&
		    unit % (1u << mam_class_span_shift(class_)) ==
			    group * mam_class_group_units(class_) &&
		    !(taken & mam_bits_span(unit, okit_group_units(class_, group))))
			return unit;
	}
	return MAM_NO_PAGE;
}

START_TEST(open_finds_group_exactly_if_one_is_free)
{
	uint32_t class_, n, i, from, want, word, group, exact = 0;
	uint64_t taken;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		for (n = 0; n < 2000; n++) {
			taken = n ? simt_random() : 0;
			for (i = motion_below(8); i && n; i--)
				taken = motion_below(3) ? taken & simt_random()
							: taken | simt_random();
			from = n ? motion_below(MAM_BLOCK_UNITS) : 0;
			want = open_by_model(class_, taken, from, true);
			exact += want != MAM_NO_PAGE;
			if (want == MAM_NO_PAGE)
				want = open_by_model(class_, taken, from, false);
			group = 99;
			word = mam_pass_open(mam_traits_of(class_), 7, taken, from, &group);
			if (want == MAM_NO_PAGE) {
				ck_assert(word == MAM_NO_WORD);
				continue;
			}
			ck_assert_uint_eq(group, okit_group(class_, want));
			ck_assert_uint_eq(word, (7 * MAM_BLOCK_UNITS + want) >>
							mam_class_span_shift(class_));
		}
	}
	ck_assert_uint_gt(exact, 10000);
}
END_TEST

/* An owner: of any kind; often the same as the one before. */
static uint32_t any_owner(uint32_t before)
{
	switch (motion_below(8)) {
	case 0: return 0;
	case 1: return 1 + motion_below(MAM_CLASSES);
	case 2: return 1 + motion_below(MAM_CLASSES) + MAM_OWNER_MOVING;
	case 3: return MAM_OWNER_FEW + 1 + motion_below(MAM_FEW_UNITS);
	case 4: return MAM_OWNER_RUN + 9 + motion_below(55);
	case 5: return motion_below(3) ? MAM_OWNER_INSIDE : MAM_OWNER_LONG;
	default: return before;
	}
}

/*
 * Of each slab in a block's owners, the units are found whose predecessors belong to another slab
 * or to none.
 */
START_TEST(owners_are_sorted_eight_at_a_time)
{
	uint32_t owner[MAM_BLOCK_UNITS], n, unit, i, starts, moving;
	uint64_t words[MAM_PASS_OWNERS];
	bool first, class_;

	for (n = 0; n < 20000; n++) {
		memset(words, 0, sizeof(words));
		for (unit = 0; unit < MAM_BLOCK_UNITS; unit++) {
			owner[unit] = n < MAM_CLASSES ? n + 1
						      : any_owner(unit ? owner[unit - 1] : n % 256);
			words[unit / 8] |= (uint64_t)owner[unit] << 8 * (unit % 8);
		}
		for (unit = 0; unit < MAM_BLOCK_UNITS; unit++) {
			i = unit / 8;
			starts = mam_pass_starts(words[i], i ? words[i - 1] : 0, i);
			moving = mam_pass_moving(words[i]);
			class_ = owner[unit] && owner[unit] <= MAM_CLASSES;
			first = !unit || owner[unit] != owner[unit - 1] ||
				(class_ &&
				 !(unit & ((1u << mam_class_span_shift(owner[unit])) - 1)));
			ck_assert_uint_eq(starts >> unit % 8 & 1, class_ && first);
			ck_assert_uint_eq(moving >> unit % 8 & 1,
					  !owner[unit] ||
						  (owner[unit] > MAM_OWNER_MOVING &&
						   owner[unit] <= MAM_OWNER_MOVING + MAM_CLASSES));
			ck_assert_uint_eq((starts | moving) >> 8, 0);
		}
	}
}
END_TEST

/* ---- a slab stays in transition -------------------------------------------------------------- */

/*
 * How far the groups of a slab that open or close have come: of class 5 in units 4 to 7, or of class
 * 72 in all units.
 */
enum stage {
	TAKEN,     /* their units are claimed, and have no owner yet or no longer */
	NAMED,     /* the owners are set, and the word is 0 */
	PUBLISHED, /* the word is set, but MOVING is set, too */
	CLEARED,   /* the same, but MOVING is set in the last 8 units only */
	STAGES,
};

struct moving {
	enum stage stage;
	uint32_t class_, word;
};

static void begin_in_motion(void *argument)
{
	struct okit *kit = argument;
	const struct moving *slab = kit->plan;
	struct mam_kgroups groups;

	okit_begin(kit);
	if (slab->class_ == 5) {
		motion_run(kit, 8, 56);
		motion_slab(kit, 1, 0, ~(uint64_t)0);
		motion_slab(kit, 1, 1, ~(uint64_t)0);
		motion_slab(kit, 2, 1, okit_all_slots(2));
	}
	groups = motion_space(kit, slab->class_, slab->word, ~(uint64_t)0, 0);
	MAM_KASSERT(groups.slots == okit_all_slots(slab->class_));
	if (slab->stage == TAKEN)
		return;
	mam_owners_add(kit->heap, 0, groups.units, slab->class_ + MAM_OWNER_MOVING);
	if (slab->stage == NAMED)
		return;
	mam_metadata_words(kit->heap, slab->class_)[slab->word] = groups.slots;
	if (slab->stage == CLEARED)
		mam_owners_remove(kit->heap, 0, groups.units >> 8, MAM_OWNER_MOVING);
}

/* Finds no room, or that of the slab's complete groups; never reports for certain that there is none. */
MAM_KERNEL(look_at_motion)
{
	static const uint32_t classes[] = { 1, 2, 3, 4, 5, 8, 24, 71, 72 };
	struct okit *kit = argument;
	const struct moving *slab = kit->plan;
	struct mam_klook look;
	uint32_t i;

	if (slab->stage == CLEARED) {
		look = motion_look(kit, slab->class_, 0);
		MAM_KASSERT(look.word == slab->word);
		/* The other groups have a live object each. */
		MAM_KASSERT(motion_claim(kit, slab->class_, slab->word, 127) == 127);
	}
	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (classes[i] == slab->class_ && slab->stage == CLEARED)
			continue;
		look = motion_look(kit, classes[i], 0);
		MAM_KASSERT(look.word == MAM_NO_WORD && look.unit == MAM_NO_PAGE && look.doubt);
	}
	look = motion_look(kit, 0, 0);
	MAM_KASSERT(!look.closed && look.doubt);
}

START_TEST(pass_doubts_slab_in_transition)
{
	const struct moving slab = { (enum stage)(_i / 2), _i % 2 ? 72 : 5, _i % 2 ? 0 : 1 };
	struct okit *kit = okit_create(1, 1, &slab);
	struct simt_case test = {
		.name = "a slab in transition",
		.kernel = look_at_motion,
		.grid = 1,
		.block = 1,
		.argument = kit,
		.begin = begin_in_motion,
		.seeds = 1,
		.config = { .race = KIT_RACE, .strict = true },
	};

	/* The owners of class 5 are in one word. */
	if (slab.stage != CLEARED || slab.class_ == 72)
		simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

/*
 * Three lanes of a warp and one of another request where nothing is free. They fail at once; where
 * something stays in transition they fail after so many passes, with that cause.
 */
MAM_KERNEL(fail_to_allocate)
{
	struct okit *kit = argument;

	if (!mam_block() || !mam_lane())
		MAM_KASSERT(!okit_alloc(kit, mam_block() ? 100 : 64));
}

static const char *four_were_refused(void *argument)
{
	struct okit *kit = argument;
	bool full = ((const struct moving *)kit->plan)->stage == STAGES;
	enum mam_object_tally as = full ? MAM_OBJECT_FULL : MAM_OBJECT_CONTENDED;

	return okit_tally(kit, as) == 4 && kit->failed == 4
		       ? okit_check_tallies(kit)
		       : "four failures were not counted under the right cause";
}

static void begin_nothing(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	motion_run(kit, 8, 56);
	motion_slab(kit, 4, 1, okit_all_slots(4));
	motion_slab(kit, 7, 0, okit_all_slots(7));
}

START_TEST(alloc_fails_after_bounded_passes)
{
	const struct moving slab = { (enum stage)_i, 5, 1 };
	struct okit *kit = okit_create(1, 1, &slab);
	bool full = slab.stage == STAGES;
	struct simt_case test = {
		.name = full ? "heap is full" : "a slab stays in transition",
		.kernel = fail_to_allocate,
		.grid = 2,
		.block = 3,
		.argument = kit,
		.begin = full ? begin_nothing : begin_in_motion,
		.check = four_were_refused,
		.seeds = full ? 40 : 2,
		/* One pass takes far fewer steps; two hundred passes not many more than this. */
		.config = { .race = KIT_RACE, .strict = true, .steps_max = full ? 3000 : 300000 },
	};

	if (slab.stage != CLEARED)
		simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

/* ---- runs are the last resort ---------------------------------------------------------------- */

/* Block 0 has room for a run of two units, block 1 a slab with free slots: 1088 B, 17-unit groups. */
static void begin_run_or_slot(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	motion_run(kit, 2, 62);
	motion_slab(kit, 25, 1, 1);
}

MAM_KERNEL(prefer_slot)
{
	struct okit *kit = argument;
	unsigned char *object;

	/* The block where a scan starts depends on the clock. */
	motion_wait(40);
	object = motion_by_pass(kit, 25);
	MAM_KASSERT(object && object >= kit->space + (1 << MAM_BLOCK_SHIFT));
}

START_TEST(slot_is_preferred_to_run)
{
	struct okit *kit = okit_create(2, 1, NULL);

	motion_explore(kit, "a slot or a run", begin_run_or_slot, prefer_slot, 1, 1, 20,
		       okit_check);
	okit_destroy(kit);
}
END_TEST

/* ---- a slot for each lane, at any time ------------------------------------------------------- */

/*
 * There is only one slab, and it has a slot for each lane that requests one. So no request may
 * fail, although lanes that do nothing else close its groups whenever they are idle.
 */
struct enough {
	const char *name;
	uint32_t class_, first; /* units before this one are free */
	uint32_t grid, block;   /* the last block closes slabs */
	uint32_t rounds;
	uint32_t seeds, seeds_race;
};

static const struct enough enough[] = {
	{ "8 slots for two lanes", 72, 64, 3, 1, 6, 400, 100 },
	{ "8 slots for 8 lanes", 72, 64, 3, 4, 3, 200, 60 },
	{ "one unit for three lanes", 1, 1, 4, 1, 5, 400, 100 },
	{ "one unit for 60 lanes", 1, 1, 4, 20, 1, 40, 10 },
	{ "four units for three lanes", 4, 4, 4, 1, 5, 400, 100 },
	{ "one group of four units", 5, 4, 4, 1, 5, 400, 100 },
	{ "groups of three units and one", 6, 4, 4, 5, 3, 100, 30 },
	{ "eight units for 14 lanes", 8, 8, 3, 7, 2, 100, 30 },
};

static void begin_enough(void *argument)
{
	struct okit *kit = argument;
	const struct enough *plan = kit->plan;
	uint32_t unit = plan->first;

	okit_begin(kit);
	for (; unit < 64 && 64 - unit < 9; unit++)
		motion_slab(kit, 1, unit, ~(uint64_t)0);
	if (unit < 64)
		motion_run(kit, unit, 64 - unit);
}

MAM_KERNEL(request_slots)
{
	struct okit *kit = argument;
	const struct enough *plan = kit->plan;
	uint32_t n;
	void *object;

	if (mam_block() == plan->grid - 1) {
		for (n = 0; !mam_lane() && n < 4 * plan->rounds; n++)
			motion_close_idle(kit);
		return;
	}
	for (n = 0; n < plan->rounds; n++) {
		object = okit_alloc(kit, mam_class_bytes(plan->class_));
		MAM_KASSERT(object);
		okit_free(kit, object);
	}
}

START_TEST(lanes_with_a_slot_each_never_fail)
{
	const struct enough *plan = &enough[_i];
	struct okit *kit = okit_create(1, 2, plan);

	motion_explore(kit, plan->name, begin_enough, request_slots, plan->grid, plan->block,
		       KIT_RACE ? plan->seeds_race : plan->seeds, NULL);
	okit_destroy(kit);
}
END_TEST

/*
 * The same for one run of all units; some of its units belong to idle groups, and other lanes close
 * these.
 */
static void begin_idle_slabs(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	motion_run(kit, 48, 16);
	motion_slab(kit, 1, 0, 1);
	motion_slab(kit, 2, 3, 0);
	motion_slab(kit, 4, 2, 0);
	motion_slab(kit, 8, 2, 2);
	motion_slab(kit, 12, 2, 0);
}

MAM_KERNEL(run_of_all)
{
	struct okit *kit = argument;
	void *object;

	if (mam_block()) {
		motion_wait(30);
		motion_close_idle(kit);
		motion_wait(30);
		motion_close_idle(kit);
		return;
	}
	okit_free(kit, mam_metadata_at(kit->heap, 1, 0, 0));
	okit_free(kit, mam_metadata_at(kit->heap, 8, 2, 1));
	object = okit_alloc(kit, 48 << MAM_UNIT_SHIFT);
	MAM_KASSERT(object);
}

START_TEST(run_of_all_units_succeeds)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "a run of all", begin_idle_slabs, run_of_all, 3, 1,
		       KIT_RACE ? 100 : 400, NULL);
	okit_destroy(kit);
}
END_TEST

/* Some lanes of a warp request runs, for which idle groups of all blocks must close. */
static void begin_idle_blocks(void *argument)
{
	struct okit *kit = argument;
	uint32_t block;

	okit_begin(kit);
	for (block = 0; block < 3; block++)
		motion_slab(kit, 72, block, 0);
}

MAM_KERNEL(runs_for_some)
{
	struct okit *kit = argument;
	void *object;

	if (mam_lane() < 1 || mam_lane() > 3)
		return;
	object = okit_alloc(kit, 60 << MAM_UNIT_SHIFT);
	MAM_KASSERT(object);
}

START_TEST(runs_close_slabs_of_all_blocks)
{
	struct okit *kit = okit_create(3, 1, NULL);

	motion_explore(kit, "runs for some of a warp", begin_idle_blocks, runs_for_some, 1, 5, 40,
		       NULL);
	okit_destroy(kit);
}
END_TEST

/* Memory that the host freed is available, for a slot and for a run. */
static void begin_host_freed(void *argument)
{
	struct okit *kit = argument;
	bool run = *(const bool *)kit->plan;
	unsigned char *object = kit->space + ((run ? 4u : 0u) << MAM_UNIT_SHIFT);

	okit_begin(kit);
	motion_slab(kit, 4, 0, okit_all_slots(4));
	motion_run(kit, 4, 60);
	okit_disown(kit, object);
	kit->heap->returns->address[0] = (uintptr_t)object;
	kit->heap->returns->told = 1;
}

MAM_KERNEL(allocate_host_freed)
{
	struct okit *kit = argument;
	void *object;

	object = okit_alloc(kit, *(const bool *)kit->plan ? 60 << MAM_UNIT_SHIFT : 64);
	MAM_KASSERT(object && kit->heap->returns->taken == 1);
}

START_TEST(memory_freed_by_host_is_reused)
{
	const bool run = _i;
	struct okit *kit = okit_create(1, 1, &run);

	motion_explore(kit, run ? "a run freed by the host" : "a slot freed by the host",
		       begin_host_freed, allocate_host_freed, 1, 1, 5, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- sets of classes ------------------------------------------------------------------------ */

START_TEST(set_has_its_classes_alone)
{
	struct mam_kset set = { { 0, 0 } };
	uint32_t class_, other;

	ck_assert_uint_eq(mam_set_first(&set), 0);
	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		mam_set_flip(&set, class_);
		for (other = 1; other <= MAM_CLASSES; other++)
			ck_assert_int_eq(mam_set_has(&set, other), other == class_);
		ck_assert_uint_eq(mam_set_first(&set), class_);
		mam_set_flip(&set, class_);
	}
	for (class_ = MAM_CLASSES; class_; class_--) {
		mam_set_flip(&set, class_);
		ck_assert_uint_eq(mam_set_first(&set), class_);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("pass");

	tcase_add_test(tcase, set_has_its_classes_alone);
	tcase_add_test(tcase, open_finds_group_exactly_if_one_is_free);
	tcase_add_test(tcase, owners_are_sorted_eight_at_a_time);
	tcase_add_test(tcase, pass_finds_room_exactly_if_there_is);
	tcase_add_loop_test(tcase, pass_doubts_slab_in_transition, 0, 2 * STAGES);
	tcase_add_loop_test(tcase, alloc_fails_after_bounded_passes, 0, STAGES + 1);
	tcase_add_test(tcase, merged_slabs_hide_no_room);
	tcase_add_test(tcase, reopened_slab_hides_no_room);
	tcase_add_loop_test(tcase, lanes_with_a_slot_each_never_fail, 0,
			    sizeof(enough) / sizeof(enough[0]));
	tcase_add_test(tcase, slot_is_preferred_to_run);
	tcase_add_test(tcase, run_of_all_units_succeeds);
	tcase_add_test(tcase, runs_close_slabs_of_all_blocks);
	tcase_add_loop_test(tcase, memory_freed_by_host_is_reused, 0, 2);
	return kit_run(tcase, "heap/pass");
}
