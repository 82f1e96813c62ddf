/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_glance.c - the first look of lanes that found nothing at home (glance.h): which slot each
 * takes, what it does where no word is known, and that it leaves the rest to the search.
 */
#include "heap/motion.h"

#define ROW 16 /* words of a row in heaps of up to 256 blocks */
#define LANES 8
#define MASK 0xffu

/* Sets all words of a row, so that it does not matter which one a warp uses. */
static void fill_row(const struct okit *kit, uint32_t class_, uint32_t value)
{
	uint32_t *rows = (uint32_t *)(mam_metadata_searches(kit->heap) + 1), i;

	for (i = 0; i < ROW; i++)
		rows[(class_ - 1) * ROW + i] = value;
}

static bool row_is(const struct okit *kit, uint32_t class_, uint32_t value)
{
	const uint32_t *rows = (uint32_t *)(mam_metadata_searches(kit->heap) + 1);
	uint32_t i;

	for (i = 0; i < ROW; i++)
		if (rows[(class_ - 1) * ROW + i] != value)
			return false;
	return true;
}

/* ---- one word -------------------------------------------------------------------------------- */

/* The slot of a rank, counted from bit `from`; the first one if there are not as many. */
static uint64_t slot_of(uint64_t seen, uint32_t rank, uint32_t from)
{
	uint64_t first = 0, bit;
	uint32_t i;

	for (i = 0; i < 64; i++) {
		bit = (uint64_t)1 << (from + i) % 64;
		if (!(seen & bit))
			continue;
		first = first ? first : bit;
		if (!rank--)
			return bit;
	}
	return first;
}

/* As the word was seen, all ranks take different slots, as long as there are enough. */
START_TEST(ranks_take_different_slots)
{
	uint64_t seen, word, won, all;
	uint32_t turn, rank, from;

	for (turn = 0; turn < 2000; turn++) {
		seen = simt_random() & (turn % 2 ? simt_random() : ~(uint64_t)0);
		seen = turn % 16 ? seen : ~(uint64_t)0;
		from = motion_below(64);
		word = seen;
		all = 0;
		for (rank = 0; rank < 32; rank++) {
			won = mam_glance_claim(&word, seen, rank, from);
			if (rank >= mam_popc64(seen)) {
				/* All are taken by now. */
				ck_assert(!won && !word);
				break;
			}
			ck_assert(won == slot_of(seen, rank, from));
			all |= won;
			ck_assert(word == (seen & ~all));
		}
	}
}
END_TEST

/* Slots that others have taken since the look: another one, which the old value shows. */
START_TEST(lost_claim_takes_another_slot)
{
	uint64_t seen, word, left, won;
	uint32_t turn, rank, from;

	for (turn = 0; turn < 2000; turn++) {
		seen = simt_random();
		rank = motion_below(64);
		from = motion_below(64);
		left = seen & (turn % 4 ? simt_random() : 0);
		left &= turn % 3 ? ~slot_of(seen, rank, from) : ~(uint64_t)0;
		word = left;
		won = mam_glance_claim(&word, seen, rank, from);
		if (slot_of(seen, rank, from) & left)
			ck_assert(won == slot_of(seen, rank, from));
		else if (rank < mam_popc64(seen))
			ck_assert(won == slot_of(left, 0, from));
		else
			ck_assert(won == (left & won) && !won == !left && !(won & (won - 1)));
		ck_assert(word == (left & ~won));
	}
	word = 5;
	ck_assert(!mam_glance_claim(&word, 0, 3, 1));
	ck_assert(word == 5);
}
END_TEST

/* ---- lanes that want different classes ------------------------------------------------------- */

/* Word 3 is known, maybe busy; or it is not. */
struct known {
	const char *name;
	uint32_t value; /* of each word of the row */
	uint64_t used;  /* slots of word 3 */
};

static const struct known known[] = {
	{ "a known word", 3 + 1, 0xff },
	{ "a busy word", (3 + 1) | MAM_SHARED_BUSY, 0xff },
	{ "a full word", 3 + 1, ~(uint64_t)0 },
	{ "no known word", 0, 0 },
	{ "no known word, but busy", MAM_SHARED_BUSY, 0 },
};

static void begin_known(void *argument)
{
	struct okit *kit = argument;
	const struct known *plan = kit->plan;

	okit_begin(kit);
	motion_slab(kit, 4, 3, plan->used);
	fill_row(kit, 4, plan->value);
}

