/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_slab.c - groups of slabs open and close while other lanes allocate, free, open and close:
 * each pair of steps against each other, and then random steps against each other.
 *
 * Class 5 has one group per slab, of four units and 51 slots.
 */
#include "heap/motion.h"

#define ONE ((uint64_t)1)

/* The result of each block's attempt; plain, but only one lane writes each. */
static struct {
	bool did[4];
	uint64_t won[4];
} got;

/* For words in block 0. */
static bool is_free(const struct okit *kit, uint32_t class_, uint32_t word)
{
	return !(mam_pages_bits(kit->heap->units)[0] & motion_span(class_, word)) &&
	       !mam_metadata_words(kit->heap, class_)[word];
}

/* ---- a slab of class 5 in units 4 to 7, all slots free -------------------------------------- */

#define LAST 50

static void begin_idle(void *argument)
{
	okit_begin(argument);
	memset(&got, 0, sizeof(got));
	motion_slab(argument, 5, 1, 0);
}

MAM_KERNEL(close_and_claim)
{
	struct okit *kit = argument;
	uint64_t chosen = mam_bits_span(motion_below(LAST - 2), 4);

	motion_wait(8);
	if (mam_block())
		got.won[0] = motion_claim(kit, 5, 1, chosen);
	else
		got.did[0] = mam_slab_close(kit->heap, 5, 1, 0);
}

static const char *closed_or_claimed(void *argument)
{
	struct okit *kit = argument;

	if (got.did[0] == !!got.won[0])
		return got.did[0] ? "both closed and claimed" : "neither closed nor claimed";
	if (got.did[0] != is_free(kit, 5, 1))
		return "the result of close does not match the slab's state";
	return okit_check(kit);
}

START_TEST(close_races_with_claim)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "close against claim", begin_idle, close_and_claim, 2, 1, 100,
		       closed_or_claimed);
	okit_destroy(kit);
}
END_TEST

MAM_KERNEL(close_all)
{
	motion_wait(4);
	got.did[mam_block()] = mam_slab_close(((struct okit *)argument)->heap, 5, 1, 0);
}

static const char *closed_once(void *argument)
{
	struct okit *kit = argument;

	if (got.did[0] + got.did[1] + got.did[2] != 1)
		return "not exactly one of three lanes closed the slab";
	return is_free(kit, 5, 1) ? okit_check(kit) : "the slab is not closed";
}

START_TEST(close_succeeds_once)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "close against close", begin_idle, close_all, 3, 1, 100, closed_once);
	okit_destroy(kit);
}
END_TEST

/*
 * One lane closes the slab and opens another there: of class 4, of class 8 in units 0 to 7, or of
 * class 5 again. The other lane has a stale view of it. A lane that wins a slot owns it: in a slab
 * of class 5, or it wins none.
 */
MAM_KERNEL(stale_claim)
{
	struct okit *kit = argument;
	uint32_t class_ = *(const uint32_t *)kit->plan, i;

	if (!mam_block()) {
		if (mam_slab_close(kit->heap, 5, 1, 0)) {
			got.did[0] = true;
			MAM_KASSERT(motion_open(kit, class_, class_ == 8 ? 0 : 1,
						okit_all_slots(class_) >> 1));
		}
		return;
	}
	for (i = 0; i < 3; i++) {
		motion_wait(6);
		got.won[0] |= motion_claim(kit, 5, 1, ONE << LAST | ONE << motion_below(LAST));
	}
}

static const char *stale_wins_nothing(void *argument)
{
	struct okit *kit = argument;

	/* In the new slab of class 5 one slot is free, the last. */
	if (got.did[0] && got.won[0] & (*(const uint32_t *)kit->plan == 5 ? ~(ONE << LAST) : ~0ull))
		return "a claim won a slot that was not free";
	if (!got.did[0] && !got.won[0])
		return "the slab was neither closed nor claimed";
	return okit_check(kit);
}

START_TEST(stale_claim_wins_no_slot)
{
	static const uint32_t classes[] = { 4, 5, 8 };
	struct okit *kit = okit_create(1, 1, &classes[_i]);

	motion_explore(kit, "close against a stale claim", begin_idle, stale_claim, 2, 1, 150,
		       stale_wins_nothing);
	okit_destroy(kit);
}
END_TEST

