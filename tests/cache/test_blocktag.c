/* SPDX-License-Identifier: Apache-2.0 */
/* Tags: the tag of an address is found there and nowhere else, for small and large blocks. */
#include "cached.h"

#define BASE ((uintptr_t)0x7f1234600000)

START_TEST(tag_fields_are_read_back)
{
	uint64_t key = mam_blocktag_live_key(MAM_BLOCKTAG_POOLS - 1);
	uint64_t live =
		mam_blocktag_live(key, BASE + 63 * 512, MAM_BLOCKTAG_MAX, MAM_CACHE_MAX_BYTES);
	uint64_t next = ((UINT64_C(1) << 48) - 512) >> 9;
	uint64_t cached = mam_blocktag_cached(mam_blocktag_cached_key(MAM_BLOCKTAG_TCACHES - 1),
					      MAM_BLOCKTAG_MAX, next);

	ck_assert_uint_eq(mam_blocktag_state(live), MAM_BLOCKTAG_LIVE);
	ck_assert_uint_eq(mam_blocktag_pool(live), MAM_BLOCKTAG_POOLS - 1);
	ck_assert_uint_eq(mam_blocktag_granules(live), MAM_BLOCKTAG_MAX);
	ck_assert_uint_eq(mam_blocktag_requested(live), MAM_CACHE_MAX_BYTES);
	ck_assert_uint_eq(mam_blocktag_state(cached), MAM_BLOCKTAG_CACHED);
	ck_assert_uint_eq(mam_blocktag_granules(cached), MAM_BLOCKTAG_MAX);
	ck_assert_uint_eq(mam_blocktag_next(cached), next);
	ck_assert_uint_eq(cached >> 54, MAM_BLOCKTAG_TCACHES - 1);
}
END_TEST

START_TEST(each_granule_has_its_own_tag)
{
	uint64_t key = mam_blocktag_live_key(7), value;

	for (uintptr_t at = 0; at < 8192; at++) {
		uintptr_t address = BASE + at * 512;

		mam_blocktag_write(mam_blocktag_make(address, 1),
				   mam_blocktag_live(key, address, 1, at + 1));
	}
	for (uintptr_t at = 0; at < 8192; at++) {
		ck_assert_ptr_nonnull(mam_blocktag_live_at(BASE + at * 512, key, &value));
		ck_assert_uint_eq(mam_blocktag_requested(value), at + 1);
		ck_assert_ptr_null(mam_blocktag_live_at(BASE + at * 512 + 1, key, &value));
		ck_assert_ptr_null(
			mam_blocktag_live_at(BASE + at * 512, mam_blocktag_live_key(8), &value));
		mam_blocktag_write(mam_blocktag_find(BASE + at * 512, 1), MAM_BLOCKTAG_NONE);
	}
}
END_TEST

/* The tag of a large block covers a window: other granules of the window are not its start. */
START_TEST(large_block_is_found_only_at_its_start)
{
	uint64_t key = mam_blocktag_live_key(9), value;
	uintptr_t start = BASE + 5 * 512;
	mam_blocktag_word *small;

	mam_blocktag_write(mam_blocktag_make(start, MAM_BLOCKTAG_LARGE),
			   mam_blocktag_live(key, start, MAM_BLOCKTAG_LARGE, 30000));
	for (uintptr_t at = 0; at < 128; at++)
		ck_assert_int_eq(mam_blocktag_live_at(BASE + at * 512, key, &value) != NULL,
				 at == 5);
	/* A small block before it in the same window has another tag. */
	small = mam_blocktag_make(BASE, 3);
	mam_blocktag_write(small, mam_blocktag_live(key, BASE, 3, 1500));
	ck_assert_ptr_eq(mam_blocktag_live_at(BASE, key, &value), small);
	ck_assert_ptr_nonnull(mam_blocktag_live_at(start, key, &value));
	ck_assert_uint_eq(mam_blocktag_granules(value), MAM_BLOCKTAG_LARGE);
	mam_blocktag_write(small, MAM_BLOCKTAG_NONE);
	mam_blocktag_write(mam_blocktag_find(start, MAM_BLOCKTAG_LARGE), MAM_BLOCKTAG_NONE);
}
END_TEST

START_TEST(impossible_addresses_have_no_tag)
{
	uint64_t value;

	ck_assert_ptr_null(mam_blocktag_make((uintptr_t)1 << 48, 1));
	ck_assert_ptr_null(mam_blocktag_make((uintptr_t)1 << 60, MAM_BLOCKTAG_LARGE));
	ck_assert_ptr_null(
		mam_blocktag_live_at((uintptr_t)1 << 60, mam_blocktag_live_key(1), &value));
	ck_assert_ptr_nonnull(mam_blocktag_make(((uintptr_t)1 << 48) - 512, 1));
	ck_assert_ptr_null(mam_blocktag_find((uintptr_t)3 << 40, 1)); /* never created */
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("cache/blocktag");

	tcase_add_test(tcase, tag_fields_are_read_back);
	tcase_add_test(tcase, each_granule_has_its_own_tag);
	tcase_add_test(tcase, large_block_is_found_only_at_its_start);
	tcase_add_test(tcase, impossible_addresses_have_no_tag);
	return suite_end();
}