/* Each lane takes a slot of the word, and nothing if none is known. The row stays as it is. */
MAM_KERNEL(look_at_row)
{
	struct okit *kit = argument;
	const struct known *plan = kit->plan;
	bool some = plan->value & ~MAM_SHARED_BUSY && ~plan->used;
	unsigned char *object = mam_glance(kit->heap, 4, mam_lane() | MAM_GLANCE_MIXED);

	MAM_KASSERT(!object == !some);
	MAM_KASSERT(row_is(kit, 4, plan->value));
	if (!object)
		return;
	okit_own(kit, object, 64);
	MAM_KASSERT((object - kit->space) / 4096 == 3);
}

START_TEST(known_word_serves_lanes)
{
	struct okit *kit = okit_create(1, 1, &known[_i]);

	motion_explore(kit, known[_i].name, begin_known, look_at_row, 1, LANES, 20, NULL);
	okit_destroy(kit);
}
END_TEST

/* The same by one lane, of a warp that starts in the upper half: exactly the slot of the rank. */
MAM_KERNEL(look_alone)
{
	struct okit *kit = argument;
	uint32_t from = mam_handle_warp() * 8 % 64, n, rank;
	uint64_t *word = &mam_metadata_words(kit->heap, 4)[3], seen;

	if (mam_block() != 6)
		return;
	for (n = 0; n < 30; n++) {
		seen = *word;
		rank = motion_below(32);
		okit_own(kit, mam_glance(kit->heap, 4, rank | MAM_GLANCE_MIXED), 64);
		MAM_KASSERT(*word == (seen & ~slot_of(seen, rank, from)));
	}
}

START_TEST(rank_selects_slot)
{
	struct okit *kit = okit_create(1, 1, &known[_i]);

	motion_explore(kit, "one lane", begin_known, look_alone, 7, 1, 20, NULL);
	okit_destroy(kit);
}
END_TEST

/* Several warps share a word: no slot is given twice, also while a search sets the row's word. */
MAM_KERNEL(share_row)
{
	struct okit *kit = argument;
	void *object = mam_glance(kit->heap, 4, mam_lane() | MAM_GLANCE_MIXED);

	if (!object)
		return;
	if (!mam_lane())
		mam_find_share(kit->heap, 4, (struct mam_kfind){ 1, 3 }, 0);
	okit_own(kit, object, 64);
	motion_wait(3);
	okit_free(kit, object);
}

START_TEST(warps_share_word)
{
	struct okit *kit = okit_create(1, 1, &known[_i]);

	motion_explore(kit, "warps at one word", begin_known, share_row, 9, 8, KIT_RACE ? 40 : 120,
		       NULL);
	okit_destroy(kit);
}
END_TEST

/*
 * The lanes of a warp want four classes: two lanes each. Ranks are counted by class, and a class
 * that fits a run well gets one, although its row knows a word.
 */
static const size_t wanted[] = { 64, 16, 1024, 3000 };

static void begin_mixed(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	motion_slab(kit, 4, 3, 0);
	motion_slab(kit, 1, 5, 0);
	ck_assert(motion_open_some(kit, 24, 0, ~(uint64_t)0 << 32, 0) == ~(uint64_t)0 << 32);
	fill_row(kit, 4, 3 + 1);
	fill_row(kit, 1, 5 + 1);
	fill_row(kit, 24, 0 + 1);
}

MAM_KERNEL(want_different)
{
	struct okit *kit = argument;
	size_t bytes = wanted[mam_lane() % 4];
	struct mam_kslot none = { 0, MAM_NO_SLOT };
	uint32_t class_ = mam_class_of(bytes), rank = mam_lane() / 4;
	unsigned char *object = mam_roam_glance(kit->heap, MASK, class_, none);
	uint32_t unit = (uint32_t)((object - kit->space) / 1024);
	uint32_t slot = (mam_handle_warp() * 8 + rank) % 64, word = class_ == 4 ? 3 : 5;

	MAM_KASSERT(object);
	okit_own(kit, object, bytes);
	if (class_ <= 4) {
		/* The second lane may see that the first one has taken its slot. */
		MAM_KASSERT(object == mam_metadata_at(kit->heap, class_, word, slot) ||
			    (rank &&
			     object == mam_metadata_at(kit->heap, class_, word, (slot + 1) % 64)));
	} else {
		MAM_KASSERT(mam_owners_load(kit->heap, unit) ==
			    MAM_OWNER_FEW + (bytes + 72) / 1024);
		MAM_KASSERT(mam_objects_usable(kit->heap, object) == (bytes + 72) / 1024 * 1024);
	}
	okit_free(kit, object);
}

START_TEST(ranks_count_lanes_of_class)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "four classes", begin_mixed, want_different, 1, LANES, 40, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- lanes of one class ---------------------------------------------------------------------- */

/* Of 1 KiB: each block has one word, and a look sees all blocks. */
#define ONE 24u

struct home {
	const char *name;
	uint32_t won;   /* lanes that win their slot at home */
	uint64_t spare; /* slots that are free in another block; 0: none was ever there */
};

