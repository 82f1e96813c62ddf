/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_find.c - the search of a lone lane (find.h) in small heaps: where each of its steps finds
 * slots, that it ends whatever other lanes leave behind, and what it leaves for them.
 */
#include "heap/motion.h"

#define ROW 16 /* words of a row in heaps of up to 256 blocks */

static uint32_t *row_of(const struct okit *kit, uint32_t class_)
{
	return (uint32_t *)(mam_metadata_searches(kit->heap) + 1) + (class_ - 1) * ROW;
}

static uint32_t *frontier_of(const struct okit *kit)
{
	return &mam_metadata_searches(kit->heap)->frontier;
}

/* The word that the caller uses. */
static uint32_t shared(const struct okit *kit, uint32_t class_)
{
	return row_of(kit, class_)[mam_handle_warp() % ROW];
}

/* Sets all words of a row, so that it does not matter which one a warp uses. */
static void fill_row(const struct okit *kit, uint32_t class_, uint32_t value)
{
	uint32_t i;

	for (i = 0; i < ROW; i++)
		row_of(kit, class_)[i] = value;
}

/*
 * Searches for at most `n` slots; the caller owns those that were found. With `lanes`: as the leader
 * of so many, of which none won at home, so it opens the home first.
 */
static struct mam_kfind find(struct okit *kit, uint32_t class_, uint32_t n, uint32_t lanes)
{
	struct mam_krequest request = motion_request(kit, class_, 1u << mam_lane());
	uint32_t need = mam_find_need(class_, n, lanes, 0), polls = 0;
	struct mam_kfind found = { 0, MAM_SHARED_BUSY };

	if (lanes) {
		mam_search_home(&request, need);
		found = request.found;
		MAM_KASSERT(found.won || found.word == MAM_SHARED_BUSY);
	}
	while (!found.won && found.word == MAM_SHARED_BUSY && polls <= MAM_FIND_POLLS) {
		mam_search_lead(&request, need, polls++);
		found = request.found;
	}
	MAM_KASSERT(mam_popc64(found.won) <= n);
	MAM_KASSERT(found.won || found.word != MAM_SHARED_BUSY);
	motion_own(kit, class_, found.word, found.won);
	return found;
}

/* ---- the word that is known ------------------------------------------------------------------ */

/* Word 3 is known, and word 0 has room, too. */
static void begin_known(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	motion_slab(kit, 4, 0, 1);
	motion_slab(kit, 4, 3, 0xff);
	fill_row(kit, 4, 3 + 1 + *(const uint32_t *)kit->plan);
}

MAM_KERNEL(find_known)
{
	struct okit *kit = argument;
	uint32_t i, was = row_of(kit, 4)[0];
	struct mam_kfind found;

	/* 56 slots are free. */
	for (i = 0; i < 11; i++) {
		found = find(kit, 4, 5, 0);
		MAM_KASSERT(found.word == 3 && mam_popc64(found.won) == 5);
	}
	found = find(kit, 4, 5, 0);
	MAM_KASSERT(found.word == 3 && mam_popc64(found.won) == 1);
	for (i = 0; i < ROW; i++)
		MAM_KASSERT(row_of(kit, 4)[i] == was);
	/* Then the next one becomes known. */
	found = find(kit, 4, 5, 0);
	MAM_KASSERT(found.word != 3 && found.won);
	MAM_KASSERT(shared(kit, 4) == found.word + 1);
}

/* The word of a neighboring warp serves, too. Otherwise one lane marks its own word, to search. */
MAM_KERNEL(look_at_row)
{
	struct okit *kit = argument;
	uint32_t need = mam_find_need(4, 2, 0, 0);
	struct mam_kfind found;

	fill_row(kit, 4, 0);
	row_of(kit, 4)[(mam_handle_warp() ^ 1) % ROW] = 3 + 1;
	found = mam_find_known(kit->heap, need);
	MAM_KASSERT(found.word == 3 && mam_popc64(found.won) == 2);
	motion_own(kit, 4, 3, found.won);
	fill_row(kit, 4, 0);
	found = mam_find_known(kit->heap, need);
	MAM_KASSERT(!found.won && !found.word && shared(kit, 4) == MAM_SHARED_BUSY);
	MAM_KASSERT(mam_find_known(kit->heap, need).word == MAM_SHARED_BUSY);
	fill_row(kit, 4, 8 | MAM_SHARED_BUSY);
	MAM_KASSERT(mam_find_known(kit->heap, need).word == MAM_SHARED_BUSY);
}

