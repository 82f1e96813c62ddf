/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_owners.c - compares the owner bytes of units with a plain model. Eight of them share one
 * word, which several lanes change at once. Also: the marks that new groups of a slab leave.
 */
#include "heap/motion.h"

#define UNITS 192
#define LANES 8

static unsigned char want[UNITS];

static unsigned char *bytes_of(const struct okit *kit)
{
	return (unsigned char *)kit->heap->owners;
}

static bool same_bytes(const struct okit *kit)
{
	return !memcmp(bytes_of(kit), want, UNITS);
}

/* Every row of units that starts in the first block and ends within two words, and long ones. */
START_TEST(set_and_clear_match_model)
{
	struct okit *kit = okit_create(3, 1, NULL);
	uint32_t unit, n, byte, i;

	for (i = 0; i < UNITS; i++)
		want[i] = (unsigned char)(1 + simt_random() % 255);
	for (unit = 0; unit < 72; unit++) {
		for (n = 0; n < 20; n = n == 18 ? 100 : n + 1) {
			byte = 1 + motion_below(255);
			memset(want + unit, 0, n);
			memcpy(bytes_of(kit), want, UNITS);
			mam_owners_set(kit->heap, unit, n, byte);
			memset(want + unit, (int)byte, n);
			ck_assert(same_bytes(kit));
			memset(want + unit, 0, n);
			mam_owners_clear(kit->heap, unit, n);
			ck_assert(same_bytes(kit));
			for (i = unit; i < unit + n; i++)
				want[i] = (unsigned char)(1 + simt_random() % 255);
		}
	}
	okit_destroy(kit);
}
END_TEST

/* One unit: read it, and change it if it has the expected value. */
START_TEST(change_requires_expected_owner)
{
	struct okit *kit = okit_create(3, 1, NULL);
	uint32_t unit, i, other;

	for (unit = 0; unit < UNITS; unit++) {
		for (i = 0; i < UNITS; i++)
			want[i] = (unsigned char)simt_random();
		memcpy(bytes_of(kit), want, UNITS);
		ck_assert(mam_owners_load(kit->heap, unit) == want[unit]);
		other = want[unit] ^ (1u << motion_below(8));
		ck_assert(!mam_owners_change(kit->heap, unit, other, want[unit]));
		ck_assert(same_bytes(kit));
		ck_assert(mam_owners_change(kit->heap, unit, want[unit], other));
		want[unit] = (unsigned char)other;
		ck_assert(same_bytes(kit));
	}
	okit_destroy(kit);
}
END_TEST

/* A run, within one word of owners or across several, if its first unit has the expected owner. */
START_TEST(take_requires_expected_owner)
{
	struct okit *kit = okit_create(3, 1, NULL);
	uint32_t unit, n, i, other;

	for (unit = 0; unit < 72; unit++) {
		for (n = 1; n < 20; n = n == 18 ? 100 : n + 1) {
			for (i = 0; i < UNITS; i++)
				want[i] = (unsigned char)(1 + simt_random() % 255);
			memcpy(bytes_of(kit), want, UNITS);
			other = want[unit] ^ (1u << motion_below(8));
			ck_assert(!mam_owners_take(kit->heap, unit, n, other));
			ck_assert(same_bytes(kit));
			ck_assert(mam_owners_take(kit->heap, unit, n, want[unit]));
			memset(want + unit, 0, n);
			ck_assert(same_bytes(kit));
		}
	}
	okit_destroy(kit);
}
END_TEST

/* A byte of 255 for each bit that is set, for all sets of bits. */
START_TEST(spread_matches_model)
{
	uint32_t bits, i;
	uint64_t bytes;

	for (bits = 0; bits < 256; bits++) {
		bytes = mam_owners_spread(bits);
		for (i = 0; i < 8; i++)
			ck_assert_uint_eq(bytes >> 8 * i & 255, bits >> i & 1 ? 255 : 0);
	}
}
END_TEST

/* Any units of any block; bits are added to bytes that have others, and removed from any. */
START_TEST(add_and_remove_match_model)
{
	struct okit *kit = okit_create(3, 1, NULL);
	uint32_t n, i, block, byte;
	uint64_t units;

	for (n = 0; n < 3000; n++) {
		for (i = 0; i < UNITS; i++)
			want[i] = (unsigned char)simt_random();
		memcpy(bytes_of(kit), want, UNITS);
		units = simt_random();
		for (i = motion_below(5); i; i--)
			units &= simt_random();
		/* Also none, all, and the last. */
		units = n % 16 == 0 ? 0 : n % 16 == 1 ? ~(uint64_t)0 : units;
		units |= n % 16 == 2 ? (uint64_t)1 << 63 : 0;
		block = motion_below(3);
		byte = motion_below(256);
		if (n & 1)
			mam_owners_add(kit->heap, block, units, byte);
		else
			mam_owners_remove(kit->heap, block, units, byte);
		for (i = 0; i < 64; i++)
			if (units >> i & 1)
				want[64 * block + i] =
					(unsigned char)(n & 1 ? want[64 * block + i] | byte
							      : want[64 * block + i] & ~byte);
		ck_assert(same_bytes(kit));
	}
	okit_destroy(kit);
}
END_TEST

