/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bitmap.c - compares bit operations on a word with the obvious bit-by-bit computation.
 */
#include "heap/kit.h"

static uint64_t state = 88172645463325252u;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Words of all densities: few, half and most bits set. */
static uint64_t any_word(uint32_t i)
{
	switch (i % 5) {
	case 0: return any() & any() & any() & any();
	case 1: return any() | any() | any();
	case 2: return i % 10 == 2 ? 0 : MAM_WORD_FULL;
	case 3: return any() << any() % 64;
	default: return any();
	}
}

START_TEST(span_sets_exactly_its_bits)
{
	uint32_t first, n, i;
	uint64_t span;

	for (first = 0; first < 64; first++)
		for (n = 1; n <= 64 - first; n++) {
			span = mam_bits_span(first, n);
			for (i = 0; i < 64; i++)
				ck_assert_uint_eq(span >> i & 1, i >= first && i < first + n);
		}
}
END_TEST

START_TEST(rotations_match_reference)
{
	uint64_t x = any();
	uint32_t by, i;

	for (by = 0; by < 64; by++) {
		for (i = 0; i < 64; i++)
			ck_assert_uint_eq(mam_bits_rotate_right(x, by) >> i & 1,
					  x >> (i + by) % 64 & 1);
		ck_assert_uint_eq(mam_bits_rotate_left(mam_bits_rotate_right(x, by), by), x);
	}
}
END_TEST

START_TEST(pick_matches_reference)
{
	uint32_t i, n, from, j, left;
	uint64_t x, want;

	for (i = 0; i < 5000; i++) {
		x = any_word(i);
		n = (uint32_t)any() % 66;
		from = (uint32_t)any() % 64;
		want = 0;
		left = n;
		for (j = 0; j < 64 && left; j++)
			if (x >> (from + j) % 64 & 1) {
				want |= (uint64_t)1 << (from + j) % 64;
				left--;
			}
		ck_assert_uint_eq(mam_bits_pick(x, n, from), want);
	}
}
END_TEST

START_TEST(nth_finds_the_nth_set_bit)
{
	uint32_t i, bit, k, x;

	for (i = 0; i < 5000; i++) {
		x = (uint32_t)any_word(i);
		for (bit = 0, k = 0; bit < 32; bit++)
			if (x >> bit & 1)
				ck_assert_uint_eq(mam_bits_nth(x, k++), bit);
	}
}
END_TEST

START_TEST(stretches_match_reference)
{
	uint32_t i, n, bit, j;
	uint64_t x, want;

	for (i = 0; i < 3000; i++) {
		x = any_word(i);
		n = 1 + (uint32_t)any() % (i % 2 ? 8 : 64);
		want = 0;
		for (bit = 0; bit + n <= 64; bit++) {
			for (j = 0; j < n && x >> (bit + j) & 1; j++)
				;
			if (j == n)
				want |= (uint64_t)1 << bit;
		}
		ck_assert_uint_eq(mam_bits_stretches(x, n), want);
	}
}
END_TEST

/*
 * Lanes claim and release bits of one word: each bit has one owner, and the returned old values are
 * correct.
 */
MAM_KERNEL(bits_of_one_word)
{
	struct kit *kit = argument;
	uint64_t *bits = mam_pages_bits(kit->pages), mine, won;
	uint32_t round;

	for (round = 0; round < 3; round++) {
		mine = (uint64_t)7 << (simt_thread() * 3 + round * 5) % 60;
		won = mine & ~mam_bitmap_claim(bits, 0, mine);
		for (mine = won; mine; mine &= mine - 1)
			kit_own(kit, mam_ffs64(mine) - 1, 1);
		for (mine = won; mine; mine &= mine - 1)
			kit_disown(kit, mam_ffs64(mine) - 1, 1);
		MAM_KASSERT(!won || !(~mam_bitmap_release(bits, 0, won) & won));
	}
}

START_TEST(bits_of_one_word_have_one_owner)
{
	struct kit *kit = kit_create(64, NULL);

	kit_explore(kit, "bits of one word", bits_of_one_word, 2, 12, 1000, NULL);
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("bitmap");

	tcase_add_test(tcase, span_sets_exactly_its_bits);
	tcase_add_test(tcase, rotations_match_reference);
	tcase_add_test(tcase, pick_matches_reference);
	tcase_add_test(tcase, nth_finds_the_nth_set_bit);
	tcase_add_test(tcase, stretches_match_reference);
	tcase_add_test(tcase, bits_of_one_word_have_one_owner);
	return kit_run(tcase, "heap/bitmap");
}