/* The same if another lane searches for the next one. */
START_TEST(known_word_is_used_until_it_is_full)
{
	const uint32_t busy = _i ? MAM_SHARED_BUSY : 0;
	struct okit *kit = okit_create(2, 1, &busy);

	motion_explore(kit, "a known word", begin_known, find_known, 1, 1, 20, NULL);
	motion_explore(kit, "a row", begin_known, look_at_row, 1, 1, 3, NULL);
	okit_destroy(kit);
}
END_TEST

/*
 * A lane marked the word as busy and stopped forever: another one waits a moment, searches as well
 * and replaces the mark. If it finds nothing, it leaves the mark.
 */
struct busy {
	const char *name;
	bool full;
	uint32_t known; /* a full word, plus 1; or 0 */
};

static const struct busy busy[] = {
	{ "busy, room", false, 0 },
	{ "busy with a full word, room", false, 1 },
	{ "busy, no room", true, 0 },
	{ "busy with a full word, no room", true, 1 },
};

static void begin_busy(void *argument)
{
	struct okit *kit = argument;
	const struct busy *plan = kit->plan;

	okit_begin(kit);
	motion_slab(kit, 4, 0, ~(uint64_t)0);
	motion_run(kit, 4, plan->full ? 60 : 30);
	fill_row(kit, 4, plan->known | MAM_SHARED_BUSY);
}

MAM_KERNEL(find_busy)
{
	struct okit *kit = argument;
	const struct busy *plan = kit->plan;
	struct mam_kfind found = find(kit, 4, 2, 0);

	MAM_KASSERT(!found.won == plan->full);
	MAM_KASSERT(shared(kit, 4) ==
		    (plan->full ? plan->known | MAM_SHARED_BUSY : found.word + 1));
}

