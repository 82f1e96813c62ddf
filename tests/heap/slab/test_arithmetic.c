/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_arithmetic.c - the arithmetic of searches and of groups of slabs (find.h, slab.h), for all
 * classes, against models that count one by one.
 */
#include "heap/motion.h"

/* ---- searches -------------------------------------------------------------------------------- */

/* Two looks, five openings, eight looks, and closings. */
START_TEST(attempts_are_in_order)
{
	static const char kinds[] = "llooooollllllllcccccccc";
	uint32_t turn;

	ck_assert_uint_eq(sizeof(kinds) - 1, MAM_FIND_TURNS);
	for (turn = 0; turn < MAM_FIND_TURNS; turn++)
		ck_assert_int_eq(mam_find_looks(turn), kinds[turn] == 'l');
}
END_TEST

START_TEST(need_has_its_numbers)
{
	uint32_t class_, n, lanes, first, need;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++)
		for (n = 1; n <= 32; n++) {
			lanes = (class_ * n) % 33;
			first = (class_ + n) % 32;
			need = mam_find_need(class_, n, lanes, first);
			ck_assert_uint_eq(mam_find_class(need), class_);
			ck_assert_uint_eq(mam_find_n(need), n);
			ck_assert_uint_eq(mam_find_lanes(need), lanes);
			ck_assert_uint_eq(need >> 24, first);
		}
}
END_TEST

/* One unit more for each 1,024 blocks, up to a block, or as many groups as the slots need. */
START_TEST(groups_are_opened_together)
{
	static const uint32_t blocks[] = { 1, 1023, 1024, 5000, 63 * 1024, 64 * 1024, 99 * 1024 };
	static const uint32_t needs[] = { 1, 2, 3, 16, 17, 32 };
	struct okit *kit = okit_create(1, 1, NULL);
	uint32_t class_, turn, group, each, slots, count, i;
	struct mam_kheap heap = *kit->heap;
	uint64_t wanted;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		each = 1u << mam_class_group_shift(class_);
		for (turn = 0; turn < 7 * 6 * okit_groups(class_); turn++) {
			heap.blocks = blocks[turn % 7];
			slots = needs[turn / 7 % 6];
			group = turn / 42;
			count = heap.blocks / 1024 < 64 ? heap.blocks / 1024 : 64;
			count /= mam_class_group_units(class_);
			if (count < (slots + each - 1) / each)
				count = (slots + each - 1) / each;
			wanted = 0;
			for (i = group; i < group + count && i < okit_groups(class_); i++)
				wanted |= okit_group_slots(class_, i);
			ck_assert_uint_eq(
				mam_find_slots(&heap, mam_traits_of(class_), group, slots), wanted);
		}
	}
	okit_destroy(kit);
}
END_TEST

/* A word that has changed since it was seen: a claim goes on with the other free slots. */
MAM_KERNEL(claim_changed)
{
	uint64_t word = (uint64_t)1 << 40 | 1 << 2;

	(void)argument;
	MAM_KASSERT(mam_find_claim(&word, 15 | (uint64_t)1 << 40, 2, 0) ==
		    ((uint64_t)1 << 40 | 1 << 2));
	MAM_KASSERT(!word);
	word = 0xff00;
	MAM_KASSERT(mam_find_claim(&word, 0xffff, 3, 0) == 0x700);
	MAM_KASSERT(mam_find_claim(&word, 0xf800, 1, 12) == 0x1000);
	/* Starting at bit 33. */
	word = 3 | (uint64_t)3 << 33;
	MAM_KASSERT(mam_find_claim(&word, word, 1, 33) == (uint64_t)1 << 33);
	MAM_KASSERT(mam_find_claim(&word, word, 4, 97) == (3 | (uint64_t)1 << 34));
}

START_TEST(claim_goes_on_with_slots_that_are_left)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "a word that changed", okit_begin, claim_changed, 1, 1, 1, okit_check);
	okit_destroy(kit);
}
END_TEST

/* The home of the lanes starting with `first`: one bit for each, in the word of their round. */
MAM_KERNEL(homes)
{
	struct okit *kit = argument;
	uint32_t turn, class_, lanes, first, round, word, generation;
	struct mam_kslot home;
	uint64_t traits, own;

	for (turn = 0; turn < MAM_CLASSES * 32 * 3; turn++) {
		class_ = 1 + turn % MAM_CLASSES;
		lanes = 1 + turn / MAM_CLASSES % 32;
		generation = turn / MAM_CLASSES / 32;
		traits = mam_traits_of(class_);
		round = 1u << mam_traits_round_shift(traits);
		home = mam_handle_home(kit->heap, traits,
				       mam_handle_warp() + generation * mam_handle_warps(), lanes);
		for (first = 0; first < lanes; first += round) {
			word = mam_find_home(kit->heap, mam_find_need(class_, 1, lanes, first),
					     generation, &own);
			MAM_KASSERT(word == home.word + first / round);
			MAM_KASSERT(own == (okit_all_slots(class_) &
					    mam_bits_span(home.slot, lanes - first)));
		}
	}
}