/* ---- the same with one slot in use, the last ------------------------------------------------- */

static void begin_used(void *argument)
{
	okit_begin(argument);
	memset(&got, 0, sizeof(got));
	motion_slab(argument, 5, 1, ONE << LAST);
}

MAM_KERNEL(close_and_free)
{
	struct okit *kit = argument;
	uint32_t i;

	if (mam_block()) {
		motion_wait(10);
		okit_free(kit, mam_metadata_at(kit->heap, 5, 1, LAST));
		got.did[3] = true;
		return;
	}
	for (i = 0; i < 3; i++) {
		motion_wait(6);
		if (mam_slab_close(kit->heap, 5, 1, 0)) {
			MAM_KASSERT(!got.did[0]);
			got.did[0] = true;
		}
	}
}

static const char *freed(void *argument)
{
	struct okit *kit = argument;

	if (!got.did[3] || got.did[0] != is_free(kit, 5, 1))
		return "the result of close does not match the slab's state";
	return okit_check_empty(kit);
}

START_TEST(close_races_with_free)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "close against free", begin_used, close_and_free, 2, 1, 150, freed);
	okit_destroy(kit);
}
END_TEST

/* ---- several lanes free the same object: one of them succeeds -------------------------------- */

struct twice {
	const char *name;
	uint32_t class_; /* 0: a run of 12 units */
	uint32_t grid, block;
};

static const struct twice twice[] = {
	{ "a slot freed by three lanes", 4, 3, 1 },
	{ "a slot freed by a warp", 4, 1, 5 },
	{ "a run freed by three lanes", 0, 3, 1 },
	{ "a run freed by a warp", 0, 1, 5 },
};

static void begin_twice(void *argument)
{
	struct okit *kit = argument;
	const struct twice *plan = kit->plan;

	okit_begin(kit);
	memset(&got, 0, sizeof(got));
	motion_slab(kit, 4, 1, 3);
	motion_run(kit, 8, 12);
	/* The lanes that free it do not update the shadow. */
	okit_disown(kit, kit->space + ((plan->class_ ? 4u : 8u) << MAM_UNIT_SHIFT));
}

