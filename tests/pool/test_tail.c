/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fresh end of the newest chunk (the tail) is used last; that of an older chunk is an ordinary
 * free block.
 */
#include "fixture.h"

START_TEST(larger_free_block_is_used_before_tail)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);
	void *free_block = alloc(f, 12 * KIB);

	alloc(f, 512);
	dealloc(f, free_block);
	ck_assert_picture(f, 512, "F24 L1 F7"); /* the fresh end is the better fit */
	ck_assert_ptr_eq(alloc(f, 7 * 512), free_block);
	ck_assert_picture(f, 512, "L7 F17 L1 F7");
	fixture_end(f);
}
END_TEST

START_TEST(tail_serves_request_that_fits_no_free_block)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);
	void *free_block = alloc(f, 1024), *wall = alloc(f, 512);

	dealloc(f, free_block);
	ck_assert_ptr_eq(alloc(f, 1536), at(wall, 512));
	ck_assert_picture(f, 512, "F2 L1 L3 F26");
	fixture_end(f);
}
END_TEST

START_TEST(end_of_older_chunk_is_used_before_tail)
{
	struct mam_pool_config config = { .growth_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	void *old = alloc(f, 2 * KIB), *young;

	young = alloc(f, 15 * KIB); /* does not fit the rest of the first chunk */
	ck_assert_picture(f, KIB, "L2 F14 | L15 F1");
	/* Although the newest chunk's end is the better fit. */
	ck_assert_ptr_eq(alloc(f, 512), at(old, 2 * KIB));
	alloc(f, 13 * KIB + 512);
	ck_assert_ptr_eq(alloc(f, 512), at(young, 15 * KIB)); /* no other memory is left */
	fixture_end(f);
}
END_TEST

START_TEST(previous_chunk_gets_tail_after_release_of_newest)
{
	struct mam_pool_config config = { .growth_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	void *old = alloc(f, 8 * KIB), *free_block, *wall, *young;
	size_t released;

	free_block = alloc(f, 7 * KIB);
	wall = alloc(f, 512);
	young = alloc(f, 16 * KIB);
	dealloc(f, free_block);
	dealloc(f, young);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 16 * KIB);
	ck_assert_picture(f, 512, "L16 F14 L1 F1");
	ck_assert_ptr_eq(alloc(f, 512),
			 free_block); /* the end would fit exactly, but is the tail again */
	(void)old, (void)wall;
	fixture_end(f);
}
END_TEST

START_TEST(pool_without_free_end_has_no_tail)
{
	struct mam_pool_config config = { .chunk_bytes = 4 * KIB, .growth_bytes = 4 * KIB };
	struct fixture *f = fixture_new(&config);
	void *low = alloc(f, 2 * KIB), *high = alloc(f, 2 * KIB);

	dealloc(f, low);
	ck_assert_picture(f, KIB, "F2 L2");
	alloc(f, 2 * KIB);
	alloc(f, 512); /* grows */
	dealloc(f, high);
	/* The end of an old chunk was freed: it is an ordinary free block. */
	ck_assert_picture(f, 512, "L4 F4 | L1 F7");
	ck_assert_ptr_eq(alloc(f, 512), high);
	fixture_end(f);
}
END_TEST

START_TEST(space_skipped_in_tail_is_ordinary_free_block)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);
	void *block = alloc_aligned(f, 512, 8 * KIB);

	ck_assert_uint_eq(stats_of(f).free_blocks, 1);
	ck_assert_uint_lt((uintptr_t)alloc(f, 512), (uintptr_t)block);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/tail");

	tcase_add_test(tcase, larger_free_block_is_used_before_tail);
	tcase_add_test(tcase, tail_serves_request_that_fits_no_free_block);
	tcase_add_test(tcase, end_of_older_chunk_is_used_before_tail);
	tcase_add_test(tcase, previous_chunk_gets_tail_after_release_of_newest);
	tcase_add_test(tcase, pool_without_free_end_has_no_tail);
	tcase_add_test(tcase, space_skipped_in_tail_is_ordinary_free_block);
	return suite_end();
}
