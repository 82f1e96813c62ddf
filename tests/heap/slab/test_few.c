/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_few.c - objects of up to 8 units as runs (few.h): where they may start, which block they come
 * from, the frontier, claims by many lanes at the same time, and frees.
 */
#include "heap/motion.h"

static uint32_t *frontier_of(const struct okit *kit)
{
	return &mam_metadata_searches(kit->heap)->frontier;
}

static uint32_t units_of(uint32_t class_)
{
	return (mam_class_bytes(class_) + 1023) / 1024;
}

/* Allocates an object of the class as a run; the caller owns all of its units. */
static unsigned char *take(struct okit *kit, uint32_t class_)
{
	uint32_t n = units_of(class_), bytes = mam_class_bytes(class_), unit;
	unsigned char *object = mam_few_take(kit->heap, class_, (uint32_t)simt_random());

	if (!object)
		return NULL;
	unit = (uint32_t)((object - kit->space) / 1024);
	MAM_KASSERT(unit % MAM_BLOCK_UNITS + n <= MAM_BLOCK_UNITS);
	/* Of other sizes the object reaches into the last unit, whatever the class. */
	if (bytes & (bytes - 1))
		bytes = mam_class_bytes(mam_class_of(n << MAM_UNIT_SHIFT) - 1);
	okit_own(kit, object, bytes);
	MAM_KASSERT(mam_objects_usable(kit->heap, object) == n << MAM_UNIT_SHIFT);
	return object;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Where a run may start, by a look at each unit. */
static uint64_t starts_of(uint32_t class_, uint64_t taken)
{
	uint32_t n = units_of(class_), first;
	bool aligned = !(mam_class_bytes(class_) & (mam_class_bytes(class_) - 1));
	uint64_t starts = 0;

	for (first = 0; first + n <= 64; first++)
		if (!(taken >> first & (~(uint64_t)0 >> (64 - n))) && (!aligned || first % n == 0))
			starts |= (uint64_t)1 << first;
	return starts;
}

START_TEST(starts_match_model)
{
	uint32_t class_, turn;
	uint64_t taken;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		ck_assert(mam_few_starts(mam_traits_of(class_), 0) == starts_of(class_, 0));
		ck_assert(!mam_few_starts(mam_traits_of(class_), ~(uint64_t)0));
		for (turn = 0; turn < 400; turn++) {
			taken = simt_random() & simt_random();
			taken &= turn % 4 ? simt_random() : ~(uint64_t)0;
			taken &= turn % 8 < 3 ? simt_random() & simt_random() : ~(uint64_t)0;
			ck_assert(mam_few_starts(mam_traits_of(class_), taken) ==
				  starts_of(class_, taken));
		}
	}
}
END_TEST

/* Where a run may start so that the units beside it are taken or in other blocks. */
static uint64_t exact_of(uint32_t class_, uint64_t taken)
{
	uint32_t n = units_of(class_), first;
	uint64_t starts = starts_of(class_, taken), exact = 0;

	for (first = 0; first + n <= 64; first++)
		if ((starts >> first & 1) && (!first || taken >> (first - 1) & 1) &&
		    (first + n == 64 || taken >> (first + n) & 1))
			exact |= (uint64_t)1 << first;
	return exact;
}

/* A run fits well if at most a quarter of its units remains; mam_few_first() agrees. */
START_TEST(run_wastes_at_most_a_quarter)
{
	uint32_t class_, n, first[MAM_FEW_UNITS + 1] = { 0 };
	bool suits;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		n = units_of(class_);
		suits = 4 * (n * 1024 - mam_class_bytes(class_)) <= n * 1024;
		ck_assert(mam_few_suits(mam_traits_of(class_)) == suits);
		if (!first[n] && (n > 1 || suits))
			first[n] = class_;
	}
	for (n = 1; n <= MAM_FEW_UNITS; n++)
		ck_assert_uint_eq(mam_few_first(n), first[n]);
	/* From 2 KiB up all but the lowest few. */
	ck_assert(mam_few_suits(mam_traits_of(mam_class_of(769))));
	ck_assert(!mam_few_suits(mam_traits_of(mam_class_of(1025))));
	ck_assert(mam_few_suits(mam_traits_of(mam_class_of(1537))));
	ck_assert(!mam_few_suits(mam_traits_of(mam_class_of(2049))));
	ck_assert(mam_few_suits(mam_traits_of(mam_class_of(2305))));
}
END_TEST