START_TEST(busy_word_delays_search_briefly)
{
	struct okit *kit = okit_create(1, 1, &busy[_i]);
	struct simt_case test = {
		.name = busy[_i].name,
		.kernel = find_busy,
		.grid = 1,
		.block = 1,
		.argument = kit,
		.begin = begin_busy,
		.check = okit_check,
		.seeds = 40,
		/* The bound of find.h: some looks of four words each, and a few polls. */
		.config = { .race = KIT_RACE, .strict = true, .steps_max = 1500 },
	};

	simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

/* A full heap: nothing is found, within the same bound, and the word is as before. */
static void begin_full(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	motion_slab(kit, 4, 0, ~(uint64_t)0);
	motion_run(kit, 4, 60);
	fill_row(kit, 4, 1);
}

MAM_KERNEL(find_nothing)
{
	struct okit *kit = argument;

	MAM_KASSERT(!find(kit, 4, 2, mam_block() ? 0 : 32).won);
	MAM_KASSERT(!find(kit, 72, 1, 0).won);
}

static const char *words_are_as_before(void *argument)
{
	struct okit *kit = argument;
	uint32_t i;

	for (i = 0; i < ROW; i++)
		if (row_of(kit, 4)[i] != 1 || row_of(kit, 72)[i])
			return "a word of a row has changed";
	return okit_check(kit);
}

START_TEST(search_of_full_heap_ends)
{
	struct okit *kit = okit_create(1, 1, NULL);
	struct simt_case test = {
		.name = "no room",
		.kernel = find_nothing,
		.grid = 2,
		.block = 1,
		.argument = kit,
		.begin = begin_full,
		.check = words_are_as_before,
		.seeds = 40,
		.config = { .race = KIT_RACE, .strict = true, .steps_max = 2400 },
	};

	simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

/* ---- where groups are opened ----------------------------------------------------------------- */

/*
 * Objects of 1 KiB, each a group, in a heap that is empty at first: groups are opened before the
 * frontier or at it, or a block or two later where its block is full. So all units after these stay
 * free. It moves as far as needed.
 */
MAM_KERNEL(fill_up)
{
	struct okit *kit = argument;
	uint32_t end = kit->blocks * MAM_BLOCK_UNITS, n, edge, unit, high = 0;
	struct mam_kfind found;

	for (n = 0; *frontier_of(kit) < end - MAM_BLOCK_UNITS; n++) {
		found = find(kit, 24, 1, 0);
		MAM_KASSERT(found.won);
		unit = found.word * MAM_BLOCK_UNITS + mam_ffs64(found.won) - 1;
		high = unit > high ? unit : high;
		edge = *frontier_of(kit);
		MAM_KASSERT(edge <= n + 1);
		MAM_KASSERT(high / MAM_BLOCK_UNITS <
			    (edge - 1) / MAM_BLOCK_UNITS + MAM_FIND_OPEN_END - MAM_FIND_OPEN_BEGIN);
	}
	/* Most were opened where others had left units free. */
	MAM_KASSERT(n > 2 * end / 3);
}

START_TEST(groups_stay_before_frontier)
{
	struct okit *kit = okit_create(5, 1, NULL);

	motion_explore(kit, "the frontier", okit_begin, fill_up, 1, 1, 4, okit_check);
	okit_destroy(kit);
}
END_TEST

/* Two full blocks at the frontier: it moves past them. */
static void begin_two_full(void *argument)
{
	struct okit *kit = argument;
	uint32_t block;

	okit_begin(kit);
	for (block = 0; block < 2; block++) {
		motion_run(kit, 64 * block, 32);
		motion_run(kit, 64 * block + 32, 32);
	}
}

MAM_KERNEL(find_after_full)
{
	struct okit *kit = argument;

	MAM_KASSERT(find(kit, 24, 1, 0).word == 2);
	MAM_KASSERT(*frontier_of(kit) == 2 * MAM_BLOCK_UNITS + 1);
}

START_TEST(frontier_moves_past_full_blocks)
{
	struct okit *kit = okit_create(6, 1, NULL);

	motion_explore(kit, "full blocks", begin_two_full, find_after_full, 1, 1, 5, okit_check);
	okit_destroy(kit);
}
END_TEST

/* An empty heap whose frontier is far: it moves back, down to a limit. */
static void begin_far(void *argument)
{
	okit_begin(argument);
	*frontier_of(argument) = MAM_FIND_EDGE + 70;
}

MAM_KERNEL(find_in_empty)
{
	struct okit *kit = argument;
	struct mam_kfind found;
	uint32_t i;

	for (i = 0; i < 300; i++) {
		found = find(kit, 5, 1, 0);
		MAM_KASSERT(found.won);
		motion_release(kit, 5, found.word, found.won);
		(void)mam_slab_close(kit->heap, 5, found.word, 0);
		MAM_KASSERT(*frontier_of(kit) <= MAM_FIND_EDGE + 70);
		fill_row(kit, 5, 0);
	}
	MAM_KASSERT(*frontier_of(kit) <= MAM_FIND_EDGE);
	MAM_KASSERT(*frontier_of(kit) > MAM_FIND_EDGE - MAM_BLOCK_UNITS);
}

START_TEST(frontier_moves_back_in_empty_heap)
{
	struct okit *kit = okit_create(72, 1, NULL);

	motion_explore(kit, "a frontier too far", begin_far, find_in_empty, 1, 1, 5, okit_check);
	okit_destroy(kit);
}
END_TEST

/* Every unit is a group of class 4, all idle: one is closed, and a group of another opens there. */
static void begin_all_idle(void *argument)
{
	struct okit *kit = argument;
	uint32_t word;

	okit_begin(kit);
	for (word = 0; word < 16; word++)
		motion_slab(kit, 4, word, 0);
}

MAM_KERNEL(find_idle)
{
	struct okit *kit = argument;

	MAM_KASSERT(find(kit, 1, 3, 0).won);
	MAM_KASSERT(find(kit, 24, 1, 0).won);
	MAM_KASSERT(kit->heap->closes[0] == 2);
}

START_TEST(idle_group_is_closed_for_another_class)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "idle groups", begin_all_idle, find_idle, 1, 1, 20, okit_check);
	okit_destroy(kit);
}
END_TEST

/* Runs of few and of many units, groups with a live object, a free unit: none is closed, even briefly. */
static void begin_mixed(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	motion_slab(kit, 4, 0, 0x1000100010001);
	motion_run(kit, 4, 1);
	motion_run(kit, 5, 8);
	motion_run(kit, 13, 9);
	motion_run(kit, 22, 20);
	motion_slab(kit, 4, 15, 0xffffffff0000ffff);
	motion_slab(kit, 72, 1, 0xfe);
}