/* Each lane owns one unit of a shared word and changes it freely: no lane disturbs another. */
MAM_KERNEL(change_beside)
{
	struct okit *kit = argument;
	uint32_t unit = 8 + mam_block(), current = 0, next, n;

	for (n = 0; n < 6; n++) {
		next = 1 + motion_below(127);
		if (motion_below(2)) {
			/* The bits that are missing, and then those that are too many. */
			mam_owners_add(kit->heap, 0, (uint64_t)1 << unit, next & ~current);
			mam_owners_remove(kit->heap, 0, (uint64_t)1 << unit, current & ~next);
		} else if (!current)
			mam_owners_set(kit->heap, unit, 1, next);
		else if (motion_below(2))
			MAM_KASSERT(mam_owners_change(kit->heap, unit, current, next));
		else
			mam_owners_clear(kit->heap, unit, 1), next = 0;
		current = next;
		MAM_KASSERT(mam_owners_load(kit->heap, unit) == current);
	}
	mam_owners_clear(kit->heap, unit, 1);
}

/*
 * Lane 0 sets and takes a run across two words; the other lanes change neighbors of it in both, so
 * that it loses races for the first word.
 */
MAM_KERNEL(take_beside)
{
	struct okit *kit = argument;
	uint32_t unit = mam_block() < 5 ? 7 + mam_block() : 14 + mam_block(), n, i;

	for (n = 0; n < 6; n++) {
		if (mam_block()) {
			mam_owners_set(kit->heap, unit, 1, 1 + n);
			MAM_KASSERT(mam_owners_load(kit->heap, unit) == 1 + n);
			mam_owners_clear(kit->heap, unit, 1);
			continue;
		}
		mam_owners_set(kit->heap, 13, 6, MAM_OWNER_INSIDE);
		mam_owners_set(kit->heap, 12, 1, MAM_OWNER_FEW + 7);
		MAM_KASSERT(!mam_owners_take(kit->heap, 12, 7, MAM_OWNER_FEW + 8));
		MAM_KASSERT(mam_owners_take(kit->heap, 12, 7, MAM_OWNER_FEW + 7));
		for (i = 12; i < 19; i++)
			MAM_KASSERT(!mam_owners_load(kit->heap, i));
	}
}

/* Several lanes try to take one run: one of them succeeds. */
MAM_KERNEL(take_the_same)
{
	struct okit *kit = argument;

	motion_wait(3);
	if (mam_owners_take(kit->heap, 21, 6, MAM_OWNER_FEW + 6))
		kit->number++;
}

static void begin_run(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	mam_owners_set(kit->heap, 21, 1, MAM_OWNER_FEW + 6);
	mam_owners_set(kit->heap, 22, 5, MAM_OWNER_INSIDE);
}

/* Several lanes try to change one unit: one of them succeeds. */
MAM_KERNEL(change_the_same)
{
	struct okit *kit = argument;

	motion_wait(3);
	if (mam_owners_change(kit->heap, 21, 5, 5 + MAM_OWNER_MOVING))
		kit->number++;
}

static void begin_five(void *argument)
{
	struct okit *kit = argument;

	okit_begin(kit);
	mam_owners_set(kit->heap, 16, 8, 5);
}

static const char *all_clear(void *argument)
{
	static const unsigned char none[UNITS];

	return memcmp(bytes_of(argument), none, UNITS) ? "a unit still has an owner" : NULL;
}

static const char *one_took(void *argument)
{
	struct okit *kit = argument;

	return kit->number == 1 ? all_clear(kit) : "not exactly one lane took it";
}

static const char *one_has(void *argument)
{
	struct okit *kit = argument;

	mam_owners_remove(kit->heap, 0, (uint64_t)1 << 21, MAM_OWNER_MOVING);
	if (mam_owners_load(kit->heap, 21) != 5)
		return "the unit has another owner";
	mam_owners_clear(kit->heap, 16, 8);
	return kit->number == 1 ? all_clear(kit) : "not exactly one lane changed it";
}