/* ---- one lane -------------------------------------------------------------------------------- */

#define BLOCKS 5

/*
 * The lowest place in the fullest of the blocks that the random number selects: a stretch of exactly
 * this length if a block has one.
 */
START_TEST(claim_is_lowest_in_fullest_block)
{
	struct okit *kit = okit_create(BLOCKS, 1, NULL);
	uint64_t *bits = mam_pages_bits(kit->heap->units), was[BLOCKS], starts;
	uint32_t turn, i, class_, random, block, best, edge, unit, merit, most, exact = 0;

	for (turn = 0; turn < 6000; turn++) {
		for (i = 0; i < BLOCKS; i++) {
			was[i] = simt_random() & simt_random();
			was[i] |= turn % 3 ? 0 : simt_random();
			was[i] &= turn % 5 ? simt_random() & simt_random() : ~(uint64_t)0;
			was[i] = motion_below(9) ? was[i] : ~(uint64_t)0;
			bits[i] = was[i];
		}
		class_ = 17 + motion_below(MAM_CLASSES - 16);
		random = (uint32_t)simt_random();
		/* No block at the edge or after it. */
		edge = MAM_BLOCK_UNITS * (1 + motion_below(BLOCKS));
		best = BLOCKS;
		most = 0;
		for (i = 0; i < MAM_FIND_WIDTH; i++) {
			block = (uint32_t)((uint64_t)mam_walk_mix(random + i) * edge >> 32) / 64;
			merit = 1 + mam_popc64(was[block]);
			merit += exact_of(class_, was[block]) ? 100 : 0;
			if (starts_of(class_, was[block]) && merit > most) {
				most = merit;
				best = block;
			}
		}
		unit = mam_few_claim(kit->heap, mam_traits_of(class_), edge, random);
		if (best == BLOCKS) {
			ck_assert_uint_eq(unit, MAM_NO_PAGE);
		} else {
			starts = exact_of(class_, was[best]);
			exact += starts != 0;
			starts = starts ? starts : starts_of(class_, was[best]);
			ck_assert_uint_eq(unit, best * 64 + mam_ffs64(starts) - 1);
			ck_assert_uint_lt(unit, edge);
			was[best] |= mam_bits_span(unit % 64, units_of(class_));
		}
		ck_assert_mem_eq(bits, was, sizeof(was));
	}
	ck_assert_uint_gt(exact, 1000);
	okit_destroy(kit);
}
END_TEST

/* A block is used up to its last place for the size; then NULL; freed units serve again. */
MAM_KERNEL(fill_block)
{
	struct okit *kit = argument;
	uint32_t class_ = *(const uint32_t *)kit->plan, n = units_of(class_), round, i;
	unsigned char *object[MAM_BLOCK_UNITS];

	for (round = 0; round < 3; round++) {
		for (i = 0; i < MAM_BLOCK_UNITS / n; i++) {
			object[i] = take(kit, class_);
			MAM_KASSERT(object[i] == kit->space + (size_t)i * n * 1024);
		}
		MAM_KASSERT(!take(kit, class_));
		MAM_KASSERT(mam_popc64(mam_pages_bits(kit->heap->units)[0]) == i * n);
		MAM_KASSERT(!*frontier_of(kit));
		while (i--)
			okit_free(kit, object[i]);
		MAM_KASSERT(!mam_pages_bits(kit->heap->units)[0]);
	}
}