MAM_KERNEL(close_mixed)
{
	struct okit *kit = argument;
	uint32_t unit;

	for (unit = 0; unit < MAM_BLOCK_UNITS; unit++) {
		MAM_KASSERT(mam_find_close(kit->heap, unit) ==
			    (unit == 61 ? (uint64_t)1 << 61 : 0));
		MAM_KASSERT(kit->heap->closes[0] == (unit >= 61));
	}
	/* Of the largest class; each object is a group. */
	MAM_KASSERT(!mam_find_close(kit->heap, 64 + 9));
	MAM_KASSERT(mam_find_close(kit->heap, 64 + 7) == 255);
}

START_TEST(only_idle_group_is_closed)
{
	struct okit *kit = okit_create(2, 1, NULL);

	motion_explore(kit, "mixed units", begin_mixed, close_mixed, 1, 1, 1, okit_check);
	okit_destroy(kit);
}
END_TEST

/*
 * A full warp has words of its own: those of its home, generation by generation, as far apart as the
 * launch is large. It opens all groups of the slab.
 */
#define OWN_WARPS 4

MAM_KERNEL(find_own)
{
	struct okit *kit = argument;
	uint64_t traits = mam_traits_of(4);
	struct mam_kfind found;
	struct mam_kslot home;
	uint32_t i;

	if (mam_block())
		return;
	for (i = 0; i < 6; i++) {
		home = mam_handle_home(kit->heap, traits,
				       mam_handle_warp() + i / 2 * mam_handle_warps(), 32);
		found = find(kit, 4, 32, 32);
		MAM_KASSERT(mam_popc64(found.won) == 32);
		MAM_KASSERT(found.word == home.word);
		MAM_KASSERT(mam_popc64(mam_pages_bits(kit->heap->units)[found.word / 16]) % 4 == 0);
		MAM_KASSERT(mam_handle_get(kit->heap, 4) == i / 2);
	}
	for (i = 0; i < ROW; i++)
		MAM_KASSERT(!row_of(kit, 4)[i]);
}

START_TEST(full_warp_has_words_of_its_own)
{
	struct okit *kit = okit_create(8, 1, NULL);

	motion_explore(kit, "homes", okit_begin, find_own, OWN_WARPS, 1, 5, okit_check);
	okit_destroy(kit);
}
END_TEST

/*
 * A lone lane opens the group of its home, and leaves the row as it was: other warps claim there
 * blindly. Its next objects come from there as well, until it is full. Then a search makes another
 * word known.
 */
MAM_KERNEL(find_home)
{
	struct okit *kit = argument;
	uint32_t i, shift = mam_class_group_shift(4);
	struct mam_kslot home;
	struct mam_kfind found;

	home = mam_handle_home(kit->heap, mam_traits_of(4), mam_handle_warp(), 1);
	for (i = 0; i < 1u << shift; i++) {
		found = find(kit, 4, 1, 1);
		MAM_KASSERT(found.won && found.word == home.word);
		MAM_KASSERT((mam_ffs64(found.won) - 1) >> shift == home.slot >> shift);
		MAM_KASSERT(i || mam_ffs64(found.won) - 1 == home.slot);
		MAM_KASSERT(!shared(kit, 4));
	}
	for (i = 0; i < 8; i++) {
		found = find(kit, 4, 1, 1);
		MAM_KASSERT(found.won && shared(kit, 4) == found.word + 1);
	}
}

START_TEST(home_is_opened_and_not_shared)
{
	struct okit *kit = okit_create(2, 1, NULL);

	motion_explore(kit, "the home of a lone lane", okit_begin, find_home, 1, 1, 5, okit_check);
	okit_destroy(kit);
}
END_TEST

/*
 * The home of a full warp has idle groups of other classes, left by earlier kernels: they are closed,
 * and the home serves the warp. Groups with a live object stay.
 */
struct former {
	uint32_t class_; /* that had the units before */
	bool live;       /* one object in each group is */
};

