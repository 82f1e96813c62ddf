/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_classes.c - size classes: which one serves each request, how far apart they are, how a slab
 * of each is divided into slots and groups, and that the words of all classes fill a block's share
 * without a gap.
 */
#include "heap/slab/classes.h"
#include "heap/kit.h"

/* Every request gets the smallest class that is large enough; an invalid size gets none. */
START_TEST(size_gets_smallest_class)
{
	uint32_t bytes, class_;

	for (bytes = 1; bytes <= MAM_CLASS_BYTES_MAX; bytes++) {
		class_ = mam_class_of(bytes);
		ck_assert_uint_ge(class_, 1);
		ck_assert_uint_le(class_, MAM_CLASSES);
		ck_assert_uint_ge(mam_class_bytes(class_), bytes);
		if (class_ > 1)
			ck_assert_uint_lt(mam_class_bytes(class_ - 1), bytes);
	}
	for (; bytes <= 4 * MAM_CLASS_BYTES_MAX; bytes++)
		ck_assert_uint_eq(mam_class_of(bytes), 0);
}
END_TEST

START_TEST(invalid_size_gets_no_class)
{
	static const size_t none[] = {
		0,
		8193,
		(size_t)1 << 31,
		UINT32_MAX,
		SIZE_MAX,
		SIZE_MAX / 2,
		SIZE_MAX - 8191,
		SIZE_MAX - 8192,
#if SIZE_MAX > UINT32_MAX
		(size_t)1 << 32,
		((size_t)1 << 32) + 1,
		((size_t)1 << 32) + 16,
		((size_t)1 << 36) + 8192,
#endif
	};
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		ck_assert_uint_eq(mam_class_of(none[i]), 0);
}
END_TEST

/*
 * Sizes are multiples of 16 bytes. From 128 B up, one exceeds the previous by at most a quarter, an
 * eighth or a sixteenth.
 */
START_TEST(adjacent_classes_are_close)
{
	uint32_t class_, bytes, before, max;

	ck_assert_uint_eq(mam_class_bytes(1), 16);
	ck_assert_uint_eq(mam_class_bytes(MAM_CLASSES), MAM_CLASS_BYTES_MAX);
	for (class_ = 2; class_ <= MAM_CLASSES; class_++) {
		before = mam_class_bytes(class_ - 1);
		bytes = mam_class_bytes(class_);
		ck_assert_uint_gt(bytes, before);
		ck_assert_uint_eq(bytes, mam_class_quanta(class_) << MAM_GRAIN_SHIFT);
		ck_assert_uint_eq(mam_class_of(bytes), class_);
		max = before < 128 ? 16 : before / (bytes <= 512 ? 4 : bytes <= 4096 ? 8 : 16);
		ck_assert_uint_le(bytes - before, max);
	}
}
END_TEST

/* Each power of two is a class of its own; its slots are aligned to it. */
START_TEST(powers_of_two_are_classes)
{
	uint32_t bytes, class_, slot, span;

	for (bytes = 16; bytes <= MAM_CLASS_BYTES_MAX; bytes *= 2) {
		class_ = mam_class_of(bytes);
		ck_assert_uint_eq(mam_class_bytes(class_), bytes);
		span = 1u << (mam_class_span_shift(class_) + MAM_UNIT_SHIFT);
		ck_assert_uint_eq(span % bytes, 0);
		for (slot = 0; slot < mam_class_slots(class_); slot++)
			ck_assert_uint_eq((span + slot * mam_class_bytes(class_)) % bytes, 0);
	}
}
END_TEST