START_TEST(home_has_a_slot_for_each_lane)
{
	struct okit *kit = okit_create(20, 1, NULL);

	motion_explore(kit, "homes", okit_begin, homes, 3, 1, 1, okit_check);
	okit_destroy(kit);
}
END_TEST

/* Blocks where a class was seen: exactly those, and none if a word has no such block. */
MAM_KERNEL(look_at_hints)
{
	static const uint32_t seen[] = { 0, 1, 31, 32, 63, 65, 127, 192, 199 };
	struct okit *kit = argument;
	uint32_t turn, i, block, random, hits[9] = { 0 }, none = 0;
	uint64_t *hints = kit->heap->hints + 3 * mam_metadata_hint_words(kit->blocks);

	for (i = 0; i < 9; i++)
		hints[seen[i] / 64] |= (uint64_t)1 << seen[i] % 64;
	for (turn = 0; turn < 2000; turn++) {
		random = mam_walk_mix(turn);
		block = mam_find_hint(kit->heap, 4, random);
		none += block == MAM_NO_WORD;
		for (i = 0; i < 9 && block != MAM_NO_WORD; i++)
			if (block == seen[i])
				break;
		MAM_KASSERT(i < 9);
		if (block != MAM_NO_WORD)
			hits[i]++;
	}
	/* Word 2 of 4 has none. */
	MAM_KASSERT(none > 400 && none < 600);
	for (i = 0; i < 9; i++)
		MAM_KASSERT(hits[i]);
}

START_TEST(hint_is_a_block_where_class_was_seen)
{
	struct okit *kit = okit_create(200, 1, NULL);

	motion_explore(kit, "hints", okit_begin, look_at_hints, 1, 1, 1, NULL);
	okit_destroy(kit);
}
END_TEST

/* 16 lanes count as a full warp: where their own group is full, others of the slab serve them. */
MAM_KERNEL(claim_of_full_warp)
{
	struct okit *kit = argument;
	uint32_t need = mam_find_need(4, 2, 16, 0), word;
	struct mam_kfind found;
	uint64_t own;

	word = mam_find_home(kit->heap, need, 0, &own);
	MAM_KASSERT(motion_open(kit, 4, word, own));
	found = mam_find_own(kit->heap, need, 0);
	MAM_KASSERT(found.word == word && mam_popc64(found.won) == 2);
	motion_own(kit, 4, word, found.won);
	found = mam_find_own(kit->heap, mam_find_need(4, 2, 15, 0), 0);
	MAM_KASSERT(!found.won);
}

START_TEST(full_warp_uses_other_groups)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "a full warp", okit_begin, claim_of_full_warp, 1, 1, 1, okit_check);
	okit_destroy(kit);
}
END_TEST

/* After the last word of a class is one of the next class, whose slots a look does not claim. */
static void begin_next_class(void *argument)
{
	okit_begin(argument);
	motion_slab(argument, 24, 1, ~(uint64_t)0);
	motion_slab(argument, 25, 0, 1);
}

MAM_KERNEL(look_at_last_words)
{
	struct okit *kit = argument;
	uint32_t turn;

	for (turn = 0; turn < 8; turn++)
		MAM_KASSERT(!mam_find_seen(kit->heap, mam_find_need(24, 1, 0, 0), turn << 29).won);
}