/* Of 1 unit, and of 8; aligned ones of 2 and 4; others of 5 and 7, which leave units. */
static const uint32_t sizes[] = { 22, 24, 40, 56, 59, 66, 69, 72 };

START_TEST(full_block_has_no_room)
{
	struct okit *kit = okit_create(1, 1, &sizes[_i]);

	motion_explore(kit, "a full block", okit_begin, fill_block, 1, 1, 3, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/*
 * The blocks before the frontier's limit are full: the frontier moves by an eighth when an attempt
 * has found nothing, at most to the end, and not when it has found something.
 */
struct edge {
	uint32_t blocks;
	uint32_t full;     /* blocks that are */
	uint32_t frontier; /* at first */
};

static void begin_full_start(void *argument)
{
	struct okit *kit = argument;
	const struct edge *plan = kit->plan;
	uint32_t block;

	okit_begin(kit);
	*frontier_of(kit) = plan->frontier;
	for (block = 0; block < plan->full; block++) {
		motion_run(kit, 64 * block, 32);
		motion_run(kit, 64 * block + 32, 32);
	}
}

MAM_KERNEL(move_frontier)
{
	struct okit *kit = argument;
	const struct edge *plan = kit->plan;
	uint32_t end = kit->blocks * MAM_BLOCK_UNITS, found, turn;
	uint32_t edge = plan->frontier ? plan->frontier : MAM_FIND_EDGE;
	unsigned char *object;

	MAM_KASSERT(!take(kit, 72));
	edge = edge + edge / 8 < end ? edge + edge / 8 : end;
	MAM_KASSERT(*frontier_of(kit) == edge);
	for (found = turn = 0; turn < 800 && found < 6; turn++) {
		object = take(kit, 72);
		if (object) {
			found++;
			MAM_KASSERT(object - kit->space >= (ptrdiff_t)plan->full * 65536);
			MAM_KASSERT(object - kit->space < (ptrdiff_t)edge * 1024);
		} else {
			edge = edge + edge / 8 < end ? edge + edge / 8 : end;
		}
		MAM_KASSERT(*frontier_of(kit) == edge);
	}
	MAM_KASSERT(found == 6);
}

/* The end is before the first step, at it, after it, after the second one, and just before one. */
static const struct edge edges[] = {
	{ 67, 64, 0 }, { 72, 64, 0 }, { 75, 64, 0 }, { 90, 64, 0 }, { 87, 79, 5000 },
};

START_TEST(frontier_moves_if_nothing_fits)
{
	struct okit *kit = okit_create(edges[_i].blocks, 1, &edges[_i]);

	motion_explore(kit, "the frontier", begin_full_start, move_frontier, 1, 1, 3, okit_check);
	okit_destroy(kit);
}
END_TEST

/* Lanes that find nothing at the same time move it once: each value follows from the one before. */
MAM_KERNEL(move_together)
{
	struct okit *kit = argument;
	uint32_t end = kit->blocks * MAM_BLOCK_UNITS, last = 0, now, edge, found = 0, turn;

	for (turn = 0; turn < 800 && found < 2; turn++) {
		found += take(kit, 72) != NULL;
		now = mam_atomic_load32(frontier_of(kit), MAM_RELAXED, MAM_AT_DEVICE);
		MAM_KASSERT(now >= last && now <= end);
		edge = MAM_FIND_EDGE;
		while (now && edge < now)
			edge = edge + edge / 8 < end ? edge + edge / 8 : end;
		MAM_KASSERT(!now || edge == now);
		last = now;
	}
	MAM_KASSERT(found == 2);
}

START_TEST(concurrent_lanes_move_frontier_once)
{
	struct okit *kit = okit_create(edges[3].blocks, 1, &edges[3]);

	motion_explore(kit, "the frontier of several lanes", begin_full_start, move_together, 3, 2,
		       KIT_RACE ? 6 : 15, okit_check);
	okit_destroy(kit);
}
END_TEST

/* ---- several lanes --------------------------------------------------------------------------- */

#define HELD 3

MAM_KERNEL(take_and_free)
{
	static const uint32_t classes[] = { 20, 24, 30, 40, 47, 56, 60, 72 };
	struct okit *kit = argument;
	unsigned char *held[HELD] = { NULL };
	uint32_t n, i;

	for (n = 0; n < 12; n++) {
		i = motion_below(HELD);
		if (held[i])
			okit_free(kit, held[i]);
		held[i] = held[i] ? NULL : take(kit, classes[motion_below(8)]);
	}
	for (i = 0; i < HELD; i++)
		if (held[i])
			okit_free(kit, held[i]);
}

static const char *no_unit_is_taken(void *argument)
{
	struct okit *kit = argument;
	uint32_t block;

	for (block = 0; block < kit->blocks; block++)
		if (mam_pages_bits(kit->heap->units)[block])
			return "a unit is still allocated";
	return okit_check_empty(kit);
}

START_TEST(concurrent_claims_do_not_overlap)
{
	struct okit *kit = okit_create(1 + (uint32_t)_i, 1, NULL);

	motion_explore(kit, "lanes that claim runs", okit_begin, take_and_free, 4, 4,
		       KIT_RACE ? 60 : 200, no_unit_is_taken);
	okit_destroy(kit);
}
END_TEST

/*
 * Of lanes that free one run at the same time, one succeeds, and each other one is counted once.
 * Nothing else changes.
 */
#define FREES 3

static uint64_t runs, late; /* frees that lost against another one that had begun, in all runs */

static void begin_run_of_seven(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	motion_run(kit, 0, 3);
	motion_run(kit, 10, 8);
	motion_run(kit, 3, 7);
	okit_forget(kit, kit->space + 3 * 1024);
}

MAM_KERNEL(free_the_same)
{
	struct okit *kit = argument;
	bool freed;

	motion_wait(4);
	freed = mam_objects_free(kit->heap, kit->space + 3 * 1024);
	/* An atomic that only counts. */
	(void)mam_atomic_add64(&kit->kept[freed], 1, MAM_RELAXED, MAM_AT_DEVICE);
	if (freed)
		MAM_KASSERT(!mam_objects_free(kit->heap, kit->space + 3 * 1024));
}

static const char *one_freed(void *argument)
{
	struct okit *kit = argument;
	uint64_t twice = okit_tally(kit, MAM_OBJECT_TWICE);

	runs++;
	late += twice;
	if (kit->kept[1] != 1 || kit->kept[0] != FREES - 1)
		return "not exactly one lane freed the run";
	if (twice + okit_tally(kit, MAM_OBJECT_FOREIGN) != FREES)
		return "wrong number of double frees";
	if (mam_pages_bits(kit->heap->units)[0] != (7 | (uint64_t)255 << 10))
		return "other units are allocated than those of the two other runs";
	return okit_check(kit);
}

START_TEST(double_free_of_run_is_counted_once)
{
	struct okit *kit = okit_create(1, 1, NULL);

	runs = late = 0;
	unsetenv("TEST_SHARE"); /* some of the seeds must meet */
	motion_explore(kit, "double free", begin_run_of_seven, free_the_same, _i ? 1 : FREES,
		       _i ? FREES : 1, 60, one_freed);
	ck_assert(!runs || late);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("few");

	tcase_add_test(tcase, starts_match_model);
	tcase_add_test(tcase, run_wastes_at_most_a_quarter);
	tcase_add_test(tcase, claim_is_lowest_in_fullest_block);
	tcase_add_loop_test(tcase, full_block_has_no_room, 0, sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_loop_test(tcase, frontier_moves_if_nothing_fits, 0,
			    sizeof(edges) / sizeof(edges[0]));
	tcase_add_test(tcase, concurrent_lanes_move_frontier_once);
	tcase_add_loop_test(tcase, concurrent_claims_do_not_overlap, 0, 2);
	tcase_add_loop_test(tcase, double_free_of_run_is_counted_once, 0, 2);
	return kit_run(tcase, "heap/few");
}