/* A slab fits between the positions where slabs may start, in one word, and wastes no slot. */
START_TEST(slab_wastes_no_slot)
{
	uint32_t class_, quanta, slots, units, span;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		quanta = mam_class_quanta(class_);
		slots = mam_class_slots(class_);
		units = mam_class_units(class_);
		span = 1u << mam_class_span_shift(class_);
		ck_assert_uint_le(span, MAM_BLOCK_UNITS);
		ck_assert_uint_le(span, quanta);
		ck_assert(2 * span > quanta || span == MAM_BLOCK_UNITS);
		ck_assert_uint_le(slots, 64);
		ck_assert_uint_ge(slots, mam_class_bytes(class_) <= 2048 ? 32 : 8);
		ck_assert_uint_le(slots * quanta, span * 64);
		ck_assert_uint_gt((slots + 1) * quanta, span * 64);
		ck_assert_uint_le(units, span);
		ck_assert_uint_ge(units * 64, slots * quanta);
		ck_assert_uint_lt((units - 1) * 64, slots * quanta);
		ck_assert_uint_eq(mam_class_words(class_) * span, MAM_BLOCK_UNITS);
	}
}
END_TEST

/*
 * A group is the fewest units, starting at the slab's first, that end where a slot ends; groups have
 * a power of two of slots each. No slot of a slab straddles two groups.
 */
START_TEST(groups_are_minimal_and_hold_whole_slots)
{
	uint32_t class_, quanta, units, slots;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		quanta = mam_class_quanta(class_);
		for (units = 1; units * 64 % quanta; units++)
			;
		slots = units * 64 / quanta;
		ck_assert_uint_eq(mam_class_group_units(class_), units);
		ck_assert_uint_eq(1u << mam_class_group_shift(class_), slots);
		/* Each of 64 slots needs a word's bit, so a group never has more. */
		ck_assert_uint_le(slots, 64);
	}
}
END_TEST

/* Examples of classes.h, and the last group of a slab. */
START_TEST(groups_of_some_sizes)
{
	static const struct {
		uint32_t bytes, units, slots, slab;
	} some[] = {
		{ 16, 1, 64, 1 },   { 64, 1, 16, 4 },   { 80, 5, 64, 4 },
		{ 96, 3, 32, 4 },   { 1024, 1, 1, 64 }, { 1536, 3, 2, 63 },
		{ 2048, 2, 1, 64 }, { 8192, 8, 1, 64 }, { 7680, 15, 2, 60 },
	};
	uint32_t i, class_;

	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		class_ = mam_class_of(some[i].bytes);
		ck_assert_uint_eq(mam_class_bytes(class_), some[i].bytes);
		ck_assert_uint_eq(mam_class_group_units(class_), some[i].units);
		ck_assert_uint_eq(1u << mam_class_group_shift(class_), some[i].slots);
		ck_assert_uint_eq(mam_class_units(class_), some[i].slab);
	}
}
END_TEST

START_TEST(class_words_have_no_gaps)
{
	uint32_t class_, before = 0;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		ck_assert_uint_eq(mam_class_words_before(class_), before);
		before += mam_class_words(class_);
	}
	ck_assert_uint_eq(before, MAM_BLOCK_WORDS);
}
END_TEST

/* Sizes just above a power of two still fill nine tenths of a slab's span. */
START_TEST(odd_sizes_fill_nine_tenths)
{
	static const uint32_t bytes[] = { 1050, 4100 };
	uint32_t i, class_;

	for (i = 0; i < 2; i++) {
		class_ = mam_class_of(bytes[i]);
		ck_assert_uint_ge(10 * mam_class_slots(class_) * bytes[i],
				  9 * (1u << (mam_class_span_shift(class_) + MAM_UNIT_SHIFT)));
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("classes");

	tcase_add_test(tcase, size_gets_smallest_class);
	tcase_add_test(tcase, invalid_size_gets_no_class);
	tcase_add_test(tcase, adjacent_classes_are_close);
	tcase_add_test(tcase, powers_of_two_are_classes);
	tcase_add_test(tcase, slab_wastes_no_slot);
	tcase_add_test(tcase, groups_are_minimal_and_hold_whole_slots);
	tcase_add_test(tcase, groups_of_some_sizes);
	tcase_add_test(tcase, class_words_have_no_gaps);
	tcase_add_test(tcase, odd_sizes_fill_nine_tenths);
	return kit_run(tcase, "heap/classes");
}