static const struct home homes[] = {
	{ "some won at home, room elsewhere", 0x5a, 0xffff0000 },
	{ "some won at home, room for one", 0x7e, 1 },
	{ "some won at home, no room", 0x81, 0 },
	{ "home not open, room elsewhere", 0, 0xffff },
	{ "home not open, no room elsewhere", 0, 0 },
	{ "all won at home", 0xff, 0xffff },
};

/*
 * Lanes that won keep their slots. If some won and others did not, these look where the class was
 * seen. If none won, the home is opened, for all of them.
 */
MAM_KERNEL(look_after_home)
{
	struct okit *kit = argument;
	const struct home *plan = kit->plan;
	uint64_t traits = mam_traits_of(ONE), won;
	struct mam_kslot home = mam_handle_home(kit->heap, traits, mam_handle_warp(), LANES), mine;
	unsigned char *object;
	uint32_t got;

	won = (uint64_t)plan->won << home.slot;
	if (!mam_lane()) {
		/* The groups of the winners, and slots of another block. */
		if (won)
			(void)motion_open_some(kit, ONE, home.word, won, 0);
		if (plan->spare)
			(void)motion_open_some(kit, ONE, home.word ^ 1, plan->spare, 0);
	}
	mam_warp_sync(MASK);
	mine = mam_search_claim(kit->heap, MASK, traits);
	MAM_KASSERT((mine.slot != MAM_NO_SLOT) == (plan->won >> mam_lane() & 1));
	object = mam_roam_glance(kit->heap, MASK, ONE, mine);
	got = mam_warp_ballot(MASK, object != NULL);
	MAM_KASSERT((got & plan->won) == plan->won);
	if (plan->won >> mam_lane() & 1)
		MAM_KASSERT(object == mam_traits_at(kit->heap, traits, mine.word, mine.slot));
	if (!plan->won) {
		MAM_KASSERT(object ==
			    mam_traits_at(kit->heap, traits, home.word, home.slot + mam_lane()));
		MAM_KASSERT(mam_slab_owner(kit->heap, traits, home.word, home.slot + mam_lane()) ==
			    ONE);
	} else if (!plan->spare)
		MAM_KASSERT(got == plan->won);
	else
		MAM_KASSERT(mam_popc32(got) > mam_popc32(plan->won) || plan->won == MASK);
	if (plan->spare == 1)
		MAM_KASSERT(mam_popc32(got & ~plan->won) == 1);
	if (object) {
		okit_own(kit, object, 1024);
		okit_free(kit, object);
	}
}

START_TEST(lanes_of_one_class_look_if_some_won)
{
	struct okit *kit = okit_create(2, 1, &homes[_i]);

	motion_explore(kit, homes[_i].name, okit_begin, look_after_home, 1, LANES, 40,
		       okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/*
 * Two warps open homes in one unit at the same time, of which each has half of the slots: nearly always
 * all their lanes get their own slots, without a search.
 */
static uint32_t asked, served;

static uint64_t searches_of(const struct okit *kit)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < kit->columns; i++)
		sum += kit->heap->steps[i].searches;
	return sum;
}

MAM_KERNEL(share_a_unit)
{
	struct okit *kit = argument;
	uint64_t traits = mam_traits_of(8);
	struct mam_kslot home = mam_handle_home(kit->heap, traits, mam_handle_warp(), 4), mine;
	unsigned char *object;

	mine = mam_search_claim(kit->heap, 15, traits);
	object = mam_roam_glance(kit->heap, 15, 8, mine);
	(void)mam_atomic_add32(&asked, 1, MAM_RELAXED, MAM_AT_DEVICE);
	/* The other warp may have been stopped while it opened the unit. */
	if (object == mam_traits_at(kit->heap, traits, home.word, home.slot + mam_lane()))
		(void)mam_atomic_add32(&served, 1, MAM_RELAXED, MAM_AT_DEVICE);
	mam_warp_sync(15);
	if (object) {
		okit_own(kit, object, 128);
		okit_free(kit, object);
	}
}

START_TEST(warps_open_one_unit)
{
	struct okit *kit = okit_create(1, 1, NULL);

	asked = served = 0;
	motion_explore(kit, "two warps", okit_begin, share_a_unit, 2, 4, 100, okit_check_empty);
	ck_assert_uint_ge(served * 100, asked * 97);
	okit_destroy(kit);
}
END_TEST

/*
 * One thread opens a unit of a home while its warp opens it: the warp takes the others, or none.
 */