MAM_KERNEL(find_former)
{
	struct okit *kit = argument;
	const struct former *plan = kit->plan;
	struct mam_krequest request = motion_request(kit, 4, 1u << mam_lane());
	uint32_t need = mam_find_need(4, 32, 32, 0);
	struct mam_kslot home;

	home = mam_handle_home(kit->heap, mam_traits_of(4), mam_handle_warp(), 32);
	/* Not if the warp was here before: it would take the home from others again and again. */
	mam_handle_set(kit->heap, 4, 0);
	mam_search_home(&request, need);
	MAM_KASSERT(!request.found.won);
	mam_atomic_store64(mam_handle_of(kit->heap, 4), 0, MAM_RELAXED, MAM_AT_DEVICE);
	mam_search_home(&request, need);
	MAM_KASSERT(!request.found.won == plan->live);
	MAM_KASSERT(mam_handle_get(kit->heap, 4) == 0);
	if (plan->live)
		return;
	MAM_KASSERT(request.found.word == home.word && mam_popc64(request.found.won) == 32);
	/* In the next kernel the claim at home wins them. */
	motion_own(kit, 4, home.word, request.found.won);
	motion_release(kit, 4, home.word, request.found.won);
	MAM_KASSERT(motion_claim(kit, 4, home.word, request.found.won) == request.found.won);
}

static void begin_former(void *argument)
{
	struct okit *kit = argument;
	const struct former *plan = kit->plan;
	uint32_t word, count = mam_metadata_word_count(kit->heap, plan->class_), group;
	uint64_t slots, used = 0;

	okit_begin(kit);
	for (group = 0; plan->live && group < okit_groups(plan->class_); group++) {
		slots = okit_group_slots(plan->class_, group);
		used |= slots & (~slots + 1);
	}
	for (word = 0; word < count; word++)
		motion_slab(kit, plan->class_, word, used);
}

/* One unit; 4 units; the same as the home's; and so that two groups of 3 units are in the home. */
static const struct former formers[] = {
	{ 8, false }, { 56, false }, { 24, false }, { 27, false }, { 8, true }, { 24, true },
};

START_TEST(home_is_taken_from_idle_groups)
{
	struct okit *kit = okit_create(8, 1, &formers[_i]);

	motion_explore(kit, "a home with idle groups", begin_former, find_former, 1, 1, 3,
		       okit_check);
	okit_destroy(kit);
}
END_TEST

/*
 * The home of some lanes, by the state of its first group: only slots of their own groups are claimed,
 * and of a full warp's those of the slab. A home that may be opened is named.
 */
MAM_KERNEL(claim_own)
{
	struct okit *kit = argument;
	uint32_t lanes = 4, need = mam_find_need(4, 2, lanes, 0), word, last, unit;
	struct mam_kheap *heap = kit->heap;
	struct mam_kfind found;
	uint64_t own, group;

	word = mam_find_home(heap, need, 0, &own);
	group = mam_find_grouped(mam_traits_of(4), own);
	found = mam_find_own(heap, need, 0);
	MAM_KASSERT(!found.won && found.word == word);
	/* Another class has its units, or a group that opens. */
	unit = mam_metadata_unit(4, word) + (mam_ffs64(own) - 1) / 16;
	mam_owners_set(heap, unit, 1, 5);
	found = mam_find_own(heap, need, 0);
	MAM_KASSERT(!found.won && found.word == word);
	mam_owners_clear(heap, unit, 1);
	mam_owners_set(heap, unit, 1, 4 + MAM_OWNER_MOVING);
	found = mam_find_own(heap, need, 0);
	MAM_KASSERT(!found.won && found.word == word);
	mam_owners_clear(heap, unit, 1);
	/* Open: full, while the other groups are not; then with three slots. */
	MAM_KASSERT(motion_open(kit, 4, word, group));
	found = mam_find_own(heap, need, 0);
	MAM_KASSERT(!found.won && found.word == MAM_NO_WORD);
	motion_release(kit, 4, word, own & (~own + 1) * 7);
	found = mam_find_own(heap, need, 0);
	MAM_KASSERT(found.word == word && found.won == (own & (~own + 1) * 3));
	motion_own(kit, 4, word, found.won);
	/* A word after the last one. */
	for (last = 1; last < 4; last++) {
		found = mam_find_own(heap, mam_find_need(72, 1, 32, 8 * last), 0);
		MAM_KASSERT(!found.won && found.word == MAM_NO_WORD);
	}
}