MAM_KERNEL(free_the_same)
{
	struct okit *kit = argument;
	const struct twice *plan = kit->plan;
	unsigned char *object = kit->space + ((plan->class_ ? 4u : 8u) << MAM_UNIT_SHIFT);

	motion_wait(4);
	if (mam_objects_free(kit->heap, object))
		(void)mam_atomic_add32(&kit->failed, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

static const char *one_freed(void *argument)
{
	struct okit *kit = argument;
	const struct twice *plan = kit->plan;
	uint32_t others = plan->grid * plan->block - 1;
	uint64_t refused = okit_tally(kit, MAM_OBJECT_TWICE) + okit_tally(kit, MAM_OBJECT_FOREIGN);

	if (kit->failed != 1 || refused != others)
		return okit_wrong("%u of %u frees succeeded, %u failed", kit->failed, others + 1,
				  (uint32_t)refused);
	if (plan->class_ && okit_tally(kit, MAM_OBJECT_TWICE) != others)
		return "a double free was counted as an invalid free";
	kit->failed = 0;
	return okit_check(kit);
}

START_TEST(concurrent_free_succeeds_once)
{
	const struct twice *plan = &twice[_i];
	struct okit *kit = okit_create(1, 1, plan);

	motion_explore(kit, plan->name, begin_twice, free_the_same, plan->grid, plan->block, 60,
		       one_freed);
	okit_destroy(kit);
}
END_TEST

/* ---- opening slabs --------------------------------------------------------------------------- */

/* Positions of slabs, all in units 0 to 7; each overlaps some of the others. */
static const struct {
	uint32_t class_, word;
} places[] = {
	{ 1, 0 }, { 1, 3 }, { 1, 7 }, { 2, 1 }, { 2, 3 }, { 3, 0 }, { 3, 1 },  { 4, 0 },
	{ 4, 1 }, { 5, 0 }, { 6, 1 }, { 7, 1 }, { 8, 0 }, { 9, 0 }, { 10, 0 }, { 11, 0 },
};

#define PLACES (sizeof(places) / sizeof(places[0]))

static void begin_eight(void *argument)
{
	okit_begin(argument);
	memset(&got, 0, sizeof(got));
	motion_run(argument, 8, 56);
}

/* The units of a group, by the test's own arithmetic. */
static uint64_t units_of(uint32_t class_, uint32_t word, uint32_t group)
{
	return mam_bits_span(mam_metadata_unit(class_, word) % MAM_BLOCK_UNITS +
				     group * mam_class_group_units(class_),
			     okit_group_units(class_, group));
}

static struct {
	uint32_t place;
	uint64_t wanted, slots, units;
} opened[4];

/* Four lanes, each with a position, some of its groups and any view of the units claimed there. */
MAM_KERNEL(open_some)
{
	struct okit *kit = argument;
	uint32_t i = motion_below(PLACES), class_ = places[i].class_;
	uint64_t taken = mam_bitmap_load(mam_pages_bits(kit->heap->units), 0);
	uint64_t wanted = okit_all_slots(class_);
	struct mam_kgroups groups;

	if (motion_below(2))
		wanted &= simt_random() & simt_random() & simt_random();
	/* The view may be outdated. */
	motion_wait(6);
	groups = motion_space(kit, class_, places[i].word, wanted, taken);
	if (groups.slots) {
		motion_publish(kit, class_, places[i].word, groups.units, 0);
		motion_own(kit, class_, places[i].word, groups.slots);
	}
	opened[mam_block()].place = i;
	opened[mam_block()].wanted = wanted;
	opened[mam_block()].slots = groups.slots;
	opened[mam_block()].units = groups.units;
}

/* The units of the groups that a lane wanted and did not open. */
static uint64_t lost_by(uint32_t lane)
{
	uint32_t class_ = places[opened[lane].place].class_, group;
	uint64_t units = 0;

	for (group = 0; group < okit_groups(class_); group++)
		if (okit_group_slots(class_, group) & opened[lane].wanted)
			units |= units_of(class_, places[opened[lane].place].word, group);
	return units & ~opened[lane].units;
}

/*
 * A lane opened those of the groups that it wanted of which no other lane has a unit, or claimed one
 * for a moment, and their slots.
 */
static const char *check_opened(uint32_t lane)
{
	uint32_t class_ = places[opened[lane].place].class_, group, i;
	uint64_t units, slots, others = 0, lost = 0, left = opened[lane].units, got_slots = 0;

	for (i = 0; i < 4; i++) {
		others |= i == lane ? 0 : opened[i].units;
		lost |= i == lane ? 0 : lost_by(i);
	}
	if (others & left)
		return "two groups have the same units";
	for (group = 0; group < okit_groups(class_); group++) {
		units = units_of(class_, places[opened[lane].place].word, group);
		slots = okit_group_slots(class_, group);
		if (!(slots & opened[lane].wanted) || units & others)
			continue;
		if (~left & units && units & lost && !(left & units))
			continue;
		if (~left & units)
			return "open failed though the units were free";
		left &= ~units;
		got_slots |= slots;
	}
	if (left)
		return "a group has units of another, or was not wanted";
	return got_slots == opened[lane].slots ? NULL : "slots of other groups were opened";
}

static const char *opened_or_overlaps(void *argument)
{
	const char *wrong = NULL;
	uint64_t won = 0, lost = 0;
	uint32_t i;

	for (i = 0; !wrong && i < 4; i++) {
		wrong = check_opened(i);
		won |= opened[i].units;
		lost |= lost_by(i);
	}
	if (!wrong && lost && !won)
		wrong = "all lanes lost";
	return wrong ? wrong : okit_check(argument);
}

START_TEST(overlapping_groups_open_once)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "open against open", begin_eight, open_some, 4, 1, 400,
		       opened_or_overlaps);
	okit_destroy(kit);
}
END_TEST

/* Whether another thread opens the group of a slot, or the slab has room. */
static bool opens(const struct mam_kheap *heap, uint32_t class_, uint64_t traits, uint32_t word,
		  uint32_t slot)
{
	uint32_t owner = mam_slab_owner(heap, traits, word, slot);

	return !owner || owner == class_ + MAM_OWNER_MOVING ||
	       mam_slots_load(mam_traits_words(heap, traits), word);
}

