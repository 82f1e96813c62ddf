/* SPDX-License-Identifier: Apache-2.0 */
/* The fresh end of the newest chunk is used last; that of an older chunk is a piece of ground like any other. */
#include "fixture.h"

START_TEST(a_larger_hole_is_taken_before_fresh_space)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);
	void *hole = take(f, 12 * KIB);

	take(f, 512);
	give(f, hole);
	ck_assert_picture(f, 512, "F24 L1 F7"); /* the fresh end is the tighter fit */
	ck_assert_ptr_eq(take(f, 7 * 512), hole);
	ck_assert_picture(f, 512, "L7 F17 L1 F7");
	fixture_end(f);
}
END_TEST

START_TEST(fresh_space_serves_what_no_hole_holds)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);
	void *hole = take(f, 1024), *wall = take(f, 512);

	give(f, hole);
	ck_assert_ptr_eq(take(f, 1536), at(wall, 512));
	ck_assert_picture(f, 512, "F2 L1 L3 F26");
	fixture_end(f);
}
END_TEST

START_TEST(the_end_of_an_older_chunk_is_used_before_that_of_the_newest)
{
	struct mam_pool_config config = { .growth_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	void *old = take(f, 2 * KIB), *young;

	young = take(f, 15 * KIB); /* does not fit the rest of the first chunk */
	ck_assert_picture(f, KIB, "L2 F14 | L15 F1");
	ck_assert_ptr_eq(take(f, 512),
			 at(old, 2 * KIB)); /* though the newest's end is the tighter fit */
	take(f, 13 * KIB + 512);
	ck_assert_ptr_eq(take(f, 512), at(young, 15 * KIB)); /* no other ground is left */
	fixture_end(f);
}
END_TEST

START_TEST(when_the_newest_chunk_goes_the_one_before_has_the_tail_again)
{
	struct mam_pool_config config = { .growth_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	void *old = take(f, 8 * KIB), *hole, *wall, *young;
	size_t released;

	hole = take(f, 7 * KIB);
	wall = take(f, 512);
	young = take(f, 16 * KIB);
	give(f, hole);
	give(f, young);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 16 * KIB);
	ck_assert_picture(f, 512, "L16 F14 L1 F1");
	ck_assert_ptr_eq(take(f, 512), hole); /* the end would fit exactly, but is the tail again */
	(void)old, (void)wall;
	fixture_end(f);
}
END_TEST

START_TEST(a_pool_without_a_free_end_has_no_tail)
{
	struct mam_pool_config config = { .chunk_bytes = 4 * KIB, .growth_bytes = 4 * KIB };
	struct fixture *f = fixture_new(&config);
	void *low = take(f, 2 * KIB), *high = take(f, 2 * KIB);

	give(f, low);
	ck_assert_picture(f, KIB, "F2 L2");
	take(f, 2 * KIB);
	take(f, 512); /* grows */
	give(f, high);
	ck_assert_picture(
		f, 512, "L4 F4 | L1 F7"); /* an old chunk's end came free: ground like any other */
	ck_assert_ptr_eq(take(f, 512), high);
	fixture_end(f);
}
END_TEST

START_TEST(an_aligned_request_leaves_its_skipped_space_as_a_hole_not_as_tail)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);
	void *block = take_aligned(f, 512, 8 * KIB);

	ck_assert_uint_eq(stats_of(f).holes, 1);
	ck_assert_uint_lt((uintptr_t)take(f, 512), (uintptr_t)block);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/tail");

	tcase_add_test(tcase, a_larger_hole_is_taken_before_fresh_space);
	tcase_add_test(tcase, fresh_space_serves_what_no_hole_holds);
	tcase_add_test(tcase, the_end_of_an_older_chunk_is_used_before_that_of_the_newest);
	tcase_add_test(tcase, when_the_newest_chunk_goes_the_one_before_has_the_tail_again);
	tcase_add_test(tcase, a_pool_without_a_free_end_has_no_tail);
	tcase_add_test(tcase, an_aligned_request_leaves_its_skipped_space_as_a_hole_not_as_tail);
	return suite_end();
}
