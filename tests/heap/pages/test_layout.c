/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_layout.c - a heap's header: its size, the fields of a new one, and which bits are set from
 * the start.
 */
#include "heap/kit.h"

START_TEST(sizes_match_page_count)
{
	static const struct {
		uint32_t count, words;
	} rows[] = {
		{ 0, 1 },  { 1, 1 },   { 63, 1 },  { 64, 1 },
		{ 65, 2 }, { 128, 2 }, { 129, 3 }, { MAM_PAGES_COUNT_MAX, 0x3ffffff },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_uint_eq(mam_layout_words(rows[i].count), rows[i].words);
		ck_assert_uint_eq(mam_pages_bytes(rows[i].count),
				  sizeof(struct mam_pages) + (size_t)rows[i].words * 8);
	}
}
END_TEST

/*
 * Fields that change have cache lines of their own: apart from the line that all lanes read, and
 * apart from each other.
 */
START_TEST(changing_fields_have_own_lines)
{
	ck_assert_uint_eq(offsetof(struct mam_pages, open), MAM_PAGES_LINE);
	ck_assert_uint_eq(offsetof(struct mam_pages, undone), 2 * MAM_PAGES_LINE);
	ck_assert_uint_eq(offsetof(struct mam_pages, tally), 3 * MAM_PAGES_LINE);
	ck_assert_uint_eq(sizeof(struct mam_pages) % MAM_PAGES_LINE, 0);
}
END_TEST

/* 5.411 (1 - L) / L; the paper gives 1,076 for 0.5 percent. */
START_TEST(patience_matches_paper)
{
	ck_assert_uint_eq(mam_layout_patience(5), 1076);
	ck_assert_uint_eq(mam_layout_patience(10), 535);
	ck_assert_uint_eq(mam_layout_patience(500), 5);
	ck_assert_uint_eq(mam_layout_patience(1000), 0);
	ck_assert_uint_eq(mam_layout_patience(1001), 0);
	ck_assert_uint_eq(mam_layout_patience(0), mam_layout_patience(1));
}
END_TEST

START_TEST(new_heap_is_empty)
{
	static const uint32_t counts[] = { 0, 1, 2, 63, 64, 65, 127, 128, 1000 };
	uint32_t count = counts[_i], i;
	struct kit *kit = kit_create(count, NULL);
	const uint64_t *bits = mam_pages_bits(kit->pages);

	kit_begin(kit);
	ck_assert_uint_eq(kit->pages->count, count);
	ck_assert_uint_eq(kit->pages->words, mam_layout_words(count));
	ck_assert_uint_eq(kit->pages->patience, 1076);
	ck_assert_uint_eq(kit->pages->low, 5);
	ck_assert_ptr_eq(bits, kit->pages + 1);
	for (i = 0; i < kit->pages->words * 64; i++)
		ck_assert_uint_eq(bits[i / 64] >> i % 64 & 1, i >= count);
	kit_destroy(kit);
}
END_TEST

/* More pages than a page number can express: as many as it can. */
START_TEST(page_count_is_capped)
{
	struct mam_pages head;

	memset(&head, 0, sizeof(head));
	mam_pages_head(&head, MAM_NO_PAGE, 5);
	ck_assert_uint_eq(head.count, MAM_PAGES_COUNT_MAX);
	ck_assert_uint_eq(head.words, MAM_PAGES_COUNT_MAX / 64);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("layout");

	tcase_add_test(tcase, sizes_match_page_count);
	tcase_add_test(tcase, changing_fields_have_own_lines);
	tcase_add_test(tcase, patience_matches_paper);
	tcase_add_test(tcase, page_count_is_capped);
	tcase_add_loop_test(tcase, new_heap_is_empty, 0, 9);
	return kit_run(tcase, "heap/layout");
}