/*
 * Open returns the requested slots of the groups that were free. After a failure, the owner shows
 * whether a group of the class opens there.
 */
START_TEST(open_returns_requested_slots)
{
	struct okit *kit = okit_create(1, 1, NULL);
	uint64_t traits4 = mam_traits_of(4), traits5 = mam_traits_of(5), all = okit_all_slots(5);
	struct mam_kheap *heap = kit->heap;

	/* The lane that opens it gets the slots it requested, and the rest is free. */
	ck_assert(mam_slab_open(heap, 5, 1, all, 5) == 5);
	ck_assert(mam_metadata_words(heap, 5)[1] == (all & ~(uint64_t)5));
	ck_assert(mam_slots_release(mam_metadata_words(heap, 5), 1, 5) == (all & ~(uint64_t)5));
	ck_assert(!mam_slab_open(heap, 5, 1, all, 1));
	ck_assert(opens(heap, 5, traits5, 1, 0));
	ck_assert(!mam_slab_open(heap, 4, 1, ~(uint64_t)0, 1));
	ck_assert(!opens(heap, 4, traits4, 1, 0));
	ck_assert(motion_claim(kit, 5, 1, all) == all);
	ck_assert(!mam_slab_open(heap, 5, 1, all, 1));
	ck_assert(!opens(heap, 5, traits5, 1, 0));
	ck_assert(!okit_check(kit));
	/* The units of one group of class 4 are claimed, without an owner yet. */
	ck_assert(motion_space(kit, 4, 2, 1, mam_pages_bits(heap->units)[0]).units == ONE << 8);
	ck_assert(!mam_slab_open(heap, 4, 2, 0xffff, 1));
	ck_assert(opens(heap, 4, traits4, 2, 15));
	ck_assert(!mam_slab_open(heap, 5, 2, all, 1));
	ck_assert(opens(heap, 5, traits5, 2, 0));
	mam_owners_set(heap, 8, 1, 4 + MAM_OWNER_MOVING);
	ck_assert(opens(heap, 4, traits4, 2, 15));
	ck_assert(!opens(heap, 5, traits5, 2, 0));
	/* The other groups are free: those that are wanted open, with these slots. */
	ck_assert(mam_slab_open(heap, 4, 2, 0xffffffff, 0x30003) == 0x30000);
	ck_assert(mam_metadata_words(heap, 4)[2] == 0xfffc0000);
	ck_assert(mam_pages_bits(heap->units)[0] == 0x3f0);
	ck_assert(mam_slab_open(heap, 4, 2, ~(uint64_t)0, ONE << 63 | ONE << 32) ==
		  (ONE << 63 | ONE << 32));
	ck_assert(mam_pages_bits(heap->units)[0] == 0xff0);
	okit_destroy(kit);
}
END_TEST

/*
 * Twelve units are free: a run of 9 or 12 units against a slab of class 8, 4, 2 or 1, or two of
 * these.
 */
static void begin_twelve(void *argument)
{
	okit_begin(argument);
	memset(&got, 0, sizeof(got));
	motion_run(argument, 12, 52);
}

MAM_KERNEL(open_or_run)
{
	static const uint32_t class_[] = { 8, 4, 2, 1 }, word[] = { 0, 2, 5, 11 };
	struct okit *kit = argument;
	uint32_t i = motion_below(4);

	if (mam_block() == 2)
		got.did[2] = okit_alloc(kit, (motion_below(2) ? 9 : 12) << MAM_UNIT_SHIFT);
	else
		got.did[mam_block()] = motion_open(kit, class_[i], word[i], 1);
}

static const char *at_least_one(void *argument)
{
	return got.did[0] || got.did[1] || got.did[2] ? okit_check(argument)
						      : "every request failed";
}

START_TEST(open_races_with_run)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "open against run", begin_twelve, open_or_run, 3, 1, 200, at_least_one);
	okit_destroy(kit);
}
END_TEST

#define HELD 6

/*
 * Each lane opens groups where it can, claims slots of these and of any others, frees them in any
 * order, closes what it can, and allocates runs; all in units 0 to 15.
 */
struct held {
	uint32_t class_, word; /* class_ 0: a run */
	uint64_t slots;        /* for a run, its address */
};