MAM_KERNEL(lose_a_unit)
{
	struct okit *kit = argument;
	uint64_t traits = mam_traits_of(ONE);
	struct mam_kslot home = mam_handle_home(kit->heap, traits, 0, LANES), mine;
	uint32_t unit = home.word * MAM_BLOCK_UNITS + home.slot + 3;
	unsigned char *object;

	if (mam_block()) {
		if (!mam_lane() && motion_open_some(kit, 1, unit, 1, 1))
			okit_free(kit, mam_metadata_at(kit->heap, 1, unit, 0));
		return;
	}
	mine = mam_roam_home(kit->heap, MASK, ONE);
	object = mine.slot < MAM_NO_SLOT ? mam_metadata_at(kit->heap, ONE, mine.word, mine.slot)
					 : NULL;
	if (object) {
		okit_own(kit, object, 1024);
		okit_free(kit, object);
	}
}

START_TEST(home_loses_a_unit)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "one unit is lost", okit_begin, lose_a_unit, 2, LANES, 100,
		       okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/*
 * A home that belongs to another class stays as it is: its lanes look once, and go on to the search.
 */
MAM_KERNEL(find_others_at_home)
{
	struct okit *kit = argument;
	uint64_t traits = mam_traits_of(ONE);
	struct mam_kslot home = mam_handle_home(kit->heap, traits, mam_handle_warp(), LANES), mine;
	uint32_t unit = home.word * MAM_BLOCK_UNITS + home.slot;
	unsigned char *object;

	if (!mam_lane())
		(void)motion_open_some(kit, 1, unit, 1, 1);
	mam_warp_sync(MASK);
	mine = mam_search_claim(kit->heap, MASK, traits);
	MAM_KASSERT(mine.slot == MAM_NO_SLOT);
	mine = mam_roam_home(kit->heap, MASK, ONE);
	MAM_KASSERT(mine.slot == MAM_NO_SLOT);
	MAM_KASSERT(mam_owners_load(kit->heap, unit) == 1);
	MAM_KASSERT(!mam_owners_load(kit->heap, unit + 1));
	MAM_KASSERT(!mam_roam_glance(kit->heap, MASK, ONE, mine));
	mam_warp_sync(MASK);
	object = mam_roam(kit->heap, MASK, 1024, mine);
	okit_own(kit, object, 1024);
	MAM_KASSERT(searches_of(kit) == 1);
	mam_warp_sync(MASK);
	okit_free(kit, object);
	if (!mam_lane())
		okit_free(kit, mam_metadata_at(kit->heap, 1, unit, 0));
}

START_TEST(home_of_others_stays)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "others at home", okit_begin, find_others_at_home, 1, LANES, 20,
		       okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/*
 * The same from the entry: a request that finds room at a glance, or opens its home, does not count as
 * a search, one whose home belongs to others does.
 */
MAM_KERNEL(request_mixed)
{
	struct okit *kit = argument;
	size_t bytes = mam_lane() % 2 ? 3000 : 1024;
	struct mam_kslot none = { 0, MAM_NO_SLOT };
	unsigned char *object = mam_roam(kit->heap, MASK, bytes, none);

	okit_own(kit, object, bytes);
	MAM_KASSERT(!searches_of(kit));
	mam_warp_sync(MASK);
	okit_free(kit, object);
}

MAM_KERNEL(request_home)
{
	struct okit *kit = argument;
	struct mam_kslot none = { 0, MAM_NO_SLOT };
	unsigned char *object = mam_roam(kit->heap, MASK, 1024, none);

	okit_own(kit, object, 1024);
	MAM_KASSERT(!searches_of(kit));
	mam_warp_sync(MASK);
	okit_free(kit, object);
}

START_TEST(glance_is_not_a_search)
{
	struct okit *kit = okit_create(2, 1, NULL);

	motion_explore(kit, "counts", okit_begin, request_mixed, 1, LANES, 20, okit_check_empty);
	motion_explore(kit, "home", okit_begin, request_home, 1, LANES, 20, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("glance");

	tcase_add_test(tcase, ranks_take_different_slots);
	tcase_add_test(tcase, lost_claim_takes_another_slot);
	tcase_add_loop_test(tcase, known_word_serves_lanes, 0, sizeof(known) / sizeof(known[0]));
	tcase_add_loop_test(tcase, rank_selects_slot, 0, 2);
	tcase_add_loop_test(tcase, warps_share_word, 0, 2);
	tcase_add_test(tcase, ranks_count_lanes_of_class);
	tcase_add_loop_test(tcase, lanes_of_one_class_look_if_some_won, 0,
			    sizeof(homes) / sizeof(homes[0]));
	tcase_add_test(tcase, warps_open_one_unit);
	tcase_add_test(tcase, home_loses_a_unit);
	tcase_add_test(tcase, home_of_others_stays);
	tcase_add_test(tcase, glance_is_not_a_search);
	return kit_run(tcase, "heap/glance");
}
