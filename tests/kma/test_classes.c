/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_classes.c - the size classes: the published values for 4,096 B, the guaranteed properties of
 * all, and each request against a search of all classes.
 */
#include "kma/kit.h"

START_TEST(classes_match_published_values)
{
	static const struct mam_kma_class wanted[] = {
		{ 4, 992 },  { 8, 504 },  { 16, 254 }, { 32, 127 }, { 64, 63 },
		{ 128, 31 }, { 272, 15 }, { 576, 7 },  { 1360, 3 }, { 2032, 2 },
	};
	uint32_t i;

	ck_assert_uint_eq(mam_kma_classes(12), sizeof(wanted) / sizeof(wanted[0]));
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		ck_assert_uint_eq(mam_kma_class(12, i).size, wanted[i].size);
		ck_assert_uint_eq(mam_kma_class(12, i).total, wanted[i].total);
	}
}
END_TEST

START_TEST(classes_fit_their_superblock)
{
	uint32_t shift = (uint32_t)_i, i, before = 0, bytes = 1u << shift, unused;
	struct mam_kma_class cut = { 0, 0 };

	ck_assert_uint_le(mam_kma_classes(shift), MAM_KMA_CLASSES);
	for (i = 0; i < mam_kma_classes(shift); i++) {
		cut = mam_kma_class(shift, i);
		ck_assert(cut.total >= 2 && cut.size > before);
		ck_assert_uint_lt(cut.size, 8u << i);
		ck_assert(cut.size == 4u << i || cut.size % 16 == 0);
		ck_assert_uint_le(cut.size * cut.total + 4 * mam_kma_words(cut.total), bytes);
		/* Neither another block would fit, nor 16 B more per block. */
		unused = bytes - cut.size * cut.total - 4 * mam_kma_words(cut.total);
		ck_assert(unused < cut.size + 4);
		ck_assert(cut.size < 16 || unused < 16 * cut.total);
		before = cut.size;
	}
	ck_assert_uint_eq(cut.total, 2);
	ck_assert_uint_ge(cut.size + 16, bytes / 2);
}
END_TEST

START_TEST(each_request_gets_its_smallest_class)
{
	uint32_t shift = (uint32_t)_i, bytes, best;
	struct kkit *kit = kkit_create(2, shift, 0, NULL);

	kkit_begin(kit);
	for (bytes = 1; bytes <= 3u << shift; bytes += bytes < 5000 ? 1 : 7) {
		for (best = 0; best < mam_kma_classes(shift); best++)
			if (mam_kma_class(shift, best).size >= bytes)
				break;
		ck_assert_uint_eq(mam_kma_class_for(kit->heap, bytes), best);
	}
	ck_assert_uint_eq(mam_kma_class_for(kit->heap, ~(uint64_t)0), mam_kma_classes(shift));
	kkit_destroy(kit);
}
END_TEST

START_TEST(heap_size_matches_superblock_count)
{
	uint32_t n, entries, shift;
	uint64_t bytes;

	ck_assert_uint_eq(sizeof(struct mam_kma) % MAM_KMA_LINE, 0);
	ck_assert_uint_eq(offsetof(struct mam_kma, fresh) % MAM_KMA_LINE, 0);
	ck_assert_uint_eq(offsetof(struct mam_kma, failures) % MAM_KMA_LINE, 0);
	ck_assert_uint_eq(sizeof(struct mam_kma_queue), MAM_KMA_LINE);
	for (shift = MAM_KMA_SHIFT_MIN; shift <= MAM_KMA_SHIFT_MAX; shift++)
		for (entries = 0; entries <= MAM_KMA_ENTRIES_SHIFT_MAX; entries++)
			for (n = 1; n < 5000; n = n * 3 + 1) {
				bytes = mam_kma_bytes(n, shift, entries);
				ck_assert_uint_eq(mam_kma_superblocks(bytes, shift, entries), n);
				ck_assert_uint_eq(mam_kma_superblocks(bytes - 1, shift, entries),
						  n - 1);
			}
	ck_assert_uint_eq(mam_kma_superblocks(1u << 20, MAM_KMA_SHIFT_MIN - 1, 0), 0);
	ck_assert_uint_eq(mam_kma_superblocks(1u << 20, MAM_KMA_SHIFT_MAX + 1, 0), 0);
	ck_assert_uint_eq(mam_kma_superblocks(1u << 20, 12, MAM_KMA_ENTRIES_SHIFT_MAX + 1), 0);
	ck_assert_uint_eq(mam_kma_superblocks(~(uint64_t)0, 8, 0), MAM_KMA_SUPERBLOCKS_MAX);
}
END_TEST

/*
 * For any amount of memory: valid terms, entries that leave most of it free, and larger superblocks
 * if there is space.
 */
START_TEST(suited_terms_are_valid_for_any_size)
{
	struct mam_kma_terms terms, before = mam_kma_suited(0);
	uint32_t n, held;
	uint64_t bytes;

	for (bytes = 5000; bytes < (uint64_t)1 << 40; bytes += bytes / 3) {
		terms = mam_kma_suited(bytes);
		n = mam_kma_superblocks(bytes, terms.shift, terms.entries_shift);
		held = mam_kma_classes(terms.shift) << terms.entries_shift;
		ck_assert(terms.bytes == bytes && !terms.search && !terms.counted);
		ck_assert(terms.shift >= before.shift && terms.shift >= MAM_KMA_SHIFT);
		ck_assert(terms.shift == MAM_KMA_SHIFT || n > MAM_KMA_ENOUGH * 3 / 4);
		ck_assert(!terms.entries_shift || held * 4 <= bytes >> terms.shift);
		ck_assert(terms.entries_shift == MAM_KMA_ENTRIES_SHIFT_SUITED ||
			  held * 8 > bytes >> terms.shift);
		before = terms;
	}
	ck_assert(before.shift == MAM_KMA_SHIFT_MAX);
	ck_assert(before.entries_shift == MAM_KMA_ENTRIES_SHIFT_SUITED);
	terms = mam_kma_suited(512 * 4096);
	ck_assert(terms.shift == 12 && terms.entries_shift == 3);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("classes");

	tcase_add_test(tcase, classes_match_published_values);
	tcase_add_loop_test(tcase, classes_fit_their_superblock, MAM_KMA_SHIFT_MIN,
			    MAM_KMA_SHIFT_MAX + 1);
	tcase_add_loop_test(tcase, each_request_gets_its_smallest_class, MAM_KMA_SHIFT_MIN,
			    MAM_KMA_SHIFT_MAX + 1);
	tcase_add_test(tcase, heap_size_matches_superblock_count);
	tcase_add_test(tcase, suited_terms_are_valid_for_any_size);
	return kkit_run(tcase, "kma/classes");
}