static void give(struct okit *kit, struct held *held)
{
	uint64_t some = simt_random() | 1;

	if (!held->class_) {
		okit_free(kit, (void *)(uintptr_t)held->slots);
		held->slots = 0;
		return;
	}
	/* Frees some of them at once, without combining the requests of converged lanes. */
	some = some & held->slots ? some & held->slots : held->slots;
	motion_release(kit, held->class_, held->word, some);
	held->slots &= ~some;
}

/* A run of one to eight units, or NULL. */
static void *take_few(struct okit *kit)
{
	uint32_t n = 1 + motion_below(MAM_FEW_UNITS);
	uint32_t unit = mam_runs_take_within(kit->heap->units, 0, n);
	unsigned char *object = kit->space + ((size_t)unit << MAM_UNIT_SHIFT);

	if (unit == MAM_NO_PAGE)
		return NULL;
	mam_spans_own(kit->heap, unit, n);
	/* The largest class that is not a power of two and needs as many units. */
	okit_own(kit, object, mam_class_bytes(mam_class_of((size_t)n << MAM_UNIT_SHIFT) - 1));
	return object;
}

/* Claims or opens something at this position. */
static void take_at(struct okit *kit, struct held *held, uint32_t class_, uint32_t word)
{
	uint64_t chosen =
		okit_all_slots(class_) & mam_bits_span(motion_below(62), 1 + motion_below(3));
	uint64_t wanted = motion_below(2) ? okit_all_slots(class_) : chosen;

	held->class_ = class_;
	held->word = word;
	if (motion_below(2))
		held->slots = motion_open_some(kit, class_, word, wanted, chosen) & chosen;
	else
		held->slots = motion_claim(kit, class_, word, chosen);
}

static void take(struct okit *kit, struct held *held)
{
	uint32_t i = motion_below(PLACES);

	held->class_ = 0;
	switch (motion_below(6)) {
	case 0: held->slots = (uintptr_t)okit_alloc(kit, 9 << MAM_UNIT_SHIFT); return;
	case 1: held->slots = (uintptr_t)take_few(kit); return;
	default: take_at(kit, held, places[i].class_, places[i].word);
	}
}

static void begin_sixteen(void *argument)
{
	okit_begin(argument);
	motion_run(argument, 16, 48);
}

MAM_KERNEL(storm)
{
	struct okit *kit = argument;
	struct held held[HELD] = { { 0, 0, 0 } };
	uint32_t i, n;

	for (n = 0; n < 24; n++) {
		i = motion_below(HELD);
		if (held[i].slots)
			give(kit, &held[i]);
		else if (motion_below(3))
			take(kit, &held[i]);
		i = motion_below(PLACES);
		if (motion_below(2))
			(void)mam_slab_close(kit->heap, places[i].class_, places[i].word,
					     motion_below(okit_groups(places[i].class_)));
	}
	for (i = 0; i < HELD; i++)
		while (held[i].slots)
			give(kit, &held[i]);
}

/* One run is live, the one that the test allocated. */
static const char *all_objects_freed(void *argument)
{
	struct okit *kit = argument;

	return kit->live == 1 ? okit_check(kit) : "an object was not freed";
}

START_TEST(random_steps_keep_slabs_consistent)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "anything", begin_sixteen, storm, 3, 1, KIT_RACE ? 60 : 200,
		       all_objects_freed);
	okit_destroy(kit);
}
END_TEST

/*
 * One group of a slab has a live object. Meanwhile several lanes open and close the other groups of
 * the slab, and claim and free slots of any: nothing happens to that object and its group.
 */
static const struct {
	uint32_t class_, word;
} slabs[] = { { 2, 5 }, { 4, 1 }, { 6, 2 }, { 10, 1 }, { 24, 0 }, { 40, 0 } };

#define LIVE_GROUP(class_) (okit_groups(class_) / 2)

static uint32_t live_slot(uint32_t class_)
{
	return mam_ffs64(okit_group_slots(class_, LIVE_GROUP(class_))) - 1;
}

static void begin_live(void *argument)
{
	struct okit *kit = argument;
	uint32_t i = (uint32_t)(uintptr_t)kit->plan, class_ = slabs[i].class_;

	okit_begin(kit);
	(void)motion_open_some(kit, class_, slabs[i].word, ONE << live_slot(class_),
			       ONE << live_slot(class_));
}