START_TEST(concurrent_changes_are_independent)
{
	struct okit *kit = okit_create(3, 1, NULL);

	motion_explore(kit, "neighboring bytes", okit_begin, change_beside, LANES, 1, 100,
		       all_clear);
	motion_explore(kit, "the same byte", begin_five, change_the_same, 4, 1, 60, one_has);
	motion_explore(kit, "bytes beside a run", okit_begin, take_beside, LANES, 1, 100,
		       all_clear);
	motion_explore(kit, "the same run", begin_run, take_the_same, 4, 1, 60, one_took);
	okit_destroy(kit);
}
END_TEST

/* ---- marks of new groups --------------------------------------------------------------------- */

#define BLOCKS 70

/*
 * The owners of the groups that have `slots`, the word and the hint of its class and block are set;
 * nothing else.
 */
OKIT_UNSEEN bool is_marked(const struct okit *kit, uint32_t class_, uint32_t word, uint64_t slots,
			   uint64_t left)
{
	uint32_t first = mam_metadata_unit(class_, word), block = first / 64, i, group;
	uint64_t hints = mam_metadata_hint_words(BLOCKS), units = 0,
		 *own = &mam_metadata_words(kit->heap, class_)[word];

	for (i = 0; i < mam_class_units(class_); i++)
		if (slots & okit_group_slots(class_, okit_group(class_, first + i)))
			units |= (uint64_t)1 << (first + i) % 64;
	for (i = 0; i < MAM_CLASSES * hints; i++)
		if (kit->heap->hints[i] !=
		    (i == (class_ - 1) * hints + block / 64 ? (uint64_t)1 << block % 64 : 0))
			return false;
	for (i = 0; i < BLOCKS * MAM_BLOCK_WORDS; i++)
		if (kit->heap->words[i] != (&kit->heap->words[i] == own ? left : 0))
			return false;
	for (i = 0; i < BLOCKS * 64; i++)
		if (bytes_of(kit)[i] != (i / 64 == block && units >> i % 64 & 1 ? class_ : 0))
			return false;
	for (i = 0; i < BLOCKS; i++)
		if (mam_pages_bits(kit->heap->units)[i] != (i == block ? units : 0))
			return false;
	for (group = 0; group < okit_groups(class_); group++)
		if (slots & okit_group_slots(class_, group))
			slots |= okit_group_slots(class_, group);
	return !(left & ~slots);
}

/* Any groups of a slab; then they close one by one. */
START_TEST(open_groups_mark_owners_word_and_hint)
{
	struct okit *kit = okit_create(BLOCKS, 1, NULL);
	uint32_t class_, word, group, block;
	uint64_t slots, used, bits;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		okit_begin(kit);
		word = motion_below(mam_metadata_word_count(kit->heap, class_));
		slots = okit_all_slots(class_) &
			(motion_below(3) ? simt_random() & simt_random() : ~(uint64_t)0);
		slots = slots ? slots : 1;
		used = simt_random();
		slots = motion_open_some(kit, class_, word, slots, used);
		ck_assert(is_marked(kit, class_, word, slots, slots & ~used));
		ck_assert(!okit_check(kit));
		/* No group is free there for another class: nothing changes. */
		block = mam_metadata_unit(class_, word) / 64;
		bits = mam_pages_bits(kit->heap->units)[block];
		mam_pages_bits(kit->heap->units)[block] = ~(uint64_t)0;
		ck_assert(!mam_slab_open(kit->heap, 1 + class_ % MAM_CLASSES,
					 block * mam_class_words(1 + class_ % MAM_CLASSES),
					 ~(uint64_t)0, 1));
		mam_pages_bits(kit->heap->units)[block] = bits;
		ck_assert(is_marked(kit, class_, word, slots, slots & ~used));
		motion_release(kit, class_, word, slots & used);
		for (group = 0; group < okit_groups(class_); group++) {
			ck_assert(mam_slab_close(kit->heap, class_, word, group) ==
				  !!(slots & okit_group_slots(class_, group)));
			slots &= ~okit_group_slots(class_, group);
			ck_assert(is_marked(kit, class_, word, slots, slots));
		}
		ck_assert(!mam_pages_bits(kit->heap->units)[mam_metadata_unit(class_, word) / 64]);
		ck_assert(!okit_check_empty(kit));
	}
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("owners");

	tcase_add_test(tcase, set_and_clear_match_model);
	tcase_add_test(tcase, change_requires_expected_owner);
	tcase_add_test(tcase, take_requires_expected_owner);
	tcase_add_test(tcase, spread_matches_model);
	tcase_add_test(tcase, add_and_remove_match_model);
	tcase_add_test(tcase, concurrent_changes_are_independent);
	tcase_add_test(tcase, open_groups_mark_owners_word_and_hint);
	return kit_run(tcase, "heap/owners");
}