START_TEST(look_ends_with_the_class)
{
	struct okit *kit = okit_create(3, 1, NULL);

	motion_explore(kit, "last words", begin_next_class, look_at_last_words, 1, 1, 1, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- rows, classes and groups ---------------------------------------------------------------- */

/* The rows follow each other as the layout of the metadata assumes. */
START_TEST(rows_have_the_width_of_the_layout)
{
	static const uint32_t near[] = { 64, 128, 1024, 2048, 65536, 131072, 1u << 20 };
	struct okit *kit = okit_create(1, 1, NULL);
	struct mam_kheap heap = *kit->heap;
	struct mam_metadata_plan plan;
	uint32_t *first = (uint32_t *)(mam_metadata_searches(&heap) + 1), turn, width, warp;

	for (turn = 0; turn < 20000; turn++) {
		heap.blocks = turn < 1000    ? turn + 1
			      : turn < 10000 ? near[turn % 7] * (1 + turn % 5) + turn / 7 % 9 - 4
					     : 1 + motion_below(1u << (1 + turn % 20));
		warp = turn % 2 ? turn : motion_below(1u << (1 + turn % 31));
		width = mam_metadata_shared(heap.blocks);
		plan = mam_metadata_plan_of(heap.blocks, 32);
		ck_assert_int_eq(mam_find_shared(&heap, 1, warp) - first, warp % width);
		/* A group has 3 units, or 17. */
		ck_assert_int_eq(mam_find_shared(&heap, 3, warp) - first,
				 2 * width + warp % (width / 2));
		ck_assert_int_eq(mam_find_shared(&heap, 25, warp) - first,
				 24 * width + warp % (width / 16));
		/* Of 2 units, or 8. */
		ck_assert_int_eq(mam_find_shared(&heap, 40, warp) - first,
				 39 * width + warp % width);
		ck_assert_int_eq(mam_find_shared(&heap, 72, warp) - first,
				 71 * width + warp % (width / 2));
		ck_assert_uint_le(plan.searches + sizeof(struct mam_searches) +
					  MAM_CLASSES * 4 * width,
				  plan.returns);
	}
	okit_destroy(kit);
}
END_TEST

/* Traits, from the table, equal what is computed from the class's number. */
START_TEST(traits_equal_classes)
{
	uint32_t class_, word;
	uint64_t traits;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		traits = mam_traits_of(class_);
		ck_assert_uint_eq(mam_traits_quanta(traits), mam_class_quanta(class_));
		ck_assert_uint_eq(mam_traits_slots(traits), mam_class_slots(class_));
		ck_assert_uint_eq(mam_traits_units(traits), mam_class_units(class_));
		ck_assert_uint_eq(mam_traits_span_shift(traits), mam_class_span_shift(class_));
		ck_assert_uint_eq(mam_traits_words_before(traits), mam_class_words_before(class_));
		ck_assert_uint_eq(mam_traits_group_shift(traits), mam_class_group_shift(class_));
		ck_assert_uint_eq(mam_traits_group_units(traits), mam_class_group_units(class_));
		ck_assert_uint_eq(mam_slab_groups(traits), okit_groups(class_));
		for (word = 0; word < mam_class_words(class_); word++)
			ck_assert_uint_eq(mam_slab_unit(traits, word),
					  mam_metadata_unit(class_, word));
	}
}
END_TEST

/* The groups of a slab divide its slots and its units, each slot inside its group's units. */
START_TEST(groups_divide_slab)
{
	uint32_t class_, word, group, i, first;
	uint64_t traits, slots, units, all_slots, all_units;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		traits = mam_traits_of(class_);
		word = motion_below(3 * mam_class_words(class_));
		first = mam_metadata_unit(class_, word);
		all_slots = all_units = 0;
		for (group = 0; group < mam_slab_groups(traits); group++) {
			slots = mam_slab_group_slots(traits, group);
			units = mam_slab_group_units(traits, word, group);
			ck_assert(slots && slots == okit_group_slots(class_, group));
			ck_assert_uint_eq(mam_popc64(units), okit_group_units(class_, group));
			ck_assert(!(all_slots & slots) && !(all_units & units));
			all_slots |= slots;
			all_units |= units;
			for (i = 0; i < 64; i++)
				if (units >> i & 1)
					ck_assert_uint_eq(
						mam_slab_group(traits, word, first / 64 * 64 + i),
						group);
		}
		ck_assert(all_slots == okit_all_slots(class_));
		ck_assert(all_units == mam_slab_span(traits, word));
	}
}
END_TEST

/*
 * The units of any consecutive slots, also if their groups reach beyond the last unit of the slab, and
 * all slots of these groups.
 */
START_TEST(slots_have_the_units_of_their_groups)
{
	uint32_t class_, first, last, group;
	uint64_t traits, all, units, slots;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		traits = mam_traits_of(class_);
		for (first = 0; first < mam_traits_slots(traits); first++) {
			units = slots = 0;
			for (last = first; last < mam_traits_slots(traits); last++) {
				group = last >> mam_traits_group_shift(traits);
				units |= mam_slab_group_units(traits, 0, group);
				all = mam_bits_span(first, last - first + 1);
				ck_assert(mam_find_units(traits, 0, all) == units);
				slots |= okit_group_slots(class_, group);
				ck_assert(mam_find_grouped(traits, all) == slots);
			}
		}
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("arithmetic");

	tcase_add_test(tcase, attempts_are_in_order);
	tcase_add_test(tcase, need_has_its_numbers);
	tcase_add_test(tcase, groups_are_opened_together);
	tcase_add_test(tcase, claim_goes_on_with_slots_that_are_left);
	tcase_add_test(tcase, home_has_a_slot_for_each_lane);
	tcase_add_test(tcase, hint_is_a_block_where_class_was_seen);
	tcase_add_test(tcase, full_warp_uses_other_groups);
	tcase_add_test(tcase, look_ends_with_the_class);
	tcase_add_test(tcase, rows_have_the_width_of_the_layout);
	tcase_add_test(tcase, traits_equal_classes);
	tcase_add_test(tcase, groups_divide_slab);
	tcase_add_test(tcase, slots_have_the_units_of_their_groups);
	return kit_run(tcase, "heap/arithmetic");
}