MAM_KERNEL(change_groups)
{
	struct okit *kit = argument;
	uint32_t place = (uint32_t)(uintptr_t)kit->plan, class_ = slabs[place].class_, i, n;
	struct held held[HELD] = { { 0, 0, 0 } };

	for (n = 0; n < 20; n++) {
		i = motion_below(HELD);
		if (held[i].slots)
			give(kit, &held[i]);
		else if (motion_below(4))
			take_at(kit, &held[i], class_, slabs[place].word);
		i = motion_below(okit_groups(class_));
		if (motion_below(2) && mam_slab_close(kit->heap, class_, slabs[place].word, i))
			MAM_KASSERT(i != LIVE_GROUP(class_));
	}
	for (i = 0; i < HELD; i++)
		while (held[i].slots)
			give(kit, &held[i]);
}

/* The live object is as it was; then the rest of its group is closed. */
static const char *live_untouched(void *argument)
{
	struct okit *kit = argument;
	uint32_t i = (uint32_t)(uintptr_t)kit->plan, class_ = slabs[i].class_;
	unsigned char *object =
		mam_metadata_at(kit->heap, class_, slabs[i].word, live_slot(class_));
	const char *wrong = kit->live == 1 ? okit_check(kit) : "an object was not freed";

	if (wrong)
		return wrong;
	if (mam_objects_usable(kit->heap, object) != mam_class_bytes(class_))
		return "the live object was lost";
	motion_release(kit, class_, slabs[i].word, ONE << live_slot(class_));
	(void)motion_close(kit, class_, slabs[i].word);
	if (mam_pages_bits(kit->heap->units)[0] || !is_free(kit, class_, slabs[i].word))
		return "a group is still open";
	return okit_check_empty(kit);
}

START_TEST(groups_change_beside_live_group)
{
	struct okit *kit = okit_create(1, 1, (const void *)(uintptr_t)_i);

	motion_explore(kit, "groups of one word", begin_live, change_groups, 3, 1,
		       KIT_RACE ? 40 : 150, live_untouched);
	okit_destroy(kit);
}
END_TEST

/*
 * Two groups of one word are idle. Two lanes close one each, and a third claims slots of both: each
 * group is either closed or claimed, whatever happens to the other.
 */
static void begin_two_idle(void *argument)
{
	okit_begin(argument);
	memset(&got, 0, sizeof(got));
	(void)motion_open_some(argument, 4, 1, 0xffffffff, 0);
}

MAM_KERNEL(close_two_and_claim)
{
	struct okit *kit = argument;

	motion_wait(8);
	if (mam_block() < 2)
		got.did[mam_block()] = mam_slab_close(kit->heap, 4, 1, mam_block());
	else
		got.won[0] = motion_claim(kit, 4, 1, (uint64_t)0x18000 << motion_below(2));
}

static const char *each_closed_or_claimed(void *argument)
{
	const struct okit *kit = argument;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		if (got.did[i] == !!(got.won[0] & okit_group_slots(4, i)))
			return "a group was closed and claimed, or neither";
		if (got.did[i] == okit_taken(kit, 4 + i))
			return "the result of close does not match the group's state";
	}
	return okit_check(argument);
}

START_TEST(groups_of_one_word_close_independently)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "close against close and claim", begin_two_idle, close_two_and_claim, 3,
		       1, 200, each_closed_or_claimed);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("slab");

	tcase_add_test(tcase, close_races_with_claim);
	tcase_add_test(tcase, close_succeeds_once);
	tcase_add_loop_test(tcase, stale_claim_wins_no_slot, 0, 3);
	tcase_add_test(tcase, close_races_with_free);
	tcase_add_loop_test(tcase, concurrent_free_succeeds_once, 0, 4);
	tcase_add_test(tcase, overlapping_groups_open_once);
	tcase_add_test(tcase, open_returns_requested_slots);
	tcase_add_test(tcase, open_races_with_run);
	tcase_add_test(tcase, random_steps_keep_slabs_consistent);
	tcase_add_loop_test(tcase, groups_change_beside_live_group, 0,
			    sizeof(slabs) / sizeof(slabs[0]));
	tcase_add_test(tcase, groups_of_one_word_close_independently);
	return kit_run(tcase, "heap/slab");
}