START_TEST(home_is_claimed_by_its_lanes)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "a claim at home", okit_begin, claim_own, 1, 1, 3, okit_check);
	okit_destroy(kit);
}
END_TEST

/* One slot is left, in the third of four blocks: a look at four adjacent words finds it. */
static void begin_one_left(void *argument)
{
	struct okit *kit = argument;
	uint32_t block;

	okit_begin(kit);
	for (block = 0; block < 4; block++)
		motion_slab(kit, 24, block, ~(uint64_t)(block == 2 ? 32 : 0));
}

MAM_KERNEL(find_one_left)
{
	struct okit *kit = argument;
	struct mam_kfind found = find(kit, 24, 3, 0);

	MAM_KASSERT(found.word == 2 && found.won == 32);
	MAM_KASSERT(!find(kit, 24, 1, 0).won);
	MAM_KASSERT(mam_find_place(kit->heap, 24, 4 * MAM_BLOCK_UNITS).word == MAM_NO_WORD);
	MAM_KASSERT(mam_find_place(kit->heap, 24, MAM_NO_PAGE).word == MAM_NO_WORD);
}

START_TEST(last_slot_is_found)
{
	struct okit *kit = okit_create(4, 1, NULL);

	motion_explore(kit, "one slot", begin_one_left, find_one_left, 1, 1, 3, okit_check);
	okit_destroy(kit);
}
END_TEST

/* ---- lanes that search at the same time ------------------------------------------------------ */

#define HELD 3

MAM_KERNEL(find_and_free)
{
	static const uint32_t classes[] = { 1, 4, 4, 5, 6, 24, 40 };
	struct okit *kit = argument;
	struct mam_kfind held[HELD] = { { 0, 0 } };
	uint32_t class_[HELD] = { 0 }, n, i;

	for (n = 0; n < 12; n++) {
		i = motion_below(HELD);
		if (held[i].won) {
			motion_release(kit, class_[i], held[i].word, held[i].won);
			held[i].won = 0;
			continue;
		}
		class_[i] = classes[motion_below(7)];
		held[i] = find(kit, class_[i], 1 + motion_below(4), motion_below(4) ? 0 : 16);
	}
	for (i = 0; i < HELD; i++)
		if (held[i].won)
			motion_release(kit, class_[i], held[i].word, held[i].won);
}

/* Each lane that marked a word as busy has cleared the mark. */
static const char *no_word_is_busy(void *argument)
{
	struct okit *kit = argument;
	uint32_t class_, i;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++)
		for (i = 0; i < ROW; i++)
			if (row_of(kit, class_)[i] & MAM_SHARED_BUSY)
				return "a word is still busy";
	return okit_check_empty(kit);
}

START_TEST(concurrent_searches_share_words)
{
	struct okit *kit = okit_create(1 + (uint32_t)_i, 2, NULL);

	motion_explore(kit, "lanes that search", okit_begin, find_and_free, 3, 3,
		       KIT_RACE ? 60 : 200, no_word_is_busy);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("find");

	tcase_add_loop_test(tcase, known_word_is_used_until_it_is_full, 0, 2);
	tcase_add_loop_test(tcase, busy_word_delays_search_briefly, 0,
			    sizeof(busy) / sizeof(busy[0]));
	tcase_add_test(tcase, search_of_full_heap_ends);
	tcase_add_test(tcase, groups_stay_before_frontier);
	tcase_add_test(tcase, frontier_moves_past_full_blocks);
	tcase_add_test(tcase, frontier_moves_back_in_empty_heap);
	tcase_add_test(tcase, idle_group_is_closed_for_another_class);
	tcase_add_test(tcase, only_idle_group_is_closed);
	tcase_add_test(tcase, full_warp_has_words_of_its_own);
	tcase_add_test(tcase, home_is_opened_and_not_shared);
	tcase_add_loop_test(tcase, home_is_taken_from_idle_groups, 0,
			    sizeof(formers) / sizeof(formers[0]));
	tcase_add_test(tcase, home_is_claimed_by_its_lanes);
	tcase_add_test(tcase, last_slot_is_found);
	tcase_add_loop_test(tcase, concurrent_searches_share_words, 0, 2);
	return kit_run(tcase, "heap/find");
}
